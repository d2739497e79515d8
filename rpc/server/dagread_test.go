package server

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// line is a daemon with n deltas, each on the one before.
func line(t *testing.T, o Options, n int) (*dagDaemon, []dag.Committed) {
	d := inRoom(t, 1, o)
	var all []dag.Committed
	for i := range n {
		all = append(all, d.commit(t, fmt.Sprintf("%03d", i), "v"))
	}
	return d, all
}

func ids(all []dag.AppliedDelta) (list []codec.DeltaID) {
	for _, a := range all {
		list = append(list, a.Position.Delta)
	}
	return list
}

func TestSinceStreamsWhatAPeerLacksAndGoesOn(t *testing.T) {
	d, all := line(t, Options{}, 30)
	var unknown []codec.DeltaID
	o := dag.SinceOptions{Unknown: func(ids []codec.DeltaID) { unknown = ids }}
	got := collect(t, d.dag.Since(t.Context(), room, []codec.DeltaID{all[9].Delta, {9}}, o))
	require.Equal(t, []codec.DeltaID{{9}}, unknown)
	require.Len(t, got, 20)
	require.Equal(t, all[10].Delta, got[0].ID())
	require.EqualValues(t, 11, got[0].Seq)
	o.After = got[4].Position
	require.Equal(t, ids(got[5:]), ids(collect(t, d.dag.Since(t.Context(), room, []codec.DeltaID{all[9].Delta}, o))))
	o.After.Delta = codec.DeltaID{1}
	require.ErrorIs(t, first(d.dag.Since(t.Context(), room, nil, o)), dag.ErrPosition)

	unknown = nil
	require.Empty(t, collect(t, d.dag.Since(t.Context(), room, []codec.DeltaID{all[29].Delta, {9}}, dag.SinceOptions{Unknown: o.Unknown})))
	require.Equal(t, []codec.DeltaID{{9}}, unknown, "told where nothing is lacking too")

	stream, err := stoav1.NewDagClient(d.bare(t)).Since(t.Context(), &stoav1.DagSinceRequest{ContextId: room[:], Limit: 3, Decode: true})
	require.NoError(t, err)
	n := 0
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		for _, e := range m.GetEntries() {
			require.Equal(t, fmt.Sprintf("%03d", n), string(e.GetDecoded().GetActions()[0].GetAppKey()))
			n++
		}
	}
	require.Equal(t, 3, n)
}

func TestWalkGoesBackPageByPage(t *testing.T) {
	d, all := line(t, Options{}, 12)
	walked := collect(t, d.dag.Walk(t.Context(), room, dag.WalkOptions{}))
	require.Len(t, walked, 12)
	require.Equal(t, all[11].Delta, walked[0].Position.Delta)
	require.Equal(t, []codec.DeltaID{all[10].Delta}, walked[0].Parents)
	require.Equal(t, all[11].Root, walked[0].ExpectedRoot)
	require.EqualValues(t, len(all[11].Deltas[0]), walked[0].Size)
	require.EqualValues(t, 1, walked[0].Actions)
	part := collect(t, d.dag.Walk(t.Context(), room, dag.WalkOptions{From: []codec.DeltaID{all[5].Delta}, Before: walked[7].Position, Limit: 2}))
	require.Equal(t, walked[8:10], part)
	require.ErrorIs(t, first(d.dag.Walk(t.Context(), room, dag.WalkOptions{From: []codec.DeltaID{{1}}})), dag.ErrNoDelta)
	is, err := d.dag.IsAncestor(t.Context(), room, all[2].Delta, all[7].Delta)
	require.NoError(t, err)
	require.True(t, is)
	is, err = d.dag.IsAncestor(t.Context(), room, all[7].Delta, all[2].Delta)
	require.NoError(t, err)
	require.False(t, is)
}

func TestAWalkOfMoreThanAPageIsWhole(t *testing.T) {
	d, _ := line(t, Options{}, wire.MaxListPage+5)
	require.Len(t, collect(t, d.dag.Walk(t.Context(), room, dag.WalkOptions{})), wire.MaxListPage+5)
	require.Len(t, collect(t, d.dag.Walk(t.Context(), room, dag.WalkOptions{Limit: wire.MaxListPage + 2})), wire.MaxListPage+2)
}

