package keys

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
)

// kind is a key type, with its operations free of the type parameters.
type kind struct {
	info   Info
	draw   func(t *rapid.T) any
	append func(k any, dst []byte) ([]byte, error)
	parse  func(src []byte) (any, error)
	allocs func(k any, buf []byte) float64 // of appending to buf and parsing
	whole  []byte                          // the zero prefix
}

func kindOf[K Key[K, V], V codec.Value[V]]() kind {
	name := reflect.TypeFor[K]().Name()
	info, ok := ByName(name)
	if !ok {
		panic(name + " is not in the schema")
	}
	return kind{
		info:   info,
		draw:   func(t *rapid.T) any { return draw[K](t) },
		append: func(k any, dst []byte) ([]byte, error) { return k.(K).AppendBinary(dst) },
		parse: func(src []byte) (any, error) {
			var k K
			return k.Parse(src)
		},
		allocs: func(k any, buf []byte) float64 { return allocs(k.(K), buf) },
		whole:  Prefix[K]{}.AppendTo(nil),
	}
}

// allocs counts the allocations of writing k to buf and reading it back.
func allocs[K Key[K, V], V codec.Value[V]](k K, buf []byte) float64 {
	return testing.AllocsPerRun(5, func() {
		b, err := k.AppendBinary(buf)
		if err != nil {
			panic(err)
		}
		back, err := k.Parse(b)
		if err != nil || back != k {
			panic("another key")
		}
	})
}

var kinds = []kind{
	kindOf[ContextMeta](), kindOf[ContextConfig](), kindOf[ContextIdentity](), kindOf[ContextState](),
	kindOf[ContextPrivateState](), kindOf[ContextDagDelta](), kindOf[BlobMeta](), kindOf[BlobChunk](),
	kindOf[ApplicationMeta](), kindOf[Alias](), kindOf[Generic](), kindOf[GroupMeta](), kindOf[GroupMember](),
	kindOf[GroupContextIndex](), kindOf[ContextGroupRef](), kindOf[GroupUpgradeKey](), kindOf[GroupSigningKey](),
	kindOf[GroupMemberCapability](), kindOf[GroupDefaultCaps](), kindOf[GroupContextLastMigration](),
	kindOf[GroupLocalGovNonce](), kindOf[GroupMemberAlias](), kindOf[GroupAlias](), kindOf[GroupContextAlias](),
	kindOf[GroupOpLog](), kindOf[GroupOpHead](), kindOf[GroupMemberContext](), kindOf[GroupContextMemberCap](),
	kindOf[GroupChildIndex](), kindOf[GroupParentRef](), kindOf[NamespaceIdentity](), kindOf[NamespaceGovOp](),
	kindOf[NamespaceGovHead](), kindOf[GroupKeyEntry](),
}

// each runs one property over every key type.
func each(t *testing.T, property func(t *testing.T, k kind)) {
	for _, k := range kinds {
		t.Run(k.info.Name, func(t *testing.T) { property(t, k) })
	}
}

// draw returns a random key that has valid bytes.
func draw[K any](t *rapid.T) K {
	var k K
	v := reflect.ValueOf(&k).Elem()
	for i := range v.NumField() {
		drawPart(t, v.Field(i))
	}
	if a, ok := any(&k).(*Alias); ok && a.Kind != AliasIdentity {
		a.Scope = codec.ContextID{}
	}
	return k
}

func drawPart(t *rapid.T, v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *Bytes:
		*p = NewBytes(rapid.SliceOfN(rapid.Byte(), 0, 64).Draw(t, "bytes"))
	case *Name:
		*p, _ = NewName(drawName(t))
	case *Scope:
		*p = drawScope(t)
	case *AliasKind:
		*p = AliasKind(rapid.Uint8Range(1, 3).Draw(t, "kind"))
	case *uint32:
		*p = rapid.Uint32().Draw(t, "index")
	default:
		reflect.Copy(v, reflect.ValueOf(rapid.SliceOfN(rapid.Byte(), v.Len(), v.Len()).Draw(t, "id")))
	}
}

func drawName(t *rapid.T) string {
	return rapid.StringOfN(rapid.RuneFrom([]rune("az \"é€😀")), 1, 12, codec.MaxAlias).Draw(t, "name")
}

func drawScope(t *rapid.T) Scope {
	if rapid.Bool().Draw(t, "kv") {
		return NewKVScope(rapid.Byte().Draw(t, "system"), rapid.Uint32().Draw(t, "space"), rapid.Uint64().Draw(t, "tenant"))
	}
	s, err := NewScope(rapid.StringMatching(`[ -~]{1,16}`).Draw(t, "scope"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
