// Package tasks has the commands on tasks, which people approve before an agent applies
// them, and on what those people are asked. Start at call.go, by which a command knows its
// tenant.
package tasks

import (
	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// Commands returns the commands of this package.
func Commands(p *cli.Process) []*cobra.Command {
	return []*cobra.Command{newTask(p), newApproval(p)}
}
