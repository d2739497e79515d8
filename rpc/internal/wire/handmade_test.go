package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// handmade is a message that this package puts together or takes apart without the
// protobuf library.
type handmade struct {
	message proto.Message
	encode  func() []byte               // with all fields that it has set; nil: the library does
	decode  func([]byte) (any, error)   // what a message becomes; nil: the library does
	leaves  map[protowire.Number]string // fields that are left to others, and why
}

// allHandmade are all such messages.
func allHandmade() []handmade {
	ttl := int64(1)
	get := Get{Column: 1, Key: []byte("k"), Snapshot: 1}
	kvGet := KVGet{Tenant: []byte("t"), Key: "k"}
	put := KVPut{KVGet: kvGet, Value: []byte("1"), TTLSeconds: &ttl, Durability: 1}
	decide := PolicyDecide{Tenant: []byte("t"), Agent: "a", Action: "x", Context: []byte("{}")}
	create := RecordCreate{Tenant: "t", Collection: "c", Document: []byte("{}"), Durability: 1, Guards: []lock.Guard{{Name: "l", Token: 1}}}
	single := func() []byte { return Single(append(Room(nil), 'v')) }
	page := func() []byte {
		entries := []byte("e")
		return (&Page{Entries: &entries, Count: 1}).Lend().Materialize()
	}
	return []handmade{
		{message: &stoav1.GetRequest{}, encode: func() []byte { return get.AppendTo(nil) }},
		{message: &stoav1.ApplyRequest{}, decode: parsed},
		{message: &stoav1.KvGetRequest{}, encode: func() []byte { return kvGet.AppendTo(nil) }},
		{message: &stoav1.KvPutRequest{}, encode: func() []byte { return put.AppendTo(nil) },
			leaves: map[protowire.Number]string{6: "what has guards goes another way"}},
		{message: &stoav1.PolicyDecideRequest{}, encode: func() []byte { return decide.AppendTo(nil) }},
		{message: &stoav1.PolicyDecideResponse{}, encode: func() []byte {
			return Single(append(Room(nil), 0x08, 0x01)) // an answer of directDecide: allowed
		}},
		{message: &stoav1.RecordListResponse{}, encode: func() []byte {
			return (&RecordPage{record.Page{Docs: []record.Doc{{ID: "a"}}, Next: "n"}}).AppendTo(nil)
		}, decode: func(b []byte) (any, error) {
			var p RecordPage
			err := p.Parse(b)
			return p, err
		}},
		{message: &stoav1.RecordCreateRequest{}, encode: func() []byte { return create.AppendTo(nil) }, decode: func(b []byte) (any, error) {
			var r RecordCreate
			err := r.Parse(b)
			return r, err
		}},
		{message: &stoav1.LockGuard{}, encode: func() []byte { return appendGuard(nil, create.Guards[0]) }, decode: func(b []byte) (any, error) { return parseGuard(b) }},
		{message: &stoav1.RecordCreateResponse{}, encode: func() []byte {
			return (&RecordMade{record.Doc{ID: "a"}, true}).AppendTo(nil)
		}, decode: func(b []byte) (any, error) {
			var m RecordMade
			err := m.Parse(b)
			return m, err
		}},
		{message: &stoav1.RecordDoc{}, encode: func() []byte {
			return appendDoc(nil, &record.Doc{ID: "a", Revision: 1, Ordinal: 1, JSON: []byte("{}"), Written: op.Time(1), Expires: op.Time(1)})
		}, decode: func(b []byte) (any, error) { return parseDoc(b) }},
		{message: &stoav1.GetResponse{}, encode: single, decode: inbound},
		{message: &stoav1.MultiGetResponse{}, encode: single, decode: inbound},
		{message: &stoav1.ScanResponse{}, encode: page, leaves: map[protowire.Number]string{
			3: "end is set in sessions only", 4: "of a page in a slot the library makes the message", 5: "as 4"}},
		{message: &stoav1.ScanResponse{}, decode: func(b []byte) (any, error) {
			var l Lent
			err := l.parse(b)
			return []any{string(l.Entries), l.Count, l.Slot, l.SlotBytes}, err
		}, leaves: map[protowire.Number]string{3: "end is set in sessions only"}},
	}
}

