//go:build cgo

package bench

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// stream compares a stream with bare verification, both on one core.
func (r *govRun) stream() error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s, err := r.fresh()
	if err != nil {
		return err
	}
	n := r.each()
	done := 0
	for range r.options.Rounds + 1 {
		if err := r.history.grow(n); err != nil {
			return err
		}
		if err := r.verify(2 * n); err != nil {
			return err
		}
		wires := r.history.wires[done:]
		done = len(r.history.wires)
		if err := r.turn("apply", 2*n, func() error { return s.take(wires) }); err != nil {
			return err
		}
	}
	r.warmed()
	r.figure("signatures a second of the stream / of bare verification on one core", ratio(r.result.measure("verify"), r.result.measure("apply"), wallOf), "", "at least 0.7")
	r.figure("cpu of bare verification / of the stream", ratio(r.result.measure("verify"), r.result.measure("apply"), cpuOf), "", "")
	return nil
}

// warmed forgets the first turn of everybody.
func (r *govRun) warmed() {
	for i := range r.result.Measures {
		r.result.Measures[i].turns = r.result.Measures[i].turns[1:]
	}
}

// single applies one op after the other.
func (r *govRun) single() error {
	s, err := r.fresh()
	if err != nil {
		return err
	}
	begun := len(r.history.wires)
	n := max(r.each()/10, 10)
	if err := r.history.grow(n * (r.options.Rounds + 1)); err != nil {
		return err
	}
	if err := s.take(r.history.wires[:begun]); err != nil {
		return err
	}
	s.batches = 0
	r.result.Measures = append(r.result.Measures, Measure{Subject: "apply"})
	for round := range r.options.Rounds + 1 {
		wires := r.history.wires[begun+round*n:][:n]
		t, err := takeTurn(n, func(i int) error {
			a, err := s.store.Apply(context.Background(), wires[i])
			if err == nil && a.Kind != namespace.Stored {
				err = fmt.Errorf("an op is %s instead of stored: %v", a.Kind, a.Refusal)
			}
			return err
		})
		if err != nil {
			return err
		}
		r.result.Measures[0].turns = append(r.result.Measures[0].turns, t)
	}
	r.figure("synced batches of an Apply", float64(s.batches)/float64(n*(r.options.Rounds+1)), "", "at most 1")
	r.warmed()
	return nil
}

// catchUp fills empty stores with a long history.
func (r *govRun) catchUp() error {
	if err := r.history.grow(r.many()); err != nil {
		return err
	}
	n := len(r.history.wires)
	for range r.options.Rounds {
		s, err := r.fresh()
		if err != nil {
			return err
		}
		if err := r.verify(min(2*n, 40_000)); err != nil {
			return err
		}
		if err := r.turn("catch-up", 2*n, func() error { return s.take(r.history.wires) }); err != nil {
			return err
		}
		if err := r.close(); err != nil {
			return err
		}
	}
	r.figure("signatures a second of the catch-up / of bare verification on one core", ratio(r.result.measure("verify"), r.result.measure("catch-up"), wallOf), "",
		"at least 3 on 2 cores")
	r.figure("cpu of bare verification / of the catch-up", ratio(r.result.measure("verify"), r.result.measure("catch-up"), cpuOf), "", "")
	return nil
}

// long compares streams on top of a short and of a long history.
func (r *govRun) long() error {
	n := r.each()
	if err := r.history.grow(r.many() + (r.options.Rounds+1)*n); err != nil {
		return err
	}
	short, err := r.top("short", min(1000, r.many()), n)
	if err != nil {
		return err
	}
	long, err := r.top("long", r.many(), n)
	if err != nil {
		return err
	}
	for range r.options.Rounds + 1 {
		if err := short(); err != nil {
			return err
		}
		if err := long(); err != nil {
			return err
		}
	}
	r.warmed()
	r.figure("cpu of long / short", ratio(r.result.measure("long"), r.result.measure("short"), cpuOf), "", "at most 1.3, with 100,000 ops")
	return nil
}

// top returns what takes the next n ops on top of so many.
func (r *govRun) top(name string, length, n int) (func() error, error) {
	s, err := r.fresh()
	if err != nil {
		return nil, err
	}
	if err := s.take(r.history.wires[:length]); err != nil {
		return nil, err
	}
	return func() error {
		wires := r.history.wires[length:][:n]
		length += n
		return r.turn(name, n, func() error { return s.take(wires) })
	}, nil
}

