package dagwire

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// The numbers of kinds of answers and of reasons are those of package dag.
var (
	_ = op.Tags[dag.Answer]("ID", "delta_id,optional", "Refused", ",optional", "Root", "root_hash,optional")
	_ = op.Tags[dag.Refusal]("Delta", "delta_id,optional", "Ancestor", ",optional",
		"Expected", "expected_root_hash,optional", "Computed", "computed_root_hash,optional")
	_ = op.Tags[dag.Seeded]("Base", ",optional", "Refused", ",optional")
	_ = op.Tags[merkle.Difference]("Key", "key_hash,hash", "Local", ",hash", "Remote", ",hash")
	_ = op.Also(nil, saysWhatBecame)
	_ = op.Pair(fromWait, op.Always((*durationpb.Duration).AsDuration))

	// Answers carries answers, Seeds what became of snapshots, and Differences what a
	// comparison finds.
	Answers     = op.NewFields[stoav1.DagAnswer, dag.Answer]()
	Seeds       = op.NewFields[stoav1.DagSeedResponse, dag.Seeded]()
	Differences = op.NewFields[stoav1.DagDifference, merkle.Difference]()
)

func saysWhatBecame(m *stoav1.DagAnswer, _ *dag.Answer) error {
	if m.GetKind() == stoav1.DagAnswerKind_DAG_ANSWER_KIND_UNSPECIFIED {
		return &op.FieldError{Field: "kind", Reason: "it does not say what became of the delta"}
	}
	return nil
}

func fromWait(d *time.Duration) *durationpb.Duration {
	if *d <= 0 {
		return nil
	}
	return durationpb.New(*d)
}

// Offered returns the delta that its bytes are, or the answer to bytes that are none.
func Offered(delta []byte) (*dag.Delta, *dag.Answer) {
	refusal := dag.Refusal{Reason: dag.OverLimit, Detail: fmt.Sprintf("%d bytes, at most %d", len(delta), dag.MaxDelta)}
	if len(delta) <= dag.MaxDelta {
		d, err := dag.ParseDelta(delta)
		if err == nil {
			return d, nil
		}
		refusal = dag.Refusal{Reason: dag.BadForm, Detail: err.Error()}
	}
	return nil, &dag.Answer{Kind: dag.Refused, Refusal: &refusal}
}
