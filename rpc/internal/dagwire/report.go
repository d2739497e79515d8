package dagwire

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// FromReport returns a report as it goes over the wire: its findings, and a
// summary.
func FromReport(r *dag.Report) []*stoav1.DagVerifyResponse {
	list := make([]*stoav1.DagVerifyResponse, 0, len(r.Findings)+1)
	for i := range r.Findings {
		f := &r.Findings[i]
		list = append(list, &stoav1.DagVerifyResponse{Part: &stoav1.DagVerifyResponse_Finding{Finding: &stoav1.DagFinding{
			Code: string(f.Code), Detail: f.Detail, Column: stoav1.Column(f.Column), Key: f.Key, DeltaId: op.OptionalBytes(f.Delta),
		}}})
	}
	return append(list, &stoav1.DagVerifyResponse{Part: &stoav1.DagVerifyResponse_Summary{Summary: &stoav1.DagVerifySummary{
		Deltas: r.Deltas, Rows: r.Rows, Base: op.OptionalBytes(r.Base), RootHash: op.OptionalBytes(r.Root),
		ReplayedRootHash: op.OptionalBytes(r.Replayed), More: uint64(r.More),
	}}})
}

// Finding returns the finding that came over the wire.
func Finding(m *stoav1.DagFinding) (f dag.Finding, err error) {
	f = dag.Finding{Code: dag.FindingCode(m.GetCode()), Detail: m.GetDetail(), Column: column.Column(m.GetColumn()), Key: m.GetKey()}
	f.Delta, err = op.ParseOptional[codec.DeltaID]("delta_id", m.GetDeltaId())
	return f, err
}

// Summary puts what came over the wire at the end of a report into it.
func Summary(r *dag.Report, m *stoav1.DagVerifySummary) (err error) {
	r.Deltas, r.Rows, r.More = m.GetDeltas(), m.GetRows(), int(m.GetMore())
	if r.Base, err = op.ParseOptional[codec.DeltaID]("base", m.GetBase()); err != nil {
		return err
	}
	if r.Root, err = op.ParseOptional[codec.Hash]("root_hash", m.GetRootHash()); err != nil {
		return err
	}
	r.Replayed, err = op.ParseOptional[codec.Hash]("replayed_root_hash", m.GetReplayedRootHash())
	return err
}
