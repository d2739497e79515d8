package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
)

// branch commits to a context of its own through the Dag service.
type branch struct {
	context codec.ContextID
	rand    *rand.Rand
	state   map[string]string
	under   map[string]string // the state after the commit under way
	deltas  []codec.DeltaID   // acknowledged; those before checked were looked up
	checked int
	seq     uint64 // the number of the last delta
	root    codec.Hash
	made    bool
	cuts    bool // of power, which take what is not synced
	stepped bool // the daemon's clock is simulated, and set back at times
}

// keepTime lets commits wait for a clock that was set back; stamps looks at how long.
func (w *branch) keepTime(*reckoning) { w.stepped = true }

func (w *branch) expectCuts() { w.cuts = true }

func newBranch(r *rand.Rand, id byte) worker {
	return &branch{context: codec.ContextID{1, id}, rand: r, state: map[string]string{}}
}

// create makes a context, unless a kill came between the making and the answer.
func create(d *rpc.Dag, id codec.ContextID) error {
	if err := d.CreateContext(context.Background(), id, codec.ApplicationMeta{}); !errors.Is(err, dag.ErrExists) {
		return err
	}
	return nil
}

func (w *branch) use(c *rpc.Client) (err error) {
	d := c.Dag()
	if !w.made {
		if err := create(d, w.context); err != nil {
			return err
		}
		if _, w.root, err = d.Heads(context.Background(), w.context); err != nil {
			return err
		}
		w.made = true
	}
	if w.rand.IntN(4) == 0 {
		stale := w.root
		stale[w.rand.IntN(32)] ^= 1
		_, err := d.Commit(context.Background(), dag.Commit{Context: w.context, ReadRoot: stale, Actions: []codec.Action{codec.Put([]byte("stale"), nil)}})
		var moved *dag.RootMoved
		if err == nil {
			return wrongf("a commit was made on a root that the context does not have")
		} else if !errors.As(err, &moved) {
			return err
		}
	}
	w.under = maps.Clone(w.state)
	commit := dag.Commit{Context: w.context, ReadRoot: w.root, Events: []codec.Event{{Kind: "torture"}}}
	if w.rand.IntN(4) == 0 && !w.cuts {
		commit.Durability = engine.WAL // a kill must not lose that either
	}
	for _, k := range w.rand.Perm(40)[:1+w.rand.IntN(5)] {
		key := fmt.Sprint("k", k)
		if _, there := w.state[key]; there && w.rand.IntN(4) == 0 {
			delete(w.under, key)
			commit.Actions = append(commit.Actions, codec.Delete([]byte(key)))
			continue
		}
		w.under[key] = fmt.Sprint(w.rand.Uint64())
		commit.Actions = append(commit.Actions, codec.Put([]byte(key), []byte(w.under[key])))
	}
	done, err := d.Commit(context.Background(), commit)
	if w.stepped && errors.Is(err, hlc.ErrAhead) {
		return errLater
	}
	if err != nil {
		return err
	}
	if done.Seq != w.seq+1 {
		return wrongf("commit %d of the context is said to be number %d", w.seq+1, done.Seq)
	}
	w.deltas = append(w.deltas, done.Delta)
	w.state, w.under, w.root, w.seq = w.under, nil, done.Root, done.Seq
	return nil
}

func (w *branch) recount(c *rpc.Client) error {
	if !w.made {
		return nil
	}
	d := c.Dag()
	heads, root, err := d.Heads(context.Background(), w.context)
	if err != nil {
		return err
	}
	seq := uint64(0)
	if len(heads) > 0 {
		seq = heads[0].Seq
	}
	if seq == w.seq+1 && w.under != nil {
		w.state, w.seq, w.root = w.under, seq, root
	}
	w.under = nil
	if seq != w.seq || root != w.root {
		return wrongf("the context has %d deltas and the root %s; acknowledged were %d, which make %s", seq, root, w.seq, w.root)
	}
	for k := range 40 {
		key := fmt.Sprint("k", k)
		want, there := w.state[key]
		got, err := d.State(context.Background(), w.context, []byte(key))
		switch {
		case errors.Is(err, engine.ErrNotFound) && !there:
		case err != nil && !errors.Is(err, engine.ErrNotFound):
			return err
		case err != nil || !there || !bytes.Equal(got, []byte(want)):
			return wrongf("%s is %q instead of %q", key, got, want)
		}
	}
	for ; w.checked < len(w.deltas); w.checked++ {
		if err := applied(d, w.context, w.deltas[w.checked]); err != nil {
			return err
		}
	}
	return nil
}

// applied demands that a delta is there and part of the state.
func applied(d *rpc.Dag, in codec.ContextID, id codec.DeltaID) error {
	_, state, err := d.Get(context.Background(), in, id)
	switch {
	case errors.Is(err, dag.ErrNoDelta):
		return wrongf("delta %s is not there", id)
	case err != nil:
		return err
	case state != dag.StateApplied:
		return wrongf("delta %s is %s", id, state)
	}
	return nil
}
