package wire

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// TestMessagesAreThoseOfProtobuf compares both directions with the library.
func TestMessagesAreThoseOfProtobuf(t *testing.T) {
	c := NewCodec()
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 0, 3*minShared).Draw(t, "data")
		if rapid.Bool().Draw(t, "large") {
			data = bytes.Repeat(append(data, 1), 20)
		}
		count := rapid.Uint32().Draw(t, "count")
		lent := Borrow()
		*lent = append(*lent, data...)
		for _, m := range []struct{ out, want any }{
			{&Page{Entries: lent, Count: count}, &stoav1.ScanResponse{Entries: data, Count: count}},
			{&stoav1.GetResponse{Value: data}, &stoav1.GetResponse{Value: data}},
			{&stoav1.MultiGetResponse{Values: data}, &stoav1.MultiGetResponse{Values: data}},
			{&stoav1.ApplyRequest{Ops: data, Durability: 2}, &stoav1.ApplyRequest{Ops: data, Durability: 2}},
			{&stoav1.ApplyRequest{GuardTenant: data, Guards: []*stoav1.LockGuard{{Name: "task:1", Token: 7}, {}}}, &stoav1.ApplyRequest{GuardTenant: data, Guards: []*stoav1.LockGuard{{Name: "task:1", Token: 7}, {}}}},
		} {
			out, err := c.Marshal(m.out)
			require.NoError(t, err)
			want := m.want.(proto.Message)
			got := want.ProtoReflect().New().Interface()
			require.NoError(t, c.Unmarshal(out, got))
			require.True(t, proto.Equal(want, got))
			out.Free()
		}
	})
}

func TestAnswersAreAppendedWhereTheCallerWantsThem(t *testing.T) {
	c := NewCodec()
	rapid.Check(t, func(t *rapid.T) {
		m := &stoav1.ScanResponse{Entries: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "entries"), Count: rapid.Uint32().Draw(t, "count")}
		b, err := proto.Marshal(m)
		require.NoError(t, err)
		b = append(b, 0xA2, 0x06, 2, 'h', 'i', 0xA8, 0x06, 7, 0xB5, 0x06, 1, 2, 3, 4, 0xB9, 0x06, 1, 2, 3, 4, 5, 6, 7, 8) // of later versions
		in := Inbound{Data: []byte("before")}
		require.NoError(t, c.Unmarshal(cutUp(t, b), &in))
		require.Equal(t, "before"+string(m.Entries), string(in.Data))
		require.Equal(t, len(m.Entries) > 0, in.Found)
		var lent Lent
		defer lent.Free()
		require.NoError(t, c.Unmarshal(cutUp(t, b), &lent))
		require.Equal(t, []any{string(m.Entries), m.Count}, []any{string(lent.Entries), lent.Count})
	})
	var in Inbound
	require.NoError(t, c.Unmarshal(mem.BufferSlice{mem.SliceBuffer{0x0A, 0}}, &in))
	require.True(t, in.Found, "empty, but there")
}

// cutUp puts b in buffers of any size.
func cutUp(t *rapid.T, b []byte) (s mem.BufferSlice) {
	for len(b) > 0 {
		n := rapid.IntRange(1, len(b)).Draw(t, "cut")
		s = append(s, mem.SliceBuffer(b[:n]))
		b = b[n:]
	}
	return s
}

func TestMalformedAnswersAreRefused(t *testing.T) {
	c := NewCodec()
	for _, b := range [][]byte{
		{0x0A}, {0x0A, 5, 1}, {0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1}, {0x00}, {0x10},
		{0x0B}, {0x15, 1}, {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF},
	} {
		require.ErrorIs(t, c.Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, &Inbound{}), errInbound, "%x", b)
	}
	_, err := c.Marshal("text")
	require.ErrorIs(t, err, errMessage)
	require.ErrorIs(t, c.Unmarshal(nil, new(string)), errMessage)
}

func FuzzInbound(f *testing.F) {
	f.Add([]byte{0x0A, 2, 'h', 'i', 0x10, 3, 0x18, 1})
	c := NewCodec()
	f.Fuzz(func(t *testing.T, b []byte) {
		var in Inbound
		err := c.Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, &in)
		if err == nil {
			m := new(stoav1.ScanResponse) // whose first field is that of the others
			require.NoError(t, proto.Unmarshal(b, m), "%x", b)
			require.Equal(t, string(m.Entries), string(in.Data))
		}
	})
}

