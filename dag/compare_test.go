package dag_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine/enginetest"
)

func TestContextsAreProvedAndCompared(t *testing.T) {
	enginetest.Check(t, 30, func(t *rapid.T) {
		g := newGrove()
		g.draw(t, rapid.IntRange(1, 15).Draw(t, "deltas"))
		s, db, closed := fresh(t, options(9))
		defer closed()
		give(t, s, g.all...)
		state := stateRows(t, db)
		for _, key := range []string{"", "a", "b", "none"} {
			e, err := s.Prove(ctx1, []byte(key))
			require.NoError(t, err)
			require.Equal(t, rootFor(t, state), e.Root)
			value, ok := state[key]
			require.Equal(t, ok, e.Value.Valid)
			if ok {
				require.Equal(t, value, string(e.Value.V))
				require.NoError(t, e.Proof.VerifyIncluded(e.Root, merkle.HashKey([]byte(key)), merkle.HashValue([]byte(value))))
			} else {
				require.NoError(t, e.Proof.VerifyAbsent(e.Root, merkle.HashKey([]byte(key))))
			}
		}

		peer, peerDB, closed := fresh(t, options(8))
		defer closed()
		give(t, peer, g.all[:rapid.IntRange(0, len(g.all)).Draw(t, "known")]...)
		theirs := stateRows(t, peerDB)
		root := rootFor(t, theirs)
		want := map[codec.Hash]bool{}
		for key, value := range state {
			if other, ok := theirs[key]; !ok || other != value {
				want[merkle.HashKey([]byte(key))] = true
			}
		}
		for key := range theirs {
			if _, ok := state[key]; !ok {
				want[merkle.HashKey([]byte(key))] = true
			}
		}
		got := map[codec.Hash]bool{}
		for d, err := range s.DiffWith(bg, ctx1, peer.Peer(ctx1), root) {
			require.NoError(t, err)
			got[d.Key] = true
		}
		require.Equal(t, want, got)
	})
}

func TestTwoContextsOfAStoreAreCompared(t *testing.T) {
	s := node(t, 1)
	require.NoError(t, s.CreateContext(ctx2, codec.ApplicationMeta{}))
	for id, actions := range map[codec.ContextID][]codec.Action{
		ctx1: {put("same", "1"), put("other", "1"), put("mine", "1")},
		ctx2: {put("same", "1"), put("other", "2"), put("theirs", "1")},
	} {
		info, err := s.Context(id)
		require.NoError(t, err)
		_, err = s.Commit(bg, dag.Commit{Context: id, Actions: actions, ReadRoot: info.Root})
		require.NoError(t, err)
	}
	got := map[codec.Hash]merkle.Difference{}
	for d, err := range s.Diff(bg, ctx1, ctx2) {
		require.NoError(t, err)
		got[d.Key] = d
	}
	one, two := codec.Some(merkle.HashValue([]byte("1"))), codec.Some(merkle.HashValue([]byte("2")))
	want := map[codec.Hash]merkle.Difference{}
	for _, d := range []merkle.Difference{
		{Key: merkle.HashKey([]byte("other")), Local: one, Remote: two},
		{Key: merkle.HashKey([]byte("mine")), Local: one},
		{Key: merkle.HashKey([]byte("theirs")), Remote: one},
	} {
		want[d.Key] = d
	}
	require.True(t, maps.Equal(want, got), "%v", got)

	for _, err := range s.DiffWith(bg, ctx1, s.Peer(ctx2), codec.Hash{1}) {
		require.ErrorIs(t, err, merkle.ErrRootGone)
	}
	for _, err := range s.Diff(bg, ctx1, codec.ContextID{9}) {
		require.ErrorIs(t, err, dag.ErrNoContext)
	}
}
