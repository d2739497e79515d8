// Package keyvalues has the commands on the key-values of tenants, and on tenants. Start
// at call.go, by which a command knows its tenant.
package keyvalues

import (
	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// Commands returns the commands of this package.
func Commands(p *cli.Process) []*cobra.Command { return []*cobra.Command{newKV(p)} }
