// Package daemon has the commands that run a daemon, say how it is, and take care of its
// storage. Start at serve.go; its flags are in serveflags.go, and may stand in the
// environment or a file (config.go).
package daemon

import (
	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// Commands returns the commands of this package.
func Commands(p *cli.Process) []*cobra.Command {
	return []*cobra.Command{newServe(p), newStatus(p), newPeers(p), newStats(p), newTop(p), newMonitor(p), newCheckpoint(p), newFlush(p), newCompact(p), newReopen(p), newBench(p)}
}