// TestRequestsAreParsedAsProtobufDoes compares parsing in place with the
// library: both take the same bytes, for the same message.
func TestRequestsAreParsedAsProtobufDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &stoav1.ApplyRequest{Ops: []byte("ops"), Expectations: []byte("e"), Durability: 2}
		sameAsProtobuf(t, m, disturbed(t, m))
		g := Get{Column: column.Column(rapid.Byte().Draw(t, "column")), Key: rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "key"),
			Snapshot: rapid.Uint64().Draw(t, "snapshot")}
		r := new(stoav1.GetRequest)
		require.NoError(t, Parse(g.AppendTo(nil), r))
		require.True(t, proto.Equal(&stoav1.GetRequest{Column: stoav1.Column(g.Column), Key: g.Key, Snapshot: g.Snapshot}, r))
	})
}

// disturbed returns the bytes of m with other fields in between, some changed.
func disturbed(t *rapid.T, m proto.Message) []byte {
	b, err := proto.Marshal(m)
	require.NoError(t, err)
	if rapid.Bool().Draw(t, "more") {
		b = append(b, rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "rest")...)
	}
	for range rapid.IntRange(0, 2).Draw(t, "changes") {
		b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
	}
	return b
}

func sameAsProtobuf(t require.TestingT, m proto.Message, b []byte) {
	want, got := m.ProtoReflect().New().Interface(), m.ProtoReflect().New().Interface()
	wrong := proto.Unmarshal(b, want)
	err := Parse(b, got)
	require.Equal(t, wrong == nil, err == nil, "%x: %v, %v", b, wrong, err)
	if err == nil {
		want.ProtoReflect().SetUnknown(nil)
		require.True(t, proto.Equal(want, got), "%x", b)
	}
}

// TestEveryFieldIsDecodedByHandAsByTheLibrary sends each field that the
// descriptors have as each type of the wire.
func TestEveryFieldIsDecodedByHandAsByTheLibrary(t *testing.T) {
	m := &stoav1.ApplyRequest{}
	fields := m.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		number := fields.Get(i).Number()
		for name, b := range map[string][]byte{
			"varint":  protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), 2),
			"fixed64": protowire.AppendFixed64(protowire.AppendTag(nil, number, protowire.Fixed64Type), 3),
			"bytes":   protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), []byte("4")),
			"fixed32": protowire.AppendFixed32(protowire.AppendTag(nil, number, protowire.Fixed32Type), 5),
		} {
			t.Run(fmt.Sprintf("%d/%s", number, name), func(t *testing.T) { sameAsProtobuf(t, m, b) })
		}
	}
}

func FuzzRequestsInPlace(f *testing.F) {
	f.Add([]byte{8, 7, 18, 1, 'k', 25, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Add([]byte{10, 1, 'o', 18, 1, 'e', 24, 2})                          // a batch
	f.Add([]byte{0xF8, 0xFF, 0xFF, 0xFF, 0x0F, 0})                        // the largest field number
	f.Add([]byte{0x80, 0x80, 0x80, 0x80, 0x10, 0})                        // one more
	f.Add(append([]byte{0xD1, 0xD1, 0xD1, 0xE8}, []byte("000000000")...)) // found by fuzzing
	f.Fuzz(func(t *testing.T, b []byte) {
		sameAsProtobuf(t, &stoav1.ApplyRequest{}, b)
		var in Inbound
		page, lent := new(stoav1.ScanResponse), Lent{}
		wrong := proto.Unmarshal(b, page)
		require.Equal(t, wrong == nil, in.Parse(b) == nil)
		if wrong == nil {
			require.NoError(t, lent.parse(b))
			require.Equal(t, string(page.Entries), string(in.Data))
			require.Equal(t, string(page.Entries), string(lent.Entries))
			require.Equal(t, page.Count, lent.Count)
		}
	})
}

func TestSinglesAreMessagesOfOneField(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := bytes.Repeat([]byte{1}, rapid.IntRange(0, 70_000).Draw(t, "size"))
		want, err := proto.Marshal(&stoav1.GetResponse{Value: value})
		require.NoError(t, err)
		require.Equal(t, want, Single(append(Room(nil), value...)))
		b := Borrow()
		*b = append(*b, value...)
		require.Equal(t, want, LendSingle(b).Materialize())
	})
}
