// Command peers measures Pebble and bbolt, what one would build on in place of
// RocksDB, with the workloads, rows and turns of package bench and beside
// Stoa's own engine in the same run. It is a module of its own so that the
// daemon links neither.
package main

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/stoadb/stoa/bench"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run() error {
	o := bench.Options{Peers: open, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	flag.IntVar(&o.Rows, "rows", 1_000_000, "how many rows, of 65 + 256 bytes")
	flag.DurationVar(&o.Slice, "slice", 2*time.Second, "how long each works before the next takes its turn")
	flag.IntVar(&o.Rounds, "rounds", 3, "how many turns each has")
	workloads := flag.String("workload", "", "the workloads to run, with commas between (default all)\n"+strings.Join(bench.WorkloadNames(), ", "))
	out := flag.String("out", "", "a directory for report.txt, report.json and a chart of each workload")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("%q is no flag: see -help", flag.Arg(0))
	}
	if *workloads != "" {
		o.Workloads = strings.Split(*workloads, ",")
	}
	r, err := bench.Run(o)
	if err != nil {
		return err
	}
	if *out != "" {
		if err := r.Save(*out); err != nil {
			return err
		}
	}
	if *asJSON {
		return r.WriteJSON(os.Stdout)
	}
	return r.WriteText(os.Stdout)
}

// open opens both peers.
func open(o bench.Options, data *bench.Dataset) ([]*bench.Subject, error) {
	subjects, err := openPebble(o, data)
	if err != nil {
		return subjects, err
	}
	more, err := openBolt(o, data)
	return append(subjects, more...), err
}
