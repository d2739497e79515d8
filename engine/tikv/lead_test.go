package tikv_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tikv/client-go/v2/tikvrpc"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/tikv"
	"github.com/stoadb/stoa/engine/tikv/tikvtest"
)

// silent is a leader that says nothing again by itself.
var silent = tikv.LeadOptions{Address: "a", Every: time.Hour}

func lead(t *testing.T, e *tikv.Engine, o tikv.LeadOptions) *tikv.Lease {
	t.Helper()
	l, err := e.Lead(t.Context(), o)
	require.NoError(t, err)
	return l
}

func put(e engine.Engine, key, value string) error {
	var b engine.Batch
	b.Put(column.State, []byte(key), []byte(value))
	return e.Apply(&b)
}

func got(t *testing.T, e engine.Engine, key string) string {
	t.Helper()
	v, err := e.Get(nil, column.State, []byte(key))
	if errors.Is(err, engine.ErrNotFound) {
		return ""
	}
	require.NoError(t, err)
	return string(v)
}

func isLost(l *tikv.Lease) bool {
	select {
	case <-l.Lost():
		return true
	default:
		return false
	}
}

func TestOneLeadsAndTheNextIsToldWhereItIs(t *testing.T) {
	c := tikvtest.Any(t)
	a, b := open(t, c, tikv.Options{}), open(t, c, tikv.Options{})
	first := lead(t, a, tikv.LeadOptions{Address: "unix:/run/a.sock"})
	require.EqualValues(t, 1, first.Term)
	require.NoError(t, put(a, "k", "of a"))

	told := make(chan tikv.Leader, 10)
	next := make(chan *tikv.Lease)
	go func() {
		l, err := b.Lead(context.Background(), tikv.LeadOptions{Address: "b", Waits: func(l tikv.Leader) { told <- l }})
		if err != nil {
			t.Error(err)
		}
		next <- l
	}()
	leader := <-told
	require.Equal(t, "unix:/run/a.sock", leader.Address)
	require.EqualValues(t, 1, leader.Term)
	require.NoError(t, first.Close())
	second := <-next
	require.EqualValues(t, 2, second.Term)
	require.Empty(t, told, "once for each leader")
	require.NoError(t, put(b, "k", "of b"))

	err := put(a, "k", "of a again")
	require.ErrorIs(t, err, tikv.ErrNotLeading)
	require.ErrorIs(t, err, engine.ErrReadOnly)
	require.True(t, isLost(first))
	require.Equal(t, "of b", got(t, a, "k"))
	require.NoError(t, second.Close())
}

// One who is silent for longer than its time is replaced, and writes nothing afterwards, whatever it
// does not know.
func TestASilentLeaderIsReplacedAndWritesNothing(t *testing.T) {
	c := tikvtest.Start(t)
	a, b := open(t, c, tikv.Options{}), open(t, c, tikv.Options{})
	first := lead(t, a, silent)
	require.NoError(t, put(a, "k", "of a"))
	c.Ahead.Store(7000)
	second := lead(t, b, silent)
	require.EqualValues(t, 2, second.Term)
	require.NoError(t, put(b, "k", "of b"))
	require.False(t, isLost(first), "it does not know yet")
	require.ErrorIs(t, put(a, "k", "of a again"), tikv.ErrNotLeading)
	require.True(t, isLost(first))
	require.ErrorIs(t, put(a, "k", "of a again"), tikv.ErrNotLeading)
	require.Equal(t, "of b", got(t, a, "k"))
	require.NoError(t, put(b, "k", "of b again"))
}

