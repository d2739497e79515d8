package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows on a terminal how far a transfer is.
type progress struct{ bar *progressbar.ProgressBar }

// progress returns what counts the bytes that are written to it, of total; 0:
// not known. It shows nothing unless stderr is a terminal.
func (p *process) progress(what string, total uint64) *progress {
	most := int64(total)
	if total == 0 {
		most = -1
	}
	return &progress{progressbar.NewOptions64(most,
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWriter(p.stderr),
		progressbar.OptionSetVisibility(isTerminal(p.stderr) && !p.json),
		progressbar.OptionShowBytes(true),
		progressbar.OptionUseIECUnits(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetWidth(30),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(),
	)}
}

var _ io.Writer = (*progress)(nil)

// Write moves the bar on by the length of b.
func (p *progress) Write(b []byte) (int, error) { return p.bar.Write(b) }

// Finish takes the bar off the terminal.
func (p *progress) Finish() error { return p.bar.Finish() }

// rowBar shows on a terminal how many rows were read.
type rowBar struct{ bar *progressbar.ProgressBar }

// rows returns a bar for rows, of which there are about total; 0: not known. It
// shows nothing unless stderr is a terminal.
func (p *process) rows(what string, total uint64) *rowBar {
	most := int64(total)
	if total == 0 {
		most = -1
	}
	return &rowBar{progressbar.NewOptions64(most,
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWriter(p.stderr),
		progressbar.OptionSetVisibility(isTerminal(p.stderr) && !p.json),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("rows"),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetWidth(30),
		progressbar.OptionClearOnFinish(),
	)}
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
