package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// A page of records is, byte by byte, what the protobuf library makes of it and of its
// parts, and is read back; and what is no message is refused by both.
func TestPagesOfRecordsAreProtobuf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		page, message := record.Page{Docs: []record.Doc{}, Next: rapid.String().Draw(t, "next")}, &stoav1.RecordListResponse{}
		message.Next = page.Next
		number := rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64())
		ms := rapid.Uint64Range(0, 1<<53)
		for range rapid.IntRange(0, 5).Draw(t, "docs") {
			m := &stoav1.RecordDoc{
				Id: rapid.String().Draw(t, "id"), Revision: number.Draw(t, "revision"), Ordinal: number.Draw(t, "ordinal"),
				WrittenMs: ms.Draw(t, "written"), ExpiresMs: ms.Draw(t, "expires"),
			}
			if rapid.Bool().Draw(t, "a document") {
				m.Json = rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "json")
			}
			message.Docs = append(message.Docs, m)
			page.Docs = append(page.Docs, record.Doc{
				ID: m.Id, Revision: m.Revision, Ordinal: m.Ordinal, JSON: m.Json, Written: op.Time(m.WrittenMs), Expires: op.Time(m.ExpiresMs),
			})
		}
		want, err := proto.Marshal(message)
		require.NoError(t, err)
		out := RecordPage{}
		out.Set(&page)
		got := out.AppendTo([]byte{})
		require.Equal(t, append([]byte{}, want...), got)
		back := RecordPage{record.Page{Docs: []record.Doc{{ID: "of before"}}, Next: "too"}}
		require.NoError(t, back.Parse(got))
		clear(got)
		value, err := back.Value()
		require.NoError(t, err)
		require.Equal(t, page, value, "it keeps nothing of what came")

		if len(want) > 0 {
			damaged := append([]byte{}, want...)
			damaged[rapid.IntRange(0, len(damaged)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
			library, hand := new(stoav1.RecordListResponse), new(RecordPage)
			refused := proto.Unmarshal(damaged, library)
			require.Equal(t, refused == nil, hand.Parse(damaged) == nil, "%v", refused)
			if refused == nil {
				require.Len(t, hand.page.Docs, len(library.Docs))
				require.Equal(t, library.Next, hand.page.Next)
			}
		}
	})
}
