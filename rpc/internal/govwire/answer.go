package govwire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// The numbers of outcomes, reasons, kinds of answers and reasons of refusals are those
// of packages group and namespace.

// FromVerdict returns a verdict as it goes over the wire.
func FromVerdict(v group.Verdict) *stoav1.GovVerdict {
	return &stoav1.GovVerdict{Outcome: stoav1.GovOutcome(v.Outcome), Reason: stoav1.GovReason(v.Reason)}
}

// Verdict returns the verdict that came over the wire.
func Verdict(m *stoav1.GovVerdict) group.Verdict {
	return group.Verdict{Outcome: group.Outcome(m.GetOutcome()), Reason: group.Reason(m.GetReason())}
}

// FromChange returns a change of a verdict as it goes over the wire.
func FromChange(c group.VerdictChange) *stoav1.GovVerdictChange {
	return &stoav1.GovVerdictChange{OpId: op.Bytes(c.Op), Old: FromVerdict(c.Old), New: FromVerdict(c.New)}
}

// Change returns the change that came over the wire.
func Change(m *stoav1.GovVerdictChange) (c group.VerdictChange, err error) {
	c.Old, c.New = Verdict(m.GetOld()), Verdict(m.GetNew())
	c.Op, err = op.ParseHash[codec.OpID]("op_id", m.GetOpId())
	return c, err
}

// FromEquivocation returns an equivocation as it goes over the wire.
func FromEquivocation(e *group.Equivocation) *stoav1.GovEquivocation {
	return &stoav1.GovEquivocation{Signer: op.Bytes(e.Signer), Nonce: e.Nonce, First: op.Bytes(e.First), Second: op.Bytes(e.Second), Count: uint64(e.Count)}
}

// Equivocation returns the equivocation that came over the wire.
func Equivocation(m *stoav1.GovEquivocation) (e group.Equivocation, err error) {
	e.Nonce, e.Count = m.GetNonce(), int(m.GetCount())
	if e.Signer, err = op.ParseHash[codec.Identity]("signer", m.GetSigner()); err != nil {
		return e, err
	}
	if e.First, err = op.ParseHash[codec.OpID]("first", m.GetFirst()); err != nil {
		return e, err
	}
	e.Second, err = op.ParseHash[codec.OpID]("second", m.GetSecond())
	return e, err
}

// NextEquivocation returns where the page after e begins; nil for the first page.
func NextEquivocation(e group.Equivocation) []byte {
	if e.Signer.IsZero() {
		return nil
	}
	return binary.BigEndian.AppendUint64(op.Bytes(e.Signer), e.Nonce)
}

// AfterEquivocation returns what [NextEquivocation] has written.
func AfterEquivocation(b []byte) (e group.Equivocation, err error) {
	const size = len(codec.Identity{}) + 8
	switch len(b) {
	case 0:
	case size:
		e.Signer, e.Nonce = codec.Identity(b[:size-8]), binary.BigEndian.Uint64(b[size-8:])
	default:
		err = &op.FieldError{Field: "after", Reason: fmt.Sprintf("%d bytes instead of %d", len(b), size)}
	}
	return e, err
}

// FromAnswer returns an answer as it goes over the wire.
func FromAnswer(a *namespace.Answer) *stoav1.GovAnswer {
	m := &stoav1.GovAnswer{
		Kind: stoav1.GovAnswerKind(a.Kind), NamespaceId: op.OptionalBytes(a.Namespace), OpId: op.OptionalBytes(a.ID),
		Missing: op.FromIDs(a.Missing), Dropped: op.FromIDs(a.Dropped),
	}
	if a.Verdict.Outcome != 0 {
		m.Verdict = FromVerdict(a.Verdict)
	}
	if r := a.Refusal; r != nil {
		m.Refusal = &stoav1.GovRefusal{OpId: op.OptionalBytes(r.Op), Reason: stoav1.GovRefusalReason(r.Reason), Detail: r.Detail}
	}
	if a.Equivocation != nil {
		m.Equivocation = FromEquivocation(a.Equivocation)
	}
	for i := range a.Cascade {
		m.Cascade = append(m.Cascade, FromAnswer(&a.Cascade[i]))
	}
	for _, c := range a.Changed {
		m.Changed = append(m.Changed, FromChange(c))
	}
	return m
}

// Answer returns the answer that came over the wire. It returns an error for one
// that does not say what became of the op.
func Answer(m *stoav1.GovAnswer) (a namespace.Answer, err error) {
	if m.GetKind() == stoav1.GovAnswerKind_GOV_ANSWER_KIND_UNSPECIFIED {
		return a, errors.New("it does not say what became of the op")
	}
	a = namespace.Answer{Kind: namespace.AnswerKind(m.GetKind()), Verdict: Verdict(m.GetVerdict())}
	if a.Namespace, err = op.ParseOptional[codec.GroupID]("namespace_id", m.GetNamespaceId()); err != nil {
		return a, err
	}
	if a.ID, err = op.ParseOptional[codec.OpID]("op_id", m.GetOpId()); err != nil {
		return a, err
	}
	if a.Missing, err = op.ParseIDs[codec.OpID]("missing", m.GetMissing()); err != nil {
		return a, err
	}
	if a.Dropped, err = op.ParseIDs[codec.OpID]("dropped", m.GetDropped()); err != nil {
		return a, err
	}
	if r := m.GetRefusal(); r != nil {
		a.Refusal = &namespace.Refusal{Reason: namespace.RefusalReason(r.GetReason()), Detail: r.GetDetail()}
		if a.Refusal.Op, err = op.ParseOptional[codec.OpID]("refusal.op_id", r.GetOpId()); err != nil {
			return a, err
		}
	}
	if m.GetEquivocation() != nil {
		e, err := Equivocation(m.GetEquivocation())
		if err != nil {
			return a, err
		}
		a.Equivocation = &e
	}
	return a, further(m, &a)
}

// further is Answer for what else has changed.
func further(m *stoav1.GovAnswer, a *namespace.Answer) error {
	for _, c := range m.GetCascade() {
		more, err := Answer(c)
		if err != nil {
			return err
		}
		a.Cascade = append(a.Cascade, more)
	}
	for _, c := range m.GetChanged() {
		change, err := Change(c)
		if err != nil {
			return err
		}
		a.Changed = append(a.Changed, change)
	}
	return nil
}

// FromProposed returns what was made as it goes over the wire.
func FromProposed(p *namespace.Proposed) *stoav1.GovProposed {
	return &stoav1.GovProposed{Answer: FromAnswer(&p.Answer), Ops: p.Wire}
}

// Proposed returns what was made, as it came over the wire; without the keys, which
// stay where they are.
func Proposed(m *stoav1.GovProposed) (p namespace.Proposed, err error) {
	p.Wire = m.GetOps()
	p.Answer, err = Answer(m.GetAnswer())
	return p, err
}
