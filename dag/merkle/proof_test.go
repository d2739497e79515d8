package merkle

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag/merkle/merkletest"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
)

// heldProof is a proof with what it is about.
type heldProof struct {
	root, key, value codec.Hash
	bytes            []byte
}

// verify demands what an honest holder of root would ask.
func (h heldProof) verify() error {
	p, err := ParseProof(h.bytes)
	if err != nil {
		return err
	}
	if p.Included() {
		return p.VerifyIncluded(h.root, h.key, h.value)
	}
	return p.VerifyAbsent(h.root, h.key)
}

func prove(t require.TestingT, trie *Trie, key codec.Hash) heldProof {
	p, err := trie.Prove(key)
	require.NoError(t, err)
	b, err := p.AppendBinary(nil)
	require.NoError(t, err)
	require.Less(t, len(b), MaxProof)
	back, err := ParseProof(b)
	require.NoError(t, err)
	again, err := back.AppendBinary(nil)
	require.NoError(t, err)
	require.Equal(t, b, again)
	value, found, err := trie.Lookup(key)
	require.NoError(t, err)
	require.Equal(t, found, p.Included())
	return heldProof{root: trie.Root(), key: key, value: value, bytes: b}
}

func TestProofsHoldAndNoMutationOfThemDoes(t *testing.T) {
	enginetest.Check(t, 100, func(t *rapid.T) {
		e := mem.New()
		defer e.Close()
		trie := Open(NewCache(0), e, context1, EmptyRoot())
		model, start := merkletest.Naive{}, drawStart(t)
		update(t, trie, start...)
		apply(model, start)
		if rapid.Bool().Draw(t, "near") {
			near := drawChanges(t, 60)
			require.NoError(t, trie.Update(near))
			apply(model, near)
		}
		key := drawKey(t)
		h := prove(t, trie, key)
		require.NoError(t, h.verify())
		require.Equal(t, model.Proof(key.String()), hex.EncodeToString(h.bytes))

		flip := func(b []byte) {
			i := rapid.IntRange(0, 8*len(b)-1).Draw(t, "bit")
			b[i/8] ^= 1 << (i % 8)
		}
		m := h
		m.bytes = append([]byte(nil), h.bytes...)
		flip(m.bytes)
		require.Error(t, m.verify(), "another proof")
		m = h
		flip(m.root[:])
		require.ErrorIs(t, m.verify(), ErrProof, "another root")
		p, err := ParseProof(h.bytes)
		require.NoError(t, err)
		m = h
		if p.Included() {
			flip(m.value[:])
			require.ErrorIs(t, m.verify(), ErrProof, "another value")
			require.ErrorIs(t, p.VerifyAbsent(h.root, h.key), ErrProof)
			m = h
			flip(m.key[:])
			require.ErrorIs(t, m.verify(), ErrProof, "another key")
		} else {
			require.ErrorIs(t, p.VerifyIncluded(h.root, h.key, h.value), ErrProof)
			// A proof of absence may well show the absence of another key, but
			// never that of one that is there.
			for l, err := range trie.Leaves() {
				require.NoError(t, err)
				require.ErrorIs(t, p.VerifyAbsent(h.root, l.Key), ErrProof)
			}
		}
		for _, cut := range [][]byte{h.bytes[:len(h.bytes)-1], append(h.bytes[:len(h.bytes):len(h.bytes)], 0)} {
			m = h
			m.bytes = cut
			require.ErrorIs(t, m.verify(), codec.ErrMalformed)
		}
	})
}

// The value of a leaf that is a key and a value of 64 bytes, and a branch that
// looks like one, have other hashes.
// A branch of a proof has every child but the one on the way of the key. One that
// has that, too, leads to the root whatever is claimed to stand there.
func TestABranchWithTheKeysOwnPlaceProvesNothing(t *testing.T) {
	e := mem.New()
	defer e.Close()
	trie := Open(NewCache(0), e, context1, EmptyRoot())
	one, two, value := codec.Hash{0x10}, codec.Hash{0x20}, codec.Hash{1}
	update(t, trie, Change{Key: one, Value: value}, Change{Key: two, Value: value})
	p, err := trie.Prove(one)
	require.NoError(t, err)
	require.NoError(t, p.VerifyIncluded(trie.Root(), one, value))
	p.steps[0].bits |= 1 << 1
	p.steps[0].siblings = []codec.Hash{leafHash(&one, &value), leafHash(&two, &value)}
	require.ErrorIs(t, p.VerifyIncluded(trie.Root(), one, codec.Hash{2}), ErrProof)
	require.ErrorIs(t, p.VerifyIncluded(trie.Root(), one, value), ErrProof)
	absent := Proof{kind: proofLeaf, steps: p.steps, other: node{key: codec.Hash{0x1f}, value: value}}
	require.ErrorIs(t, absent.VerifyAbsent(trie.Root(), codec.Hash{0x1e}), ErrProof)
}

func TestKindsOfNodesDoNotShareHashes(t *testing.T) {
	key, value := HashKey([]byte("k")), HashValue([]byte("v"))
	leaf := leafHash(&key, &value)
	require.NotEqual(t, HashValue(append(key[:], value[:]...)), leaf)
	var w branchHasher
	w.start((*[32]byte)(&key), 0)
	w.add(1, &key)
	w.add(2, &value)
	require.NotEqual(t, leaf, w.sum())
	require.NotEqual(t, EmptyRoot(), codec.Hash{})
	require.NotEqual(t, EmptyRoot(), HashKey(nil))
}

func FuzzParseProof(f *testing.F) {
	e := mem.New()
	trie := Open(NewCache(0), e, context1, EmptyRoot())
	add := func(key codec.Hash) {
		p, err := trie.Prove(key)
		require.NoError(f, err)
		b, err := p.AppendBinary(nil)
		require.NoError(f, err)
		f.Add(b)
	}
	add(numbered(0))
	for _, n := range []int{1, 2, 300} {
		update(f, trie, numberedChanges(0, n, "v")...)
		for key := range 20 {
			add(numbered(key))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParseProof(b)
		if err != nil {
			require.ErrorIs(t, err, codec.ErrMalformed)
			require.Nil(t, p)
			return
		}
		again, err := p.AppendBinary(nil)
		require.NoError(t, err)
		require.Equal(t, b, again)
		require.Less(t, len(b), MaxProof)
		for n := range 300 {
			if !p.Included() {
				_ = p.VerifyAbsent(trie.Root(), numbered(n+200))
				require.False(t, n < 300 && p.VerifyAbsent(trie.Root(), numbered(n)) == nil, "shows a lie")
			} else if p.VerifyIncluded(trie.Root(), numbered(n), codec.Hash{}) == nil {
				t.Fatal("shows a lie")
			}
		}
	})
}