func inbound(b []byte) (any, error) {
	var in Inbound
	err := in.Parse(b)
	return in, err
}

// parsed returns what Parse makes of b as the library puts it together.
func parsed(b []byte) (any, error) {
	m := new(stoav1.ApplyRequest)
	if err := Parse(b, m); err != nil {
		return nil, err
	}
	return proto.Marshal(m)
}

// TestMessagesMadeByHandHaveEveryField: a field that is added to a message is added to
// what is made by hand, too, or left out for a reason.
func TestMessagesMadeByHandHaveEveryField(t *testing.T) {
	for _, h := range allHandmade() {
		t.Run(string(h.message.ProtoReflect().Descriptor().Name()), func(t *testing.T) {
			for _, missing := range h.missing(t) {
				t.Error(missing)
			}
		})
	}
}

// A guard that finds nothing would hold nothing: what is made for a message with fewer
// fields is found wanting for one with more.
func TestAFieldThatIsNotMadeByHandIsFound(t *testing.T) {
	get := Get{Column: 1, Key: []byte("k")}
	require.Len(t, handmade{message: &stoav1.GetRequest{}, encode: func() []byte { return get.AppendTo(nil) }}.missing(t), 1)
	require.NotEmpty(t, handmade{message: &stoav1.KvItem{}, decode: inbound}.missing(t))
	idle := handmade{message: &stoav1.GetResponse{}, decode: inbound, leaves: map[protowire.Number]string{1: "no reason"}}
	require.Len(t, idle.missing(t), 1, "a field that is handled is not left to others")
	idle.leaves = map[protowire.Number]string{2: "not a field"}
	require.Len(t, idle.missing(t), 1)
}

// missing says which fields are not encoded or decoded, and which are although they are
// said to be left to others.
func (h handmade) missing(t *testing.T) (findings []string) {
	fields := h.message.ProtoReflect().Descriptor().Fields()
	for number := range h.leaves {
		if fields.ByNumber(number) == nil {
			findings = append(findings, "a field that is left out is none of the message's")
		}
	}
	for i := range fields.Len() {
		field := fields.Get(i)
		_, left := h.leaves[field.Number()]
		if h.encode != nil && h.encodes(t, field) == left {
			findings = append(findings, string(field.Name())+": encoded only by the library, or only by hand")
		}
		if h.decode != nil && h.decodes(t, field) == left {
			findings = append(findings, string(field.Name())+": decoded only by the library, or only by hand")
		}
	}
	return findings
}

func (h handmade) encodes(t *testing.T, field protoreflect.FieldDescriptor) bool {
	m := h.message.ProtoReflect().New()
	require.NoError(t, proto.Unmarshal(h.encode(), m.Interface()))
	require.Empty(t, m.GetUnknown())
	return m.Has(field)
}

// decodes reports whether a message with that field alone becomes something else than
// an empty one.
func (h handmade) decodes(t *testing.T, field protoreflect.FieldDescriptor) bool {
	m := h.message.ProtoReflect().New()
	switch {
	case field.IsList():
		m.Mutable(field).List().AppendMutable()
	case field.Message() != nil:
		m.Mutable(field)
	default:
		m.Set(field, some(t, field))
	}
	b, err := proto.Marshal(m.Interface())
	require.NoError(t, err)
	got, err := h.decode(b)
	require.NoError(t, err)
	nothing, err := h.decode(nil)
	require.NoError(t, err)
	return !assert.ObjectsAreEqual(nothing, got)
}

// some is a value of a field that is not the default one.
func some(t *testing.T, field protoreflect.FieldDescriptor) protoreflect.Value {
	one, known := map[protoreflect.Kind]any{
		protoreflect.BoolKind: true, protoreflect.EnumKind: protoreflect.EnumNumber(1), protoreflect.Uint32Kind: uint32(1),
		protoreflect.Int64Kind: int64(1), protoreflect.Uint64Kind: uint64(1), protoreflect.Fixed64Kind: uint64(1),
		protoreflect.BytesKind: []byte("1"), protoreflect.StringKind: "1",
	}[field.Kind()]
	require.True(t, known, "a field of a kind that no message made by hand has had: %s", field.FullName())
	return protoreflect.ValueOf(one)
}
