package view

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
)

func TestPagesHaveEveryRowOnceInBothDirections(t *testing.T) {
	enginetest.Check(t, 100, func(t *rapid.T) {
		e := mem.New()
		defer e.Close()
		prefix := rapid.SampledFrom([]string{"", "a", "ab", "\xff"}).Draw(t, "prefix")
		var want []string
		var b engine.Batch
		for _, key := range rapid.SliceOfDistinct(rapid.StringOfN(rapid.SampledFrom([]rune{'a', 'b', 'ÿ'}), 0, 5, 5), rapid.ID).Draw(t, "keys") {
			b.Put(column.State, []byte(key), []byte("v"))
			if strings.HasPrefix(key, prefix) {
				want = append(want, hex.EncodeToString([]byte(key)))
			}
		}
		require.NoError(t, e.Apply(&b))
		slices.Sort(want)
		reverse := rapid.Bool().Draw(t, "reverse")
		limit := rapid.IntRange(1, 4).Draw(t, "limit")
		if reverse {
			slices.Reverse(want)
		}
		var got []string
		for after := []byte(nil); ; {
			page, err := pageOf(inspect.NewPrinter(e, false), e, column.State, rangeOf([]byte(prefix), after, reverse), limit)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page.Rows), limit+1)
			for _, row := range page.Rows {
				got = append(got, row.At)
			}
			if page.Next == "" {
				break
			}
			after, err = hex.DecodeString(page.Next)
			require.NoError(t, err)
		}
		require.Equal(t, want, got)
	})
}

func TestLongValuesAreCut(t *testing.T) {
	sample := newSample(t, 1)
	long := strings.Repeat("\x00long", 3<<18)
	sample.put(t, func(b *engine.Batch) {
		for i := range 5 {
			engine.Put(b, keys.ContextState{Context: sample.context, AppKey: keys.NewBytes([]byte{'~', byte(i)})}, codec.Raw(long))
		}
	})
	s := sample.served(t)
	at := hex.EncodeToString(append(sample.context[:], '~'))
	page := ask[pageDoc](t, s, "rows", "column", "State", "prefix", at)
	require.Len(t, page.Rows, 1, "a page ends where its values become many bytes")
	require.Equal(t, at+"00", page.Next)
	row := page.Rows[0]
	require.True(t, row.Cut)
	require.Equal(t, len(long), row.Size)
	require.Equal(t, hex.EncodeToString([]byte(long[:beginning])), row.Hex)
	require.Equal(t, "ContextState", row.Type)
	row = ask[rowDoc](t, s, "row", "column", "State", "key", at+"00")
	require.True(t, row.Cut)
	require.Len(t, row.Hex, 2*wholeStart)
}

// Of a document that may have secrets, as those of a collection that is not known, nothing
// is shown, however long it is.
func TestWhatMayHaveSecretsIsNotCut(t *testing.T) {
	sample := newSample(t, 1)
	sample.put(t, func(b *engine.Batch) {
		for i, n := range []int{10, 2 * inlineSize} {
			key := kv.Row{Scope: keys.NewKVScope(uint8(kv.SystemRecord), 99, 1), Shape: kv.ShapeRecord, Key: []byte{byte(i)}}.AppendKey(nil)
			b.Put(column.Generic, key, bytes.Repeat([]byte("s3cr3t"), n))
		}
	})
	s := sample.served(t)
	at := keys.NewKVScope(uint8(kv.SystemRecord), 99, 1)
	_, body := get(s, "api/rows?column=Generic&prefix="+hex.EncodeToString(at[:]))
	require.Contains(t, string(body), "redacted:")
	require.NotContains(t, string(body), hex.EncodeToString([]byte("s3cr3t")))
}

func TestDamagedRowsAreShownAsTheyAre(t *testing.T) {
	sample := newSample(t, 1)
	sample.put(t, func(b *engine.Batch) {
		b.Put(column.Meta, []byte{1}, []byte("short"))
		b.Put(column.Identity, sample.context[:], []byte("a secret that does not parse"))
	})
	s := sample.served(t)
	page := ask[pageDoc](t, s, "rows", "column", "Meta")
	require.Equal(t, "01", page.Rows[0].KeyHex)
	require.NotEmpty(t, page.Rows[0].Fault)
	page = ask[pageDoc](t, s, "rows", "column", "Identity")
	require.Empty(t, page.Rows[0].Hex)
	require.Contains(t, page.Rows[0].Fault, "(the value is not shown: 28 bytes, SHA-256 ")
	list := ask[listDoc](t, s, "contexts")
	require.NotEmpty(t, list.Items[0].Fault)
}

func TestBadRequestsSaySo(t *testing.T) {
	s := newSample(t, 1).served(t)
	for path, status := range map[string]int{
		"rows?column=None":                         http.StatusBadRequest,
		"rows?column=State&prefix=xyz":             http.StatusBadRequest,
		"rows?column=State&limit=0":                http.StatusBadRequest,
		"rows?column=State&after=0":                http.StatusBadRequest,
		"row?column=State&key=00":                  http.StatusNotFound,
		"deltas":                                   http.StatusBadRequest,
		"deltas?context=00":                        http.StatusBadRequest,
		"ops?namespace=" + strings.Repeat("0", 64): http.StatusNotFound,
		"deltas?context=" + strings.Repeat("0", 64) + "&before=x": http.StatusBadRequest,
	} {
		got, body := get(s, "api/"+path)
		require.Equal(t, status, got, path)
		require.Contains(t, string(body), `"error":`, path)
	}
}

func TestListsArePaged(t *testing.T) {
	sample := newSample(t, 1)
	sample.put(t, func(b *engine.Batch) {
		for i := range 7 {
			engine.Put(b, keys.ContextMeta{Context: idNamed(fmt.Sprint("more ", i))}, codec.ContextMetaValue{})
		}
	})
	s := sample.served(t)
	var ids []string
	for after := ""; ; {
		page := ask[listDoc](t, s, "contexts", "limit", "3", "after", after)
		for _, item := range page.Items {
			ids = append(ids, item.ID)
			if item.ID == sample.context.String() {
				require.Equal(t, "shared notes", item.Alias)
				require.Equal(t, sample.child.String(), item.Group)
			}
		}
		if after = page.Next; after == "" {
			break
		}
	}
	require.Len(t, ids, 8)
	require.True(t, slices.IsSorted(ids))
}