func TestFollowersGoOnFromTheirCursorsAndHearOfNewDeltas(t *testing.T) {
	d, all := line(t, Options{}, 3)
	got := collect(t, d.dag.Follow(t.Context(), room, dag.FollowOptions{Cursor: "app"}))
	require.Len(t, got, 3)
	require.Equal(t, []codec.Event{{Kind: "set", Data: []byte("000")}}, got[0].Events)
	require.NoError(t, d.dag.Ack(t.Context(), room, "app", got[1].Position, engine.WAL))
	require.Len(t, collect(t, d.dag.Follow(t.Context(), room, dag.FollowOptions{Cursor: "app"})), 1)
	cursors, err := listed(d.dag.Cursors(t.Context(), room))
	require.NoError(t, err)
	require.Equal(t, []dag.Cursor{{Name: "app", Seq: 2}}, cursors)
	require.ErrorIs(t, d.dag.Ack(t.Context(), room, "", got[1].Position, engine.WAL), rpc.ErrRequest)

	ctx, cancel := context.WithCancel(t.Context())
	next, stop := iter.Pull2(d.dag.Follow(ctx, room, dag.FollowOptions{Cursor: "app", Live: true}))
	defer stop()
	a, err, ok := next()
	require.True(t, ok)
	require.NoError(t, err)
	require.Equal(t, all[2].Delta, a.ID())
	for i := range 3 {
		done := d.commit(t, fmt.Sprint("live", i), "v")
		a, err, ok = next()
		require.True(t, ok)
		require.NoError(t, err)
		require.Equal(t, done.Delta, a.ID())
	}
	cancel()
	_, err, _ = next()
	require.ErrorIs(t, err, context.Canceled)
	for _, there := range []bool{true, false} {
		existed, err := d.dag.DropCursor(t.Context(), room, "app")
		require.NoError(t, err)
		require.Equal(t, there, existed)
	}
	cursors, err = listed(d.dag.Cursors(t.Context(), room))
	require.NoError(t, err)
	require.Empty(t, cursors)
	require.Eventually(t, func() bool { return d.dagStreams.Used() == 0 }, patience, time.Millisecond)
}

func TestAFollowerDoesNotHoldUpAStop(t *testing.T) {
	d, _ := line(t, Options{}, 1)
	next, stop := iter.Pull2(d.dag.Follow(t.Context(), room, dag.FollowOptions{Live: true}))
	defer stop()
	_, err, _ := next()
	require.NoError(t, err)
	go d.stop()
	_, err, _ = next()
	require.ErrorIs(t, err, rpc.ErrUnavailable)
}

func TestProofsAndComparisonsCrossTheSocket(t *testing.T) {
	a, done := line(t, Options{}, 40)
	b := inRoom(t, 2, Options{})
	for _, c := range done[:35] {
		b.add(t, c.Deltas[0])
	}
	e, err := a.dag.Prove(t.Context(), room, []byte("007"))
	require.NoError(t, err)
	value, ok := e.Value.Get()
	require.True(t, ok)
	require.NoError(t, e.Proof.VerifyIncluded(done[39].Root, merkle.HashKey([]byte("007")), merkle.HashValue(value)))
	e, err = a.dag.Prove(t.Context(), room, []byte("none"))
	require.NoError(t, err)
	require.False(t, e.Value.Valid)
	require.NoError(t, e.Proof.VerifyAbsent(done[39].Root, merkle.HashKey([]byte("none"))))

	lacks := collect(t, b.dag.DiffWith(t.Context(), room, a.dag.Peer(room), done[39].Root))
	require.Len(t, lacks, 5)
	for _, f := range lacks {
		require.False(t, f.Local.Valid)
		require.Equal(t, merkle.HashValue([]byte("v")), f.Remote.V)
	}
	require.ErrorIs(t, first(b.dag.DiffWith(t.Context(), room, a.dag.Peer(room), codec.Hash{1})), merkle.ErrRootGone)
	require.ErrorIs(t, first(b.dag.DiffWith(t.Context(), room, b.dag.Peer(room), done[39].Root)), merkle.ErrRootGone)
	_, err = a.dag.Nodes(t.Context(), codec.ContextID{1}, &merkle.NodeRequest{Prefixes: make([]merkle.Prefix, 1)})
	require.ErrorIs(t, err, dag.ErrNoContext)

	require.NoError(t, a.dag.CreateContext(t.Context(), codec.ContextID{8}, codec.ApplicationMeta{}))
	require.Len(t, collect(t, a.dag.Diff(t.Context(), room, codec.ContextID{8})), 40)
	require.Len(t, collect(t, a.dag.Diff(t.Context(), codec.ContextID{8}, room)), 40)
	require.ErrorIs(t, first(a.dag.Diff(t.Context(), room, codec.ContextID{9})), dag.ErrNoContext)
}

