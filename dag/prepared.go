package dag

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag/merkle"
)

// prepared is a delta and what is known of it before its context is looked at:
// encoding and hashing are done by the caller of Add, not by who applies.
type prepared struct {
	d       *Delta
	id      codec.DeltaID
	refusal *Refusal // of form and limits
	bytes   []byte   // the domain of its id, and the delta as it travels
	at      int      // where in bytes the expected root begins
	writes  []write  // by key
}

// write is an action of a delta, by the hash of its key.
type write struct {
	merkle.Change
	action int // its index
}

// preparations lends memory to deltas on their way.
var preparations = sync.Pool{New: func() any { return new(prepared) }}

// prepare judges the form of d and hashes all that is to be hashed. It keeps d
// until it is released.
func prepare(d *Delta) *prepared {
	p := preparations.Get().(*prepared)
	p.d, p.refusal = d, nil
	reason, detail := d.fault()
	if reason == 0 {
		if reason, detail = p.encode(); reason != BadForm {
			p.id = hashDelta(p.bytes)
		}
	} else {
		p.id = d.ID() // p has that of the delta before
	}
	if reason == 0 {
		reason, detail = p.hashActions()
	}
	if reason != 0 {
		p.refusal = &Refusal{Delta: p.id, Reason: reason, Detail: detail}
	}
	return p
}

// encode sets bytes, and unsets id.
func (p *prepared) encode() (RefusalReason, string) {
	var err error
	p.id = codec.DeltaID{}
	p.bytes, p.at, err = p.d.append(append(p.bytes[:0], domainDelta...))
	if err != nil {
		return BadForm, err.Error()
	}
	p.at += len(domainDelta)
	if n := len(p.wire()); n > MaxDelta {
		return OverLimit, fmt.Sprintf("%d bytes, at most %d", n, MaxDelta)
	}
	return 0, ""
}

// fits reports whether the delta, which has been encoded, is within MaxDelta with n parents.
func (p *prepared) fits(n int) bool {
	return len(p.wire())+(n-len(p.d.Parents))*len(codec.DeltaID{}) <= MaxDelta
}

// hashDelta returns the id of a delta by its bytes, after the domain.
func hashDelta(b []byte) codec.DeltaID { return sha256.Sum256(b) }

// hashActions sets writes.
func (p *prepared) hashActions() (RefusalReason, string) {
	p.writes = p.writes[:0]
	for i := range p.d.Actions {
		a := &p.d.Actions[i]
		w := write{Change: merkle.Change{Key: merkle.HashKey(a.Key), Delete: a.Kind == codec.ActionDelete}, action: i}
		if !w.Delete {
			w.Value = merkle.HashValue(a.Value)
		}
		p.writes = append(p.writes, w)
	}
	slices.SortFunc(p.writes, func(a, b write) int { return bytes.Compare(a.Key[:], b.Key[:]) })
	for i := 1; i < len(p.writes); i++ {
		if p.writes[i-1].Key == p.writes[i].Key {
			return BadForm, fmt.Sprintf("actions %d and %d have one key", p.writes[i-1].action, p.writes[i].action)
		}
	}
	return 0, ""
}

// writesTo reports whether the delta writes a key.
func (p *prepared) writesTo(key *codec.Hash) bool {
	_, own := slices.BinarySearchFunc(p.writes, key, func(w write, key *codec.Hash) int { return bytes.Compare(w.Key[:], key[:]) })
	return own
}

// appendChanges appends what it writes, by key.
func (p *prepared) appendChanges(dst []merkle.Change) []merkle.Change {
	for i := range p.writes {
		dst = append(dst, p.writes[i].Change)
	}
	return dst
}

// wire returns the delta as it travels. It is valid until p is released.
func (p *prepared) wire() []byte { return p.bytes[len(domainDelta):] }

// appendRow appends the row of the delta, codec.ContextDagDeltaValue: its id in
// place of the context's, and a byte before the expected root.
func (p *prepared) appendRow(dst []byte, applied bool) []byte {
	context := len(domainDelta) + len(p.d.Context)
	dst = append(append(dst, p.id[:]...), p.bytes[context:p.at]...)
	if applied {
		dst = append(dst, 1)
	} else {
		dst = append(dst, 0)
	}
	return append(dst, p.bytes[p.at:]...)
}

// rowDelta returns the delta of a row.
func rowDelta(context codec.ContextID, v *codec.ContextDagDeltaValue) *Delta {
	return &Delta{Context: context, Parents: v.Parents, Actions: v.Actions, HLC: v.HLC,
		ExpectedRoot: v.ExpectedRootHash, Events: v.Events}
}

// keepPrepared is how much memory a preparation may keep for the next delta.
const keepPrepared = 256 << 10

func (p *prepared) release() {
	p.d, p.refusal = nil, nil
	if cap(p.bytes) <= keepPrepared && cap(p.writes) <= 1024 {
		preparations.Put(p)
	}
}
