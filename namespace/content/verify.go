package content

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/envelope"
)

// The codes of what is wrong with rows, as `stoa verify` has them. They are never used for something else.
const (
	CodeSigned   = "dag-signed"   // what is kept of the envelope of a delta
	CodeEnvelope = "dag-envelope" // the delta of an envelope
	CodeCut      = "dag-cut"      // what authors knew of governance
	CodeHeld     = "dag-held"     // what is set aside
)

// Fault is something that is wrong with a row, or one that is missing.
type Fault struct {
	Code   string
	Key    []byte // in column Generic
	Detail string
}

// VerifyOptions say what a [Store.Verify] looks at.
type VerifyOptions struct {
	// Sealed is set where the keys of groups can't be read: signatures and sealed bytes, and what counts,
	// are not looked at.
	Sealed bool
}

// Verify compares the rows of the signed deltas of a context with each other, with the deltas and with
// governance, and calls found for what is wrong. Rows that do not parse are passed over. unjudged is how
// many envelopes are to be set aside, or to count again, by ops that came last: the next look does that.
// It returns the error of found, of ctx or of reading; it may run beside reads, and nothing may change
// meanwhile.
func (s *Store) Verify(ctx context.Context, id codec.ContextID, o VerifyOptions, found func(Fault) error) (unjudged int, err error) {
	v := &verification{ctx: ctx, c: &state{s: s, id: id}, sealed: o.Sealed, found: found}
	_, v.c.ns, err = s.gov.Resolve(id)
	if errors.Is(err, namespace.ErrNoContext) {
		v.sealed, err = true, nil // by whose keys is not known here
	}
	if err != nil {
		return 0, err
	}
	for _, part := range []struct {
		prefix []byte
		row    func(key, value []byte) error
	}{
		{prefixOf(signedScope, id), v.signed}, {prefixOf(envelopeScope, id), v.envelope},
		{cutKey(headsRow, id), v.heads}, {cutKey(memberRow, id), v.member}, {prefixOf(heldScope, id), v.held},
	} {
		err := engine.Each(s.db, column.Generic, engine.Prefixed(part.prefix), func(key, value []byte) error {
			return errors.Join(part.row(bytes.Clone(key), value), ctx.Err())
		})
		if err != nil {
			return 0, err
		}
	}
	if v.some == 0 {
		return 0, nil
	}
	if err := v.topped(); err != nil || v.sealed || v.odd || v.faults > 0 {
		return 0, err
	}
	return v.unjudged()
}

// verification is one under way.
type verification struct {
	ctx    context.Context
	c      *state
	sealed bool
	found  func(Fault) error
	some   int // envelopes
	faults int
	odd    bool // a row did not parse
}

func (v *verification) fault(code string, key []byte, format string, args ...any) error {
	v.faults++
	return v.found(Fault{code, key, fmt.Sprintf(format, args...)})
}

// signed looks at what is kept of the envelope of a delta that counts.
func (v *verification) signed(key, value []byte) error {
	e, err := parseSigned(key, value)
	if err != nil || len(key) != prefixLen+len(codec.DeltaID{}) {
		v.odd = true
		return nil
	}
	v.some++
	id := codec.DeltaID(key[prefixLen:])
	d, status, err := v.c.s.dag.Get(v.c.id, id)
	if errors.Is(err, dag.ErrNoDelta) || errors.Is(err, dag.ErrNoContext) || err == nil && status != dag.StateApplied {
		return v.fault(CodeSigned, key, "there is no delta %s that is applied", id)
	}
	if errors.Is(err, engine.ErrCorrupt) || errors.Is(err, codec.ErrMalformed) {
		return nil // that is told of the delta
	}
	if err != nil {
		return err
	}
	node, err := envelope.Node(e.Author, e.ContextID, envelope.Place{Cut: e.Cut, Parents: e.Parents, KeyOp: e.KeyOp})
	switch {
	case e.ContextID != v.c.id:
		return v.fault(CodeSigned, key, "the envelope is of context %s", e.ContextID)
	case e.time != d.HLC.Time:
		return v.fault(CodeSigned, key, "its delta has another time")
	case err != nil || node != d.HLC.ID:
		return v.fault(CodeSigned, key, "its delta has the clock of another author or place")
	}
	for _, row := range []struct {
		key  []byte
		want []byte
		what string
	}{
		{rowKey(envelopeScope, v.c.id, e.id), id[:], "dag-envelope does not name the delta"},
		{memberKey(v.c.id, idOfCut(e.Cut), e.id), nil, "dag-cut does not have the envelope at its cut"},
	} {
		b, there, err := get(v.c.s.db, row.key)
		if err != nil {
			return err
		}
		if !there || !bytes.Equal(b, row.want) {
			return v.fault(CodeSigned, key, "%s", row.what)
		}
	}
	cut := idOfCut(e.Cut)
	_, there, err := get(v.c.s.db, cutKey(headsRow, v.c.id, cut[:]...))
	if err != nil {
		return err
	}
	if !there {
		return v.fault(CodeSigned, key, "dag-cut does not have its cut")
	}
	fault, err := v.parents(&e, d)
	if err != nil {
		return err
	}
	if fault != "" {
		return v.fault(CodeSigned, key, "%s", fault)
	}
	return v.signature(key, &e, d)
}

// parents says what is wrong with the parents of an envelope that counts.
func (v *verification) parents(e *signed, d *dag.Delta) (fault string, err error) {
	var deltas []codec.DeltaID
	for _, p := range e.Parents {
		delta, there, err := DeltaOf(v.c.s.db, v.c.id, p)
		if err != nil && !errors.Is(err, engine.ErrCorrupt) {
			return "", err
		}
		if err != nil || !there {
			return fmt.Sprintf("its parent %s does not count", p), nil
		}
		deltas = append(deltas, delta)
	}
	slices.SortFunc(deltas, codec.CompareID)
	if !slices.Equal(deltas, d.Parents) {
		return "its parents are not those of its delta", nil
	}
	return "", nil
}