// One whose time was over, and whose place nobody has taken, goes on.
func TestALeaderWhomNobodyReplacesGoesOn(t *testing.T) {
	c := tikvtest.Start(t)
	a, b := open(t, c, tikv.Options{}), open(t, c, tikv.Options{})
	first := lead(t, a, silent)
	c.Ahead.Store(60_000)
	require.NoError(t, put(a, "k", "of a"))
	require.False(t, isLost(first))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := b.Lead(ctx, silent)
	require.ErrorIs(t, err, context.DeadlineExceeded, "it has said that it leads when it wrote")
	require.NoError(t, put(b, "other", "of who never asked to lead"))
	require.NoError(t, put(a, "k", "of a again"))
}

// A write that has begun before another leads is not made after it does, however long it takes.
func TestAWriteUnderWayIsNotMadeAfterTheLeadHasChanged(t *testing.T) {
	c := tikvtest.Start(t)
	a, b := open(t, c, tikv.Options{}), open(t, c, tikv.Options{})
	lead(t, a, silent)
	require.NoError(t, put(a, "k", "1"))
	calls := 0
	err := a.Update(func(g engine.Getter, batch *engine.Batch) error {
		v, err := g.Get(nil, column.State, []byte("k"))
		if err != nil {
			return err
		}
		if calls++; calls == 1 {
			c.Ahead.Store(7000)
			lead(t, b, silent)
			if err := put(b, "other", "of b"); err != nil {
				return err
			}
		}
		batch.Put(column.State, []byte("k"), append(v, " and of a"...))
		return nil
	})
	require.ErrorIs(t, err, tikv.ErrNotLeading)
	require.Equal(t, "1", got(t, b, "k"))
}

