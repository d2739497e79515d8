package merkle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/merkle/merkletest"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

var context1 = codec.ContextID{1, 0xFF, 31: 0xFF}

// numbered returns a key that is spread as hashes are, always the same for n.
func numbered(n int) codec.Hash {
	return HashKey(binary.BigEndian.AppendUint64([]byte("key"), uint64(n)))
}

func set(key codec.Hash, value string) Change {
	return Change{Key: key, Value: HashValue([]byte(value))}
}

func numberedChanges(from, to int, value string) []Change {
	var c []Change
	for n := from; n < to; n++ {
		c = append(c, set(numbered(n), value))
	}
	SortChanges(c)
	return c
}

func update(t require.TestingT, trie *Trie, c ...Change) {
	SortChanges(c)
	require.NoError(t, trie.Update(c))
}

// commit writes what has changed.
func commit(t require.TestingT, e engine.Engine, trie *Trie) {
	var b engine.Batch
	trie.Write(&b)
	for op, err := range b.Ops {
		require.NoError(t, err)
		require.NoError(t, keys.CheckKey(op.Column, op.Key))
	}
	require.NoError(t, e.Apply(&b))
	trie.Written()
}

func rows(t require.TestingT, e engine.Reader) map[string]string {
	it, err := e.Iterate(column.Generic, engine.Prefixed(rowScope[:]))
	require.NoError(t, err)
	defer it.Close()
	m := map[string]string{}
	for it.Next() {
		m[string(it.Key())] = string(it.Value())
	}
	require.NoError(t, it.Err())
	return m
}

// readRoot returns the root that the rows of a context make.
func readRoot(cache *Cache, store engine.Getter, context codec.ContextID) (codec.Hash, error) {
	pg, err := Open(cache, store, context, codec.Hash{}).readRoot()
	if err != nil || pg.count == 0 {
		return emptyRoot, err
	}
	return pg.hash, nil
}

// check demands that the trie, a trie opened anew without a cache, the rows and
// the naive definition agree.
func check(t require.TestingT, e engine.Engine, trie *Trie, model merkletest.Naive) {
	require.Equal(t, model.Root(), trie.Root().String())
	root, err := readRoot(NewCache(-1), e, trie.Context())
	require.NoError(t, err)
	require.Equal(t, trie.Root(), root)
	require.NoError(t, Check(e, trie.Context(), trie.Root(), nil))
	fresh := Open(NewCache(-1), e, trie.Context(), root)
	got := merkletest.Naive{}
	for l, err := range fresh.Leaves() {
		require.NoError(t, err)
		got[l.Key.String()] = l.Value.String()
	}
	require.Equal(t, model, got)
}

// drawKey draws keys that often share long prefixes, and are often the same.
func drawKey(t *rapid.T) codec.Hash {
	if n := rapid.SampledFrom([]int{0, 0, 0, 0, 0, 2, 4, 5, 31, 63}).Draw(t, "shared"); n > 0 {
		return crowded(n, rapid.IntRange(0, 60).Draw(t, "tail"))
	}
	return numbered(rapid.IntRange(0, 400).Draw(t, "key"))
}

// crowded returns one of the keys that share at least n nibbles.
func crowded(n, tail int) codec.Hash {
	key, rest := codec.Hash(NewPrefix(numbered(0), n).bits), numbered(tail)
	for i := n; i < MaxPrefix; i++ {
		key[i/2] |= byte(nibble(&rest, i)) << (4 - 4*(i%2))
	}
	return key
}

// drawStart draws nothing, keys spread over the trie, or a crowd somewhere in it,
// so that there are buckets and inner pages on many levels.
func drawStart(t *rapid.T) []Change {
	var c []Change
	if rapid.Bool().Draw(t, "spread") {
		c = numberedChanges(0, rapid.SampledFrom([]int{20, 64, 65, 350}).Draw(t, "n"), "0")
	}
	if n := rapid.IntRange(0, 8).Draw(t, "crowd"); n > 0 {
		for i := range rapid.SampledFrom([]int{24, 25, 61}).Draw(t, "of") {
			c = append(c, set(crowded(n, i), "0"))
		}
	}
	SortChanges(c)
	return slices.CompactFunc(c, func(a, b Change) bool { return a.Key == b.Key })
}

func drawChanges(t *rapid.T, most int) []Change {
	m := map[codec.Hash]Change{}
	for range rapid.IntRange(1, most).Draw(t, "changes") {
		key := drawKey(t)
		c := set(key, fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "value")))
		c.Delete = rapid.IntRange(0, 2).Draw(t, "delete") == 0
		m[key] = c
	}
	c := slices.Collect(maps.Values(m))
	SortChanges(c)
	return c
}

