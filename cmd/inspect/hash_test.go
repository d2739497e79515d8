package inspect

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

func digests(t require.TestingT, e engine.Reader) *Digests {
	d, err := Hash(context.Background(), From(e, Facts{}), nil)
	require.NoError(t, err)
	return d
}

func apply(t require.TestingT, e engine.Writer, fill func(*engine.Batch)) {
	var b engine.Batch
	fill(&b)
	require.NoError(t, e.Apply(&b))
}

// What one node has and another need not have does not show in the digests of
// columns, and everything else does.
func TestHashIsOfWhatNodesShare(t *testing.T) {
	a, b := mem.New(), mem.New()
	defer a.Close()
	defer b.Close()
	g, c := codec.GroupID{1}, codec.ContextID{2}
	for i, e := range []*mem.Engine{a, b} {
		apply(t, e, func(batch *engine.Batch) {
			engine.Put(batch, keys.GroupMember{Group: g, Identity: codec.Identity{3}}, codec.Admin)
			engine.Put(batch, keys.ContextState{Context: c, AppKey: keys.NewBytes([]byte("k"))}, codec.Raw("v"))
			engine.Put(batch, keys.GroupOpHead{Group: g}, codec.GroupOpHeadValue{Sequence: uint64(i + 7)})
			engine.Put(batch, keys.ContextPrivateState{Context: c}, codec.Raw{byte(i)})
			engine.Put(batch, keys.GroupSigningKey{Group: g}, codec.GroupSigningKeyValue{PrivateKey: codec.Secret{byte(i)}})
			for n := range 5 {
				seq := n
				if i == 1 {
					seq = 4 - n
				}
				engine.Put(batch, keys.GroupOpLog{Group: g, Seq: keys.NewSeq(uint64(seq + 1))}, codec.OpLogValue{Op: []byte{byte(n)}})
			}
			batch.Put(column.Generic, []byte("dag-clock\x00\x00\x00\x00\x00\x00\x00"), []byte{byte(i)})
		})
	}
	x, y := digests(t, a), digests(t, b)
	require.Equal(t, x.State, y.State)
	require.Equal(t, x.Columns, y.Columns)
	require.NotEqual(t, x.Apart, y.Apart)
	require.NotContains(t, fmt.Sprint(x), strings.Repeat("00", 32))

	apply(t, b, func(batch *engine.Batch) {
		engine.Put(batch, keys.ContextState{Context: c, AppKey: keys.NewBytes([]byte("k"))}, codec.Raw("w"))
	})
	require.NotEqual(t, x.State, digests(t, b).State)
}

// Any two stores that differ in a shared row differ in their digests, and Diff
// finds exactly the rows that differ.
func TestDiffFindsEveryRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) map[string]string {
			return rapid.MapOfN(rapid.SampledFrom([]string{id32(1) + "a", id32(1) + "b", id32(2), id32(3) + "zz"}),
				rapid.SampledFrom([]string{"", "x", "y"}), 0, 4).Draw(t, name)
		}
		left, right := draw("a"), draw("b")
		want := map[string]string{}
		for k, v := range left {
			if w, ok := right[k]; !ok {
				want[k] = "a"
			} else if w != v {
				want[k] = "both"
			}
		}
		for k := range right {
			if _, ok := left[k]; !ok {
				want[k] = "b"
			}
		}
		a := raw(t, map[column.Column]map[string]string{column.State: left})
		b := raw(t, map[column.Column]map[string]string{column.State: right})
		defer a.Close()
		defer b.Close()
		got := map[string]string{}
		c, err := Diff(context.Background(), From(a, Facts{}), From(b, Facts{}), func(d Difference) error {
			info, _ := keys.ByName(d.Type)
			key, err := info.KeyFromJSON(d.Key)
			got[string(key)] = d.In
			return err
		}, nil)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, len(want) == 0, c.Equal)
		require.Equal(t, len(want) == 0, digests(t, a).State == digests(t, b).State)
	})
}
