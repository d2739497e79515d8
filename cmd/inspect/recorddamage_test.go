package inspect

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
)

// shownBy is what a store answers of its records: documents, lists, history, ledgers.
func shownBy(t testing.TB, s *Source) (all []string) {
	_, e := copyOf(t, s)
	policies(t, e, kvtest.New(), func(ctx context.Context, s *policy.Store) {
		say := func(what string, err error) { all = append(all, fmt.Sprint(what, " ", err)) }
		for _, tenant := range []string{"acme", "other"} {
			view, err := s.Records().View(tenant)
			require.NoError(t, err)
			for _, name := range s.Records().Collections() {
				for d, err := range view.All(ctx, name) {
					say(fmt.Sprintf("%s %s %d %d %s %s %s", name, d.ID, d.Revision, d.Ordinal, d.Written, d.Expires, d.JSON), err)
					list, err := s.Records().History(ctx, tenant, name, d.ID)
					say(fmt.Sprint(list), err)
				}
				c, err := s.Records().Collection(name)
				require.NoError(t, err)
				for _, index := range c.Indexes {
					page, err := view.List(ctx, name, record.Query{All: true, Limit: 1000, Filters: []record.Filter{{Index: index.Name}}})
					say(fmt.Sprint(index.Name, " ", page.Docs), err)
				}
			}
			require.NoError(t, view.Close())
			for f, err := range s.Verify(ctx, tenant) {
				say(f.String(), err)
			}
			head, err := s.Head(ctx, tenant)
			say(fmt.Sprint(head), err)
		}
	})
	return all
}

// Whatever bit of whatever value is flipped of the rows of collections, verify reports it,
// or the store answers what it did before; nothing panics.
func TestDamagedRowsOfRecordsAreReportedOrHarmless(t *testing.T) {
	whole := policyStore(t)
	require.Empty(t, findingsOf(t, whole))
	want := shownBy(t, whole)
	rows := slices.DeleteFunc(recordRows(t, whole), func(r recordRow) bool { return len(r.value) == 0 })
	r := enginetest.Random(t)
	reported, harmless := map[kv.Shape]int{}, map[kv.Shape]int{}
	s, e := copyOf(t, whole)
	for range enginetest.Scale(150) {
		row := rows[r.IntN(len(rows))]
		at, bit := r.IntN(len(row.value)), r.IntN(8)
		flipped := bytes.Clone(row.value)
		flipped[at] ^= 1 << bit
		apply(t, e, func(b *engine.Batch) { b.Put(column.Generic, row.key, flipped) })
		got := shownBy(t, s)
		if len(findingsOf(t, s)) > 0 {
			reported[row.kv.Shape]++
		} else {
			harmless[row.kv.Shape]++
			require.Equal(t, want, got, "bit %d of byte %d of %s, %s", bit, at, row.in, row.kv.Shape)
		}
		apply(t, e, func(b *engine.Batch) { b.Put(column.Generic, row.key, row.value) })
	}
	t.Log("reported:", reported, "harmless:", harmless)
	require.Empty(t, findingsOf(t, s))
}

// A store of which rows are lost, as a salvage leaves one, is verified, shown and exported,
// whichever they are.
func TestRecordsOfWhichRowsAreLostAreReported(t *testing.T) {
	whole := policyStore(t)
	rows := recordRows(t, whole)
	r := enginetest.Random(t)
	for range enginetest.Scale(30) {
		s, e := copyOf(t, whole)
		apply(t, e, func(b *engine.Batch) {
			for range 1 + r.IntN(5) {
				b.Delete(column.Generic, rows[r.IntN(len(rows))].key)
			}
		})
		require.NotEmpty(t, findingsOf(t, s))
		shownBy(t, s)
		var text bytes.Buffer
		_, err := Export(t.Context(), s, &text, ExportOptions{})
		require.NoError(t, err)
	}
}
