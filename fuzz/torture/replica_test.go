package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/rpc"
)

// replica is another node, in memory, that gives the daemon its deltas.
type replica struct {
	context codec.ContextID
	rand    *rand.Rand
	db      *mem.Engine
	author  *dag.Store
	root    codec.Hash // of the author
	added   []codec.DeltaID
	checked int
	under   []byte // the author's last delta, until the daemon has taken it
	made    bool
	cuts    bool // of power, which take what is not synced

	before codec.Hash   // the author's root before its last delta
	time   *reckoning   // of the daemon's clock; nil: it is the machine's
	fast   atomic.Int64 // how much the author's clock is ahead of that one, in ns
}

// keepTime has both nodes go by a clock, that of the author being ahead at times.
func (w *replica) keepTime(t *reckoning) { w.time = t }

func (w *replica) now() time.Time {
	if w.time == nil {
		return time.Now()
	}
	return w.time.clock.Now().Add(time.Duration(w.fast.Load()))
}

func (w *replica) expectCuts() { w.cuts = true }

func newReplica(r *rand.Rand, id byte) worker {
	w := &replica{context: codec.ContextID{2, id}, rand: r, db: mem.New()}
	var err error
	if w.author, err = dag.Open(w.db, dag.Options{Node: codec.NodeID{Hi: r.Uint64(), Lo: uint64(id) + 1}, Now: w.now}); err == nil {
		err = w.author.CreateContext(w.context, codec.ApplicationMeta{})
	}
	if err == nil {
		_, w.root, err = w.author.Heads(w.context)
	}
	if err != nil {
		panic(err) // nothing in memory fails
	}
	return w
}

// Close ends the other node.
func (w *replica) Close() error { return errors.Join(w.author.Close(), w.db.Close()) }

func (w *replica) use(c *rpc.Client) error {
	d := c.Dag()
	if !w.made {
		if err := create(d, w.context); err != nil {
			return err
		}
		w.made = true
	}
	if w.under != nil { // it was too early
		return w.give(d)
	}
	if w.time != nil && w.rand.IntN(8) == 0 {
		w.fast.Store(w.rand.Int64N(int64([]time.Duration{1, 6 * time.Second, time.Minute}[w.rand.IntN(3)])))
	}
	commit := dag.Commit{Context: w.context, ReadRoot: w.root}
	for _, k := range w.rand.Perm(40)[:1+w.rand.IntN(5)] {
		commit.Actions = append(commit.Actions, codec.Put(fmt.Append(nil, "k", k), fmt.Append(nil, w.rand.Uint64())))
	}
	done, err := w.author.Commit(context.Background(), commit)
	if w.time != nil && errors.Is(err, hlc.ErrAhead) {
		return errLater
	}
	if err != nil {
		return err
	}
	w.before, w.root = w.root, done.Root
	delta, _, err := w.author.Get(w.context, done.Delta)
	if err != nil {
		return err
	}
	if w.under, err = delta.AppendBinary(nil); err != nil {
		return err
	}
	if w.rand.IntN(8) == 0 {
		if err := w.lie(d, *delta); err != nil {
			return err
		}
	}
	return w.give(d)
}

// lie gives a delta whose root is not what it makes.
func (w *replica) lie(d *rpc.Dag, delta dag.Delta) error {
	delta.ExpectedRoot[w.rand.IntN(32)] ^= 1
	b, err := delta.AppendBinary(nil)
	if err != nil {
		return err
	}
	a, err := d.Add(context.Background(), b, dag.AddOptions{})
	if err != nil {
		return err
	}
	if w.time != nil && a.Kind == dag.TooEarly {
		return nil
	}
	if a.Kind != dag.Refused || a.Refusal.Reason != dag.RootMismatch {
		return wrongf("a delta with a false root is %s", a.Kind)
	}
	return nil
}

// give offers what is under way.
func (w *replica) give(d *rpc.Dag) error {
	durability := engine.Durability(w.rand.IntN(2))
	if w.cuts {
		durability = engine.Synced
	}
	var m moment
	if w.time != nil {
		m = w.time.before()
	}
	a, err := d.Add(context.Background(), w.under, dag.AddOptions{Durability: durability})
	if err != nil {
		return err
	}
	if w.time != nil {
		if err := w.early(a, w.time.after(m)); err != nil {
			return err
		}
	}
	if a.Kind != dag.Applied && a.Kind != dag.Duplicate {
		return wrongf("delta %s is %s", a.ID, a.Kind)
	}
	w.added, w.under = append(w.added, a.ID), nil
	return nil
}

// early returns errLater if the daemon was right to say that a delta comes from ahead of
// its clock, and what is wrong if it was not, or should have said so.
func (w *replica) early(a dag.Answer, t times) error {
	delta, err := dag.ParseDelta(w.under)
	if err != nil {
		return err
	}
	at := sinceEpoch(hlc.NTP64(delta.HLC.Time).Time()) - hlc.MaxDrift
	if a.Kind != dag.TooEarly {
		if t.steady && a.Kind == dag.Applied && at > t.end+time.Millisecond {
			return wrongf("delta %s was taken at %s, before %s", a.ID, moments(t.end), moments(at))
		}
		return nil
	}
	if t.steady && (at < t.day-time.Millisecond || a.RetryAfter > at-t.day+2*time.Millisecond) {
		return wrongf("delta %s was too early at %s to %s, and is to be offered again in %s; it can be taken from %s on",
			a.ID, moments(t.day), moments(t.end), a.RetryAfter, moments(at))
	}
	return errLater
}

func (w *replica) recount(c *rpc.Client) error {
	if !w.made {
		return nil
	}
	d := c.Dag()
	for ; w.checked < len(w.added); w.checked++ {
		if err := applied(d, w.context, w.added[w.checked]); err != nil {
			return err
		}
	}
	if w.under != nil {
		if err := w.give(d); err != nil && !errors.Is(err, errLater) {
			return err
		}
	}
	_, root, err := d.Heads(context.Background(), w.context)
	if err == nil && w.under != nil && root == w.before {
		return nil
	}
	if err == nil && root != w.root {
		return wrongf("the root is %s; that of the other node is %s", root, w.root)
	}
	return err
}
