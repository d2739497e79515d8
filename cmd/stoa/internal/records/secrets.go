package records

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// reveal is the flag that shows secrets as they are. The zero reveal hides them.
type reveal struct{ asked bool }

func (r *reveal) register(fs *pflag.FlagSet) {
	fs.BoolVar(&r.asked, "reveal-secrets", false, "show secrets as they are, on a terminal only")
}

// check refuses to show secrets to anything but a terminal: a file or a pipe
// keeps them.
func (r *reveal) check(p *cli.Process) error {
	if r.asked && !cli.IsTerminal(p.Stdout) {
		return cli.Refused(errors.New("--reveal-secrets shows secrets on a terminal only, and the output is none"),
			"leave it out: secrets show as redacted:…")
	}
	return nil
}
