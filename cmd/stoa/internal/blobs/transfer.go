package blobs

import (
	"github.com/schollz/progressbar/v3"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// transfer returns a bar that counts the bytes that are written to it.
func transfer(p *cli.Process, what string, total uint64) *progressbar.ProgressBar {
	return p.Progress(what, total, progressbar.OptionShowBytes(true), progressbar.OptionUseIECUnits(true))
}
