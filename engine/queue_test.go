package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

// errand is a task of the queues under test.
type errand = engine.Request[string]

// office is what a queue under test serves: it notes who was served together.
type office struct {
	queue  *engine.Queue[string]
	serve  func(names []string, group []*errand) (int, error) // nil: all of them, without an error
	served [][]string
	hold   chan struct{} // errand "hold" is served until it is closed
	busy   chan struct{} // closed when that is so
}

func newOffice(most int) *office {
	o := &office{}
	o.queue = engine.NewQueue(most, func(group []*errand) (int, error) {
		var names []string
		for _, r := range group {
			names = append(names, r.Task)
		}
		o.served = append(o.served, names)
		if names[0] == "hold" {
			close(o.busy)
			<-o.hold
			return 1, nil
		}
		if o.serve != nil {
			return o.serve(names, group)
		}
		return len(group), nil
	})
	return o
}

func errands(names ...string) (requests []*errand) {
	for _, name := range names {
		requests = append(requests, &errand{Task: name})
	}
	return requests
}

// meanwhile has calls wait, in their order, while the office is busy with somebody
// else, and then calls then. It returns what they were answered.
func (o *office) meanwhile(t *testing.T, calls [][]*errand, then func()) []answer {
	o.busy, o.hold = make(chan struct{}), make(chan struct{})
	answers := make([]answer, len(calls))
	var done sync.WaitGroup
	done.Go(func() { _ = o.queue.Do(context.Background(), errands("hold")...) })
	<-o.busy
	n := 0
	for i, requests := range calls {
		done.Go(func() { answers[i] = outcome(func() error { return o.queue.Do(context.Background(), requests...) }) })
		n += len(requests)
		o.await(t, n)
	}
	then()
	close(o.hold)
	done.Wait()
	require.Equal(t, []string{"hold"}, o.served[0])
	o.served = o.served[1:]
	return answers
}

// await waits until so many requests do.
func (o *office) await(t *testing.T, n int) {
	for deadline := time.Now().Add(time.Minute); o.queue.Waiting() != n; runtime.Gosched() {
		require.True(t, time.Now().Before(deadline), "%d wait, want %d", o.queue.Waiting(), n)
	}
}

// outcome calls fn on a goroutine of its own, which may panic or end.
func outcome(fn func() error) (a answer) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.exited = true
		defer func() {
			if p := recover(); p != nil {
				a.panicked, a.exited = p, false
			}
		}()
		a.err = fn()
		a.exited = false
	}()
	<-done
	return a
}

func nothingMore() {}

func TestACallerThatFindsNobodyServesItself(t *testing.T) {
	o := newOffice(8)
	require.NoError(t, o.queue.Do(context.Background()))
	require.Empty(t, o.served)
	require.NoError(t, o.queue.Do(context.Background(), errands("a")...))
	require.NoError(t, o.queue.Do(context.Background(), errands("b", "c")...))
	require.Equal(t, [][]string{{"a"}, {"b", "c"}}, o.served)
}

func TestThoseWhoWaitAreServedTogetherInTheirOrder(t *testing.T) {
	o := newOffice(8)
	requireAllWell(t, o.meanwhile(t, [][]*errand{errands("a"), errands("b", "c"), errands("d")}, nothingMore))
	require.Equal(t, [][]string{{"a", "b", "c", "d"}}, o.served)
}

func TestNoMoreAreServedTogetherThanMay(t *testing.T) {
	o := newOffice(3)
	requireAllWell(t, o.meanwhile(t, [][]*errand{errands("a"), errands("b", "c", "d", "e", "f"), errands("g"), errands("h")}, nothingMore))
	require.Equal(t, [][]string{{"a", "b", "c"}, {"d", "e", "f"}, {"g", "h"}}, o.served)
	require.Zero(t, o.queue.Holds(), "what was answered is let go of")
}

func TestWhoServesMayTakeFewer(t *testing.T) {
	o := newOffice(8)
	o.serve = func(_ []string, group []*errand) (int, error) { return min(2, len(group)), nil }
	requireAllWell(t, o.meanwhile(t, [][]*errand{errands("a"), errands("b"), errands("c"), errands("d", "e")}, nothingMore))
	require.Equal(t, [][]string{{"a", "b", "c", "d", "e"}, {"c", "d", "e"}, {"e"}}, o.served)
}

