package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// dagDaemon is a daemon under test that serves contexts.
type dagDaemon struct {
	*testDaemon
	dag *rpc.Dag
	now *atomic.Int64 // its clock, in unix nanoseconds
}

// startDag serves the contexts of an engine in memory.
func startDag(t testing.TB, node uint64, o Options) *dagDaemon {
	t.Helper()
	return startDagOn(t, node, o, nil)
}

// startDagOn is startDag on a machine that has an uptime, if that is not nil.
func startDagOn(t testing.TB, node uint64, o Options, uptime *hlc.Uptime) *dagDaemon {
	t.Helper()
	d := &dagDaemon{now: new(atomic.Int64)}
	d.now.Store(1_700_000_000e9)
	eng := mem.New()
	store, err := dag.Open(eng, dag.Options{Node: codec.NodeID{Lo: node}, Now: func() time.Time { return time.Unix(0, d.now.Load()) },
		Uptime: uptime})
	require.NoError(t, err)
	o.Dag = store
	d.testDaemon = start(t, eng, o)
	t.Cleanup(func() { // before the engine is closed
		d.stop()
		require.NoError(t, store.Close())
	})
	d.dag = d.dial(t).Dag()
	return d
}

var room = codec.ContextID{7}

// inRoom is startDag with a context.
func inRoom(t testing.TB, node uint64, o Options) *dagDaemon {
	d := startDag(t, node, o)
	require.NoError(t, d.dag.CreateContext(t.Context(), room, codec.ApplicationMeta{}))
	return d
}

// commit commits one value on the present root.
func (d *dagDaemon) commit(t testing.TB, key, value string) dag.Committed {
	t.Helper()
	_, root, err := d.dag.Heads(t.Context(), room)
	require.NoError(t, err)
	done, err := d.dag.Commit(t.Context(), dag.Commit{
		Context: room, Actions: []codec.Action{codec.Put([]byte(key), []byte(value))},
		Events: []codec.Event{{Kind: "set", Data: []byte(key)}}, ReadRoot: root, Durability: engine.WAL,
	})
	require.NoError(t, err)
	return done.Committed
}

func (d *dagDaemon) add(t testing.TB, delta []byte) dag.Answer {
	t.Helper()
	a, err := d.dag.Add(t.Context(), delta, dag.AddOptions{})
	require.NoError(t, err)
	return a
}

func TestContextsAreMadeListedAndDeleted(t *testing.T) {
	d := startDag(t, 1, Options{})
	app := codec.ApplicationMeta{ApplicationID: codec.ApplicationID{1}, Bytecode: codec.BlobID{2}, Size: 3, Source: "s", Metadata: []byte{4},
		Package: "p", Version: "v", SignerID: "i", Services: []codec.ServiceMeta{{Name: "n", Bytecode: codec.BlobID{5}, Compiled: codec.BlobID{6}}}}
	for i := range 3 {
		require.NoError(t, d.dag.CreateContext(t.Context(), codec.ContextID{byte(i + 1)}, app))
	}
	require.ErrorIs(t, d.dag.CreateContext(t.Context(), codec.ContextID{1}, app), dag.ErrExists)
	require.ErrorIs(t, d.dag.CreateContext(t.Context(), codec.ContextID{}, app), rpc.ErrRequest)
	info, err := d.dag.Context(t.Context(), codec.ContextID{1})
	require.NoError(t, err)
	require.Equal(t, app, info.Application)
	require.NoError(t, d.dag.SetApplication(t.Context(), codec.ContextID{1}, codec.ApplicationMeta{Package: "q"}))
	info, err = d.dag.Context(t.Context(), codec.ContextID{1})
	require.NoError(t, err)
	require.Equal(t, "q", info.Application.Package)

	all := collect(t, d.dag.Contexts(t.Context()))
	require.Len(t, all, 3)
	require.Equal(t, codec.ContextID{3}, all[2].ID)

	require.NoError(t, d.dag.DeleteContext(t.Context(), codec.ContextID{1}))
	err = d.dag.DeleteContext(t.Context(), codec.ContextID{1})
	require.ErrorIs(t, err, dag.ErrNoContext)
	require.Equal(t, codes.NotFound, status.Code(err))
	var e *rpc.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, codec.ContextID{1}.String(), e.Fields[fault.FieldContext])
}

