package rpc

import (
	"context"
	"errors"
	"io"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Verify is dag.Store's: the daemon replays in its memory, which takes as much as
// the context does.
func (d *Dag) Verify(ctx context.Context, id codec.ContextID) (dag.Report, error) {
	report := dag.Report{Context: id}
	ctx, cancel := d.c.within(ctx)
	defer cancel()
	s, err := d.c.dag.Verify(ctx, &stoav1.DagVerifyRequest{ContextId: id[:]})
	if err != nil {
		return report, d.c.failed("verify", err)
	}
	for {
		m, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return report, odd("verify", errors.New("no summary"))
		}
		if err != nil {
			return report, d.c.failed("verify", err)
		}
		if end := m.GetSummary(); end != nil {
			return report, odd("verify", dagwire.Summary(&report, end))
		}
		f, err := dagwire.Finding(m.GetFinding())
		if err != nil {
			return report, odd("verify", err)
		}
		report.Findings = append(report.Findings, f)
	}
}
