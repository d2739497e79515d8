package dag_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

func TestACommitOnAnotherRootIsAConflict(t *testing.T) {
	s := node(t, 1)
	d := commit(t, s, put("x", "1"))
	before := info(t, s)
	_, err := s.Commit(bg, dag.Commit{Context: ctx1, Actions: []codec.Action{put("x", "2")}, ReadRoot: merkle.EmptyRoot()})
	require.ErrorIs(t, err, engine.ErrConflict)
	var moved *dag.RootMoved
	require.ErrorAs(t, err, &moved)
	require.Equal(t, dag.RootMoved{Context: ctx1, Read: merkle.EmptyRoot(), Have: d.ExpectedRoot}, *moved)
	_, err = s.Commit(bg, dag.Commit{Context: ctx1, Actions: []codec.Action{put("x", "2"), put("x", "3")}, ReadRoot: d.ExpectedRoot})
	require.ErrorIs(t, err, dag.ErrRefused)
	_, err = s.Commit(bg, dag.Commit{Context: ctx2})
	require.ErrorIs(t, err, dag.ErrNoContext)
	require.Equal(t, before, info(t, s))
}

func TestACommitWritesPrivateStateAndEvents(t *testing.T) {
	db := mem.New()
	defer db.Close()
	s := open(t, db, options(1))
	require.NoError(t, s.CreateContext(ctx1, codec.ApplicationMeta{}))
	done, err := s.Commit(bg, dag.Commit{Context: ctx1, ReadRoot: merkle.EmptyRoot(), Events: []codec.Event{{Kind: "k", Data: []byte("d")}},
		Private: []codec.Action{put("p", "1"), put("q", "1"), del("p")}})
	require.NoError(t, err)
	require.Equal(t, merkle.EmptyRoot(), done.Root)
	require.Equal(t, uint64(1), done.Seq)
	d, _, err := s.Get(ctx1, done.Delta)
	require.NoError(t, err)
	require.Equal(t, []codec.Event{{Kind: "k", Data: []byte("d")}}, d.Events)
	v, err := db.Get(nil, column.PrivateState, append(ctx1[:], 'q'))
	require.NoError(t, err)
	require.Equal(t, "1", string(v))
	_, err = db.Get(nil, column.PrivateState, append(ctx1[:], 'p'))
	require.ErrorIs(t, err, engine.ErrNotFound)
}

// firstDelta returns a first delta of a node of its own.
func firstDelta(t testing.TB, i int) *dag.Delta {
	d := &dag.Delta{Context: ctx1, Actions: []codec.Action{put(fmt.Sprint("key ", i), "1")}, HLC: codec.HybridTimestamp{Time: uint64(hlc.ToNTP64(begin)), ID: codec.NodeID{Lo: uint64(1000 + i)}}}
	trie := merkle.Open(merkle.NewCache(-1), nil, ctx1, merkle.EmptyRoot())
	require.NoError(t, trie.Update([]merkle.Change{{Key: merkle.HashKey(d.Actions[0].Key), Value: merkle.HashValue(d.Actions[0].Value)}}))
	d.ExpectedRoot = trie.Root()
	return d
}

// However many first deltas there are beside each other, one commit takes all of them.
func TestACommitIsOneDeltaOnThousandsOfHeads(t *testing.T) {
	s := node(t, 1)
	var offers []dag.Offer
	for i := range 3000 {
		offers = append(offers, dag.Offer{Delta: firstDelta(t, i)})
	}
	answers, err := s.AddMany(bg, offers, engine.WAL)
	require.NoError(t, err)
	for _, a := range answers {
		require.Equal(t, dag.Applied, a.Kind)
	}
	wrong := firstDelta(t, 3000)
	wrong.ExpectedRoot[0]++
	require.Equal(t, dag.RootMismatch, add(t, s, wrong).Refusal.Reason)
	_, root, err := s.Heads(ctx1)
	require.NoError(t, err)
	done, err := s.Commit(bg, dag.Commit{Context: ctx1, Actions: []codec.Action{put("x", "1")}, ReadRoot: root})
	require.NoError(t, err)
	require.Len(t, done.Deltas, 1)
	require.Equal(t, []codec.DeltaID{done.Delta}, info(t, s).Heads)
	d, err := dag.ParseDelta(done.Deltas[0])
	require.NoError(t, err)
	require.Len(t, d.Parents, 3000)
}

