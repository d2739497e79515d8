// Package contexts has the commands on contexts and their states, and on the deltas that
// make those. Start at call.go, by which a command knows its context.
package contexts

import (
	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// Commands returns the commands of this package.
func Commands(p *cli.Process) []*cobra.Command { return []*cobra.Command{newContext(p), newDag(p)} }
