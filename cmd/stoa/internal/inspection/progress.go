package inspection

import (
	"fmt"

	"github.com/schollz/progressbar/v3"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// rowBar shows on a terminal how many rows were read.
type rowBar struct{ bar *progressbar.ProgressBar }

// rows returns a bar for rows, of which there are about total; 0: not known.
func rows(p *cli.Process, what string, total uint64) *rowBar {
	return &rowBar{p.Progress(what, total, progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("rows"))}
}

// add counts n rows more; what is beyond the total, which is estimated, is not
// shown.
func (b *rowBar) add(n uint64) {
	if most := b.bar.GetMax64(); most < 0 || b.bar.State().CurrentNum+int64(n) < most {
		_ = b.bar.Add64(int64(n)) // it fails beyond the total, and where it cannot draw
	}
}

// phase says what is being done, and how much of all if that is known.
func (b *rowBar) phase(what, phase string, done, all uint64) {
	if all > 0 {
		phase = fmt.Sprintf("%s %d of %d", phase, done, all)
	}
	b.bar.Describe(what + ": " + phase)
}

func (b *rowBar) finish() { _ = b.bar.Finish() }