func TestCallsOnAContextThatIsNotThereSaySo(t *testing.T) {
	d := startDag(t, 1, Options{})
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"context":         func() error { _, err := d.dag.Context(ctx, room); return err },
		"set application": func() error { return d.dag.SetApplication(ctx, room, codec.ApplicationMeta{}) },
		"config":          func() error { _, err := d.dag.Config(ctx, room); return err },
		"bump":            func() error { _, err := d.dag.BumpConfig(ctx, room, true, false); return err },
		"state":           func() error { _, err := d.dag.State(ctx, room, nil); return err },
		"private":         func() error { _, err := d.dag.Private(ctx, room, nil); return err },
		"write private": func() error {
			_, err := d.dag.WritePrivate(ctx, room, []codec.Action{codec.Delete(nil)}, engine.WAL)
			return err
		},
		"scan":     func() error { return first(d.dag.ScanState(ctx, room, engine.Range{})) },
		"commit":   func() error { _, err := d.dag.Commit(ctx, dag.Commit{Context: room}); return err },
		"get":      func() error { _, _, err := d.dag.Get(ctx, room, codec.DeltaID{1}); return err },
		"heads":    func() error { _, _, err := d.dag.Heads(ctx, room); return err },
		"missing":  func() error { _, err := listed(d.dag.Missing(ctx, room)); return err },
		"pending":  func() error { _, err := listed(d.dag.Pending(ctx, room)); return err },
		"refusals": func() error { _, err := listed(d.dag.Refusals(ctx, room, 0)); return err },
	} {
		require.ErrorIs(t, call(), dag.ErrNoContext, name)
	}
}

// first returns the error of the first that a sequence yields.
func first[T any](all func(func(T, error) bool)) (err error) {
	for _, err = range all {
		break
	}
	return err
}

func TestACommitIsReadBackAndGossiped(t *testing.T) {
	a, b := inRoom(t, 1, Options{}), inRoom(t, 2, Options{})
	one := a.commit(t, "k", "1")
	two := a.commit(t, "k", "2")
	v, err := a.dag.State(t.Context(), room, []byte("k"))
	require.NoError(t, err)
	require.Equal(t, "2", string(v))
	_, err = a.dag.State(t.Context(), room, []byte("none"))
	require.ErrorIs(t, err, engine.ErrNotFound)
	heads, root, err := a.dag.Heads(t.Context(), room)
	require.NoError(t, err)
	require.Len(t, heads, 1)
	require.Equal(t, two.Delta, heads[0].ID)
	require.EqualValues(t, 2, heads[0].Seq)
	require.EqualValues(t, 1, heads[0].HLC.ID.Lo)
	require.Equal(t, two.Root, root)

	pending := b.add(t, two.Deltas[0])
	require.Equal(t, dag.Pending, pending.Kind)
	require.Equal(t, []codec.DeltaID{one.Delta}, pending.Missing)
	missing, err := listed(b.dag.Missing(t.Context(), room))
	require.NoError(t, err)
	require.Equal(t, []codec.DeltaID{one.Delta}, missing)
	waits, err := listed(b.dag.Pending(t.Context(), room))
	require.NoError(t, err)
	require.Len(t, waits, 1)
	require.Equal(t, two.Delta, waits[0].ID)
	require.EqualValues(t, len(two.Deltas[0]), waits[0].Bytes)
	_, state, err := b.dag.Get(t.Context(), room, two.Delta)
	require.NoError(t, err)
	require.Equal(t, dag.StatePending, state)

	applied := b.add(t, one.Deltas[0])
	require.Equal(t, dag.Applied, applied.Kind)
	require.Equal(t, []codec.DeltaID{one.Delta, two.Delta}, applied.Applied)
	require.Equal(t, two.Root, applied.Root)
	require.EqualValues(t, 1, applied.Seq)
	require.Equal(t, dag.Duplicate, b.add(t, one.Deltas[0]).Kind)
	got, state, err := b.dag.Get(t.Context(), room, two.Delta)
	require.NoError(t, err)
	require.Equal(t, dag.StateApplied, state)
	require.Equal(t, two.Delta, got.ID())
	require.Equal(t, []codec.Event{{Kind: "set", Data: []byte("k")}}, got.Events)
	_, _, err = b.dag.Get(t.Context(), room, codec.DeltaID{9})
	require.ErrorIs(t, err, dag.ErrNoDelta)
}

