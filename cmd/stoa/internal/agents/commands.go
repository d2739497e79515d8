// Package agents has the commands on what agents go by: what a tenant has configured, how often
// something may be done, which users are signed in, and what happens. Start at call.go, by which a
// command knows its tenant.
package agents

import (
	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// Commands returns the commands of this package.
func Commands(p *cli.Process) []*cobra.Command {
	return []*cobra.Command{newSetting(p), newLimit(p), newSession(p), newEvent(p)}
}
