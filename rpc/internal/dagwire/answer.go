package dagwire

import (
	"errors"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// FromAnswer returns an answer as it goes over the wire. The numbers of its kind
// and of reasons are those of package dag.
func FromAnswer(a *dag.Answer) *stoav1.DagAnswer {
	m := &stoav1.DagAnswer{
		Kind: stoav1.DagAnswerKind(a.Kind), DeltaId: op.OptionalBytes(a.ID), Applied: op.FromIDs(a.Applied), Missing: op.FromIDs(a.Missing),
		Verifying: a.Verifying, Evicted: op.FromIDs(a.Evicted), Dropped: op.FromIDs(a.Dropped), Seq: a.Seq, RootHash: op.OptionalBytes(a.Root),
	}
	for i := range a.Refused {
		m.Refused = append(m.Refused, FromRefusal(&a.Refused[i]))
	}
	if a.RetryAfter > 0 {
		m.RetryAfter = durationpb.New(a.RetryAfter)
	}
	if a.Refusal != nil {
		m.Refusal = FromRefusal(a.Refusal)
	}
	return m
}

// Answer returns the answer that came over the wire. It returns an error for one
// that does not say what became of the delta.
func Answer(m *stoav1.DagAnswer) (a dag.Answer, err error) {
	if m.GetKind() == stoav1.DagAnswerKind_DAG_ANSWER_KIND_UNSPECIFIED {
		return a, errors.New("it does not say what became of the delta")
	}
	a = dag.Answer{Kind: dag.AnswerKind(m.GetKind()), Verifying: m.GetVerifying(), RetryAfter: m.GetRetryAfter().AsDuration(), Seq: m.GetSeq()}
	if a.ID, err = op.ParseOptional[codec.DeltaID]("delta_id", m.GetDeltaId()); err != nil {
		return a, err
	}
	if a.Root, err = op.ParseOptional[codec.Hash]("root_hash", m.GetRootHash()); err != nil {
		return a, err
	}
	for _, list := range []struct {
		field string
		from  [][]byte
		to    *[]codec.DeltaID
	}{
		{"applied", m.GetApplied(), &a.Applied}, {"missing", m.GetMissing(), &a.Missing},
		{"evicted", m.GetEvicted(), &a.Evicted}, {"dropped", m.GetDropped(), &a.Dropped},
	} {
		if *list.to, err = op.ParseIDs[codec.DeltaID](list.field, list.from); err != nil {
			return a, err
		}
	}
	if a.Refused, err = Refusals(m.GetRefused()); err != nil || m.GetRefusal() == nil {
		return a, err
	}
	r, err := Refusal(m.GetRefusal())
	a.Refusal = &r
	return a, err
}

// FromRefusal returns a refusal as it goes over the wire.
func FromRefusal(r *dag.Refusal) *stoav1.DagRefusal {
	return &stoav1.DagRefusal{
		DeltaId: op.OptionalBytes(r.Delta), Reason: stoav1.DagRefusalReason(r.Reason), Ancestor: op.OptionalBytes(r.Ancestor),
		ExpectedRootHash: op.OptionalBytes(r.Expected), ComputedRootHash: op.OptionalBytes(r.Computed), Detail: r.Detail,
	}
}

// Refusal returns the refusal that came over the wire.
func Refusal(m *stoav1.DagRefusal) (r dag.Refusal, err error) {
	r = dag.Refusal{Reason: dag.RefusalReason(m.GetReason()), Detail: m.GetDetail()}
	if r.Delta, err = op.ParseOptional[codec.DeltaID]("delta_id", m.GetDeltaId()); err != nil {
		return r, err
	}
	if r.Ancestor, err = op.ParseOptional[codec.DeltaID]("ancestor", m.GetAncestor()); err != nil {
		return r, err
	}
	if r.Expected, err = op.ParseOptional[codec.Hash]("expected_root_hash", m.GetExpectedRootHash()); err != nil {
		return r, err
	}
	r.Computed, err = op.ParseOptional[codec.Hash]("computed_root_hash", m.GetComputedRootHash())
	return r, err
}

// Refusals returns the refusals in a field.
func Refusals(list []*stoav1.DagRefusal) ([]dag.Refusal, error) {
	if len(list) == 0 {
		return nil, nil
	}
	refusals := make([]dag.Refusal, len(list))
	for i := range list {
		var err error
		if refusals[i], err = Refusal(list[i]); err != nil {
			return nil, err
		}
	}
	return refusals, nil
}
