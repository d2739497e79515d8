package server

import (
	"context"
	"iter"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/content"
	"github.com/stoadb/stoa/namespace/exchange"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
)

// contentDaemon is a daemon under test that has contexts and governs.
type contentDaemon struct {
	*govDaemon
	client  *rpc.Client
	dag     *rpc.Dag
	content *rpc.Content
}

func startContent(t *testing.T, framing rpc.Framing, node uint64, o Options) *contentDaemon {
	t.Helper()
	eng := mem.New()
	contexts, err := dag.Open(eng, dag.Options{Node: codec.NodeID{Lo: node}})
	require.NoError(t, err)
	ops, err := namespace.Open(eng, namespace.Options{})
	require.NoError(t, err)
	o.Dag, o.Namespaces = contexts, ops
	d := &contentDaemon{govDaemon: &govDaemon{testDaemon: start(t, eng, o)}}
	t.Cleanup(func() { // before the engine is closed
		d.stop()
		require.NoError(t, contexts.Close())
		require.NoError(t, ops.Close())
	})
	c, err := rpc.Dial(t.Context(), d.path, rpc.WithFraming(framing))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	d.client, d.Namespaces, d.groups, d.dag, d.content = c, c.Namespaces(), c.Groups(), c.Dag(), c.Content()
	return d
}

func (d *contentDaemon) propose(t *testing.T, ns codec.GroupID, op codec.GroupOp) {
	t.Helper()
	_, _, err := d.Propose(t.Context(), ns, namespace.Proposal{GroupID: ns, Group: &op})
	require.NoError(t, err)
}

func (d *contentDaemon) commit(t *testing.T, key, value string) (content.Committed, error) {
	t.Helper()
	_, root, err := d.dag.Heads(t.Context(), room)
	require.NoError(t, err)
	return d.dag.Commit(t.Context(), dag.Commit{Context: room, ReadRoot: root, Actions: []codec.Action{codec.Put([]byte(key), []byte(value))}})
}

// sync has two daemons have a session, and returns what came here and went there of the room.
func (d *contentDaemon) sync(t *testing.T, other *contentDaemon) (here, there *exchange.Report) {
	t.Helper()
	a, err := d.client.Sync(t.Context(), rpc.SyncOptions{Initiator: true})
	require.NoError(t, err)
	b, err := other.client.Sync(t.Context(), rpc.SyncOptions{})
	require.NoError(t, err)
	carry(t, a, b)
	here, err = a.Report()
	require.NoError(t, err)
	there, err = b.Report()
	require.NoError(t, err)
	return here, there
}

// Two daemons exchange what members write; what a removed one adds is set aside, and adopted.
func TestSignedDeltasGoOverTheSocket(t *testing.T) {
	everyFraming(t, func(t *testing.T, framing rpc.Framing) {
		a, b := startContent(t, framing, 1, Options{}), startContent(t, framing, 2, Options{})
		ns, _, err := a.Create(t.Context(), namespace.Create{})
		require.NoError(t, err)
		bob := joined(t, a.govDaemon, b.govDaemon, ns)
		a.propose(t, ns, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: room})
		done, err := a.commit(t, "a", "1")
		require.NoError(t, err)
		require.Empty(t, done.Deltas)
		require.Len(t, done.Envelopes, 1)
		_, there := a.sync(t, b)
		require.Equal(t, []exchange.ContextReport{{ID: room, Exchange: content.Exchange{Counts: 1}, Level: true}}, there.Namespaces[0].Contexts)
		own, err := b.content.EnvelopeOf(t.Context(), room, done.Delta)
		require.NoError(t, err)
		require.Equal(t, done.Envelopes[0], own, "it is built anew as it was")
		heads, err := b.content.Heads(t.Context(), room)
		require.NoError(t, err)
		again, err := b.content.Envelope(t.Context(), room, heads[0])
		require.NoError(t, err)
		require.Equal(t, own, again)
		_, err = b.content.Envelope(t.Context(), room, codec.EnvelopeID{1})
		require.ErrorIs(t, err, content.ErrNoEnvelope)
		require.Equal(t, codes.NotFound, status.Code(err))

		a.propose(t, ns, codec.GroupOp{Kind: codec.OpMemberRemoved, Member: bob})
		_, err = a.content.Vouch(t.Context(), room)
		require.NoError(t, err)
		late, err := b.commit(t, "a", "late")
		require.NoError(t, err)
		answers, err := a.content.Offer(t.Context(), room, late.Envelopes)
		require.NoError(t, err)
		require.Equal(t, content.SetAside, answers[0].Kind)
		require.Equal(t, late.Delta, answers[0].Delta)
		held, err := a.content.Held(t.Context(), room)
		require.NoError(t, err)
		require.Len(t, held, 1)
		require.Equal(t, bob, held[0].Author)
		_, err = a.content.Adopt(t.Context(), room, []codec.EnvelopeID{held[0].ID})
		require.NoError(t, err)
		value, err := a.dag.State(t.Context(), room, []byte("a"))
		require.NoError(t, err)
		require.Equal(t, "late", string(value))

		here, there := b.sync(t, a)
		require.True(t, there.Namespaces[0].Stranger)
		require.Equal(t, 1, here.Namespaces[0].Stored, "he is told that he was removed, and gets nothing more")
		require.Zero(t, here.Namespaces[0].Contexts[0].Exchange)
		_, err = namespace.Sync(t.Context(), ns, a, b)
		require.NoError(t, err)
		_, err = b.commit(t, "a", "later")
		require.ErrorIs(t, err, namespace.ErrNotWriter)
		_, err = a.content.Offer(t.Context(), codec.ContextID{99}, late.Envelopes)
		require.ErrorIs(t, err, namespace.ErrNoContext)
		answers, err = a.content.Offer(t.Context(), room, [][]byte{[]byte("none")})
		require.NoError(t, err)
		require.Equal(t, content.Refused, answers[0].Kind)
		require.Zero(t, answers[0].ID)
		_, err = a.content.Offer(t.Context(), room, slices.Repeat([][]byte{{1}}, rpc.MaxOffered+1))
		require.Equal(t, codes.InvalidArgument, status.Code(err))
	})
}

