package torture

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/rpc"
)

// stamps commits to contexts of its own, one after the other, and looks at what the
// time of day does to them: stamps increase, whatever it does, and are refused only as
// long as it is behind them; the base of a snapshot is the newest delta of its age.
type stamps struct {
	id      byte
	rand    *rand.Rand
	time    *reckoning
	baseAge func() time.Duration // of the daemon that serves

	lines [2]*line  // a stamp of one is after those of the other by the clock alone
	last  hlc.NTP64 // the latest stamp of all contexts that the clock was moved by

	behind  int // commits that were refused as the time of day is behind
	bases   int // snapshots with a base
	without int // and without one
}

// line is a context, whose deltas are one after the other.
type line struct {
	context codec.ContextID
	made    bool
	head    dag.Head // the zero Head: none
	root    codec.Hash
	list    []time.Duration // the stamps of its deltas
}

func newStamps(r *rand.Rand, id byte, t *reckoning, baseAge func() time.Duration) *stamps {
	w := &stamps{id: id, rand: r, time: t, baseAge: baseAge}
	for i := range w.lines {
		w.lines[i] = &line{context: codec.ContextID{3, id, byte(i)}}
	}
	return w
}

// mostDeltas is how many deltas a context has before it is deleted.
const mostDeltas = 200

// next returns a context to follow one that is deleted.
func (l *line) next() *line {
	id := l.context
	binary.BigEndian.PutUint64(id[3:], binary.BigEndian.Uint64(id[3:])+1)
	return &line{context: id}
}

// ahead is how far a stamp that is stored may be ahead of the time of day: what is made
// here, or accepted, 5 s, and a reservation, 1 s, that a restart goes on behind.
const ahead = hlc.MaxDrift + time.Second

func (w *stamps) use(c *rpc.Client) error {
	d, i := c.Dag(), w.rand.IntN(len(w.lines))
	if l := w.lines[i]; len(l.list) >= mostDeltas {
		if err := d.DeleteContext(context.Background(), l.context); err != nil && !errors.Is(err, dag.ErrNoContext) {
			return err
		}
		w.lines[i] = l.next()
	}
	l := w.lines[i]
	if !l.made {
		err := create(d, l.context)
		if err == nil {
			_, l.root, err = d.Heads(context.Background(), l.context)
		}
		l.made = err == nil
		return err
	}
	if len(l.list) > 0 && w.rand.IntN(8) == 0 {
		return w.seed(d, l)
	}
	m := w.time.before()

	done, err := d.Commit(context.Background(), dag.Commit{Context: l.context, ReadRoot: l.root,
		Actions: []codec.Action{codec.Put(fmt.Append(nil, "k", w.rand.IntN(20)), fmt.Append(nil, w.rand.Uint64()))}})
	var late *hlc.Ahead
	if errors.As(err, &late) {
		return w.refused(late, m)
	}
	if err != nil {
		return err
	}
	heads, root, err := d.Heads(context.Background(), l.context)
	if err != nil {
		return err
	}
	if len(heads) != 1 || heads[0].ID != done.Delta || root != done.Root {
		return wrongf("the heads of context %s are %v, %s after a commit of %s, %s", l.context, heads, root, done.Delta, done.Root)
	}
	return w.newest(l, heads[0], root, m)
}

// newest takes note of the newest delta, which was made since m.
func (w *stamps) newest(l *line, head dag.Head, root codec.Hash, m moment) error {
	t := w.time.after(m)
	stamp := hlc.NTP64(head.HLC.Time)
	at := sinceEpoch(stamp.Time())
	// On top of a stamp that is too far ahead for the clock comes the next one.
	counted := l.counts(stamp) && (!t.steady || sinceEpoch(stamp.Time()) > t.day+hlc.MaxDrift-time.Millisecond)
	switch {
	case stamp <= hlc.NTP64(l.head.HLC.Time):
		return wrongf("the stamp of %s, %s, is not after the one before, %s", head.ID, stamp.Time(), hlc.NTP64(l.head.HLC.Time).Time())
	case counted:
	case stamp <= w.last:
		return wrongf("the stamp of %s, %s, is not after the one before, %s", head.ID, stamp.Time(), w.last.Time())
	case t.steady && (at < t.day-time.Millisecond || at > t.end+hlc.MaxDrift+time.Millisecond):
		return wrongf("the stamp of %s is %s; it was made between %s and %s", head.ID, moments(at), moments(t.day), moments(t.end))
	}
	w.follow(l, head, root)
	return nil
}

// counts reports whether a stamp is the next after the newest of the context.
func (l *line) counts(stamp hlc.NTP64) bool {
	return l.head.HLC.Time != 0 && stamp == hlc.NTP64(l.head.HLC.Time)+1
}