// apply makes changes in the naive definition.
func apply(n merkletest.Naive, changes []Change) {
	for _, c := range changes {
		if c.Delete {
			delete(n, c.Key.String())
		} else {
			n[c.Key.String()] = c.Value.String()
		}
	}
}

func TestPrefixesAreNibbles(t *testing.T) {
	key := codec.Hash{0xAB, 0xCD, 0xEF}
	require.Equal(t, "abc", NewPrefix(key, 3).String())
	require.Equal(t, NewPrefix(key, 4), NewPrefix(key, 3).child(0xD))
	require.True(t, NewPrefix(key, 3).Covers(key))
	require.False(t, NewPrefix(key, 3).Covers(codec.Hash{0xAB, 0xDD}))
	require.True(t, Prefix{}.Covers(key))
	require.Equal(t, 64, common(&key, &key))
	require.Equal(t, 3, common(&key, &codec.Hash{0xAB, 0xC0}))
	require.Negative(t, NewPrefix(key, 2).compare(NewPrefix(key, 3)))
	require.Negative(t, NewPrefix(key, 64).compare(NewPrefix(codec.Hash{0xAC}, 2)))
	require.Zero(t, NewPrefix(key, 5).compare(NewPrefix(key, 5)))
}

// Any sequence of updates gives the root that the definition gives, and the same
// rows as building the result at once: whatever is cached, written or merged.
func TestRootAndRowsAreAFunctionOfTheSet(t *testing.T) {
	enginetest.Check(t, 100, func(t *rapid.T) {
		e := mem.New()
		defer e.Close()
		size := rapid.SampledFrom([]int{-1, 20_000, 0}).Draw(t, "cache")
		cache := NewCache(size)
		trie, model := Open(cache, e, context1, EmptyRoot()), merkletest.Naive{}
		start := drawStart(t)
		update(t, trie, start...)
		apply(model, start)
		t.Repeat(map[string]func(*rapid.T){
			"update": func(t *rapid.T) {
				c := drawChanges(t, 40)
				require.NoError(t, trie.Update(c))
				apply(model, c)
			},
			"overlay": func(t *rapid.T) {
				o, c := trie.Overlay(), drawChanges(t, 10)
				require.NoError(t, o.Update(c))
				inner := o.Overlay()
				d := drawChanges(t, 10)
				require.NoError(t, inner.Update(d))
				inner.Merge()
				apply(model, c)
				apply(model, d)
				require.Equal(t, model.Root(), o.Root().String())
				o.Merge()
			},
			"discard": func(t *rapid.T) {
				before := trie.Root()
				o := trie.Overlay()
				require.NoError(t, o.Update(drawChanges(t, 40)))
				require.Equal(t, before, trie.Root())
			},
			"commit": func(t *rapid.T) { commit(t, e, trie) },
			"fail": func(t *rapid.T) {
				commit(t, e, trie)
				failed := Open(cache, e, context1, trie.Root())
				require.NoError(t, failed.Update(drawChanges(t, 40)))
				failed.Write(new(engine.Batch))
				trie = Open(cache, e, context1, trie.Root())
			},
			"": func(t *rapid.T) { require.Equal(t, model.Root(), trie.Root().String()) },
		})
		commit(t, e, trie)
		check(t, e, trie, model)

		once, other := mem.New(), Open(NewCache(0), nil, context1, EmptyRoot())
		defer once.Close()
		var all []Change
		for k, v := range model {
			all = append(all, Change{Key: codec.Hash([]byte(merkletest.Unhex(k))), Value: codec.Hash([]byte(merkletest.Unhex(v)))})
		}
		update(t, other, all...)
		commit(t, once, other)
		require.Equal(t, rows(t, once), rows(t, e))
	})
}

func TestOverlayRootIsThatOfReallyApplying(t *testing.T) {
	enginetest.Check(t, 100, func(t *rapid.T) {
		e := mem.New()
		defer e.Close()
		cache := NewCache(0)
		trie := Open(cache, e, context1, EmptyRoot())
		base := drawStart(t)
		require.NoError(t, trie.Update(base))
		commit(t, e, trie)
		before := rows(t, e)
		c, d := drawChanges(t, 30), drawChanges(t, 30)
		o := trie.Overlay()
		require.NoError(t, o.Update(c))
		nested := o.Overlay()
		require.NoError(t, nested.Update(d))
		require.Equal(t, before, rows(t, e))

		// Written one after the other, in one batch.
		var b engine.Batch
		o.Write(&b)
		nested.Write(&b)
		require.NoError(t, e.Apply(&b))
		model := merkletest.Naive{}
		apply(model, base)
		apply(model, c)
		require.Equal(t, model.Root(), o.Root().String())
		apply(model, d)
		check(t, e, Open(cache, e, context1, nested.Root()), model)
	})
}

