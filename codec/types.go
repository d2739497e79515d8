package codec

import (
	"encoding/json"
	"iter"
	"reflect"
	"slices"
)

// Type describes one record type to tools that meet records as bytes or JSON.
// The zero Type is none. A Type is safe for concurrent use.
type Type struct {
	Name   string  // as in README.md and on the command line
	Go     string  // the Go type, which several names may share, as in codec.AliasName
	Secret bool    // holds secret fields
	Fields []Field // in stored order; not to be modified
	ops    *operations
}

// operations are the functions behind a Type, one set per Go type.
type operations struct {
	check func(c coder) error
	print func(src []byte, c coder) (coder, error)
	parse func(n *node, c coder) ([]byte, error)
}

// Check returns an [*Error] unless src is the stored form of a value of type t.
// It allocates nothing where it is.
func (t Type) Check(src []byte) error {
	return t.ops.check(coder{mode: checking, typ: t.Name, buf: src})
}

// JSON returns the value whose stored form is src as a JSON object, its fields
// in stored order. Secrets show as "redacted:…" unless reveal is set. It returns
// an [*Error] where Check would.
func (t Type) JSON(src []byte, reveal bool) (json.RawMessage, error) {
	c, err := t.ops.print(src, coder{mode: printing, typ: t.Name, text: &textState{reveal: reveal}})
	return json.RawMessage(c.buf), err
}

// FromJSON returns the stored form of the value that src describes, as JSON
// prints it; a u64 or u128 may also be a number. Unknown, missing and repeated
// fields, wrong sizes and redacted secrets are an [*Error] that names the field.
func (t Type) FromJSON(src []byte) ([]byte, error) {
	n, err := parseJSON(src)
	if err != nil {
		return nil, &Error{Type: t.Name, Offset: -1, Reason: err.Error()}
	}
	return t.ops.parse(n, coder{mode: reading, typ: t.Name, text: new(textState)})
}

// Types yields every record type, in the order of README.md.
func Types() iter.Seq[Type] { return slices.Values(types) }

// TypeByName returns the type of that name.
func TypeByName(name string) (Type, bool) {
	i := slices.IndexFunc(types, func(t Type) bool { return t.Name == name })
	if i < 0 {
		return Type{}, false
	}
	return types[i], true
}

// types is the one list of record types. It is never written to.
var types = []Type{
	describe[ContextMetaValue]("ContextMetaValue"),
	describe[ContextConfigValue]("ContextConfigValue"),
	describe[ContextIdentityValue]("ContextIdentityValue"),
	describe[Raw]("ContextState"),
	describe[Raw]("ContextPrivateState"),
	describe[ContextDagDeltaValue]("ContextDagDeltaValue"),
	describe[Action]("Action"),
	describe[Event]("Event"),
	describe[HybridTimestamp]("HybridTimestamp"),
	describe[BlobMeta]("BlobMeta"),
	describe[BlobChunk]("BlobChunk"),
	describe[ApplicationMeta]("ApplicationMeta"),
	describe[ServiceMeta]("ServiceMeta"),
	describe[AliasValue]("Alias"),
	describe[Raw]("Generic"),
	describe[GroupMetaValue]("GroupMetaValue"),
	describe[UpgradePolicy]("UpgradePolicy"),
	describe[GroupMemberRole]("GroupMemberRole"),
	describe[Present]("GroupContextIndex"),
	describe[GroupRefValue]("ContextGroupRef"),
	describe[GroupUpgradeValue]("GroupUpgradeValue"),
	describe[GroupUpgradeStatus]("GroupUpgradeStatus"),
	describe[GroupSigningKeyValue]("GroupSigningKeyValue"),
	describe[GroupMemberCapabilityValue]("GroupMemberCapabilityValue"),
	describe[GroupDefaultCapsValue]("GroupDefaultCapsValue"),
	describe[GroupContextLastMigrationValue]("GroupContextLastMigrationValue"),
	describe[Nonce]("GroupLocalGovNonce"),
	describe[AliasName]("GroupMemberAlias"),
	describe[AliasName]("GroupAlias"),
	describe[AliasName]("GroupContextAlias"),
	describe[OpLogValue]("GroupOpLog"),
	describe[GroupOpHeadValue]("GroupOpHeadValue"),
	describe[MemberContextValue]("GroupMemberContext"),
	describe[ContextCapability]("GroupContextMemberCap"),
	describe[Present]("GroupChildIndex"),
	describe[ParentRefValue]("GroupParentRef"),
	describe[NamespaceIdentityValue]("NamespaceIdentityValue"),
	describe[NamespaceGovOpValue]("NamespaceGovOpValue"),
	describe[NamespaceGovHeadValue]("NamespaceGovHeadValue"),
	describe[GroupKeyValue]("GroupKeyEntry"),
	describe[GroupOp]("GroupOp"),
	describe[SignedGroupOp]("SignedGroupOp"),
	describe[RootOp]("RootOp"),
	describe[NamespaceOp]("NamespaceOp"),
	describe[SignedNamespaceOp]("SignedNamespaceOp"),
	describe[StoredNamespaceOp]("StoredNamespaceOp"),
	describe[OpaqueSkeleton]("OpaqueSkeleton"),
	describe[RotationSkeleton]("RotationSkeleton"),
	describe[Invitation]("Invitation"),
	describe[KeyEnvelope]("KeyEnvelope"),
	describe[PreviousKey]("PreviousKey"),
	describe[KeyRotation]("KeyRotation"),
	describe[CarriedKey]("CarriedKey"),
	describe[NewKey]("NewKey"),
	describe[SealedSkeleton]("SealedSkeleton"),
	describe[StatedMember]("StatedMember"),
	describe[DeltaEnvelope]("DeltaEnvelope"),
}

// record is a Value that can be driven by a coder of any mode. The coder goes
// in and out by value: a pointer would escape through the indirect call.
type record[V any] interface {
	Value[V]
	run(c coder) (V, coder)
}

func describe[V record[V]](name string) Type {
	t := Type{Name: name, Go: reflect.TypeFor[V]().String(), ops: &operations{
		check: checkAs[V], print: printAs[V], parse: parseAs[V],
	}}
	for pick, variants := 0, 1; pick < variants; pick++ {
		var v V
		_, c := v.run(coder{mode: listing, typ: name, text: &textState{pick: pick}})
		t.Fields = append(t.Fields, c.text.fields...)
		t.Secret = t.Secret || c.text.secret
		variants = max(1, c.text.variants)
	}
	return t
}

func checkAs[V record[V]](c coder) error {
	var v V
	_, c = v.run(c)
	return c.done()
}

func printAs[V record[V]](src []byte, c coder) (coder, error) {
	v, err := decodeAs[V](c.typ, src)
	if err != nil {
		return coder{}, err
	}
	c.openWith('{')
	_, c = v.run(c)
	c.closeWith('}')
	return c, nil
}

func decodeAs[V record[V]](typ string, src []byte) (v V, err error) {
	v, c := v.run(decoder(typ, src))
	err = ended(&v, &c)
	return v, err
}

func parseAs[V record[V]](n *node, c coder) ([]byte, error) {
	var v V
	c.enter(n)
	v, c = v.run(c)
	c.textEnd()
	if c.err != nil {
		return nil, c.err
	}
	_, c = v.run(encoder(c.typ, nil))
	return c.encoded()
}
