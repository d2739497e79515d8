package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/rpc"
)

func newCheckpoint(p *process) *cobra.Command {
	var daemon daemonFlags
	var offline string
	cmd := &cobra.Command{
		Use:   "checkpoint DIR",
		Short: "Copy the store, in one consistent state, while it is served",
		Long: `Copy the store into a directory that must not exist, while it is served. Files that
do not change are hard links where DIR is on the same file system, so that a copy
costs little. The daemon makes it, with the daemon's permissions. --offline copies
a directory that no daemon has open; it opens it as a daemon does, for writing.`,
		Example: "  stoa checkpoint /backup/stoa-today",
		Args:    exactly("DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return bad(fmt.Errorf("DIR: %w", err), "")
			}
			copied := map[string]string{"dir": dir}
			said := func(w io.Writer) { fmt.Fprintf(w, "copied to %s\n", dir) }
			if offline != "" {
				err = p.withOffline(offline, func(e *rocks.Engine) error { return e.Checkpoint(dir) }, copied, said)
			} else {
				err = p.ask(&daemon, func(c *rpc.Client) error { return c.Checkpoint(p.ctx, dir) }, copied, said)
			}
			if err == nil {
				p.guide("to put it back, when no daemon serves DIR: stoa restore " + quoted(dir) + " DIR --replace")
			}
			return err
		},
	}
	daemon.register(cmd.Flags())
	cmd.Flags().StringVar(&offline, "offline", "", "copy this directory, which no daemon has open")
	return cmd
}