// A trie of the past is what it was, or says that it is gone; and nothing is gone as long as there is room.
func TestATrieOfThePastIsWhatItWasOrGone(t *testing.T) {
	gone, known := 0, 0
	enginetest.Check(t, 50, func(t *rapid.T) {
		e := mem.New()
		defer e.Close()
		sizes := rapid.SampledFrom([]int{-1, 20_000, 0})
		inCache, inPast := sizes.Draw(t, "cache"), sizes.Draw(t, "past")
		past := NewCache(inPast)
		trie, model := Open(NewCache(inCache), e, context1, EmptyRoot()), merkletest.Naive{}
		trie.Keep(past)
		start := drawStart(t)
		o := trie.Overlay()
		update(t, o, start...)
		o.Merge()
		apply(model, start)
		type moment struct {
			root  codec.Hash
			model merkletest.Naive
		}
		all := []moment{{trie.Root(), maps.Clone(model)}}
		// Whoever is left on top of whatever it is, is one more.
		leave := func(t *rapid.T, on *Trie, was merkletest.Naive) {
			c, then := drawChanges(t, 10), maps.Clone(was)
			o := on.Overlay()
			defer o.Discard()
			err := o.Update(c)
			if errors.Is(err, ErrGone) && (inCache != 0 || inPast != 0) {
				gone++
				return
			}
			require.NoError(t, err)
			known++
			apply(then, c)
			require.Equal(t, then.Root(), o.Root().String())
			o.Leave()
			all = append(all, moment{o.Root(), then})
		}
		t.Repeat(map[string]func(*rapid.T){
			"merge": func(t *rapid.T) {
				o, c := trie.Overlay(), drawChanges(t, 40)
				require.NoError(t, o.Update(c))
				o.Merge()
				apply(model, c)
				all = append(all, moment{trie.Root(), maps.Clone(model)})
			},
			"write":  func(t *rapid.T) { commit(t, e, trie) },
			"beside": func(t *rapid.T) { leave(t, trie, model) },
			"": func(t *rapid.T) {
				m := all[rapid.IntRange(0, len(all)-1).Draw(t, "moment")]
				leave(t, trie.Past(m.root), m.model)
			},
		})
		commit(t, e, trie)
		check(t, e, trie, model)
	})
	require.NotZero(t, gone)
	require.NotZero(t, known)
}

// What a store fails with is said, and not that something is gone.
func TestATrieOfThePastOfAStoreThatFails(t *testing.T) {
	e := mem.New()
	defer e.Close()
	trie := Open(NewCache(-1), e, context1, EmptyRoot())
	update(t, trie, numberedChanges(0, 300, "0")...)
	commit(t, e, trie)
	trie.Keep(NewCache(0))
	o := trie.Overlay()
	update(t, o, set(numbered(0), "1"))
	o.Leave()
	root := o.Root()
	trie.store = &failing{Getter: e, err: engine.ErrClosed}
	require.ErrorIs(t, trie.Past(root).Update([]Change{set(numbered(1), "1")}), engine.ErrClosed)
	require.ErrorIs(t, trie.Past(codec.Hash{1}).Update([]Change{set(numbered(1), "1")}), ErrGone)
}

// failing is a store of which reads fail with err.
type failing struct {
	engine.Getter
	err error
}

func (f *failing) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.Getter.Get(dst, col, key)
}

func TestAnOldSnapshotReadsItsOwnRootThroughTheSharedCache(t *testing.T) {
	e := mem.New()
	defer e.Close()
	cache := NewCache(0)
	trie := Open(cache, e, context1, EmptyRoot())
	update(t, trie, numberedChanges(0, 500, "old")...)
	commit(t, e, trie)
	old := trie.Root()
	snapshot, err := e.Snapshot()
	require.NoError(t, err)
	defer snapshot.Close()
	update(t, trie, numberedChanges(100, 700, "new")...)
	commit(t, e, trie)
	past := Open(cache, snapshot, context1, old)
	n := 0
	for l, err := range past.Leaves() {
		require.NoError(t, err)
		require.Equal(t, HashValue([]byte("old")), l.Value)
		n++
	}
	require.Equal(t, 500, n)
	v, ok, err := Open(cache, e, context1, trie.Root()).Lookup(numbered(650))
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, HashValue([]byte("new")), v)
}