// A word of the leader that comes while another takes its place is one of both: not both lead.
func TestAWordThatComesMeanwhileKeepsTheLead(t *testing.T) {
	c := tikvtest.Start(t)
	a, b := open(t, c, tikv.Options{}), open(t, c, tikv.Options{})
	first := lead(t, a, silent)
	c.Ahead.Store(7000)
	var once atomic.Bool
	c.Before = func(r *tikvrpc.Request) error {
		if r.Type == tikvrpc.CmdPrewrite && once.CompareAndSwap(false, true) {
			return put(a, "k", "of a") // which says that it leads
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := b.Lead(ctx, silent)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.True(t, once.Load())
	require.NoError(t, put(a, "k", "of a again"))
	require.False(t, isLost(first))
}

// The same of one that only says so, and writes nothing.
func TestAWordAloneKeepsTheLead(t *testing.T) {
	c := tikvtest.Start(t)
	a, b := open(t, c, tikv.Options{}), open(t, c, tikv.Options{})
	first := lead(t, a, silent)
	c.Ahead.Store(7000)
	var once atomic.Bool
	c.Before = func(r *tikvrpc.Request) error {
		if r.Type == tikvrpc.CmdPrewrite && once.CompareAndSwap(false, true) {
			return first.Renew(t.Context())
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := b.Lead(ctx, silent)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.True(t, once.Load())
}

// One that the cluster does not hear knows when its time is over.
func TestALeaderThatIsCutOffKnows(t *testing.T) {
	c := tikvtest.Start(t)
	a := open(t, c, tikv.Options{Wait: 50 * time.Millisecond})
	var off atomic.Bool
	c.Before = func(r *tikvrpc.Request) error {
		if off.Load() && r.Type == tikvrpc.CmdPrewrite {
			return tikvtest.ErrLost
		}
		return nil
	}
	l := lead(t, a, tikv.LeadOptions{TTL: 200 * time.Millisecond, Every: 20 * time.Millisecond})
	require.False(t, isLost(l))
	off.Store(true)
	<-l.Lost()
	off.Store(false)
	c.Ahead.Store(-1000) // as if PD's clock went slower
	require.ErrorIs(t, put(a, "k", "of a"), tikv.ErrNotLeading)
}

// It knows too while it waits for an answer that does not come.
func TestALeaderThatWaitsForTheClusterKnows(t *testing.T) {
	c := tikvtest.Start(t)
	a := open(t, c, tikv.Options{})
	var off atomic.Bool
	on := make(chan struct{})
	defer close(on)
	c.Before = func(r *tikvrpc.Request) error {
		if off.Load() && r.Type == tikvrpc.CmdPrewrite {
			<-on
		}
		return nil
	}
	l := lead(t, a, tikv.LeadOptions{TTL: 200 * time.Millisecond, Every: 20 * time.Millisecond})
	off.Store(true)
	<-l.Lost()
}

// A lead whose answer is lost is one all the same, of this engine, which takes it up at once.
func TestALeadWhoseAnswerIsLost(t *testing.T) {
	c := tikvtest.Start(t)
	var off atomic.Bool
	said := saying(func() { off.Store(true) })
	a, b := open(t, c, tikv.Options{Wait: 100 * time.Millisecond, Logger: slog.New(said)}), open(t, c, tikv.Options{})
	var lost atomic.Int32
	c.After = func(r *tikvrpc.Request) error {
		if r.Type == tikvrpc.CmdCommit && !off.Load() {
			lost.Add(1)
			return tikvtest.ErrLost
		}
		return nil
	}
	l := lead(t, a, tikv.LeadOptions{TTL: time.Hour, Every: time.Hour})
	require.Positive(t, lost.Load())
	require.EqualValues(t, 2, l.Term, "it finds itself in the row")
	require.NoError(t, put(a, "k", "of a"))
	require.NoError(t, l.Close())
	lead(t, b, silent)
	require.ErrorIs(t, put(a, "k", "of a again"), tikv.ErrNotLeading)
}

// saying is a handler of a log, which is called when the cluster does not say who leads.
type saying func()

func (saying) Enabled(context.Context, slog.Level) bool { return true }
func (s saying) WithAttrs([]slog.Attr) slog.Handler     { return s }
func (s saying) WithGroup(string) slog.Handler          { return s }
func (s saying) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "who leads the store") {
		s()
	}
	return nil
}

// To lead costs a write nothing but a key that is locked: no read, and no round of its own.
func TestAWriteOfTheLeaderReadsNothing(t *testing.T) {
	c := tikvtest.Start(t)
	e := open(t, c, tikv.Options{Keep: -1})
	lead(t, e, silent)
	require.NoError(t, put(e, "k", "1"))
	var mu sync.Mutex
	kinds := map[tikvrpc.CmdType]int{}
	c.Before = func(r *tikvrpc.Request) error {
		mu.Lock()
		defer mu.Unlock()
		kinds[r.Type]++
		return nil
	}
	require.NoError(t, put(e, "k", "2"))
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, map[tikvrpc.CmdType]int{tikvrpc.CmdPrewrite: 1, tikvrpc.CmdCommit: 1}, kinds)
}

func TestTheNodeOfAStoreIsOne(t *testing.T) {
	c := tikvtest.Any(t)
	a, b := open(t, c, tikv.Options{}), open(t, c, tikv.Options{})
	one, err := a.Node(t.Context())
	require.NoError(t, err)
	require.False(t, one.IsZero())
	again, err := b.Node(t.Context())
	require.NoError(t, err)
	require.Equal(t, one, again)
}

// What a leader has in memory is as of its writes. Where nobody knows of one whether it was made, it is as
// of nothing: the leader leads no more, and who comes next reads what there is.
func TestAWriteOfWhichNobodyKnowsEndsTheLead(t *testing.T) {
	c := tikvtest.Start(t)
	a := open(t, c, tikv.Options{Wait: 50 * time.Millisecond})
	l := lead(t, a, silent)
	require.NoError(t, put(a, "k", "1"))
	back := goneAfterACommit(c)
	require.ErrorIs(t, put(a, "k", "2"), engine.ErrUndetermined)
	require.True(t, isLost(l))
	back.Store(true)
	require.ErrorIs(t, put(a, "k", "3"), tikv.ErrNotLeading)
	require.Equal(t, "2", got(t, a, "k"))
}