var errBad = errors.New("bad")

// failing serves three at a time, and fails where the bad one is among them.
func failing(names []string, _ []*errand) (int, error) {
	n := min(3, len(names))
	for _, name := range names[:n] {
		if name == "bad" {
			return n, errBad
		}
	}
	return n, nil
}

func TestThoseWhoFailTogetherAreServedOneByOne(t *testing.T) {
	o := newOffice(8)
	o.serve = failing
	calls := [][]*errand{errands("a"), errands("bad"), errands("b"), errands("c"), errands("d")}
	requireAllWell(t, o.meanwhile(t, calls, nothingMore))
	require.Equal(t, [][]string{{"a", "bad", "b", "c", "d"}, {"a"}, {"bad"}, {"b"}, {"c", "d"}}, o.served)
	for _, requests := range calls {
		if requests[0].Task == "bad" {
			require.Equal(t, errBad, requests[0].Err)
		} else {
			require.NoError(t, requests[0].Err, requests[0].Task)
		}
	}
	require.NoError(t, o.queue.Do(context.Background(), calls[0][0]))
	again := errands("bad")
	require.NoError(t, o.queue.Do(context.Background(), again...))
	require.Equal(t, errBad, again[0].Err, "one that is alone isn't served again")
	require.Equal(t, [][]string{{"a"}, {"bad"}}, o.served[5:])
}

func TestOneThatFailsByItselfFailsAlone(t *testing.T) {
	o := newOffice(8)
	first := true
	o.serve = func(_ []string, group []*errand) (int, error) {
		for _, r := range group {
			switch r.Task {
			case "refused":
				r.Err = errBad
			case "panics":
				r.Panic = "defect"
			case "failed at first":
				if first {
					r.Err, r.Panic = errBad, "defect"
				}
			}
		}
		if first {
			first = false
			return len(group), errDisk
		}
		return len(group), nil
	}
	calls := [][]*errand{errands("a"), errands("refused"), errands("failed at first"), errands("b", "panics", "c"), errands("d")}
	require.Equal(t, []answer{{}, {}, {}, {panicked: "defect"}, {}}, o.meanwhile(t, calls, nothingMore))
	require.Equal(t, errBad, calls[1][0].Err)
	for _, r := range []*errand{calls[0][0], calls[2][0], calls[3][0], calls[3][2], calls[4][0]} {
		require.NoError(t, r.Err, r.Task)
	}
}

func TestAnErrorOfItsOwnIsNotReplaced(t *testing.T) {
	o := newOffice(8)
	o.serve = func(_ []string, group []*errand) (int, error) {
		group[0].Err = errBad
		return 1, errDisk
	}
	r := errands("a")
	require.NoError(t, o.queue.Do(context.Background(), r...))
	require.Equal(t, errBad, r[0].Err)
}

func TestALeaderThatEndsLeavesNobodyWaiting(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func()
		want answer
	}{
		"a panic": {func() { panic("defect") }, answer{panicked: "defect"}},
		"Goexit":  {runtime.Goexit, answer{exited: true}},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(3)
			o.serve = func(names []string, group []*errand) (int, error) {
				if names[0] == "a" {
					group[1].Err = errBad
					tt.end()
				}
				return len(group), nil
			}
			calls := [][]*errand{errands("a"), errands("b"), errands("c"), errands("d"), errands("e")}
			require.Equal(t, []answer{tt.want, {}, {}, {}, {}}, o.meanwhile(t, calls, nothingMore))
			require.Equal(t, errBad, calls[1][0].Err)
			require.Equal(t, engine.ErrAbandoned, calls[2][0].Err)
			require.NoError(t, calls[3][0].Err)
			require.Equal(t, [][]string{{"a", "b", "c"}, {"d", "e"}}, o.served)
			require.NoError(t, o.queue.Do(context.Background(), errands("f")...))
			o.queue.Stop(errBad)
		})
	}
}

// canceled has a call of the requests wait whose context ends, and returns its
// error.
func (o *office) canceled(t *testing.T, requests ...*errand) error {
	ctx, cancel := context.WithCancel(context.Background())
	before := o.queue.Waiting()
	done := make(chan error)
	go func() { done <- o.queue.Do(ctx, requests...) }()
	o.await(t, before+len(requests))
	cancel()
	return <-done
}

