package program

import (
	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

func newVersion(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and what this program was built with",
		Example: "  stoa version\n  stoa version --json",
		Args:    cli.Exactly(),
		RunE: func(*cobra.Command, []string) error {
			v := cli.BuildVersion()
			return p.Emit(v, v.Write)
		},
	}
}
