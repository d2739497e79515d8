package codec

// ApplicationMeta is a WASM application: column Application, and within
// [ContextMetaValue].
type ApplicationMeta struct {
	ApplicationID ApplicationID
	Bytecode      BlobID
	Size          uint64 // of the bytecode, in bytes
	Source        string // where it came from
	Metadata      []byte
	Compiled      BlobID // zeros: none
	Package       string
	Version       string
	SignerID      string
	Services      []ServiceMeta // none: a single service, of Bytecode and Compiled
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v ApplicationMeta) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("ApplicationMeta", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (ApplicationMeta) Decode(src []byte) (v ApplicationMeta, err error) {
	c := decoder("ApplicationMeta", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v ApplicationMeta) run(c coder) (ApplicationMeta, coder) { v.layout(&c); return v, c }

func (v *ApplicationMeta) layout(c *coder) {
	id(c, "application_id", &v.ApplicationID)
	id(c, "bytecode", &v.Bytecode)
	c.u64("size", &v.Size)
	c.together()
	c.string("source", &v.Source)
	c.bytes("metadata", &v.Metadata)
	id(c, "compiled", &v.Compiled)
	c.string("package", &v.Package)
	c.string("version", &v.Version)
	c.string("signer_id", &v.SignerID)
	var service ServiceMeta
	for i := range list(c, "services", "ServiceMeta", &v.Services, leastService) {
		c.item("services", i)
		at(v.Services, i, &service).layout(c)
		c.end()
	}
	c.listEnd()
}

// leastService is the fewest bytes that a ServiceMeta takes.
const leastService = 4 + 32 + 32

// ServiceMeta is one service of an application that has several.
type ServiceMeta struct {
	Name     string
	Bytecode BlobID
	Compiled BlobID // zeros: none
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v ServiceMeta) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("ServiceMeta", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (ServiceMeta) Decode(src []byte) (v ServiceMeta, err error) {
	c := decoder("ServiceMeta", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v ServiceMeta) run(c coder) (ServiceMeta, coder) { v.layout(&c); return v, c }

func (v *ServiceMeta) layout(c *coder) {
	c.string("name", &v.Name)
	id(c, "bytecode", &v.Bytecode)
	id(c, "compiled", &v.Compiled)
}
