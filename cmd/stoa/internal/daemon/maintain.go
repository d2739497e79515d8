package daemon

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/rpc"
)

func newFlush(p *cli.Process) *cobra.Command {
	return cli.Command[*cli.Call]{
		Name: "flush", Short: "Write what the daemon has in memory to tables",
		Long: "Write what the daemon has in memory to tables, and wait for it. It is not needed for durability.",
		Run: func(c *cli.Call) error {
			if err := c.Client.Flush(c.Ctx); err != nil {
				return err
			}
			return c.Emit(map[string]bool{"flushed": true}, func(w io.Writer) { fmt.Fprintln(w, "flushed") })
		},
	}.Cobra(p, "", cli.Plainly)
}

func newCompact(p *cli.Process) *cobra.Command {
	var daemon cli.DaemonFlags
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
		ValidArgsFunction: cli.CompleteFirst(cli.ColumnNames),
		RunE: func(_ *cobra.Command, args []string) error {
			var col column.Column // 0: all
			what := "all columns"
			if len(args) == 1 {
				var err error
				if col, err = cli.ParseColumn(args[0]); err != nil {
					return err
				}
				what = col.String()
			}
			done, text := map[string]string{"compacted": what}, func(w io.Writer) { fmt.Fprintf(w, "compacted %s\n", what) }
			if offline != "" {
				return p.WithOffline(offline, func(e *rocks.Engine) error { return rewriteColumns(e, col) }, done, text)
			}
			return ask(p, &daemon, func(c *rpc.Client) error { return c.Compact(p.Ctx, col, engine.Range{}) }, done, text)
		},
	}
	daemon.Register(cmd.Flags())
	cmd.Flags().StringVar(&offline, "offline", "", "compact this directory, which no daemon has open")
	return cmd
}

func newReopen(p *cli.Process) *cobra.Command {
	return cli.Command[*cli.Call]{
		Name: "reopen", Short: "Reopen the daemon's storage after a fault that made it read-only",
		Long: `Close and open the daemon's storage after a fault that made it read-only, as a disk
that failed. Snapshots and scans end. It does nothing if the storage is well, and
exits 5 if it still takes no writes.`,
		Run: func(c *cli.Call) error {
			health, err := c.Client.Reopen(c.Ctx)
			if err != nil {
				return err
			}
			result := struct {
				Writable bool   `json:"writable"`
				Reason   string `json:"reason,omitempty"`
			}{health.Writable, health.Reason}
			if err := c.Emit(result, func(w io.Writer) {
				if health.Writable {
					fmt.Fprintln(w, "the storage is open and takes writes")
				}
			}); err != nil {
				return err
			}
			if !health.Writable {
				return cli.Refused(fmt.Errorf("the storage still takes no writes: %s", health.Reason), "")
			}
			return nil
		},
	}.Cobra(p, "", cli.Plainly)
}

// ask makes one call to the daemon, and prints that it is done.
func ask(p *cli.Process, daemon *cli.DaemonFlags, call func(*rpc.Client) error, done any, text func(io.Writer)) error {
	return connected(p, daemon, func(client *rpc.Client) error {
		if err := call(client); err != nil {
			return err
		}
		return p.Emit(done, text)
	})
}

// rewriteColumns rewrites the tables of a column; of all, if it is 0.
func rewriteColumns(e *rocks.Engine, col column.Column) error {
	for c := range column.All {
		if col != 0 && c != col {
			continue
		}
		if err := e.Rewrite(c); err != nil {
			return fmt.Errorf("%s is not compacted: %w", c, err)
		}
	}
	return nil
}

// connected connects to the daemon for as long as use takes.
func connected(p *cli.Process, daemon *cli.DaemonFlags, use func(*rpc.Client) error) error {
	client, err := daemon.Dial(p)
	if err != nil {
		return err
	}
	defer client.Close()
	return use(client)
}
