package cli

import (
	"errors"

	"github.com/spf13/pflag"
)

// Reveal is the flag that shows secrets as they are. The zero Reveal hides them.
type Reveal struct{ Asked bool }

// Register adds the flag.
func (r *Reveal) Register(fs *pflag.FlagSet) {
	fs.BoolVar(&r.Asked, "reveal-secrets", false, "show secrets as they are, on a terminal only")
}

// Check refuses to show secrets to anything but a terminal: a file or a pipe
// keeps them.
func (r *Reveal) Check(p *Process) error {
	if r.Asked && !IsTerminal(p.Stdout) {
		return Refused(errors.New("--reveal-secrets shows secrets on a terminal only, and the output is none"),
			"leave it out: secrets show as redacted:…")
	}
	return nil
}
