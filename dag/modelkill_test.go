package dag_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

// killCase is an operation on a store that has some deltas already.
type killCase struct {
	name   string
	stamps bool // it makes stamps of its own
	before []*fact
	run    func(s *dag.Store) error

	start engine.Batch      // all rows before it
	rows  map[string]string // those, but for the clock's
	done  map[string]string // and those after it
	seen  int               // faults that came
}

func addAll(facts ...*fact) func(*dag.Store) error {
	return func(s *dag.Store) error {
		for _, f := range facts {
			if _, err := s.Add(context.Background(), f.delta, dag.AddOptions{}); err != nil {
				return err
			}
		}
		return nil
	}
}

// killCases are an Add on top, beside, with a cascade, with refusals, of a delta
// that waits, and commits with and without a join.
func killCases() []*killCase {
	w := newWorld(someone)
	h := w.made(0, append(manyActions(20), putAll("a", "0", "b", "0")...))
	left := w.made(time.Second, putAll("a", "left", "c", "1"), h)
	right := w.made(time.Second, append(putAll("a", "right"), codec.Delete([]byte("b")), codec.Delete([]byte("many3"))), h)
	both := w.made(2*time.Second, putAll("b", "both"), left, right)
	top := w.made(2*time.Second, putAll("d", "top"), both)
	wrong := *right.delta
	wrong.ExpectedRoot[0]++
	refused := w.add(&wrong)
	follows := w.made(3*time.Second, putAll("e", "1"), refused)
	var roots []*fact
	for i := range 65 {
		roots = append(roots, w.made(time.Second, putAll("a", fmt.Sprint(i)), h))
	}
	commit := func(s *dag.Store) error {
		_, root, err := s.Heads(w.context)
		if err != nil {
			return err
		}
		_, err = s.Commit(context.Background(), dag.Commit{Context: w.context, Actions: putAll("a", "mine", "f", "2"), ReadRoot: root,
			Events: []codec.Event{{Kind: "e"}}, Private: putAll("secret", "1")})
		return err
	}
	has := func(facts ...*fact) []*fact { return facts }
	return []*killCase{
		{name: "the first delta", run: addAll(h)},
		{name: "on top", before: has(h), run: addAll(left)},
		{name: "beside", before: has(h, left), run: addAll(right)},
		{name: "a merge", before: has(h, left, right), run: addAll(both)},
		{name: "a cascade", before: has(h, left, top, both), run: addAll(right)},
		{name: "one that waits", before: has(h), run: addAll(both)},
		{name: "a refusal", before: has(h, left, follows), run: addAll(refused)},
		{name: "a refusal after another", before: has(h, left, refused), run: addAll(follows)},
		{name: "commit", stamps: true, before: has(h), run: commit},
		{name: "commit on two heads", stamps: true, before: has(h, left, right), run: commit},
		{name: "commit with a join", stamps: true, before: has(append(roots, h)...), run: commit},
	}
}

// killOptions have a clock that is late enough for all deltas of killCases.
var killOptions = dag.Options{Node: codec.NodeID{Lo: 5}, MaxJoined: 64, Now: func() time.Time { return dawn.Add(5 * time.Second) }}

// everything returns all rows of the context and its State, Delta and so on, but
// not the reservation of the clock, which is a write of its own.
func everything(t tester, e engine.Reader) map[string]string {
	t.Helper()
	e, err := dag.WithoutTails(e)
	require.NoError(t, err)
	rows := map[string]string{}
	for col := range column.All {
		for key, value := range rowsOf(t, e, col, nil) {
			if !strings.HasPrefix(key, "dag-clock\x00") {
				rows[col.String()+" "+key] = value
			}
		}
	}
	return rows
}

// reference runs the operation without a fault, in an engine that it closes, and
// notes what is there before and afterwards.
func (c *killCase) reference(t *testing.T) {
	t.Helper()
	e := mem.New()
	s, err := dag.Open(e, killOptions)
	require.NoError(t, err)
	require.NoError(t, s.CreateContext(someone, appNumber(1)))
	require.NoError(t, addAll(c.before...)(s))
	require.NoError(t, s.Close())
	for col := range column.All {
		for key, value := range rowsOf(t, e, col, nil) {
			c.start.Put(col, []byte(key), []byte(value))
		}
	}
	c.rows = everything(t, e)
	s, err = dag.Open(e, killOptions)
	require.NoError(t, err)
	require.NoError(t, c.run(s))
	require.NoError(t, s.Close())
	c.done = everything(t, e)
	require.NoError(t, e.Close())
}