// follow makes a delta the newest of its context.
func (w *stamps) follow(l *line, head dag.Head, root codec.Hash) {
	stamp := hlc.NTP64(head.HLC.Time)
	if !l.counts(stamp) {
		w.last = stamp
	}
	l.head, l.root = head, root
	l.list = append(l.list, sinceEpoch(stamp.Time()))
}

// refused looks at why a commit was refused.
func (w *stamps) refused(e *hlc.Ahead, m moment) error {
	t := w.time.after(m)
	w.behind++
	next, day := sinceEpoch(e.Next), sinceEpoch(e.Physical)
	switch {
	case t.steady && (day < t.day-time.Millisecond || day > t.end):
		return wrongf("it was %s to %s, not %s as the refusal of a commit says: %v", moments(t.day), moments(t.end), moments(day), e)
	case next < day+hlc.MaxDrift-time.Millisecond, e.RetryAfter > next-day-hlc.MaxDrift+2*time.Millisecond:
		return wrongf("a commit was refused for no reason: %v", e)
	case next > w.time.latest()+ahead+time.Millisecond:
		return wrongf("stamps are more than %s after %s, the latest time of day that there was: %v", ahead, moments(w.time.latest()), e)
	}
	return errLater
}

// seed takes a snapshot over to another node.
func (w *stamps) seed(d *rpc.Dag, l *line) (err error) {
	db := mem.New()
	other, err := dag.Open(db, dag.Options{Node: codec.NodeID{Hi: 1, Lo: uint64(w.id) + 1}, Now: func() time.Time { return time.Unix(0, int64(w.time.latest()+2*ahead)) }})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, other.Close(), db.Close()) }()
	if err := other.CreateContext(l.context, codec.ApplicationMeta{}); err != nil {
		return err
	}
	m, base := w.time.before(), []byte(nil)
	var t times
	parts := func(yield func(*dag.SnapshotPart, error) bool) {
		for p, err := range d.Snapshot(context.Background(), l.context, nil) {
			if err == nil && p.Kind == dag.PartStart {
				base, t = p.Base, w.time.after(m)
			}
			if !yield(p, err) {
				return
			}
		}
	}
	if _, err := other.Seed(context.Background(), l.context, parts, dag.SeedOptions{}); err != nil {
		return err
	}
	if _, root, err := other.Heads(l.context); err != nil || root != l.root {
		return wrongf("a snapshot of context %s makes the root %s instead of %s: %v", l.context, root, l.root, err)
	}
	return w.aged(l, base, t)
}

// aged looks at how old the base of a snapshot is.
func (w *stamps) aged(l *line, base []byte, t times) error {
	age, at := w.baseAge(), time.Duration(0)
	if len(base) == 0 {
		w.without++
	} else {
		d, err := dag.ParseDelta(base)
		if err != nil {
			return wrongf("the base of a snapshot: %v", err)
		}
		w.bases++
		at = sinceEpoch(hlc.NTP64(d.HLC.Time).Time())
	}
	if !t.steady {
		return nil
	}
	if age >= 0 && at > t.end-age+time.Millisecond {
		return wrongf("the base of a snapshot is of %s, less than %s before %s", moments(at), age, moments(t.end))
	}
	for _, stamp := range l.list { // all that are newer must be too young
		if stamp > at && (age < 0 || stamp < t.day-age-time.Millisecond) {
			return wrongf("the base of a snapshot is of %s, and there is a delta of %s, which is %s before %s", moments(at), moments(stamp), age, moments(t.day))
		}
	}
	return nil
}

func (w *stamps) recount(c *rpc.Client) error {
	for _, l := range w.lines {
		if err := w.recountLine(c.Dag(), l); err != nil {
			return err
		}
	}
	return nil
}

func (w *stamps) recountLine(d *rpc.Dag, l *line) error {
	if !l.made {
		return nil
	}
	heads, root, err := d.Heads(context.Background(), l.context)
	if errors.Is(err, dag.ErrNoContext) && len(l.list) >= mostDeltas { // it was being deleted
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case len(heads) == 0 && len(l.list) == 0:
	case len(heads) == 1 && heads[0].ID == l.head.ID && root == l.root:
	case len(heads) == 1 && heads[0].Seq == l.head.Seq+1: // the commit under way
		if heads[0].HLC.Time <= l.head.HLC.Time {
			return wrongf("the stamp of %s is not after the one before", heads[0].ID)
		}
		w.follow(l, heads[0], root)
	default:
		return wrongf("the heads of context %s are %v; acknowledged was %v", l.context, heads, l.head)
	}
	return nil
}
