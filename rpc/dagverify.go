package rpc

import (
	"context"
	"errors"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/backend"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// dagReported is a part of a report: a finding, or the rest, which comes last.
type dagReported struct {
	Finding *dag.Finding
	Summary *dag.Report
}

var dagVerify = op.NewStream(op.Method{Number: 635, Name: "Dag.Verify", Role: access.Reader}, verifyDag, nil, 0)

func verifyDag(ctx context.Context, s *backend.Contexts, a *dagContext) iter.Seq2[dagReported, error] {
	return func(yield func(dagReported, error) bool) {
		report, err := s.Verify(ctx, a.ContextID, dag.VerifyOptions{Scratch: s.Scratch})
		if err != nil {
			yield(dagReported{}, err)
			return
		}
		for i := range report.Findings {
			if !yield(dagReported{Finding: &report.Findings[i]}, nil) {
				return
			}
		}
		yield(dagReported{Summary: &report}, nil)
	}
}

// Verify replays a context from its deltas, and compares what they make with what is
// stored; see [dag.Store.Verify]. The daemon replays in its memory, which takes as
// much as the context does.
func (d *Dag) Verify(ctx context.Context, id codec.ContextID) (dag.Report, error) {
	report := dag.Report{Context: id}
	for part, err := range streamed(ctx, d.c, dagVerify, dagContext{id}) {
		switch {
		case err != nil:
			return report, err
		case part.Summary != nil:
			part.Summary.Context, part.Summary.Findings = id, report.Findings
			return *part.Summary, nil
		case part.Finding != nil:
			report.Findings = append(report.Findings, *part.Finding)
		}
	}
	return report, caller.Odd(dagVerify.Name, errors.New("no summary"))
}
