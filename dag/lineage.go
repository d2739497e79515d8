package dag

// parentRows tells the seqs of the parents of an applied delta. They are less
// than its own.
type parentRows interface {
	// parents appends the parents' seqs to dst.
	parents(dst []uint64, seq uint64) ([]uint64, error)
}

// lineage walks from deltas to their ancestors, newest first by seq, in two
// colours: what is reached from the wanted ones and not from those had is a set
// difference of two histories. It ends when nothing else can be in it, so its
// cost is that of the difference and of what was applied meanwhile, not of the
// context; its memory two bits for each delta in between.
//
// Colours are added first, then next is called until it is done.
type lineage struct {
	rows parentRows
	at   uint64 // everything from here on has been looked at; 0: nothing yet
	open int    // wanted and not had, and not looked at

	// lost returns nil for what cannot be read of a delta, which has no parents then;
	// nil: that ends the walk. It may add colours to what comes before seq.
	lost func(seq uint64, had bool, err error) error

	want, have seqSet
	scratch    []uint64
}

func newLineage(rows parentRows) *lineage { return &lineage{rows: rows, at: ^uint64(0)} }

// wanted adds a delta to be returned with its ancestors.
func (l *lineage) wanted(seq uint64) {
	if l.want.add(seq) && !l.have.has(seq) {
		l.open++
	}
}

// had adds a delta that is not to be returned, nor its ancestors.
func (l *lineage) had(seq uint64) {
	if l.have.add(seq) && l.want.has(seq) {
		l.open--
	}
}

// next returns the greatest seq left that was reached from wanted deltas only, 0
// when there are none.
func (l *lineage) next() (uint64, error) {
	for l.open > 0 {
		seq := max(l.want.before(l.at), l.have.before(l.at))
		l.at = seq
		had := l.have.has(seq)
		if !had {
			l.open--
		}
		var err error
		if l.scratch, err = l.rows.parents(l.scratch[:0], seq); err != nil && l.lost != nil {
			l.scratch, err = l.scratch[:0], l.lost(seq, had, err)
		}
		if err != nil {
			return 0, err
		}
		for _, p := range l.scratch {
			if had {
				l.had(p)
			} else {
				l.wanted(p)
			}
		}
		if !had {
			return seq, nil
		}
	}
	return 0, nil
}

// alone reports whether the delta that next returns is the only one left: all
// others that are wanted descend from it or have been looked at.
func (l *lineage) alone() bool { return l.open == 1 }