func TestACommitOnARootThatHasMovedIsAConflictThatNamesBoth(t *testing.T) {
	d := inRoom(t, 1, Options{})
	_, empty, err := d.dag.Heads(t.Context(), room)
	require.NoError(t, err)
	done := d.commit(t, "k", "1")
	_, err = d.dag.Commit(t.Context(), dag.Commit{Context: room, ReadRoot: empty})
	require.ErrorIs(t, err, engine.ErrConflict)
	require.Equal(t, codes.Aborted, status.Code(err))
	var moved *dag.RootMoved
	require.ErrorAs(t, err, &moved)
	require.Equal(t, &dag.RootMoved{Context: room, Read: empty, Have: done.Root}, moved)
}

func TestACommitWritesPrivateStateInTheSameBatch(t *testing.T) {
	d := inRoom(t, 1, Options{})
	_, root, err := d.dag.Heads(t.Context(), room)
	require.NoError(t, err)
	_, err = d.dag.Commit(t.Context(), dag.Commit{Context: room, ReadRoot: root, Private: []codec.Action{codec.Put([]byte("p"), nil)}})
	require.NoError(t, err)
	v, err := d.dag.Private(t.Context(), room, []byte("p"))
	require.NoError(t, err)
	require.Empty(t, v)
}

func TestADeltaFromAheadOfTheClockIsEarlyAndACommitBehindItOnlyWhereItIs(t *testing.T) {
	a, b := inRoom(t, 1, Options{}), inRoom(t, 2, Options{})
	a.now.Add(int64(9 * time.Second))
	ahead := a.commit(t, "k", "1")
	early := b.add(t, ahead.Deltas[0])
	require.Equal(t, dag.TooEarly, early.Kind)
	require.InDelta(t, 4*time.Second, early.RetryAfter, float64(time.Second))
	b.now.Add(int64(5 * time.Second))
	require.Equal(t, dag.Applied, b.add(t, ahead.Deltas[0]).Kind)
	b.now.Add(-int64(5 * time.Second))
	_, err := b.dag.Commit(t.Context(), dag.Commit{Context: room, ReadRoot: ahead.Root})
	require.NoError(t, err, "the context goes on after what it has")
	other := codec.ContextID{8}
	require.NoError(t, b.dag.CreateContext(t.Context(), other, codec.ApplicationMeta{}))
	_, err = b.dag.Commit(t.Context(), dag.Commit{Context: other, ReadRoot: merkle.EmptyRoot()})
	require.ErrorIs(t, err, hlc.ErrAhead)
	var e *hlc.Ahead
	require.ErrorAs(t, err, &e)
	require.True(t, e.Next.After(e.Physical))
	require.Positive(t, e.RetryAfter)
}

func TestRefusalsAreTypedAndListed(t *testing.T) {
	a, b := inRoom(t, 1, Options{}), inRoom(t, 2, Options{})
	done := a.commit(t, "k", "1")
	wrong, err := dag.ParseDelta(done.Deltas[0])
	require.NoError(t, err)
	wrong.ExpectedRoot = codec.Hash{1}
	bytes, err := wrong.AppendBinary(nil)
	require.NoError(t, err)
	answer := b.add(t, bytes)
	require.Equal(t, dag.Refused, answer.Kind)
	require.Equal(t, dag.RootMismatch, answer.Refusal.Reason)
	require.Equal(t, wrong.ID(), answer.Refusal.Delta)
	require.Equal(t, codec.Hash{1}, answer.Refusal.Expected)
	require.Equal(t, done.Root, answer.Refusal.Computed)
	list, err := listed(b.dag.Refusals(t.Context(), room, 0))
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, *answer.Refusal, list[0].Refusal)
	list, err = listed(b.dag.Refusals(t.Context(), room, list[0].Seq))
	require.NoError(t, err)
	require.Empty(t, list)

	answer = b.add(t, []byte("no delta"))
	require.Equal(t, dag.BadForm, answer.Refusal.Reason)
	answer = b.add(t, make([]byte, dag.MaxDelta+1))
	require.Equal(t, dag.OverLimit, answer.Refusal.Reason)
	answer, err = b.dag.Add(t.Context(), done.Deltas[0], dag.AddOptions{Claimed: codec.DeltaID{1}})
	require.NoError(t, err)
	require.Equal(t, dag.BadID, answer.Refusal.Reason)

	_, err = a.dag.Commit(t.Context(), dag.Commit{Context: room, ReadRoot: done.Root, Actions: []codec.Action{codec.Put([]byte("x"), nil), codec.Delete([]byte("x"))}})
	require.ErrorIs(t, err, dag.ErrRefused)
	var refusal *dag.Refusal
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, dag.BadForm, refusal.Reason)
	_, err = a.dag.Commit(t.Context(), dag.Commit{Context: room, ReadRoot: done.Root, Events: []codec.Event{{Kind: "\xff"}}})
	require.ErrorIs(t, err, codec.ErrMalformed)
}

