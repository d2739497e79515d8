package daemon

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/bench"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

func newBench(p *cli.Process) *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the engines and the daemon beside RocksDB itself and Redis",
		Long: `Measure workloads on the engine in memory, on RocksDB through Stoa and through a bare
loop over grocksdb, through a daemon of its own, and on redis-server over a Unix socket
where one is installed. They take turns, and ratios are between figures of one run.
Everything is made in a temporary directory and deleted at the end. What is measured:

  ` + strings.Join(bench.WorkloadNames(), ", "),
		Example: `  stoa bench --quick
  stoa bench --workload get,scan-100 --out bench/results
  stoa bench --memory`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.quick {
				f.quicken(cmd.Flags().Changed)
			}
			return measure(p, &f)
		},
	}
	fs := cmd.Flags()
	fs.IntVar(&f.options.Rows, "rows", 1_000_000, "how many rows, of 65 + 256 bytes")
	fs.DurationVar(&f.options.Slice, "slice", 2*time.Second, "how long each works before the next takes its turn")
	fs.IntVar(&f.options.Rounds, "rounds", 3, "how many turns each has")
	fs.StringSliceVar(&f.options.Workloads, "workload", nil, "the workloads to run (default all)")
	fs.StringSliceVar(&f.options.Subjects, "subject", nil, "who takes turns at get to put-synced-64 (default all)")
	fs.BoolVar(&f.quick, "quick", false, "100,000 rows and turns of 200 ms, where nothing else is given: figures to look at, not to quote")
	fs.BoolVar(&f.memory, "memory", false, "measure how a daemon's memory grows while a client scans 1 GiB, and nothing else")
	fs.StringVar(&f.out, "out", "", "a directory for report.txt and report.json")
	return cmd
}

type benchFlags struct {
	options       bench.Options
	quick, memory bool
	out           string
}

// quicken makes a measurement quick, but for what was typed.
func (f *benchFlags) quicken(typed func(flag string) bool) {
	if !typed("rows") {
		f.options.Rows = 100_000
	}
	if !typed("slice") {
		f.options.Slice = 200 * time.Millisecond
	}
}

func measure(p *cli.Process, f *benchFlags) error {
	logger, err := newLogger(p.Stderr, "info", "auto")
	if err != nil {
		return err
	}
	f.options.Logger = logger
	if f.options.Stoa, err = os.Executable(); err != nil {
		return fmt.Errorf("bench: where this binary is: %w", err)
	}
	if f.memory {
		m, err := bench.MeasureScanMemory(f.options, 1<<30)
		if err != nil {
			return err
		}
		return p.Emit(m, func(w io.Writer) { m.WriteText(w) })
	}
	r, err := bench.Run(f.options)
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := r.Save(f.out); err != nil {
			return err
		}
	}
	return p.Emit(r, func(w io.Writer) { r.WriteText(w) })
}
