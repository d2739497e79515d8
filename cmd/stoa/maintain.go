package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/rpc"
)

func newFlush(p *process) *cobra.Command {
	var daemon daemonFlags
	cmd := &cobra.Command{
		Use:     "flush",
		Short:   "Write what the daemon has in memory to tables",
		Long:    "Write what the daemon has in memory to tables, and wait for it. It is not needed for durability.",
		Example: "  stoa flush",
		Args:    exactly(),
		RunE: func(*cobra.Command, []string) error {
			return p.ask(&daemon, func(c *rpc.Client) error { return c.Flush(p.ctx) },
				map[string]bool{"flushed": true}, func(w io.Writer) { fmt.Fprintln(w, "flushed") })
		},
	}
	daemon.register(cmd.Flags())
	return cmd
}

func newCompact(p *process) *cobra.Command {
	var daemon daemonFlags
	var offline string
	cmd := &cobra.Command{
		Use:   "compact [COLUMN]",
		Short: "Rewrite the tables of a column, or of all",
		Long: `Rewrite the tables of a column, or of all, without what was overwritten or deleted, and
wait for it. A daemon leaves the tables as they are that have nothing of this: those of
the last level with nothing above them. --offline works on a directory that no daemon
has open, and rewrites every table, which reads every block: it exits 2 at a damaged
one, and then the column has the tables that it had.`,
		Example:           "  stoa compact State\n  stoa compact",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeFirst(columnNames),
		RunE: func(_ *cobra.Command, args []string) error {
			var col column.Column // 0: all
			what := "all columns"
			if len(args) == 1 {
				var err error
				if col, err = parseColumn(args[0]); err != nil {
					return err
				}
				what = col.String()
			}
			done, text := map[string]string{"compacted": what}, func(w io.Writer) { fmt.Fprintf(w, "compacted %s\n", what) }
			if offline != "" {
				return p.withOffline(offline, func(e *rocks.Engine) error { return rewriteColumns(e, col) }, done, text)
			}
			return p.ask(&daemon, func(c *rpc.Client) error { return c.Compact(p.ctx, col, engine.Range{}) }, done, text)
		},
	}
	daemon.register(cmd.Flags())
	cmd.Flags().StringVar(&offline, "offline", "", "compact this directory, which no daemon has open")
	return cmd
}

func newReopen(p *process) *cobra.Command {
	var daemon daemonFlags
	cmd := &cobra.Command{
		Use:   "reopen",
		Short: "Reopen the daemon's storage after a fault that made it read-only",
		Long: `Close and open the daemon's storage after a fault that made it read-only, as a disk
that failed. Snapshots and scans end. It does nothing if the storage is well, and
exits 5 if it still takes no writes.`,
		Example: "  stoa reopen",
		Args:    exactly(),
		RunE: func(*cobra.Command, []string) error {
			return p.connected(&daemon, func(client *rpc.Client) error {
				health, err := client.Reopen(p.ctx)
				if err != nil {
					return err
				}
				result := struct {
					Writable bool   `json:"writable"`
					Reason   string `json:"reason,omitempty"`
				}{health.Writable, health.Reason}
				if err := p.emit(result, func(w io.Writer) {
					if health.Writable {
						fmt.Fprintln(w, "the storage is open and takes writes")
					}
				}); err != nil {
					return err
				}
				if !health.Writable {
					return refused(fmt.Errorf("the storage still takes no writes: %s", health.Reason), "")
				}
				return nil
			})
		},
	}
	daemon.register(cmd.Flags())
	return cmd
}

// ask makes one call to the daemon, and prints that it is done.
func (p *process) ask(daemon *daemonFlags, call func(*rpc.Client) error, done any, text func(io.Writer)) error {
	return p.connected(daemon, func(client *rpc.Client) error {
		if err := call(client); err != nil {
			return err
		}
		return p.emit(done, text)
	})
}

// connected connects to the daemon for as long as use takes.
func (p *process) connected(daemon *daemonFlags, use func(*rpc.Client) error) error {
	client, err := daemon.dial(p)
	if err != nil {
		return err
	}
	defer client.Close()
	return use(client)
}
