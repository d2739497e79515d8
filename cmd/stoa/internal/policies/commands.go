// Package policies has the commands on records (JSON documents of collections such as
// policies, agents and intents), on who may do what by them, and on the ledger of what was
// done. Start at call.go, by which a command knows its tenant.
package policies

import (
	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// Commands returns the commands of this package.
func Commands(p *cli.Process) []*cobra.Command {
	return []*cobra.Command{newRecord(p), newPolicy(p), newLedger(p)}
}
