package column

// Spec says how a column is stored. Sizes are in bytes.
type Spec struct {
	Name      string // the RocksDB column family name
	Holds     string // what it holds, for people
	Key       string // the layout of its keys, for people
	Raw       bool   // values are opaque bytes (identity codec), not borsh
	NodeLocal bool   // never leaves this node

	PrefixBytes    int         // leading key bytes that the prefix filter covers; 0: whole keys only
	WriteBuffer    int         // size of one memtable
	MemtableBloom  bool        // a whole-key bloom filter in the memtable, for point lookups
	Compression    Compression // of tables and blob files
	BlobFiles      bool        // values of at least MinBlob go to blob files, written once
	MinBlob        int         // smallest value that goes to a blob file
	FiltersForHits bool        // lookups nearly always hit: no filter on the last level
}

// Compression is how the tables of a column are compressed.
type Compression uint8

const (
	LZ4           Compression = iota // LZ4 on every level
	LZ4ThenZSTD                      // LZ4, and ZSTD on the bottommost level
	NoCompression                    // stored as it is
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// The figures behind these settings are in README.md.
var specs = [end]Spec{
	Meta:         {Name: "Meta", Holds: "per-context metadata", Key: "context_id 32", WriteBuffer: 8 * mib, MemtableBloom: true},
	Config:       {Name: "Config", Holds: "per-context revision counters", Key: "context_id 32", WriteBuffer: 8 * mib, MemtableBloom: true},
	Identity:     {Name: "Identity", Holds: "this node's keypair in a context (secret)", Key: "context_id 32", NodeLocal: true, PrefixBytes: 32, WriteBuffer: 4 * mib, Compression: NoCompression},
	State:        {Name: "State", Holds: "shared context state", Key: "context_id 32 ‖ app_key var", Raw: true, PrefixBytes: 32, WriteBuffer: 64 * mib, Compression: LZ4ThenZSTD},
	PrivateState: {Name: "PrivateState", Holds: "node-local context state, never synced", Key: "context_id 32 ‖ app_key var", Raw: true, NodeLocal: true, PrefixBytes: 32, WriteBuffer: 64 * mib, Compression: LZ4ThenZSTD},
	Delta:        {Name: "Delta", Holds: "causal deltas", Key: "context_id 32 ‖ delta_id 32", PrefixBytes: 32, WriteBuffer: 32 * mib, Compression: LZ4ThenZSTD},
	Blobs:        {Name: "Blobs", Holds: "content-addressed binary data", Key: "blob_id 32 (manifest) or blob_id 32 ‖ index u32 BE (chunk)", WriteBuffer: 64 * mib, BlobFiles: true, MinBlob: 32 * kib, FiltersForHits: true},
	Application:  {Name: "Application", Holds: "WASM application records", Key: "application_id 32", WriteBuffer: 16 * mib, BlobFiles: true, MinBlob: 32 * kib, FiltersForHits: true},
	Alias:        {Name: "Alias", Holds: "name → id", Key: "kind 1 ‖ scope 32 ‖ name 50", WriteBuffer: 4 * mib},
	Generic:      {Name: "Generic", Holds: "everything else, in named scopes", Key: "scope 16 ‖ fragment var", PrefixBytes: 16, WriteBuffer: 8 * mib},
	Group:        {Name: "Group", Holds: "governance, one-byte prefixes 0x20–0x3A", Key: "prefix 1 ‖ ids", PrefixBytes: 33, WriteBuffer: 32 * mib},
}

// Spec returns the spec of c. It panics if c is not a column.
func (c Column) Spec() Spec {
	if !c.Valid() {
		panic("column: no " + c.String())
	}
	return specs[c]
}
