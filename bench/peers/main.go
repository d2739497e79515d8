// Command peers measures what one would use in place of Stoa with the workloads,
// rows and turns of package bench and beside Stoa in the same run: Pebble, bbolt
// and badger in place of RocksDB, Redis and etcd in place of the daemon, and the key-values of NATS JetStream in place of the
// Kv service, and the locks of etcd and of redislock in place of the Lock service. It is a module of its own so that the daemon links none of them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/stoadb/stoa/bench"
)

func main() {
	do := run
	if socket := os.Getenv(natsServes); socket != "" {
		do = func() error { return serveNATS(socket) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run() error {
	o := bench.Options{Peers: open, KVPeers: openNATS, LockPeers: openLocks, BucketPeers: openNATSBuckets, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	flag.IntVar(&o.Rows, "rows", 1_000_000, "how many rows, of 65 + 256 bytes")
	flag.DurationVar(&o.Slice, "slice", 2*time.Second, "how long each works before the next takes its turn")
	flag.StringVar(&o.Stoa, "stoa", "bin/stoa", "the stoa binary, whose daemon the Kv service is measured in")
	flag.IntVar(&o.Rounds, "rounds", 3, "how many turns each has")
	workloads := flag.String("workload", "", "the workloads to run, with commas between (default all)\n"+strings.Join(bench.PeerWorkloadNames(), ", "))
	out := flag.String("out", "", "a directory for report.txt, report.json and a chart of each workload")
	charts := flag.String("charts", "", "only draw charts of the report that was saved in this directory")
	asJSON := flag.Bool("json", false, "print JSON")
	var c coldRun
	c.flags()
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("%q is no flag: see -help", flag.Arg(0))
	}
	switch {
	case c.child != "":
		return c.work(o)
	case c.cold:
		return c.run(o)
	case *charts != "":
		return drawSaved(*charts)
	}
	if *workloads != "" {
		o.Workloads = strings.Split(*workloads, ",")
	}
	r, err := bench.Run(o)
	if err != nil {
		return err
	}
	if *out != "" {
		if err := errors.Join(r.Save(*out), draw(r, *out)); err != nil {
			return err
		}
	}
	if *asJSON {
		return r.WriteJSON(os.Stdout)
	}
	return r.WriteText(os.Stdout)
}

// open opens all peers of the rows.
func open(o bench.Options, data *bench.Dataset) (subjects []*bench.Subject, err error) {
	for _, open := range []bench.Peers{openPebble, openBolt, openBadger, openLMDB, openEtcd, bench.OpenRedis} {
		more, err := open(o, data)
		subjects = append(subjects, more...)
		if err != nil {
			return subjects, err
		}
	}
	return subjects, nil
}
