package server

import (
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
)

// What every call returns is the same over both framings.
func TestTheDagServiceAnswersTheSameOverBothFramings(t *testing.T) {
	var heard [][]any
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		s := &dagScript{T: t, d: startDag(t, 1, Options{}), peer: startDag(t, 2, Options{})}
		s.d.dag, s.peer.dag = s.d.dialAs(t, f).Dag(), s.peer.dialAs(t, f).Dag()
		s.contexts()
		s.deltas()
		s.reads()
		s.cursors()
		s.seeds()
		heard = append(heard, s.heard)
	})
	require.Len(t, heard, 2)
	require.Equal(t, heard[0], heard[1])
}

// dagScript makes every call of the Dag service, and keeps what it hears.
type dagScript struct {
	*testing.T
	d, peer *dagDaemon
	made    []dag.Committed
	heard   []any
}

// hear keeps what a call has returned, and its error as a client sees it.
func (s *dagScript) hear(all ...any) {
	for _, v := range all {
		if err, ok := v.(error); ok {
			v = err.Error()
		}
		s.heard = append(s.heard, v)
	}
}

func everything[V any](s *dagScript, all iter.Seq2[V, error]) (list []V) {
	for v, err := range all {
		if list = append(list, v); err != nil {
			s.hear(err)
		}
	}
	s.hear(list)
	return list
}

func (s *dagScript) contexts() {
	d, other := s.d.dag, codec.ContextID{8}
	app := codec.ApplicationMeta{Package: "p", Bytecode: codec.BlobID{1}, Services: []codec.ServiceMeta{{Name: "n"}}}
	s.hear(d.CreateContext(s.T.Context(), room, app), d.CreateContext(s.T.Context(), room, app), d.CreateContext(s.T.Context(), codec.ContextID{}, app), d.CreateContext(s.T.Context(), other, app))
	_, err := d.NewContext(s.T.Context(), app)
	s.hear(err, d.SetApplication(s.T.Context(), room, codec.ApplicationMeta{Package: "q"}), s.peer.dag.CreateContext(s.T.Context(), room, app))
	for _, id := range []codec.ContextID{room, other, {9}} {
		info, err := d.Context(s.T.Context(), id)
		s.hear(info, err)
	}
	page, err := listed(d.Contexts(s.T.Context()))
	s.hear(page, err)
	s.hear(d.DeleteContext(s.T.Context(), other), d.DeleteContext(s.T.Context(), other))
	for _, both := range []bool{true, false} {
		v, err := d.BumpConfig(s.T.Context(), room, both, both)
		s.hear(v, err)
	}
	v, err := d.Config(s.T.Context(), room)
	s.hear(v, err)
}

func (s *dagScript) deltas() {
	d := s.d.dag
	for i := range 3 {
		s.made = append(s.made, s.d.commit(s, string(rune('a'+i)), "v"))
	}
	_, err := d.Commit(s.Context(), dag.Commit{Context: room})
	s.hear(s.made, err)
	offers := [][]byte{{1}, s.made[2].Deltas[0], s.made[0].Deltas[0], s.made[0].Deltas[0]}
	a, err := s.peer.dag.Add(s.Context(), offers[1], dag.AddOptions{})
	s.hear(a, err)
	a, err = s.peer.dag.Add(s.Context(), offers[2], dag.AddOptions{Claimed: codec.DeltaID{1}})
	s.hear(a, err)
	a, err = s.peer.dag.Add(s.Context(), offers[0], dag.AddOptions{})
	s.hear(a, err)
	everything(s, s.peer.dag.AddMany(s.Context(), slices.Values(offers), engine.WAL))
	missing, err := listed(s.peer.dag.Missing(s.T.Context(), room))
	s.hear(missing, err)
	pending, err := listed(s.peer.dag.Pending(s.T.Context(), room))
	s.hear(pending, err)
	refusals, err := listed(s.peer.dag.Refusals(s.T.Context(), room, 0))
	s.hear(refusals, err)
	deleted, err := d.WritePrivate(s.T.Context(), room, []codec.Action{codec.Put([]byte("k"), nil), codec.Delete([]byte("l"))}, engine.Synced)
	s.hear(deleted, err)
	_, err = d.WritePrivate(s.T.Context(), room, []codec.Action{codec.Delete([]byte("l")), codec.Delete([]byte("l"))}, engine.Synced)
	s.hear(err)
}

