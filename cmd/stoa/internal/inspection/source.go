package inspection

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// sourceFlags are the flags of commands that read a directory, or the store of
// a daemon through its socket.
type sourceFlags struct {
	socket   string
	seal     cli.SealFlags
	building bool // what is there of a store that is being built counts as whole
}

func (f *sourceFlags) register(fs *pflag.FlagSet) {
	f.seal.Register(fs)
	fs.StringVar(&f.socket, "socket", "", "read through the daemon that listens there, instead of a directory")
}

// open opens what the flags and the arguments name.
func (f *sourceFlags) open(p *cli.Process, args []string) (*inspect.Source, error) {
	if f.socket != "" {
		if len(args) > 0 {
			return nil, cli.Bad(errors.New("--socket and DIR exclude each other"), "")
		}
		return p.ThroughSocket(f.socket)
	}
	return p.OpenAsIs(directory(p, args), &f.seal, f.building)
}

const sourceLong = `DIR is a directory of the store (default $STOA_DIR, else ` + cli.DefaultDir + `). It is not changed:
it is opened read-only, or beside the daemon that has it open. --socket asks a
daemon instead.`

// directory returns the directory that a command line names.
func directory(p *cli.Process, args []string) string {
	switch {
	case len(args) > 0:
		return args[0]
	case p.Getenv("STOA_DIR") != "":
		return p.Getenv("STOA_DIR")
	}
	return cli.DefaultDir
}