// log scans the log of a group.
func (r *govRun) log() error {
	if err := r.history.grow(r.many()); err != nil {
		return err
	}
	s, err := r.fresh()
	if err != nil {
		return err
	}
	if err := s.take(r.history.wires); err != nil {
		return err
	}
	want := len(r.history.wires) - 1
	for range r.options.Rounds + 1 {
		if err := r.turn("scan", want, func() error {
			n := 0
			for e, err := range s.store.Ops(context.Background(), r.history.namespace, namespace.Window{}) {
				if err != nil {
					return err
				}
				if e.Verdict.Outcome != group.Effective {
					return fmt.Errorf("op %s is %s", e.ID, e.Verdict)
				}
				n++
			}
			if n != want {
				return fmt.Errorf("a log of %d ops has %d", want, n)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	for range r.options.Rounds + 1 {
		if err := errors.Join(s.store.Close(), s.Engine.Close()); err != nil {
			return err
		}
		if err := s.start(); err != nil {
			return err
		}
		if err := r.turn("restart", want, func() error {
			_, err := s.store.Heads(context.Background(), r.history.namespace)
			return err
		}); err != nil {
			return err
		}
	}
	r.warmed()
	m := r.result.measure("scan")
	m.sum()
	r.figure("ops a second", 1e9/m.Wall.Median, "", "at least 500,000")
	m = r.result.measure("restart")
	m.sum()
	r.figure("first read after a restart", m.Wall.Median*float64(want)/1e9, "s", "under 1, of 120,000 ops")
	return nil
}

const govMembers = 1000

// rotate removes one of many members, whose key then goes to all the others.
func (r *govRun) rotate() error {
	h := r.history
	var ids []codec.Identity
	for i := range govMembers + r.options.Rounds + 1 - govSigners {
		ids = append(ids, group.IdentityOf(sha256.Sum256(fmt.Append(nil, "bench member ", i))))
		if err := h.say(codec.GroupOp{Kind: codec.OpMemberAdded, Member: ids[i], Role: codec.Member}); err != nil {
			return err
		}
	}
	s, err := r.fresh()
	if err != nil {
		return err
	}
	if err := s.take(h.wires); err != nil {
		return err
	}
	for n, gone := range ids[:r.options.Rounds+1] {
		body := codec.GroupOp{Kind: codec.OpMemberRemoved, Member: gone}
		if n == 0 { // sends the key to all of them, and is not counted
			body = codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: ids[1], Name: codec.Some(codec.AliasName("first"))}
		}
		var done namespace.Proposed
		if err := r.turn("removal", 1, func() (err error) {
			done, err = s.store.Propose(context.Background(), h.namespace, namespace.Proposal{GroupID: h.namespace, Group: &body})
			return err
		}); err != nil {
			return err
		}
		if err := r.split(s, h, ids, done); err != nil {
			return err
		}
	}
	r.warmed()
	r.figure("of a removal: wrapping the key", 100*ratio(r.result.measure("wrap"), r.result.measure("removal"), wallOf), "%", "")
	r.figure("of a removal: writing the batch", 100*ratio(r.result.measure("write"), r.result.measure("removal"), wallOf), "%", "")
	return nil
}

// split measures the parts of a removal by themselves: as many envelopes, and a synced
// batch as large.
func (r *govRun) split(s *govStore, h *govHistory, ids []codec.Identity, done namespace.Proposed) error {
	at := h.next(0)
	if err := r.turn("wrap", 1, func() error {
		_, err := namespace.IntroduceKey(at, h.namespace, h.key, nil, ids[:min(govMembers, len(ids))])
		return err
	}); err != nil {
		return err
	}
	return r.turn("write", 1, func() error {
		var b engine.Batch
		for i, wire := range done.Wire {
			engine.Put(&b, keys.NamespaceGovOp{Namespace: codec.GroupID{1}, Delta: codec.OpID{byte(i)}}, codec.NamespaceGovOpValue{SkeletonBytes: wire})
		}
		return s.Engine.Apply(&b)
	})
}
