package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"

	"pgregory.net/rapid"
)

func open(t testing.TB) *mem.Engine {
	t.Helper()
	db := mem.New()
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func do(t testing.TB, db engine.Writer, fill func(*engine.Batch)) {
	t.Helper()
	require.NoError(t, db.Apply(filled(fill)))
}

func nonceOf(group, signer byte) keys.GroupLocalGovNonce {
	return keys.GroupLocalGovNonce{Group: codec.GroupID{group}, Signer: codec.Identity{signer}}
}

func TestWhatIsPutIsGotUntilItIsDeleted(t *testing.T) {
	db := open(t)
	k := nonceOf(1, 2)
	_, err := engine.Get(db, k)
	require.ErrorIs(t, err, engine.ErrNotFound)
	requireHas(t, db, k, false)

	do(t, db, func(b *engine.Batch) { engine.Put(b, k, 7) })
	n, err := engine.Get(db, k)
	require.NoError(t, err)
	require.Equal(t, codec.Nonce(7), n)
	requireHas(t, db, k, true)
	requireHas(t, db, nonceOf(1, 3), false)

	do(t, db, func(b *engine.Batch) { engine.Delete(b, k) })
	requireHas(t, db, k, false)
}

func requireHas(t testing.TB, g engine.Getter, k keys.GroupLocalGovNonce, want bool) {
	t.Helper()
	got, err := engine.Has(g, k)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestValuesDoNotShareTheMemoryTheyPassThrough(t *testing.T) {
	db := open(t)
	a, b := keys.ContextState{AppKey: keys.NewBytes([]byte("a"))}, keys.ContextState{AppKey: keys.NewBytes([]byte("b"))}
	do(t, db, func(batch *engine.Batch) {
		engine.Put(batch, a, codec.Raw("first"))
		engine.Put(batch, b, codec.Raw("other"))
	})
	first, err := engine.Get(db, a)
	require.NoError(t, err)
	_, err = engine.Get(db, b)
	require.NoError(t, err)
	require.Equal(t, "first", string(first))
}

func TestExpectations(t *testing.T) {
	db := open(t)
	k := nonceOf(1, 2)
	swap := func(expect func(*engine.Batch), to codec.Nonce) error {
		return db.Apply(filled(func(b *engine.Batch) { expect(b); engine.Put(b, k, to) }))
	}
	absent := func(b *engine.Batch) { engine.ExpectAbsent(b, k) }
	is := func(n codec.Nonce) func(*engine.Batch) { return func(b *engine.Batch) { engine.Expect(b, k, n) } }
	require.ErrorIs(t, swap(is(0), 9), engine.ErrConflict)
	require.NoError(t, swap(absent, 1))
	require.ErrorIs(t, swap(absent, 9), engine.ErrConflict)
	require.ErrorIs(t, swap(is(2), 9), engine.ErrConflict)
	require.NoError(t, swap(is(1), 2))
	n, err := engine.Get(db, k)
	require.NoError(t, err)
	require.Equal(t, codec.Nonce(2), n)
}

func TestWhatHasNoBytesFailsTheBatch(t *testing.T) {
	db := open(t)
	good, noKey := nonceOf(1, 2), keys.Alias{Kind: 77}
	long := codec.AliasName(make([]byte, 51))
	alias := keys.GroupAlias{Group: codec.GroupID{1}}
	for name, tt := range map[string]struct {
		use  func(*engine.Batch)
		want error
	}{
		"Put, key":          {func(b *engine.Batch) { engine.Put(b, noKey, codec.AliasValue{}) }, keys.ErrLayout},
		"Put, value":        {func(b *engine.Batch) { engine.Put(b, alias, long) }, codec.ErrMalformed},
		"Delete, key":       {func(b *engine.Batch) { engine.Delete(b, noKey) }, keys.ErrLayout},
		"Expect, key":       {func(b *engine.Batch) { engine.Expect(b, noKey, codec.AliasValue{}) }, keys.ErrLayout},
		"Expect, value":     {func(b *engine.Batch) { engine.Expect(b, alias, long) }, codec.ErrMalformed},
		"ExpectAbsent, key": {func(b *engine.Batch) { engine.ExpectAbsent(b, noKey) }, keys.ErrLayout},
	} {
		t.Run(name, func(t *testing.T) {
			err := db.Apply(filled(func(b *engine.Batch) {
				engine.Put(b, good, 1)
				tt.use(b)
				engine.Put(b, good, 2)
			}))
			require.ErrorIs(t, err, tt.want)
			requireHas(t, db, good, false)
		})
	}
	_, err := engine.Get(db, noKey)
	require.ErrorIs(t, err, keys.ErrLayout)
	_, err = engine.Has(db, noKey)
	require.ErrorIs(t, err, keys.ErrLayout)
}

func TestReadsOfAClosedEngine(t *testing.T) {
	db := mem.New()
	require.NoError(t, db.Close())
	_, err := engine.Get(db, nonceOf(1, 2))
	require.ErrorIs(t, err, engine.ErrClosed)
	_, err = engine.Has(db, nonceOf(1, 2))
	require.ErrorIs(t, err, engine.ErrClosed)
	for _, err := range engine.Scan(db, keys.NoncesOf(codec.GroupID{1})) {
		require.ErrorIs(t, err, engine.ErrClosed)
	}
}

func TestACorruptRowIsNamed(t *testing.T) {
	db := open(t)
	k := nonceOf(1, 2)
	raw, err := k.AppendBinary(nil)
	require.NoError(t, err)
	do(t, db, func(b *engine.Batch) {
		engine.Put(b, nonceOf(1, 1), 5)
		b.Put(column.Group, raw, []byte("short"))
		engine.Put(b, nonceOf(1, 3), 5)
	})
	where := fmt.Sprintf("engine: corrupt: Group %x: ", raw)
	_, err = engine.Get(db, k)
	require.ErrorIs(t, err, engine.ErrCorrupt)
	require.ErrorIs(t, err, codec.ErrMalformed)
	require.ErrorContains(t, err, where)
	requireHas(t, db, k, true)

	n := 0
	for e, err := range engine.Scan(db, keys.NoncesOf(codec.GroupID{1})) {
		if n++; n == 1 {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, engine.ErrCorrupt)
		require.ErrorContains(t, err, where)
		require.Zero(t, e)
	}
	require.Equal(t, 2, n, "it ends after the error")
}

func TestAKeyThatDoesNotParseIsNamed(t *testing.T) {
	db := open(t)
	raw := append([]byte{0x2C, 1}, make([]byte, 31)...)
	do(t, db, func(b *engine.Batch) { b.Put(column.Group, raw, make([]byte, 8)) })
	for _, err := range engine.Scan(db, keys.NoncesOf(codec.GroupID{1})) {
		require.ErrorIs(t, err, engine.ErrCorrupt)
		require.ErrorIs(t, err, keys.ErrLayout)
		require.ErrorContains(t, err, fmt.Sprintf("Group %x: ", raw))
		return
	}
	t.Fatal("no error")
}

// signers returns the signers of the entries, and what each has.
func signers(t testing.TB, seq func(func(engine.Entry[keys.GroupLocalGovNonce, codec.Nonce], error) bool)) (list []byte) {
	t.Helper()
	for e, err := range seq {
		require.NoError(t, err)
		require.EqualValues(t, e.Key.Signer[0], e.Value, "value of another key")
		list = append(list, e.Key.Signer[0])
	}
	return list
}

func TestScanVisitsThePrefixInOrder(t *testing.T) {
	db := open(t)
	do(t, db, func(b *engine.Batch) {
		for _, signer := range []byte{5, 3, 255, 0} {
			for _, group := range []byte{0, 1, 2, 255} {
				engine.Put(b, nonceOf(group, signer), codec.Nonce(signer))
			}
		}
		engine.Put(b, keys.GroupMember{Group: codec.GroupID{1}}, codec.Admin)
		engine.Put(b, keys.GroupMemberAlias{Group: codec.GroupID{1}}, "x")
	})
	for _, group := range []byte{0, 1, 2, 255} {
		require.Equal(t, []byte{0, 3, 5, 255}, signers(t, engine.Scan(db, keys.NoncesOf(codec.GroupID{group}))))
	}
	require.Empty(t, signers(t, engine.Scan(db, keys.NoncesOf(codec.GroupID{7}))))
	require.Len(t, signers(t, engine.Scan(db, keys.Prefix[keys.GroupLocalGovNonce]{})), 16)
}

func TestAScanThatIsLeftEarlyClosesItsIterator(t *testing.T) {
	db := open(t)
	do(t, db, func(b *engine.Batch) { engine.Put(b, nonceOf(1, 1), 1); engine.Put(b, nonceOf(1, 2), 2) })
	for range engine.Scan(db, keys.NoncesOf(codec.GroupID{1})) {
		break
	}
	stats, err := db.Stats()
	require.NoError(t, err)
	require.Zero(t, stats.Snapshots)
}

func TestAWindowWithABoundThatHasNoBytes(t *testing.T) {
	db := open(t)
	bad := keys.Alias{Kind: 77}
	for _, w := range []engine.Window[keys.Alias]{{From: &bad}, {To: &bad}} {
		n := 0
		for e, err := range engine.ScanWindow(db, keys.Prefix[keys.Alias]{}, w) {
			require.ErrorIs(t, err, keys.ErrLayout)
			require.Zero(t, e)
			n++
		}
		require.Equal(t, 1, n)
	}
}

// TestAWindowIsThePartOfTheScanThatItSays compares ScanWindow with a list that
// is filtered, turned round and cut.
func TestAWindowIsThePartOfTheScanThatItSays(t *testing.T) {
	db := open(t)
	all := []byte{1, 2, 4, 5, 8, 250, 255}
	do(t, db, func(b *engine.Batch) {
		for group := range byte(4) {
			for _, s := range all {
				engine.Put(b, nonceOf(group, s), codec.Nonce(s))
			}
		}
	})
	enginetest.Check(t, 500, func(t *rapid.T) {
		bound := func(name string) *keys.GroupLocalGovNonce {
			if rapid.Bool().Draw(t, "no "+name) {
				return nil
			}
			// Also keys of the groups before and after.
			k := nonceOf(rapid.SampledFrom([]byte{1, 2, 2, 2, 2, 3}).Draw(t, name+" group"), rapid.SampledFrom([]byte{0, 1, 3, 4, 5, 6, 8, 250, 255}).Draw(t, name))
			return &k
		}
		w := engine.Window[keys.GroupLocalGovNonce]{
			From: bound("from"), To: bound("to"),
			Reverse: rapid.Bool().Draw(t, "reverse"),
			Limit:   rapid.IntRange(0, 9).Draw(t, "limit"),
		}
		below := func(s byte, k *keys.GroupLocalGovNonce) bool {
			return k.Group[0] > 2 || k.Group[0] == 2 && s < k.Signer[0]
		}
		var want []byte
		for _, s := range all {
			if (w.From == nil || !below(s, w.From)) && (w.To == nil || below(s, w.To)) {
				want = append(want, s)
			}
		}
		if w.Reverse {
			slices.Reverse(want)
		}
		if w.Limit > 0 && len(want) > w.Limit {
			want = want[:w.Limit]
		}
		var got []byte
		for e, err := range engine.ScanWindow(db, keys.NoncesOf(codec.GroupID{2}), w) {
			require.NoError(t, err)
			got = append(got, e.Key.Signer[0])
		}
		require.Equal(t, string(want), string(got))
	})
}

func TestChunksOfABlobAreScannedWithoutItsManifest(t *testing.T) {
	db := open(t)
	do(t, db, func(b *engine.Batch) {
		engine.Put(b, keys.BlobMeta{Blob: codec.BlobID{1}}, codec.BlobMeta{})
		for i := range uint32(3) {
			engine.Put(b, keys.BlobChunk{Blob: codec.BlobID{1}, Index: i}, codec.BlobChunk{byte(i)})
		}
	})
	var got []uint32
	for e, err := range engine.Scan(db, keys.ChunksOf(codec.BlobID{1})) {
		require.NoError(t, err)
		got = append(got, e.Key.Index)
	}
	require.Equal(t, []uint32{0, 1, 2}, got)
}