// What somebody else has made beside each other takes no room from a commit.
func TestALargeCommitIsMadeOnManyHeads(t *testing.T) {
	s := node(t, 1)
	for i := range 100 {
		require.Equal(t, dag.Applied, add(t, s, firstDelta(t, i)).Kind)
	}
	c := dag.Commit{Context: ctx1, Actions: []codec.Action{put("large", "")}}
	var err error
	_, c.ReadRoot, err = s.Heads(ctx1)
	require.NoError(t, err)
	d := dag.Delta{Context: ctx1, Parents: make([]codec.DeltaID, 1), Actions: c.Actions, HLC: codec.HybridTimestamp{ID: codec.NodeID{Lo: 1}}}
	empty, err := d.AppendBinary(nil)
	require.NoError(t, err)
	c.Actions[0].Value = make([]byte, dag.MaxDelta-len(empty)+1)
	_, err = s.Commit(bg, c)
	var refusal *dag.Refusal
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, dag.OverLimit, refusal.Reason)
	require.Len(t, info(t, s).Heads, 100, "nothing is joined for what can't be")
	c.Actions[0].Value = c.Actions[0].Value[1:]
	done, err := s.Commit(bg, c)
	require.NoError(t, err)
	require.Len(t, done.Deltas, 2)
	require.Len(t, done.Deltas[1], dag.MaxDelta)
	require.Equal(t, []codec.DeltaID{done.Delta}, info(t, s).Heads)
	other := node(t, 2)
	for i := range 100 {
		add(t, other, firstDelta(t, i))
	}
	for _, wire := range done.Deltas {
		d, err := dag.ParseDelta(wire)
		require.NoError(t, err)
		require.Equal(t, dag.Applied, add(t, other, d).Kind)
	}
}

func TestManyHeadsAreJoinedByACommitOnly(t *testing.T) {
	db := mem.New()
	defer db.Close()
	o := options(1)
	o.MaxJoined = 64
	s, other := open(t, db, o), node(t, 2)
	require.NoError(t, s.CreateContext(ctx1, codec.ApplicationMeta{Package: "p"}))
	for i := range 200 { // each from a node of its own
		add(t, s, commit(t, node(t, uint64(100+i)), put(string(rune('a'+i)), "1"), put("all", string(rune('a'+i)))))
	}
	require.Len(t, info(t, s).Heads, 200)
	require.Equal(t, uint64(200), info(t, s).Applied, "nothing received makes a node write a delta")
	_, root, err := s.Heads(ctx1)
	require.NoError(t, err)
	done, err := s.Commit(bg, dag.Commit{Context: ctx1, Actions: []codec.Action{put("x", "1")}, ReadRoot: root})
	require.NoError(t, err)
	require.Len(t, done.Deltas, 4, "200 heads, 137, 74, 11")
	require.Equal(t, []codec.DeltaID{done.Delta}, info(t, s).Heads)
	// Another node that has all heads takes the joins as they are.
	for i := range 200 {
		add(t, other, commit(t, node(t, uint64(100+i)), put(string(rune('a'+i)), "1"), put("all", string(rune('a'+i)))))
	}
	for _, wire := range done.Deltas {
		d, err := dag.ParseDelta(wire)
		require.NoError(t, err)
		require.Equal(t, dag.Applied, add(t, other, d).Kind)
	}
	equal(t, s, other)
}

// A node whose clock was ten years ahead has written to a context. With the clock
// set right it goes on there, in order, and what it makes elsewhere is not held up.
func TestAContextWithADeltaFromTheFutureGoesOn(t *testing.T) {
	db := mem.New()
	defer db.Close()
	now := begin.AddDate(10, 0, 0)
	o := options(1)
	o.Now = func() time.Time { return now }
	s := open(t, db, o)
	require.NoError(t, s.CreateContext(ctx1, codec.ApplicationMeta{}))
	first := commit(t, s, put("x", "1"))
	require.NoError(t, s.Close())

	now = begin
	s = open(t, db, o)
	require.NoError(t, s.CreateContext(ctx2, codec.ApplicationMeta{}))
	second := commit(t, s, put("x", "2"))
	require.Equal(t, first.HLC.Time+1, second.HLC.Time)
	_, err := s.Commit(bg, dag.Commit{Context: ctx2, ReadRoot: merkle.EmptyRoot()})
	require.ErrorIs(t, err, hlc.ErrAhead)
	_, err = s.Clock().Confirm()
	require.NoError(t, err)
	_, err = s.Commit(bg, dag.Commit{Context: ctx2, ReadRoot: merkle.EmptyRoot()})
	require.NoError(t, err)
	third := commit(t, s, put("x", "3"))
	require.Equal(t, second.HLC.Time+1, third.HLC.Time)
	require.Empty(t, verify(t, s).Findings)

	other := node(t, 2)
	require.Equal(t, dag.TooEarly, add(t, other, first).Kind)
}
