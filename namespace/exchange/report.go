package exchange

import (
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace/content"
)

// Report is what went in a session.
type Report struct {
	Namespaces []NamespaceReport // that both have, in the order of their ids
	Sent       int64             // bytes, all told
	Received   int64
	Turns      int // how often both said something, and waited for what the other says: half a round trip each
}

// NamespaceReport is what went of a namespace.
type NamespaceReport struct {
	ID       codec.GroupID
	Stored   int    // ops that came and are here now
	Pending  int    // ops that came, and wait for others
	Forks    int    // ops that came, and wait for somebody to build on them
	Refused  int    // ops that came
	Reason   string // why the first was refused
	Sent     int    // ops
	Level    bool   // both have the same ops now
	Stranger bool   // the peer has not shown that it is a member: it was given nothing
	Contexts []ContextReport
	Blobs    BlobReport
}

// BlobReport is what went of the blobs that a namespace names.
type BlobReport struct {
	Stored  int // that came and are here now
	Missing int // that the peer has not either, or does not give
	Large   int // that are larger than what is taken in
	Sent    int
}

// ContextReport is what went of a context in which the two differed.
type ContextReport struct {
	ID               codec.ContextID
	content.Exchange      // to here
	Sent             int  // envelopes
	Level            bool // both have the same heads now
	Unsigned         bool // on one side its deltas are not signed: they stay
	OneWay           bool // one side may not read it: what that one has written comes, and nothing goes there
}

// Settled reports whether nothing is left that could go: both have the same, or what one has is not for
// the other.
func (r *ContextReport) Settled() bool { return r.Level || r.Unsigned || r.OneWay }

// report returns what went so far.
func (s *session) report() *Report {
	r := &Report{Sent: s.sent.Load(), Received: s.in.Load(), Turns: s.turns}
	for _, n := range s.common {
		report := n.report
		report.Stored, report.Pending, report.Forks, report.Refused = n.ops.Stored, n.ops.Pending, n.ops.Forks, n.ops.Refused
		if n.ops.Refusal != nil {
			report.Reason = n.ops.Refusal.Error()
		}
		for _, d := range s.differing {
			if d.of == n {
				report.Contexts = append(report.Contexts, d.report)
			}
		}
		r.Namespaces = append(r.Namespaces, report)
	}
	slices.SortFunc(r.Namespaces, func(a, b NamespaceReport) int { return codec.CompareID(a.ID, b.ID) })
	return r
}
