package dag

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// ErrRefused marks the refusal of a delta. The error is a [*Refusal].
var ErrRefused = errors.New("dag: refused")

// RefusalReason says why a delta is refused. The zero RefusalReason is none. The
// numbers are stored and sent: they do not change.
type RefusalReason uint8

// The reasons. Those from BadTime on are a function of a delta with a right id
// and of its ancestors: such refusals are listed and remembered.
const (
	BadID           RefusalReason = 1 + iota // its id is not the one that it was offered as
	BadForm                                  // parents out of order, a key twice, no bytes
	OverLimit                                // more parents, actions or bytes than there may be
	BadTime                                  // its stamp is not after those of its parents
	RootMismatch                             // its expected root is not that of its causal cut
	RefusedAncestor                          // it descends from a delta that is refused
)

// String returns the reason as messages and tables spell it.
func (r RefusalReason) String() string {
	switch r {
	case BadID:
		return "bad_id"
	case BadForm:
		return "bad_form"
	case OverLimit:
		return "over_limit"
	case BadTime:
		return "bad_time"
	case RootMismatch:
		return "root_mismatch"
	case RefusedAncestor:
		return "refused_ancestor"
	}
	return fmt.Sprintf("RefusalReason(%d)", uint8(r))
}

// Listed reports whether refusals for this reason are remembered.
func (r RefusalReason) Listed() bool { return r >= BadTime && r <= RefusedAncestor }

// Refusal says which delta is refused, and why. Every node that has the delta and
// its ancestors says the same.
type Refusal struct {
	Delta    codec.DeltaID
	Reason   RefusalReason
	Ancestor codec.DeltaID // RefusedAncestor: a parent that is refused; BadTime: the parent
	Expected codec.Hash    // RootMismatch: what the delta says
	Computed codec.Hash    // RootMismatch: the root of its causal cut
	Detail   string        // for people; at most 512 bytes
}

// Error names the delta, the reason and what to look at.
func (r *Refusal) Error() string {
	s := fmt.Sprintf("dag: delta %s refused: %s", r.Delta, r.Reason)
	switch r.Reason {
	case RootMismatch:
		s += fmt.Sprintf(": it expects the root %s, its ancestors and itself make %s", r.Expected, r.Computed)
	case RefusedAncestor, BadTime:
		s += fmt.Sprintf(": parent %s", r.Ancestor)
	}
	if r.Detail != "" {
		s += ": " + r.Detail
	}
	return s
}

// Is reports whether target is [ErrRefused].
func (r *Refusal) Is(target error) bool { return target == ErrRefused }

// maxDetail bounds what a refusal row says to people.
const maxDetail = 512

// appendBinary appends the row of a refusal:
//
//	delta_id 32 ‖ reason u8 ‖ ancestor 32 ‖ expected 32 ‖ computed 32 ‖ detail
func (r *Refusal) appendBinary(dst []byte) []byte {
	dst = append(append(dst, r.Delta[:]...), byte(r.Reason))
	dst = append(append(append(dst, r.Ancestor[:]...), r.Expected[:]...), r.Computed[:]...)
	return append(dst, r.Detail[:min(len(r.Detail), maxDetail)]...)
}

// parseRefusal returns the refusal of a row, and false if it is none.
func parseRefusal(b []byte) (r Refusal, ok bool) {
	const fixed = 4*32 + 1
	if len(b) < fixed || len(b) > fixed+maxDetail || !RefusalReason(b[32]).Listed() {
		return r, false
	}
	return Refusal{Delta: codec.DeltaID(b), Reason: RefusalReason(b[32]), Ancestor: codec.DeltaID(b[33:]),
		Expected: codec.Hash(b[65:]), Computed: codec.Hash(b[97:]), Detail: string(b[fixed:])}, true
}

// refusal returns why a delta was refused, nil if that is not remembered.
func (g *writeGroup) refusal(id *codec.DeltaID) (*Refusal, error) {
	if g.c.refusals() == 0 {
		return nil, nil
	}
	key := refusalIndexKey(nil, &g.c.id, id)
	b, err := g.view.Get(nil, column.Generic, key)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	seq, ok := parseU64(b)
	if !ok {
		return nil, damagedRow(column.Generic, key, "not a number")
	}
	return g.refusalAt(seq)
}

func (g *writeGroup) refusalAt(seq uint64) (*Refusal, error) {
	key := refusalKey(nil, &g.c.id, seq)
	b, err := g.view.Get(nil, column.Generic, key)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, damagedRow(column.Generic, key, "a refusal is missing")
	}
	if err != nil {
		return nil, err
	}
	r, ok := parseRefusal(b)
	if !ok {
		return nil, damagedRow(column.Generic, key, "not a refusal")
	}
	return &r, nil
}

// refuse remembers a refusal in place of the oldest, if there are many, and leaves
// what waits for the delta to drain.
func (g *writeGroup) refuse(x *candidate, r *Refusal, a *Answer) error {
	c := g.c
	for c.refusals() >= g.s.options.MaxRefused {
		old, err := g.refusalAt(c.firstRefusal)
		if err != nil {
			return err
		}
		g.key = refusalKey(g.key[:0], &c.id, c.firstRefusal)
		g.delete(g.key)
		g.key = refusalIndexKey(g.key[:0], &c.id, &old.Delta)
		g.delete(g.key)
		c.firstRefusal++
	}
	g.key, g.value = refusalKey(g.key[:0], &c.id, c.nextRefusal), r.appendBinary(g.value[:0])
	g.put(g.key, g.value)
	g.key, g.value = refusalIndexKey(g.key[:0], &c.id, &r.Delta), appendU64(g.value[:0], c.nextRefusal)
	g.put(g.key, g.value)
	c.nextRefusal++

	if x.waited {
		if err := g.unwait(x); err != nil {
			return err
		}
		g.key = deltaKey(g.key[:0], &c.id, &r.Delta)
		g.batch.Delete(column.Delta, g.key)
	}
	if err := g.dropWaiting(x); err != nil {
		return err
	}
	if a.Kind == 0 {
		a.Kind, a.Refusal = Refused, r
	} else {
		a.Refused = append(a.Refused, *r)
	}
	return g.wake(&r.Delta, true, a)
}

func appendU64(dst []byte, n uint64) []byte { return binary.LittleEndian.AppendUint64(dst, n) }