func (s *dagScript) reads() {
	d, ctx := s.d.dag, s.Context()
	for _, key := range []string{"a", "k", "none", string(make([]byte, 1<<20))} {
		v, err := d.State(ctx, room, []byte(key))
		s.hear(v, err)
		v, err = d.Private(ctx, room, []byte(key))
		s.hear(v, err)
		e, err := d.Prove(ctx, room, []byte(key))
		s.hear(e, err)
	}
	everything(s, d.ScanState(ctx, room, engine.Range{Start: []byte("b")}))
	everything(s, d.ScanPrivate(ctx, room, engine.Range{Reverse: true}))
	everything(s, d.ScanState(ctx, codec.ContextID{9}, engine.Range{}))
	delta, state, err := d.Get(ctx, room, s.made[1].Delta)
	s.hear(delta, state, err)
	_, _, err = d.Get(ctx, room, codec.DeltaID{1})
	s.hear(err)
	heads, root, err := d.Heads(ctx, room)
	s.hear(heads, root, err)
	since := dag.SinceOptions{Unknown: func(ids []codec.DeltaID) { s.hear(ids) }}
	everything(s, d.Since(ctx, room, []codec.DeltaID{s.made[0].Delta, {1}}, since))
	everything(s, d.Since(ctx, room, []codec.DeltaID{s.made[2].Delta, {1}}, since))
	everything(s, d.Since(ctx, codec.ContextID{9}, nil, since))
	everything(s, d.Walk(ctx, room, dag.WalkOptions{Limit: 2}))
	is, err := d.IsAncestor(ctx, room, s.made[0].Delta, s.made[2].Delta)
	s.hear(is, err)
	nodes, err := d.Nodes(ctx, room, &merkle.NodeRequest{Root: root, Prefixes: []merkle.Prefix{{}}})
	s.hear(nodes, err)
	_, theirs, err := s.peer.dag.Heads(ctx, room)
	s.hear(err)
	everything(s, d.DiffWith(ctx, room, s.peer.dag.Peer(room), theirs))
	everything(s, d.Diff(ctx, room, codec.ContextID{9}))
	report, err := d.Verify(ctx, room)
	s.hear(report, err)
	clock, err := d.Clock(ctx)
	s.hear(clock, err)
	clock, err = d.ConfirmClock(ctx)
	s.hear(clock, err)
}

func (s *dagScript) cursors() {
	d, ctx := s.d.dag, s.Context()
	s.hear(d.Ack(ctx, room, "c", dag.Position{Seq: 1}, engine.WAL), d.Ack(ctx, room, "c", dag.Position{Seq: 2, Delta: codec.DeltaID{1}}, engine.WAL),
		d.Ack(ctx, room, "", dag.Position{Seq: 1}, engine.WAL), d.Ack(ctx, codec.ContextID{9}, "c", dag.Position{}, engine.WAL))
	everything(s, d.Follow(ctx, room, dag.FollowOptions{Cursor: "c"}))
	everything(s, d.Follow(ctx, codec.ContextID{9}, dag.FollowOptions{}))
	all, err := listed(d.Cursors(ctx, room))
	s.hear(all, err)
	existed, err := d.DropCursor(ctx, room, "c")
	s.hear(existed, err)
	existed, err = d.DropCursor(ctx, room, "c")
	s.hear(existed, err)
}

func (s *dagScript) seeds() {
	d, ctx, other := s.d.dag, s.Context(), s.peer.dag
	_, err := other.Seed(ctx, room, d.Snapshot(ctx, room, nil), dag.SeedOptions{})
	s.hear(err)
	done, err := other.Seed(ctx, room, d.Snapshot(ctx, room, nil), dag.SeedOptions{Replace: true})
	s.hear(done, err)
	p, begun, err := other.SeedProgress(ctx, room)
	s.hear(p, begun, err, other.ForgetSeed(ctx, room))
	info, err := other.Context(ctx, room)
	s.hear(info, err)
	everything(s, d.Snapshot(ctx, codec.ContextID{9}, nil))
}