func TestAContextIsSeededOverTheSocketAndVerified(t *testing.T) {
	a, done := line(t, Options{}, 20)
	a.now.Add(int64(time.Hour))
	late := a.commit(t, "late", "v")
	b := inRoom(t, 2, Options{})
	b.now.Add(int64(time.Hour))
	seeded, err := b.dag.Seed(t.Context(), room, a.dag.Snapshot(t.Context(), room, nil), dag.SeedOptions{})
	require.NoError(t, err)
	require.True(t, seeded.Adopted)
	require.Equal(t, done[19].Delta, seeded.Base)
	require.EqualValues(t, 20, seeded.Rows)
	require.EqualValues(t, 1, seeded.Deltas)
	info, err := b.dag.Context(t.Context(), room)
	require.NoError(t, err)
	require.Equal(t, late.Root, info.Root)
	require.Equal(t, done[19].Delta, info.Base)
	report, err := b.dag.Verify(t.Context(), room)
	require.NoError(t, err)
	require.Empty(t, report.Findings)
	require.Equal(t, dag.Report{Context: room, Base: seeded.Base, Deltas: 1, Rows: report.Rows, Root: late.Root, Replayed: late.Root}, report)
	require.Positive(t, report.Rows)
	require.Equal(t, dag.BeforeSnapshot, b.add(t, inRoom(t, 3, Options{}).commit(t, "x", "y").Deltas[0]).Kind)
	_, err = a.dag.Seed(t.Context(), room, b.dag.Snapshot(t.Context(), room, nil), dag.SeedOptions{})
	require.ErrorIs(t, err, dag.ErrNotEmpty)
}

func TestVerifyFindsARowThatSomebodyChanged(t *testing.T) {
	d, all := line(t, Options{Raw: true}, 3)
	b := engine.Batch{Durability: engine.WAL}
	b.Put(column.State, append(room[:], "001"...), []byte("forged"))
	require.NoError(t, d.dial(t).Store(t.Context()).Apply(&b))
	report, err := d.dag.Verify(t.Context(), room)
	require.NoError(t, err)
	require.Len(t, report.Findings, 1)
	require.Equal(t, dag.FindingState, report.Findings[0].Code)
	require.Equal(t, column.State, report.Findings[0].Column)
	require.Equal(t, append(room[:], "001"...), report.Findings[0].Key)
	require.Equal(t, all[2].Root, report.Replayed)
	_, err = d.dag.Verify(t.Context(), codec.ContextID{1})
	require.ErrorIs(t, err, dag.ErrNoContext)
}

func TestASeedThatEndsEarlyGoesOn(t *testing.T) {
	a, _ := line(t, Options{}, 1)
	for i := range 20 { // more than a window: the end is not on its way yet
		a.commit(t, fmt.Sprint("large", i), strings.Repeat("v", 512<<10))
	}
	a.now.Add(int64(time.Hour))
	b := inRoom(t, 2, Options{})
	b.now.Add(int64(time.Hour))
	parts := func(n int) iter.Seq2[*dag.SnapshotPart, error] {
		return func(yield func(*dag.SnapshotPart, error) bool) {
			for p, err := range a.dag.Snapshot(t.Context(), room, nil) {
				if n--; n < 0 || !yield(p, err) {
					return
				}
			}
		}
	}
	_, err := b.dag.Seed(t.Context(), room, parts(2), dag.SeedOptions{})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	p, begun, err := b.dag.SeedProgress(t.Context(), room)
	require.NoError(t, err)
	require.True(t, begun)
	require.Positive(t, p.Rows)
	_, err = b.dag.Seed(t.Context(), room, a.dag.Snapshot(t.Context(), room, p.Resume), dag.SeedOptions{})
	require.NoError(t, err)
	_, begun, err = b.dag.SeedProgress(t.Context(), room)
	require.NoError(t, err)
	require.False(t, begun)
	require.ErrorIs(t, first(a.dag.Snapshot(t.Context(), room, p.Resume)), dag.ErrSnapshotGone)

	c := inRoom(t, 3, Options{})
	c.now.Add(int64(time.Hour))
	_, err = c.dag.Seed(t.Context(), room, parts(1), dag.SeedOptions{})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.NoError(t, c.dag.ForgetSeed(t.Context(), room))
	_, begun, err = c.dag.SeedProgress(t.Context(), room)
	require.NoError(t, err)
	require.False(t, begun)
}