// A process that ends, or an engine that fails, at any call of an Add or a Commit
// leaves all of it or nothing; the call can be made again; and what the clock
// says is after all it ever said.
func TestAnAddOrACommitIsDoneOrNotWhereverItEnds(t *testing.T) {
	for _, c := range killCases() {
		t.Run(c.name, func(t *testing.T) {
			c.killEverywhere(t, func() engine.Engine { return mem.New() })
		})
	}
}

// killEverywhere goes through all calls, or at a small scale through some of them, of
// an engine that start makes.
func (c *killCase) killEverywhere(t *testing.T, start func() engine.Engine) {
	c.reference(t)
	for _, calls := range []faulty.Calls{faulty.Writes, faulty.Reads} {
		for _, fault := range []faulty.Fault{faulty.Fail, faulty.CrashBefore, faulty.CrashAfter} {
			for at := 1; ; at += enginetest.Stride() {
				inner := start()
				tripped := c.killAt(t, inner, faulty.Options{At: at, Calls: calls, Fault: fault})
				require.NoError(t, inner.Close())
				if !tripped {
					break
				}
			}
		}
	}
	require.Greater(t, c.seen*enginetest.Stride(), 5, "an operation that makes no calls shows nothing")
}

// killAt runs the operation with one fault, and reports whether the fault came.
func (c *killCase) killAt(t *testing.T, inner engine.Engine, o faulty.Options) bool {
	where := fmt.Sprintf("%+v", o)
	require.NoError(t, inner.Apply(&c.start))
	f := faulty.New(inner, o)
	s, err := dag.Open(f, killOptions)
	if err == nil {
		err = c.run(s)
		if err != nil && o.Fault == faulty.Fail {
			require.ErrorIs(t, err, faulty.ErrInjected, where)
			err = c.again(t, s, inner, where)
		}
		_ = s.Close()
	}
	if !f.Tripped() {
		require.NoError(t, err)
		return false
	}
	if err != nil {
		require.True(t, errors.Is(err, faulty.ErrCrashed) || errors.Is(err, faulty.ErrInjected), "%s: %v", where, err)
	}
	after := everything(t, inner)
	done := !maps.Equal(c.rows, after)
	require.True(t, done || err != nil, "%s: it said that it was done", where)
	if done {
		c.same(t, after, where)
	}

	again := f.Restart()
	s, err = dag.Open(again, killOptions)
	require.NoError(t, err, where)
	if !done {
		require.NoError(t, c.run(s), where)
		c.same(t, everything(t, inner), where)
	}
	if c.seen++; o.Calls == faulty.Writes || c.seen%10 == 0 { // it takes long, and reads change nothing
		c.whole(t, s, again)
	}
	require.NoError(t, s.Close())
	return true
}

// again runs the operation in the store in which it has failed once.
func (c *killCase) again(t *testing.T, s *dag.Store, e engine.Reader, where string) error {
	t.Helper()
	require.True(t, maps.Equal(c.rows, everything(t, e)), "it failed and did something: %s", where)
	return c.run(s)
}

// same demands the rows of a run without a fault. A commit has another stamp
// each time.
func (c *killCase) same(t *testing.T, rows map[string]string, where string) {
	t.Helper()
	if c.stamps {
		require.Len(t, rows, len(c.done), "half of it: %s", where)
	} else {
		require.True(t, maps.Equal(c.done, rows), "half of it, or something else: %s", where)
	}
}

// whole demands that what a store has is what its own deltas make, and that its
// clock is after all it stored.
func (c *killCase) whole(t *testing.T, s *dag.Store, e *faulty.Engine) {
	t.Helper()
	n := &replica{t: t, world: worldOf(t, e), inner: e, engine: e, store: s, forgets: true}
	n.delivered = setOf(n.world.all)
	n.verdicts = n.world.judge(n.delivered)
	n.check()

	next, err := s.Clock().Stamp()
	require.NoError(t, err)
	for _, f := range n.verdicts.applied {
		require.Greater(t, next.Time, f.delta.HLC.Time, "the clock went back")
	}
}

// worldOf returns the deltas whose rows are stored.
func worldOf(t tester, r engine.Reader) *world {
	t.Helper()
	var rest []*dag.Delta
	for entry, err := range engine.Scan(r, keys.DeltasOf(someone)) {
		require.NoError(t, err)
		v := entry.Value
		rest = append(rest, &dag.Delta{Context: someone, Parents: v.Parents, Actions: v.Actions, HLC: v.HLC, ExpectedRoot: v.ExpectedRootHash, Events: v.Events})
	}
	slices.SortFunc(rest, func(a, b *dag.Delta) int { return a.HLC.Compare(b.HLC) })
	w := newWorld(someone)
	for _, d := range rest {
		w.add(d)
	}
	return w
}
