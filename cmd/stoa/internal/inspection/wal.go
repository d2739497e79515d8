package inspection

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

func newWAL(p *cli.Process) *cobra.Command {
	return cli.Parent("wal", "Look into the write-ahead log", "  stoa wal dump /var/lib/stoa", newWALDump(p))
}

func newWALDump(p *cli.Process) *cobra.Command {
	var limit uint64
	cmd := &cobra.Command{
		Use:   "dump [DIR | FILE]",
		Short: "List the batches of the write-ahead log, decoded",
		Long: `List the batches of the write-ahead log of a directory, change by change. The files
are read as they lie: a daemon may have them open, and RocksDB may refuse them.
After a clean shutdown there is nothing in them. A FILE is one log, such as a
stoa.left-… that a start after a power loss has put aside. It exits 2 if they are damaged; that
the last one ends in the middle of a record, as a power loss leaves it, is no damage.`,
		Example: "  stoa wal dump /var/lib/stoa\n  stoa wal dump --limit 10 --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, dir := bufio.NewWriter(p.Stdout), directory(p, args)
			shown := uint64(0)
			summary, err := inspect.DumpLog(cmd.Context(), dir, func(b *inspect.LogBatch) error {
				if shown++; limit > 0 && shown > limit {
					return nil
				}
				if p.JSON {
					return cli.WriteJSON(w, b)
				}
				return writeLogBatch(w, b)
			})
			if err := errors.Join(err, w.Flush()); err != nil {
				return cli.CannotRead(dir, err)
			}
			if err := emitLogSummary(p, summary); err != nil {
				return err
			}
			return cli.DamageFound(len(summary.Findings), "part", "of the log cannot be read")
		},
	}
	cmd.Flags().Uint64Var(&limit, "limit", 0, "the most batches to list; 0: all")
	return cmd
}

func emitLogSummary(p *cli.Process, s *inspect.LogSummary) error {
	return p.Emit(struct {
		Summary *inspect.LogSummary `json:"summary"`
	}{s}, func(w io.Writer) {
		fmt.Fprintf(w, "%s with %s in %s", cli.Count(s.Batches, "batch"), cli.Count(s.Changes, "change"), cli.Count(s.Files, "file"))
		if s.Batches > 0 {
			fmt.Fprintf(w, ", sequences %d to %d", s.First, s.Last)
		}
		fmt.Fprintln(w)
		if s.Cut {
			fmt.Fprintln(w, "the last log ends in the middle of a record")
		}
		for _, f := range s.Findings {
			fmt.Fprintln(w, f)
		}
	})
}

func writeLogBatch(w io.Writer, b *inspect.LogBatch) error {
	fmt.Fprintf(w, "%s+%d  sequence %d, %s, %s\n", b.File, b.Offset, b.Sequence, cli.Count(uint64(b.Changes), "change"), cli.SizeText(uint64(b.Bytes)))
	for _, op := range b.Ops {
		var line string
		var err error
		switch {
		case op.Name != "":
			line = op.Column + " " + op.Name
		case op.Start != "" || op.End != "":
			line = fmt.Sprintf("%s from %s to %s", op.Column, op.Start, op.End)
		default:
			line, err = recordLine(op.Record)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "  %-12s  %s\n", op.Op, line)
	}
	return nil
}