func TestAddManyAnswersInOrderAndGoesOnAfterAnError(t *testing.T) {
	a, b := inRoom(t, 1, Options{}), inRoom(t, 2, Options{})
	var sent [][]byte
	for i := range 300 {
		sent = append(sent, a.commit(t, fmt.Sprint(i), "v").Deltas...)
	}
	slices.Reverse(sent[100:200])
	stray := dag.Delta{Context: codec.ContextID{9}, HLC: codec.HybridTimestamp{Time: 1, ID: codec.NodeID{Lo: 1}}}
	elsewhere, err := stray.AppendBinary(nil)
	require.NoError(t, err)
	sent = slices.Insert(sent, 50, []byte("no delta"), elsewhere)

	var kinds []dag.AnswerKind
	applied := 0
	for answer, err := range b.dag.AddMany(t.Context(), slices.Values(sent), engine.WAL) {
		n := len(kinds)
		kinds = append(kinds, answer.Kind)
		if n == 51 {
			require.ErrorIs(t, err, dag.ErrNoContext)
			continue
		}
		require.NoError(t, err)
		applied += len(answer.Applied)
		if n != 50 {
			d, err := dag.ParseDelta(sent[n])
			require.NoError(t, err)
			require.Equal(t, d.ID(), answer.ID, n)
		}
	}
	require.Len(t, kinds, len(sent))
	require.Equal(t, dag.Refused, kinds[50])
	require.Equal(t, dag.Pending, kinds[102])
	require.Equal(t, 300, applied)
	_, root, err := a.dag.Heads(t.Context(), room)
	require.NoError(t, err)
	_, same, err := b.dag.Heads(t.Context(), room)
	require.NoError(t, err)
	require.Equal(t, root, same)
}