func TestACallerWhoseContextEndsWhileItWaitsIsNotServed(t *testing.T) {
	o := newOffice(8)
	calls := [][]*errand{errands("a"), errands("b", "c")}
	requireAllWell(t, o.meanwhile(t, calls, func() {
		require.ErrorIs(t, o.canceled(t, errands("x", "y")...), context.Canceled)
		o.await(t, 3)
	}))
	require.Equal(t, [][]string{{"a", "b", "c"}}, o.served)
}

func TestWhatIsServedIsNotWithdrawn(t *testing.T) {
	o := newOffice(2)
	bc := errands("b", "c")
	o.serve = func(names []string, group []*errand) (int, error) {
		if names[0] == "a" {
			require.False(t, o.queue.Withdraw(bc), "its first is served")
		}
		return len(group), nil
	}
	requireAllWell(t, o.meanwhile(t, [][]*errand{errands("a"), bc}, nothingMore))
	require.Equal(t, [][]string{{"a", "b"}, {"c"}}, o.served)
}

func TestACallerThatHasBeenToldToLeadDoesNotWithdraw(t *testing.T) {
	o := newOffice(2)
	ab := errands("a", "b")
	o.queue.TellToLead(ab)
	require.False(t, o.queue.Withdraw(ab))
}

func TestACallerThatLeadsAlreadyServesThoughItsContextHasEnded(t *testing.T) {
	o := newOffice(8)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, o.queue.Do(ctx, errands("a")...), "it waits behind nobody")
	require.Equal(t, [][]string{{"a"}}, o.served)
}

func TestAStoppedQueueHasAnsweredAllAndTakesNoneUntilItResumes(t *testing.T) {
	o := newOffice(2)
	stopped := make(chan struct{})
	o.serve = func(names []string, group []*errand) (int, error) {
		select {
		case <-stopped:
			t.Errorf("%s were served after the end", names)
		default:
		}
		return len(group), nil
	}
	calls := [][]*errand{errands("a"), errands("b"), errands("c")}
	requireAllWell(t, o.meanwhile(t, calls, func() {
		go func() {
			defer close(stopped)
			o.queue.Stop(errBad)
		}()
		for o.queue.Stopped() == nil { // until the Stop is under way
			runtime.Gosched()
		}
		require.Equal(t, errBad, o.queue.Do(context.Background(), errands("late")...))
		select {
		case <-stopped:
			t.Error("stopped while requests wait")
		default:
		}
	}))
	<-stopped
	require.Equal(t, [][]string{{"a", "b"}, {"c"}}, o.served)
	require.Equal(t, errBad, o.queue.Do(context.Background(), errands("late")...))
	o.queue.Resume()
	require.NoError(t, o.queue.Stopped())
	o.serve = nil
	require.NoError(t, o.queue.Do(context.Background(), errands("again")...))
}

func TestAQueueServesManyGoroutines(t *testing.T) {
	o := newOffice(5)
	sum := 0 // by whoever leads
	o.serve = func(_ []string, group []*errand) (int, error) {
		n := min(3, len(group))
		sum += n
		return n, nil
	}
	var done sync.WaitGroup
	withdrawn := make([]int, 8)
	for i := range 8 {
		done.Go(func() {
			for j := range 200 {
				ctx, cancel := context.WithCancel(context.Background())
				if j%3 == 0 {
					go cancel()
				}
				if o.queue.Do(ctx, errands(fmt.Sprint(i), fmt.Sprint(j))...) != nil {
					withdrawn[i]++
				}
				cancel()
			}
		})
	}
	done.Wait()
	for _, n := range withdrawn {
		sum += 2 * n
	}
	require.Equal(t, 2*8*200, sum)
}

// Callers who were answered together come back together: on one processor, where each
// runs until it waits, all but the first group are whole.
func TestThoseAnsweredTogetherAreServedTogetherAgain(t *testing.T) {
	const callers, rounds = 16, 20
	o := newOffice(callers)
	o.serve = func(_ []string, group []*errand) (int, error) {
		runtime.Gosched() // as one does that waits for a disk
		return len(group), nil
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range rounds {
				_ = o.queue.Do(context.Background(), errands("")...)
			}
		})
	}
	all.Wait()
	require.Less(t, len(o.served), rounds+rounds/2, "twice as many if the first of those who come back is served alone")
}
