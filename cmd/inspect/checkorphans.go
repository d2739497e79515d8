package inspect

import (
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
)

// ofDeltas are the scopes whose rows are of a context that Meta has, with what
// stands between the scope and its id. They are never written to.
var ofDeltas = map[string]int{"dag-order": 0, "dag-seq": 0, "dag-head": 0, "dag-version": 0, "dag-gone": 0, "dag-late": 0, "dag-tail": 0, "dag-pending": 1, "dag-refused": 1, "dag-cursor": 0, "dag-seeded": 0,
	"dag-signed": 0, "dag-envelope": 0, "dag-cut": 1, "dag-held": 0}

// orphans checks that the context of deltas, and of what they have made, is there.
// Of the rows of one that is not, the first of a scope is reported.
type orphans struct {
	v    *verifier
	last []byte // what the key of the last row begins with, up to the context
}

func checkOrphans(v *verifier) check { return &orphans{v: v} }

func (o *orphans) row(r row) error {
	at := 0
	if r.info.Column == column.Generic {
		s := keys.Scope(r.key)
		if s.IsKV() {
			return nil
		}
		between, ok := ofDeltas[s.String()]
		if !ok {
			return nil
		}
		at = len(s) + between
	}
	if slices.Equal(o.last, r.key[:at+contextBytes]) { // rows come that have their form, and so a context
		return nil
	}
	o.last = append(o.last[:0], r.key[:at+contextBytes]...)
	id := codec.ContextID(r.key[at:])
	there, err := has(o.v, keys.ContextMeta{Context: id})
	if err != nil || there {
		return err
	}
	return o.v.found("context-missing", r.info.Column, r.key, "the context %s is not there", id)
}

func (*orphans) end() error { return nil }