// What governance says of deltas is so soon after it is known, whoever asks for what.
func TestARemovalThatComesSetsAsideByItself(t *testing.T) {
	a, b := startContent(t, rpc.FramingFrames, 1, Options{}), startContent(t, rpc.FramingFrames, 2, Options{})
	c := startContent(t, rpc.FramingFrames, 3, Options{})
	ns, _, err := a.Create(t.Context(), namespace.Create{})
	require.NoError(t, err)
	a.propose(t, ns, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: room})
	bob := joined(t, a.govDaemon, b.govDaemon, ns)
	joined(t, a.govDaemon, c.govDaemon, ns)
	_, err = a.commit(t, "a", "1")
	require.NoError(t, err)
	a.sync(t, b)
	a.propose(t, ns, codec.GroupOp{Kind: codec.OpMemberRemoved, Member: bob})
	_, err = a.content.Vouch(t.Context(), room)
	require.NoError(t, err)
	_, err = b.commit(t, "a", "beside")
	require.NoError(t, err)
	b.sync(t, c)
	value, err := c.dag.State(t.Context(), room, []byte("a"))
	require.NoError(t, err)
	require.Equal(t, "beside", string(value), "c knows of no removal")

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	next, stop := iter.Pull2(c.dag.Follow(ctx, room, dag.FollowOptions{Live: true, From: 2}))
	defer stop()
	a.sync(t, c)
	for {
		e, err, more := next()
		require.True(t, more)
		require.NoError(t, err)
		if e.Withdrawn {
			break
		}
	}
	value, err = c.dag.State(t.Context(), room, []byte("a"))
	require.NoError(t, err)
	require.Equal(t, "1", string(value))
}

// A delta without an envelope is none of a signed context, and needs the role in any that a group has.
func TestBareDeltasAreOfTheirContexts(t *testing.T) {
	var uid atomic.Uint32
	table := peers(map[uint32]access.Rights{0: mayAll, 4242: {Roles: access.All &^ access.Operator}}, nil)
	d := startContent(t, rpc.FramingFrames, 1, Options{Peers: table, peerOf: func(net.Conn) (demux.Peer, error) { return demux.Peer{UID: uid.Load()}, nil }})
	other := startDag(t, 2, Options{})
	require.NoError(t, other.dag.CreateContext(t.Context(), room, codec.ApplicationMeta{}))
	bare := other.commit(t, "bare", "1").Deltas[0]
	ns, _, err := d.Create(t.Context(), namespace.Create{})
	require.NoError(t, err)
	d.propose(t, ns, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: room})

	uid.Store(4242)
	c := d.dial(t)
	both := func() (one, many error) {
		_, one = c.Dag().Add(t.Context(), bare, dag.AddOptions{})
		for _, err := range c.Dag().AddMany(t.Context(), slices.Values([][]byte{bare}), engine.WAL) {
			many = err
		}
		return one, many
	}
	one, many := both()
	require.ErrorIs(t, one, rpc.ErrRole)
	require.ErrorIs(t, many, rpc.ErrRole)

	_, err = d.commit(t, "a", "1")
	require.NoError(t, err)
	one, many = both()
	require.ErrorIs(t, one, content.ErrSigned)
	require.ErrorIs(t, many, content.ErrSigned)
	_, err = d.dag.Seed(t.Context(), room, other.dag.Snapshot(t.Context(), room, nil), dag.SeedOptions{Replace: true})
	require.ErrorIs(t, err, content.ErrSigned, "a snapshot has no envelopes")
	require.Equal(t, codes.FailedPrecondition, status.Code(one))
}
