// Package inspection has the commands that look into a store as a whole, copy it and
// repair it, most of them in a directory that no daemon serves. What they find out is
// package inspect's work.
package inspection

import (
	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// Commands returns the commands of this package.
func Commands(p *cli.Process) []*cobra.Command {
	return []*cobra.Command{newInspect(p), newVerify(p), newView(p), newHash(p), newDiff(p), newWAL(p), newExport(p), newImport(p),
		newRestore(p), newSalvage(p), newRekey(p)}
}
