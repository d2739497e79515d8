// Package records has the commands on single records, whose keys are given by their type
// and fields (keyed.go) or are literal keys of tenants (lookup.go), and those that say what bytes of the schema mean, without a store.
package records

import (
	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// Commands returns the commands that read and write records.
func Commands(p *cli.Process) []*cobra.Command {
	return []*cobra.Command{newGet(p), newPut(p), newScan(p), newDelete(p), newLookup(p)}
}

// SchemaCommands returns the commands that need no store.
func SchemaCommands(p *cli.Process) []*cobra.Command {
	return []*cobra.Command{newDecode(p), newEncode(p), newSchema(p)}
}
