package cli

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// Progress returns a bar for work of which there is about so much in total; 0: not known.
// It shows nothing unless stderr is a terminal.
func (p *Process) Progress(what string, total uint64, options ...progressbar.Option) *progressbar.ProgressBar {
	most := int64(total)
	if total == 0 {
		most = -1
	}
	return progressbar.NewOptions64(most, append(options,
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWriter(p.Stderr),
		progressbar.OptionSetVisibility(IsTerminal(p.Stderr) && !p.JSON),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetWidth(30),
		progressbar.OptionClearOnFinish(),
	)...)
}
