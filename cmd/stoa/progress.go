package main

import (
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

// Write is io.Writer's.
func (p *progress) Write(b []byte) (int, error) { return p.bar.Write(b) }

// Finish takes the bar off the terminal.
func (p *progress) Finish() error { return p.bar.Finish() }
