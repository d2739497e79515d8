package inspect

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
)

// raw returns a store in memory with these rows, whatever they are.
func raw(t require.TestingT, rows map[column.Column]map[string]string) *mem.Engine {
	e := mem.New()
	var b engine.Batch
	for c, m := range rows {
		for k, v := range m {
			b.Put(c, []byte(k), []byte(v))
		}
	}
	require.NoError(t, e.Apply(&b))
	return e
}

// id32 returns an id whose bytes are all b.
func id32(b byte) string { return strings.Repeat(string([]byte{b}), 32) }

func TestTheScopeOfZerosIsCountedAsAnyOther(t *testing.T) {
	zeros := string(make([]byte, 16))
	e := raw(t, map[column.Column]map[string]string{column.Generic: {zeros + "a": "v", zeros + "b": "v"}})
	defer e.Close()
	v, err := Survey(t.Context(), From(e, Facts{}), SurveyOptions{})
	require.NoError(t, err)
	for _, c := range v.Columns {
		if c.Column == column.Generic.String() {
			require.Len(t, c.Parts, 1)
			require.EqualValues(t, 2, c.Parts[0].Rows)
		}
	}
}

func TestSurveyCountsEveryRowOnce(t *testing.T) {
	enginetest.Check(t, 100, func(t *rapid.T) {
		rows := map[column.Column]map[string]string{}
		total, sizes := map[string]uint64{}, map[string]uint64{}
		contexts := map[string]uint64{}
		for range rapid.IntRange(0, 60).Draw(t, "rows") {
			c := rapid.SampledFrom(slices.Collect(column.All)).Draw(t, "column")
			key := rapid.SampledFrom([]string{"", "\x20", "\x21", "\x27", "stoa.test\x00\x00\x00\x00\x00\x00\x00", "undeclared\x00\x00\x00\x00\x00\x00"}).Draw(t, "start") +
				rapid.SampledFrom([]string{"", id32(1), id32(2), id32(3), id32(1) + id32(2), id32(1) + "\x00\x00\x00\x01"}).Draw(t, "rest")
			value := strings.Repeat("v", rapid.IntRange(0, 40).Draw(t, "value"))
			if rows[c] == nil {
				rows[c] = map[string]string{}
			}
			rows[c][key] = value
		}
		for c, m := range rows {
			for k, v := range m {
				total[c.String()]++
				sizes[c.String()] += uint64(len(k) + len(v))
				if ofContexts(c) && len(k) >= 32 {
					contexts[fmt.Sprintf("%x", k[:32])] += uint64(len(k) + len(v))
				}
			}
		}
		e := raw(t, rows)
		defer e.Close()
		var told uint64
		v, err := Survey(t.Context(), From(e, Facts{}), SurveyOptions{Contexts: 2, Progress: func(n uint64) { told += n }})
		require.NoError(t, err)
		require.Empty(t, v.Findings)
		var all uint64
		for _, c := range v.Columns {
			require.Equal(t, total[c.Column], c.Rows, c.Column)
			require.Equal(t, sizes[c.Column], c.Bytes, c.Column)
			all += c.Rows
			if len(c.Parts) == 0 && c.Unaccounted == nil {
				continue
			}
			var parts Tally
			for _, p := range c.Parts {
				parts.Merge(p.Tally)
			}
			if c.Unaccounted != nil {
				parts.Merge(c.Unaccounted.Tally)
				require.Len(t, c.Unaccounted.Examples, min(int(c.Unaccounted.Rows), maxExamples))
			}
			if slices.Contains([]string{"Blobs", "Generic", "Group"}, c.Column) {
				require.Equal(t, c.Tally, parts)
			}
		}
		require.Equal(t, all, told)
		require.EqualValues(t, len(contexts), v.ContextCount)
		require.Len(t, v.Contexts, min(2, len(contexts)))
		for _, c := range v.Contexts {
			require.Equal(t, contexts[c.Context], c.Bytes)
			delete(contexts, c.Context)
			for _, other := range contexts {
				if len(v.Contexts) == 2 && c.Context == v.Contexts[1].Context {
					require.LessOrEqual(t, other, c.Bytes, "the largest are listed")
				}
			}
		}
	})
}

// Scopes of key-values are called by what they are.
func TestASurveyNamesTheSpacesOfKeyValues(t *testing.T) {
	s := policyStore(t)
	v, err := Survey(t.Context(), s, SurveyOptions{})
	require.NoError(t, err)
	var names []string
	for _, c := range v.Columns {
		for _, part := range c.Parts {
			names = append(names, part.Space)
		}
	}
	require.Contains(t, names, `collection ledger of tenant "acme"`)
	require.Contains(t, names, `collection agent of tenant "other"`)
}
