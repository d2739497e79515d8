package daemon

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/rpc"
)

func newCheckpoint(p *cli.Process) *cobra.Command {
	var daemon cli.DaemonFlags
	var offline string
	cmd := &cobra.Command{
		Use:   "checkpoint DIR",
		Short: "Copy the store, in one consistent state, while it is served",
		Long: `Copy the store into a directory that must not exist, while it is served. Files that
do not change are hard links where DIR is on the same file system, so that a copy
costs little. The daemon makes it, with the daemon's permissions. --offline copies
a directory that no daemon has open; it opens it as a daemon does, for writing.`,
		Example: "  stoa checkpoint /backup/stoa-today",
		Args:    cli.Exactly("DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return cli.Bad(fmt.Errorf("DIR: %w", err), "")
			}
			copied := map[string]string{"dir": dir}
			said := func(w io.Writer) { fmt.Fprintf(w, "copied to %s\n", dir) }
			if offline != "" {
				err = p.WithOffline(offline, func(e *rocks.Engine) error { return e.Checkpoint(dir) }, copied, said)
			} else {
				err = ask(p, &daemon, func(c *rpc.Client) error { return c.Checkpoint(p.Ctx, dir) }, copied, said)
			}
			if err == nil {
				p.Guide("to put it back, when no daemon serves DIR: stoa restore " + cli.Quoted(dir) + " DIR --replace")
			}
			return err
		},
	}
	daemon.Register(cmd.Flags())
	cmd.Flags().StringVar(&offline, "offline", "", "copy this directory, which no daemon has open")
	return cmd
}
