package keys

import (
	"encoding/json"
	"iter"
	"reflect"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
)

// Info describes one key type to tools that meet keys as bytes, JSON or text.
// The zero Info is none. An Info is safe for concurrent use.
type Info struct {
	Name   string // as in README.md and on the command line
	Column column.Column
	Tag    byte       // the first byte, in the Group column; elsewhere 0
	Size   int        // bytes, Tag included; the fewest where MaxVar is not 0
	MaxVar int        // the most bytes that may follow
	Secret bool       // the values hold secrets
	Fields []Field    // in stored order, without the tag; not to be modified
	Value  codec.Type // of the values
	ops    *operations
}

// operations are the functions behind an Info.
type operations struct {
	goType, goValue reflect.Type

	drive func(c *coder)         // shows the parts of a zero key
	parse func(src []byte) error // whether src is such a key
	print func(src []byte, c *coder) error
}

// Schema yields every key type, in the order of README.md.
func Schema() iter.Seq[Info] { return slices.Values(schema) }

// ByName returns the key type of that name.
func ByName(name string) (Info, bool) {
	i := slices.IndexFunc(schema, func(i Info) bool { return i.Name == name })
	if i < 0 {
		return Info{}, false
	}
	return schema[i], true
}

// schema is the one list of key types, with the names that [codec.Types] has for
// their values. It is never written to.
var schema = []Info{
	describe[ContextMeta]("ContextMetaValue"),
	describe[ContextConfig]("ContextConfigValue"),
	describe[ContextIdentity]("ContextIdentityValue"),
	describe[ContextState]("ContextState"),
	describe[ContextPrivateState]("ContextPrivateState"),
	describe[ContextDagDelta]("ContextDagDeltaValue"),
	describe[BlobMeta]("BlobMeta"),
	describe[BlobChunk]("BlobChunk"),
	describe[ApplicationMeta]("ApplicationMeta"),
	describe[Alias]("Alias"),
	describe[Generic]("Generic"),
	describe[GroupMeta]("GroupMetaValue"),
	describe[GroupMember]("GroupMemberRole"),
	describe[GroupContextIndex]("GroupContextIndex"),
	describe[ContextGroupRef]("ContextGroupRef"),
	describe[GroupUpgradeKey]("GroupUpgradeValue"),
	describe[GroupSigningKey]("GroupSigningKeyValue"),
	describe[GroupMemberCapability]("GroupMemberCapabilityValue"),
	describe[GroupDefaultCaps]("GroupDefaultCapsValue"),
	describe[GroupContextLastMigration]("GroupContextLastMigrationValue"),
	describe[GroupLocalGovNonce]("GroupLocalGovNonce"),
	describe[GroupMemberAlias]("GroupMemberAlias"),
	describe[GroupAlias]("GroupAlias"),
	describe[GroupContextAlias]("GroupContextAlias"),
	describe[GroupOpLog]("GroupOpLog"),
	describe[GroupOpHead]("GroupOpHeadValue"),
	describe[GroupMemberContext]("GroupMemberContext"),
	describe[GroupContextMemberCap]("GroupContextMemberCap"),
	describe[GroupChildIndex]("GroupChildIndex"),
	describe[GroupParentRef]("GroupParentRef"),
	describe[NamespaceIdentity]("NamespaceIdentityValue"),
	describe[NamespaceGovOp]("NamespaceGovOpValue"),
	describe[NamespaceGovHead]("NamespaceGovHeadValue"),
	describe[GroupKeyEntry]("GroupKeyEntry"),
}

// layouter is a pointer to a key type of this package.
type layouter[K any] interface {
	*K
	layout(c *coder)
}

func describe[K Key[K, V], V codec.Value[V], P layouter[K]](value string) Info {
	var k K
	s := k.Slot()
	t, _ := codec.TypeByName(value) // a test holds that there is one, for V
	ops := &operations{
		goType:  reflect.TypeFor[K](),
		goValue: reflect.TypeFor[V](),
		drive:   func(c *coder) { P(new(K)).layout(c) },
		parse: func(src []byte) error {
			_, err := k.Parse(src)
			return err
		},
		print: func(src []byte, c *coder) error {
			k, err := k.Parse(src)
			if err == nil {
				P(&k).layout(c)
			}
			return err
		},
	}
	c := coder{mode: listing, text: new(textState)}
	ops.drive(&c)
	return Info{
		Name: ops.goType.Name(), Column: s.Column, Tag: s.Tag, Size: s.Size, MaxVar: s.MaxVar,
		Secret: t.Secret, Fields: c.text.fields, Value: t, ops: ops,
	}
}

// KeyJSON returns the key whose bytes are src as a JSON object, its fields in
// stored order. Anything but a key of this type is an [*Error].
func (i Info) KeyJSON(src []byte) (json.RawMessage, error) {
	c := i.coder(printing)
	c.buf = []byte("{")
	if err := i.ops.print(src, c); err != nil {
		return nil, err
	}
	return append(c.buf, '}'), nil
}

// KeyFromJSON returns the bytes of the key that src describes, as KeyJSON prints
// it. Unknown, missing, repeated and wrong fields are an [*Error] that names the
// field.
func (i Info) KeyFromJSON(src []byte) ([]byte, error) {
	given, fault := parseObject(src)
	if fault != "" {
		return nil, &Error{Column: i.Column, Type: i.Name, Offset: -1, Reason: fault}
	}
	return i.fill(given, false)
}

// KeyFromFields returns the bytes of the key whose fields have these texts: ids
// and byte strings in hex, numbers in decimal, names as they are, a kind of alias
// as its number or name. Errors are those of KeyFromJSON.
func (i Info) KeyFromFields(fields map[string]string) ([]byte, error) {
	return i.fill(scalars(fields), false)
}

// PrefixFromFields returns the leading bytes that all keys with these fields
// share; none at all is every key of the type. A field before one that is given
// must be given too; the last may be a name or byte string of which keys have
// more. Errors are those of KeyFromJSON.
func (i Info) PrefixFromFields(fields map[string]string) ([]byte, error) {
	return i.fill(scalars(fields), true)
}

func scalars(fields map[string]string) map[string]scalar {
	given := make(map[string]scalar, len(fields))
	for name, text := range fields {
		given[name] = scalar{text: text}
	}
	return given
}

func (i Info) coder(m mode) *coder {
	return &coder{mode: m, typ: i.Name, col: i.Column, tag: i.Tag, text: new(textState)}
}

func (i Info) fill(given map[string]scalar, partial bool) ([]byte, error) {
	c := i.coder(filling)
	c.text.given, c.text.partial = given, partial
	if c.tag != 0 {
		c.buf = append(c.buf, c.tag)
	}
	i.ops.drive(c)
	key, err := c.filled()
	if err == nil && !partial {
		err = i.ops.parse(key)
	}
	if err != nil {
		return nil, err
	}
	return key, nil
}