// signature looks at the envelope that is made of a delta again.
func (v *verification) signature(key []byte, e *signed, d *dag.Delta) error {
	if v.sealed {
		return nil
	}
	group, err := v.c.key(&e.DeltaEnvelope)
	if err != nil {
		return v.fault(CodeSigned, key, "%s", err)
	}
	whole, err := envelope.Rebuild(d, e.DeltaEnvelope, group)
	if err == nil && whole.ID != e.id {
		err = fmt.Errorf("its delta makes another envelope, %s", whole.ID)
	}
	if err == nil {
		err = whole.Verify(&v.c.s.verifier)
	}
	if err != nil {
		return v.fault(CodeSigned, key, "%s", err)
	}
	return nil
}

// envelope looks at the delta of an envelope.
func (v *verification) envelope(key, value []byte) error {
	if len(key) != prefixLen+len(codec.EnvelopeID{}) || len(value) != len(codec.DeltaID{}) {
		return nil
	}
	v.some++
	e, there, err := readSigned(v.c.s.db, v.c.id, codec.DeltaID(value))
	switch {
	case errors.Is(err, engine.ErrCorrupt): // that is told of the other
		return nil
	case err != nil:
		return err
	case !there || e.id != codec.EnvelopeID(key[prefixLen:]):
		return v.fault(CodeEnvelope, key, "dag-signed has no such envelope of delta %s", codec.DeltaID(value))
	}
	return nil
}

// heads looks at a cut.
func (v *verification) heads(key, value []byte) error {
	var heads []codec.OpID
	for rest := value; len(rest) >= len(codec.OpID{}); rest = rest[len(codec.OpID{}):] {
		heads = append(heads, codec.OpID(rest))
	}
	if got := idOfCut(heads); len(heads) == 0 || !bytes.HasSuffix(key, got[:]) {
		return v.fault(CodeCut, key, "the ops are not those of the cut")
	}
	return nil
}

// member looks at an envelope at a cut.
func (v *verification) member(key, _ []byte) error {
	const before = 1 + prefixLen + len(cutID{})
	if len(key) != before+len(codec.EnvelopeID{}) {
		return nil
	}
	cut := cutID(key[1+prefixLen:])
	delta, there, err := DeltaOf(v.c.s.db, v.c.id, codec.EnvelopeID(key[before:]))
	var e signed
	if err == nil && there {
		e, there, err = readSigned(v.c.s.db, v.c.id, delta)
	}
	switch {
	case errors.Is(err, engine.ErrCorrupt):
		return nil
	case err != nil:
		return err
	case !there:
		return v.fault(CodeCut, key, "the envelope does not count")
	case idOfCut(e.Cut) != cut:
		return v.fault(CodeCut, key, "the envelope has another cut")
	}
	return nil
}

// held looks at an envelope that is set aside.
func (v *verification) held(key, value []byte) error {
	h, err := parseHeld(key, value)
	if err != nil || len(key) != prefixLen+len(codec.EnvelopeID{}) {
		v.odd = true
		return nil
	}
	v.some++
	_, counts, err := DeltaOf(v.c.s.db, v.c.id, h.ID)
	switch {
	case err != nil && !errors.Is(err, engine.ErrCorrupt):
		return err
	case h.ID != codec.EnvelopeID(key[prefixLen:]) || h.ContextID != v.c.id:
		return v.fault(CodeHeld, key, "it is envelope %s of context %s", h.ID, h.ContextID)
	case counts:
		return v.fault(CodeHeld, key, "it counts too")
	}
	if err := h.Verify(&v.c.s.verifier); err != nil {
		return v.fault(CodeHeld, key, "%s", err)
	}
	if v.sealed {
		return nil
	}
	group, err := v.c.key(&h.DeltaEnvelope)
	var d *dag.Delta
	if err == nil {
		d, err = h.Open(group)
	}
	if err == nil && (d.ID() != h.delta || d.HLC.Time != h.time) {
		err = fmt.Errorf("it has delta %s in it", d.ID())
	}
	if err != nil {
		return v.fault(CodeHeld, key, "%s", err)
	}
	return nil
}

// topped looks for envelopes of the heads of a context of which some deltas have one.
func (v *verification) topped() error {
	heads, _, err := v.c.s.dag.Heads(v.c.id)
	if errors.Is(err, dag.ErrNoContext) {
		return nil // which is told of the rows
	}
	for _, h := range heads {
		key := rowKey(signedScope, v.c.id, h.ID)
		_, there, err := get(v.c.s.db, key)
		if err != nil {
			return err
		}
		if !there {
			if err := v.fault(CodeSigned, key, "the head %s has no envelope", h.ID); err != nil {
				return err
			}
		}
	}
	return err
}

// unjudged counts what does not count by the ops that are here, and does yet, and what is set aside and
// counts.
func (v *verification) unjudged() (n int, err error) {
	c := v.c
	if err := c.load(); err != nil {
		return 0, err
	}
	w, err := c.walked(v.ctx)
	if errors.Is(err, engine.ErrCorrupt) || errors.Is(err, errForgotten) {
		return 0, v.fault(CodeSigned, prefixOf(signedScope, c.id), "%s", err)
	}
	if err != nil {
		return 0, err
	}
	for _, e := range w.open {
		if e.out && e.held == nil {
			n++
		}
	}
	for id := range c.held {
		if e := w.known[id]; e != nil && !e.out {
			n++
		}
	}
	return n, nil
}
