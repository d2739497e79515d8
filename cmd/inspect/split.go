package inspect

import "time"

// The phases of a full verification, in the order in which a split lists them.
const (
	phaseTables     = "tables"     // checksums of blocks
	phaseRows       = "rows"       // reading rows, and their form
	phaseReferences = "references" // what rows say of each other
	phaseBlobs      = "blobs"      // chunks, and hashes of content
	phaseTrie       = "trie"       // hashes of the state up to the roots
	phaseDeltas     = "deltas"     // reading deltas in the order of application
	phaseReplay     = "replay"     // their ids and roots, and what they make
	phaseCompare    = "compare"    // that with what is stored
	phaseWaiting    = "waiting"    // what waits, and is remembered
	phaseGovernance = "governance" // signatures, ids, verdicts and rows of ops
	phaseKV         = "key-values" // what they derive from each other
	phaseRecords    = "records"    // documents of collections, chains of ledgers, and locks
)

var phases = []string{phaseTables, phaseRows, phaseReferences, phaseBlobs, phaseTrie, phaseDeltas, phaseReplay, phaseCompare, phaseWaiting,
	phaseGovernance, phaseKV, phaseRecords} // never written to

// Spent is the time that a phase has taken, on the clock of a wall.
type Spent struct {
	Phase   string  `json:"phase"`
	Seconds float64 `json:"seconds"`
}

// watch adds up what phases take. Without a clock it does nothing.
type watch struct {
	now   func() time.Time // nil: there is none
	phase string           // "": none
	since time.Time
	spent map[string]time.Duration
}

// enter ends the phase that is under way, and begins another.
func (w *watch) enter(phase string) {
	if w.now == nil || phase == w.phase {
		return
	}
	now := w.now()
	if w.phase != "" {
		if w.spent == nil {
			w.spent = map[string]time.Duration{}
		}
		w.spent[w.phase] += now.Sub(w.since)
	}
	w.phase, w.since = phase, now
}

// split ends the phase that is under way, and returns what all have taken; nil
// without a clock.
func (w *watch) split() (split []Spent) {
	w.enter("")
	for _, p := range phases {
		if d, ok := w.spent[p]; ok {
			split = append(split, Spent{p, d.Seconds()})
		}
	}
	return split
}