func TestUpdateDemandsSortedDistinctKeys(t *testing.T) {
	trie := Open(NewCache(0), mem.New(), context1, EmptyRoot())
	a, b := set(codec.Hash{1}, ""), set(codec.Hash{2}, "")
	require.ErrorIs(t, trie.Update([]Change{b, a}), ErrChanges)
	require.ErrorIs(t, trie.Update([]Change{a, a}), ErrChanges)
	require.Equal(t, EmptyRoot(), trie.Root())
	require.NoError(t, trie.Update([]Change{a, b}))
}

// Each single bit of each row, each missing and each added row is found.
func TestDamageIsFound(t *testing.T) {
	for _, n := range []int{1, 40, 700, 9000} {
		e := mem.New()
		trie := Open(NewCache(0), e, context1, EmptyRoot())
		update(t, trie, numberedChanges(0, n, "v")...)
		commit(t, e, trie)
		require.NoError(t, Check(e, context1, trie.Root(), nil))
		all := rows(t, e)
		r := rand.New(rand.NewPCG(1, uint64(n)))
		damage := func(key, was string, now []byte) {
			var b engine.Batch
			if b.Put(column.Generic, []byte(key), now); now == nil {
				b.Reset()
				b.Delete(column.Generic, []byte(key))
			}
			require.NoError(t, e.Apply(&b))
			require.ErrorIs(t, Check(e, context1, trie.Root(), nil), engine.ErrCorrupt)
			if b.Reset(); was != "" {
				b.Put(column.Generic, []byte(key), []byte(was))
			} else {
				b.Delete(column.Generic, []byte(key))
			}
			require.NoError(t, e.Apply(&b))
		}
		for key, row := range all {
			if n == 1 || r.IntN(n/10) == 0 {
				flipped := []byte(row)
				i := r.IntN(8 * len(row))
				flipped[i/8] ^= 1 << (i % 8)
				damage(key, row, flipped)
				damage(key, row, nil)
				damage(key, row, []byte(row[:len(row)-1]))
				damage(key, row, append([]byte(row), 0))
				damage(key+"\x01\x01", "", []byte(row))
			}
		}
		require.NoError(t, Check(e, context1, trie.Root(), nil))
		require.NoError(t, e.Close())
	}
}

func TestAChangeThatNeedsDamagedRowsFailsAsCorrupt(t *testing.T) {
	e := mem.New()
	defer e.Close()
	trie := Open(NewCache(0), e, context1, EmptyRoot())
	update(t, trie, numberedChanges(0, 2000, "v")...)
	commit(t, e, trie)
	var b engine.Batch
	trie2 := Open(NewCache(0), e, context1, trie.Root())
	update(t, trie2, numberedChanges(0, 2000, "w")...)
	trie2.Write(&b)
	require.NoError(t, e.Apply(&b))
	wrong := Open(NewCache(0), e, context1, trie.Root())
	require.ErrorIs(t, wrong.Update(numberedChanges(0, 1, "x")), engine.ErrCorrupt)
}

func TestDeletingATrieLeavesOtherContextsAlone(t *testing.T) {
	e := mem.New()
	defer e.Close()
	other := codec.ContextID{2}
	for _, c := range []codec.ContextID{context1, other} {
		trie := Open(NewCache(0), e, c, EmptyRoot())
		update(t, trie, numberedChanges(0, 300, "v")...)
		commit(t, e, trie)
	}
	var b engine.Batch
	Delete(&b, context1)
	require.NoError(t, e.Apply(&b))
	root, err := readRoot(NewCache(0), e, context1)
	require.NoError(t, err)
	require.Equal(t, EmptyRoot(), root)
	root, err = readRoot(NewCache(0), e, other)
	require.NoError(t, err)
	require.NoError(t, Check(e, other, root, nil))
}

func TestTheCacheStaysWithinItsSize(t *testing.T) {
	e := mem.New()
	defer e.Close()
	const size = 1 << 20
	cache := NewCache(size)
	trie := Open(cache, e, context1, EmptyRoot())
	for i := range 20 {
		update(t, trie, numberedChanges(2000*i, 2000*i+2000, "v")...)
		commit(t, e, trie)
		require.LessOrEqual(t, cache.Bytes(), size)
	}
	require.Greater(t, cache.Bytes(), size/2)
	require.Equal(t, 0, NewCache(-1).Bytes())
}
