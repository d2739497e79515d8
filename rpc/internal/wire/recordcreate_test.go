package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// both are a message of the protobuf library and the one that is made by hand for it.
type both struct {
	library proto.Message
	hand    interface {
		Outbound
		Parser
	}
}

// same holds a message by hand to what the library makes of the same, in both directions,
// and to refuse what the library refuses. fresh returns both without anything in them.
func (m both) same(t *rapid.T, fresh func() both) {
	want, err := proto.Marshal(m.library)
	require.NoError(t, err)
	got := m.hand.AppendTo([]byte{})
	require.Equal(t, append([]byte{}, want...), got)
	back := fresh()
	require.NoError(t, back.hand.Parse(got))
	clear(got)
	require.Equal(t, m.hand, back.hand, "it keeps nothing of what came")

	bytes := append(append([]byte{}, want...), want...) // what comes twice counts as the library has it
	if rapid.Bool().Draw(t, "damaged") && len(bytes) > 0 {
		bytes[rapid.IntRange(0, len(bytes)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
	}
	library, hand := fresh().library, fresh().hand
	refused := proto.Unmarshal(bytes, library)
	require.Equal(t, refused == nil, hand.Parse(bytes) == nil, "%v", refused)
	if refused != nil {
		return
	}
	again := fresh().library
	require.NoError(t, proto.Unmarshal(hand.AppendTo(nil), again))
	proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(bytes, library)
	require.True(t, proto.Equal(library, again), "%v, %v", library, again)
}

func TestWhatIsAskedOfCreateIsProtobuf(t *testing.T) {
	fresh := func() both { return both{new(stoav1.RecordCreateRequest), new(RecordCreate)} }
	rapid.Check(t, func(t *rapid.T) {
		r := &RecordCreate{
			Tenant: rapid.String().Draw(t, "tenant"), Collection: rapid.String().Draw(t, "collection"),
			Durability: stoav1.Durability(rapid.Int32().Draw(t, "durability")),
		}
		m := &stoav1.RecordCreateRequest{Tenant: []byte(r.Tenant), Collection: r.Collection, Durability: r.Durability}
		if rapid.Bool().Draw(t, "a document") {
			r.Document = rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "document")
			m.Document = r.Document
		}
		for range rapid.IntRange(0, 3).Draw(t, "guards") {
			g := lock.Guard{Name: rapid.String().Draw(t, "name"), Token: rapid.Uint64().Draw(t, "token")}
			r.Guards = append(r.Guards, g)
			m.Guards = append(m.Guards, &stoav1.LockGuard{Name: g.Name, Token: g.Token})
		}
		require.GreaterOrEqual(t, r.Size(), len(r.AppendTo(nil)))
		both{m, r}.same(t, fresh)
	})
}

func TestWhatCreateAnswersIsProtobuf(t *testing.T) {
	fresh := func() both { return both{new(stoav1.RecordCreateResponse), new(RecordMade)} }
	ms := rapid.Uint64Range(0, 1<<53)
	rapid.Check(t, func(t *rapid.T) {
		m := &stoav1.RecordDoc{Id: rapid.String().Draw(t, "id"), Revision: rapid.Uint64().Draw(t, "revision"), Ordinal: rapid.Uint64().Draw(t, "ordinal"),
			WrittenMs: ms.Draw(t, "written"), ExpiresMs: ms.Draw(t, "expires")}
		if rapid.Bool().Draw(t, "a document") {
			m.Json = rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "json")
		}
		made := new(RecordMade)
		made.Set(&record.Doc{ID: m.Id, Revision: m.Revision, Ordinal: m.Ordinal, JSON: m.Json, Written: op.Time(m.WrittenMs), Expires: op.Time(m.ExpiresMs)})
		both{&stoav1.RecordCreateResponse{Doc: m}, made}.same(t, fresh)
	})
	_, err := new(RecordMade).Value()
	require.ErrorContains(t, err, "doc", "an answer that does not say what was made is none")
}

// Parts of one record are refused each for itself, even if they would make one together.
func TestPartsOfARecordStandForThemselves(t *testing.T) {
	torn := append([]byte{0x0a, 1, 0x41, 0x0a, 8}, make([]byte, 8)...) // a number of 8 bytes, whose bytes are in the next part
	require.Error(t, proto.Unmarshal(torn, new(stoav1.RecordCreateResponse)))
	require.Error(t, new(RecordMade).Parse(torn))
}