func TestAddManyEndsForAClientThatTakesNoAnswers(t *testing.T) {
	d := inRoom(t, 1, Options{SessionIdle: 200 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := stoav1.NewDagClient(d.bare(t)).AddMany(ctx)
	require.NoError(t, err)
	sent := make(chan struct{})
	go func() { // until the windows and the queue are full
		defer close(sent)
		for stream.Send(&stoav1.DagAddManyRequest{Delta: []byte("no delta")}) == nil {
		}
	}()
	_, err = stream.Recv() // one answer, so that it has begun
	require.NoError(t, err)
	require.Eventually(t, func() bool { return d.dagStreams.Used() == 0 }, patience, time.Millisecond)
	cancel()
	<-sent
	awaitNoRequests(t, d.inFlight)
}

func TestConfigCountersAreRaisedByOneEach(t *testing.T) {
	d := inRoom(t, 1, Options{})
	v, err := d.dag.Config(t.Context(), room)
	require.NoError(t, err)
	require.Zero(t, v)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			if _, err := d.dag.BumpConfig(t.Context(), room, true, i%2 == 0); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	v, err = d.dag.Config(t.Context(), room)
	require.NoError(t, err)
	require.Equal(t, codec.ContextConfigValue{ApplicationRevision: 40, MembersRevision: 20}, v)
	_, err = d.dag.BumpConfig(t.Context(), room, false, false)
	require.ErrorIs(t, err, rpc.ErrRequest)
}

func TestStatesAreScannedWithinTheirContext(t *testing.T) {
	d := inRoom(t, 1, Options{})
	require.NoError(t, d.dag.CreateContext(t.Context(), codec.ContextID{8}, codec.ApplicationMeta{}))
	deleted, err := d.dag.WritePrivate(t.Context(), codec.ContextID{8}, []codec.Action{codec.Put([]byte("0001"), nil)}, engine.WAL)
	require.NoError(t, err)
	require.Zero(t, deleted)
	var actions []codec.Action
	for i := range 3000 {
		actions = append(actions, codec.Put(fmt.Appendf(nil, "%04d", i), bytes.Repeat([]byte{byte(i)}, 200)))
	}
	_, root, err := d.dag.Heads(t.Context(), room)
	require.NoError(t, err)
	_, err = d.dag.Commit(t.Context(), dag.Commit{Context: room, Actions: actions, Private: actions, ReadRoot: root})
	require.NoError(t, err)
	for name, scan := range map[string]func(engine.Range) []dag.StateEntry{
		"state":   func(r engine.Range) []dag.StateEntry { return collect(t, d.dag.ScanState(t.Context(), room, r)) },
		"private": func(r engine.Range) []dag.StateEntry { return collect(t, d.dag.ScanPrivate(t.Context(), room, r)) },
	} {
		t.Run(name, func(t *testing.T) {
			all := scan(engine.Range{})
			require.Len(t, all, len(actions))
			for i := range all {
				require.Equal(t, dag.StateEntry{AppKey: actions[i].Key, Value: actions[i].Value}, all[i])
			}
			back := scan(engine.Range{Start: []byte("1"), End: []byte("2"), Reverse: true, Limit: 10})
			require.Len(t, back, 10)
			require.Equal(t, "1999", string(back[0].AppKey))
			require.Len(t, scan(engine.Prefixed([]byte("29"))), 100)
		})
	}
	for _, there := range []int{1, 0} { // the other is not there
		deleted, err = d.dag.WritePrivate(t.Context(), room, []codec.Action{codec.Delete([]byte("0001")), codec.Delete([]byte("none"))}, engine.Synced)
		require.NoError(t, err)
		require.Equal(t, there, deleted)
	}
	_, err = d.dag.Private(t.Context(), room, []byte("0001"))
	require.ErrorIs(t, err, engine.ErrNotFound)
	_, err = d.dag.WritePrivate(t.Context(), room, []codec.Action{codec.Delete(nil), codec.Delete(nil)}, engine.WAL)
	require.ErrorIs(t, err, rpc.ErrRequest)
}

// listed returns what all yields, and the error that ends it.
func listed[T any](all iter.Seq2[T, error]) (list []T, err error) {
	for v, err := range all {
		if err != nil {
			return list, err
		}
		list = append(list, v)
	}
	return list, nil
}

func collect[T any](t testing.TB, all func(func(T, error) bool)) (list []T) {
	t.Helper()
	for v, err := range all {
		require.NoError(t, err)
		list = append(list, v)
	}
	return list
}

func TestRowsOfTheDagServiceAreNotWrittenByOthers(t *testing.T) {
	cursor := append([]byte("dag-cursor\x00\x00\x00\x00\x00\x00"), append(room[:], 'c')...)
	batches := map[string]func(*engine.Batch){
		"meta":  func(b *engine.Batch) { b.Delete(column.Meta, room[:]) },
		"state": func(b *engine.Batch) { b.Put(column.State, append(room[:], 'k'), nil) },
		"delta": func(b *engine.Batch) { b.DeleteRange(column.Delta, room[:], append(room[:], 0xFF)) },
		"scope": func(b *engine.Batch) { b.Put(column.Generic, cursor, make([]byte, 8)) },
	}
	d, raw := inRoom(t, 1, Options{}), inRoom(t, 2, Options{Raw: true})
	for name, fill := range batches {
		t.Run(name, func(t *testing.T) {
			b := engine.Batch{Durability: engine.WAL}
			b.Put(column.Generic, row("good"), nil)
			fill(&b)
			err := d.dial(t).Store(t.Context()).Apply(&b)
			require.ErrorIs(t, err, rpc.ErrOwned)
			require.Equal(t, codes.FailedPrecondition, status.Code(err))
			var e *rpc.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, "stoa.v1.Dag", e.Fields[fault.FieldOwner])
			require.Equal(t, "1", e.Fields[fault.FieldChange])
			require.NotEmpty(t, e.Fields[fault.FieldKey])
			_, err = d.dial(t).Store(t.Context()).Get(nil, column.Generic, row("good"))
			require.ErrorIs(t, err, engine.ErrNotFound, "nothing was written")
			require.NoError(t, raw.dial(t).Store(t.Context()).Apply(&b))
		})
	}
	b := engine.Batch{Durability: engine.WAL}
	b.ExpectAbsent(column.State, append(room[:], 'k'))
	b.Put(column.Generic, row("guarded"), nil)
	require.NoError(t, d.dial(t).Store(t.Context()).Apply(&b), "they may be expected")
}

func TestADaemonWithoutContextsSaysSo(t *testing.T) {
	c := start(t, nil, Options{}).dial(t)
	_, err := c.Dag().Context(t.Context(), room)
	require.ErrorIs(t, err, engine.ErrUnsupported)
	s, err := startDag(t, 1, Options{Raw: true}).dial(t).Status(t.Context())
	require.NoError(t, err)
	require.Contains(t, s.GetFeatures(), "dag")
	require.Contains(t, s.GetFeatures(), "raw")
}

func TestStreamsOfDeltasAreLimitedAndDrained(t *testing.T) {
	d := inRoom(t, 1, Options{MaxDagStreams: 1})
	stream, err := stoav1.NewDagClient(d.bare(t)).AddMany(t.Context())
	require.NoError(t, err)
	require.Eventually(t, func() bool { return d.dagStreams.Used() == 1 }, patience, time.Millisecond)
	require.ErrorIs(t, first(d.dag.ScanState(t.Context(), room, engine.Range{})), rpc.ErrBusy)
	stopped := make(chan struct{})
	go func() { d.stop(); close(stopped) }()
	_, err = stream.Recv()
	require.ErrorIs(t, fault.FromStatus(err), rpc.ErrUnavailable)
	<-stopped
	require.Zero(t, d.dagStreams.Used())
}

func TestIdsOfTheWrongLengthAreNamed(t *testing.T) {
	c := stoav1.NewDagClient(inRoom(t, 1, Options{}).bare(t))
	ctx := t.Context()
	for field, call := range map[string]func() error{
		"context_id": func() error { _, err := c.Heads(ctx, &stoav1.DagHeadsRequest{ContextId: []byte{1}}); return err },
		"after": func() error {
			_, err := c.Missing(ctx, &stoav1.DagMissingRequest{ContextId: room[:], After: []byte{1}})
			return err
		},
		"delta_id":   func() error { _, err := c.Get(ctx, &stoav1.DagGetRequest{ContextId: room[:]}); return err },
		"read_root":  func() error { _, err := c.Commit(ctx, &stoav1.DagCommitRequest{ContextId: room[:]}); return err },
		"claimed_id": func() error { _, err := c.Add(ctx, &stoav1.DagAddRequest{ClaimedId: []byte{1}}); return err },
		"durability": func() error { _, err := c.Add(ctx, &stoav1.DagAddRequest{Durability: 9}); return err },
		"application.bytecode": func() error {
			_, err := c.CreateContext(ctx, &stoav1.DagCreateContextRequest{ContextId: room[:], Application: &stoav1.DagApplication{Bytecode: []byte{1}}})
			return err
		},
	} {
		err := fault.FromStatus(call())
		require.ErrorIs(t, err, rpc.ErrRequest, field)
		var e *rpc.Error
		require.True(t, errors.As(err, &e))
		require.Equal(t, field, e.Fields[fault.FieldField])
	}
}

func TestDeadlinesReachTheDagService(t *testing.T) {
	d := inRoom(t, 1, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := d.dag.Commit(ctx, dag.Commit{Context: room})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, first(d.dag.ScanState(ctx, room, engine.Range{})), context.Canceled)
}
