package server

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
	"github.com/stoadb/stoa/rpc/server/internal/framed"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Apply answers Store.Apply: it writes a batch.
func (t *storeService) Apply(ctx context.Context, r *stoav1.ApplyRequest) (*stoav1.ApplyResponse, error) {
	who, ok := framed.PeerFrom(ctx)
	if !ok {
		return nil, demux.ErrPeer
	}
	d, err := op.ParseDurability("durability", r.GetDurability())
	if err != nil {
		return nil, err
	}
	b, err := engine.ParseBatch(r.GetOps(), r.GetExpectations(), d)
	if err != nil {
		return nil, err
	}
	if err := t.s.checkRows(b, who); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil { // nobody waits for it any more
		return nil, err
	}
	if guards := guardsOf(r.GetGuards()); len(guards) > 0 {
		err = t.s.applyGuarded(b, string(r.GetGuardTenant()), guards)
	} else {
		err = t.s.eng.Apply(b)
	}
	if err != nil {
		return nil, err
	}
	return &stoav1.ApplyResponse{}, nil
}

// directApply is Store.Apply.
func (t *storeService) directApply() *framed.Direct {
	return &framed.Direct{
		Parse: func(sc *framed.Scratch, payload []byte) error { return framed.Parse(payload, &sc.Apply) },
		Do: func(ctx context.Context, sc *framed.Scratch) (framed.Answer, error) {
			_, err := t.Apply(ctx, &sc.Apply)
			return framed.Answer{}, err
		},
		Lone: func(sc *framed.Scratch) bool { return sc.Apply.GetDurability() == stoav1.Durability_DURABILITY_WAL },
	}
}

// checkRows returns an error that names the change or the expectation unless
// every row of b may be written.
func (s *Server) checkRows(b *engine.Batch, who demux.Peer) error {
	n := 0
	for op, err := range b.Ops {
		if err != nil {
			return err
		}
		if err := checkChange(op); err != nil {
			return rowError(err, op.Column, op.Key, fault.FieldChange, n)
		}
		if err := s.checkOwner(op, who); err != nil {
			return err.With(fault.FieldChange, strconv.Itoa(n))
		}
		if err := s.mayChange(op, who, n); err != nil {
			return err
		}
		n++
	}
	n = 0
	for e, err := range b.Expected {
		if err != nil {
			return err
		}
		if _, err := keys.Identify(e.Column, e.Key); err != nil {
			return rowError(err, e.Column, e.Key, fault.FieldExpectation, n)
		}
		if err := s.mayKnow(who, e.Column, e.Key, fault.FieldExpectation, strconv.Itoa(n)); err != nil {
			return err // whether it holds would tell what is stored
		}
		n++
	}
	return nil
}

// mayChange refuses a change of rows that the peer may not know: who replaces a private key
// knows the new one, and who deletes it takes the identity.
func (s *Server) mayChange(op engine.Op, who demux.Peer, n int) error {
	if op.Kind == engine.KindPut || op.Kind == engine.KindDelete {
		return s.mayKnow(who, op.Column, op.Key, fault.FieldChange, strconv.Itoa(n))
	}
	return s.mayMeet(who, op.Column, engine.Range{Start: op.Key, End: op.Value}, fault.FieldChange, strconv.Itoa(n))
}

func checkChange(op engine.Op) error {
	switch op.Kind {
	case engine.KindPut:
		return keys.Check(op.Column, op.Key, op.Value)
	case engine.KindDelete:
		_, err := keys.Identify(op.Column, op.Key)
		return err
	default:
		return checkRange(op)
	}
}

// checkRange refuses range deletions that are hardly meant: without a start, or
// beyond one scope of Generic or one prefix of Group. Bounds need not be keys.
func checkRange(op engine.Op) error {
	within := 1
	if op.Column == column.Generic {
		within = 16
	}
	if len(op.Key) < within {
		return &keys.Error{Column: op.Column, Field: "start", Offset: len(op.Key),
			Reason: fmt.Sprintf("the start of a deleted range has at least %d bytes", within)}
	}
	if op.Column != column.Generic && op.Column != column.Group {
		return nil
	}
	if last := engine.Successor(op.Key[:within]); last != nil && bytes.Compare(op.Value, last) > 0 {
		return &keys.Error{Column: op.Column, Field: "end", Offset: 0,
			Reason: fmt.Sprintf("a deleted range stays within the first %d bytes of its start", within)}
	}
	return nil
}

// rowError returns err with the key, and the number of the change or the
// expectation that it is about.
func rowError(err error, col column.Column, key []byte, which string, n int) error {
	e := fault.DescribeRow(err, col, key, which, strconv.Itoa(n))
	if e == nil {
		return err
	}
	return e
}
