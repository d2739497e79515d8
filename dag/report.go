package dag

import (
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
)

// FindingCode says what is wrong with a context. The codes are stable.
type FindingCode string

// The findings of [Store.Verify].
const (
	FindingDamaged  FindingCode = "damaged"  // a row that can't be read
	FindingDelta    FindingCode = "delta"    // an applied delta that is missing, or has another id
	FindingRefused  FindingCode = "refused"  // an applied delta that does not hold at its causal cut
	FindingBase     FindingCode = "base"     // the state at the base has another root
	FindingRoot     FindingCode = "root"     // Meta has another root than the deltas make
	FindingHeads    FindingCode = "heads"    // Meta, or dag-head, has other heads
	FindingState    FindingCode = "state"    // a row of State that is missing, too many, or different
	FindingVersion  FindingCode = "version"  // the same of dag-gone and dag-late, or a mark of the trie that is another
	FindingOrder    FindingCode = "order"    // the same of dag-order
	FindingSeq      FindingCode = "seq"      // the same of dag-seq
	FindingSeeded   FindingCode = "seeded"   // the same of dag-seeded
	FindingTrie     FindingCode = "trie"     // rows of the trie that are not those of the root
	FindingStray    FindingCode = "stray"    // a delta that is neither applied nor waits
	FindingPending  FindingCode = "pending"  // rows of what waits that do not fit each other
	FindingRefusal  FindingCode = "refusal"  // the same of what was refused
	FindingCursor   FindingCode = "cursor"   // a follower that is ahead of the last delta
	FindingUnproved FindingCode = "unproved" // nothing after this delta could be replayed
)

// Finding is a difference between what is stored of a context and what its deltas
// make.
type Finding struct {
	Code   FindingCode
	Column column.Column // of Key; 0: no row
	Key    []byte        // the row; nil: none
	Delta  codec.DeltaID // the delta; zero: none
	Detail string        // for people; it shows no values
}

// String returns the finding on one line.
func (f Finding) String() string {
	s := string(f.Code)
	if !f.Delta.IsZero() {
		s += " delta " + f.Delta.String()
	}
	if f.Key != nil {
		s += fmt.Sprintf(" %s %x", f.Column, f.Key)
	}
	return s + ": " + f.Detail
}

// MaxFindings is how many findings a report lists.
const MaxFindings = 1000

// Report is what Verify has found.
type Report struct {
	Context  codec.ContextID
	Base     codec.DeltaID // of a seeded context; else zero
	Deltas   uint64        // applied, and replayed
	Rows     uint64        // compared
	Root     codec.Hash    // as Meta has it
	Replayed codec.Hash    // that the deltas make
	Findings []Finding     // none: all is well; the first MaxFindings
	More     int           // how many there are besides
}

func (r *Report) find(f Finding) {
	if len(r.Findings) >= MaxFindings {
		r.More++
		return
	}
	r.Findings = append(r.Findings, f)
}
