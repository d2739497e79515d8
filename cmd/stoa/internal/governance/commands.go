// Package governance has the commands on namespaces and groups, and on the ops that
// change them. Start at call.go; arguments.go finds what arguments name, and proposes ops.
package governance

import (
	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// Commands returns the commands of this package.
func Commands(p *cli.Process) []*cobra.Command {
	return []*cobra.Command{newNamespace(p), newGroup(p), newSync(p)}
}
