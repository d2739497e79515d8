package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
)

// topDoc is one look at a daemon with --json. Sizes are in bytes, rates per
// second since the look before; the first look has none.
type topDoc struct {
	At       time.Time `json:"at"`
	Writable bool      `json:"writable"`
	Reason   string    `json:"reason,omitempty"` // why not
	Changes  *float64  `json:"changes_per_second,omitempty"`
	Compact  uint64    `json:"pending_compaction_bytes"`
	Calls    []callDoc `json:"calls,omitempty"` // with --metrics-socket, the busiest first
	statsDoc
}

// topLook is what a rate is the difference of.
type topLook struct {
	at    time.Time
	stats engine.Stats
	calls callCounts
}

func newTop(p *cli.Process) *cobra.Command {
	var metrics string
	var once bool
	var every time.Duration
	return cli.Command[*cli.Call]{
		Name: "top", Short: "Watch the rates and sizes of a daemon",
		Long: `Watch a daemon: changes a second, the write-ahead log, what compaction has to do, whether
writes wait for it, and the columns. With --metrics-socket, which is that of serve, also
the rate and the times of each call. On a terminal it is drawn anew every --interval until
Ctrl-C; elsewhere the looks follow each other. --once looks once: for rates it waits one
interval.`,
		Example: "\n--metrics-socket /run/stoa/metrics.sock --interval 5s\n--once --json",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&metrics, "metrics-socket", "", "the socket of serve --metrics-socket, for the times of calls (default $STOA_METRICS_SOCKET)")
			fs.BoolVar(&once, "once", false, "look once")
			fs.DurationVar(&every, "interval", 2*time.Second, "the time between two looks")
		},
		Check: func() error {
			if every < 10*time.Millisecond {
				return cli.Bad(fmt.Errorf("--interval: %s is less than 10ms", every), "")
			}
			return nil
		},
		Run: func(c *cli.Call) error {
			if metrics == "" {
				metrics = p.Getenv("STOA_METRICS_SOCKET")
			}
			return top(c.Ctx, p, c.Client, metrics, every, once)
		},
	}.Cobra(p, "", cli.Plainly)
}

// clearScreen moves a terminal's cursor to the top and clears what is below.
const clearScreen = "\x1b[H\x1b[J"

// top looks at a daemon until ctx is done.
func top(ctx context.Context, p *cli.Process, client *rpc.Client, metrics string, every time.Duration, once bool) error {
	before, _, err := look(ctx, p, client, metrics, topLook{})
	if err != nil {
		return err
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now, d, err := look(ctx, p, client, metrics, before)
		if errors.Is(err, context.Canceled) {
			return nil
		}
		if err != nil {
			return err
		}
		err = p.Emit(d, func(w io.Writer) {
			if cli.IsTerminal(p.Stdout) && !once {
				fmt.Fprint(w, clearScreen)
			}
			d.write(w)
		})
		if err != nil || once {
			return err
		}
		before = now
	}
}

// look looks once, and compares with the look before.
func look(ctx context.Context, p *cli.Process, client *rpc.Client, metrics string, before topLook) (now topLook, d topDoc, err error) {
	if now.stats, err = client.Stats(ctx); err != nil {
		return now, d, err
	}
	res, err := client.Status(ctx)
	if err != nil {
		return now, d, err
	}
	now.at = time.Now()
	d = topDoc{At: now.at.UTC(), Writable: res.Health.GetWritable(), Reason: res.Health.GetReason(), statsDoc: newStatsDoc(now.stats)}
	for _, c := range now.stats.Columns {
		d.Compact += c.PendingCompaction
	}
	if metrics != "" {
		if now.calls, err = readCalls(ctx, metrics); err != nil {
			return now, d, err
		}
	}
	if before.at.IsZero() {
		return now, d, nil
	}
	seconds := now.at.Sub(before.at).Seconds()
	rate := max(float64(now.stats.Sequence)-float64(before.stats.Sequence), 0) / seconds
	d.Changes = &rate
	d.Calls = now.calls.since(before.calls, seconds)
	return now, d, nil
}

func (d topDoc) write(w io.Writer) {
	var t cli.Table
	t.Add("at", d.At.Local().Format(time.DateTime))
	switch {
	case !d.Writable:
		t.Add("writes", "refused: "+d.Reason)
	case d.Stopped:
		t.Add("writes", "wait for compaction")
	default:
		t.Add("writes", "taken")
	}
	if d.Changes != nil {
		t.Add("changes", fmt.Sprintf("%.1f/s, %d in all", *d.Changes, d.Sequence))
	}
	t.Add("write-ahead log", cli.SizeText(d.WALBytes))
	t.Add("in memory", cli.SizeText(d.MemtableBytes))
	t.Add("to compact", cli.SizeText(d.Compact))
	t.Add("block cache", cli.SizeText(d.CacheBytes)+" of "+cli.SizeText(d.CacheCapacity))
	t.Add("snapshots", fmt.Sprint(d.Snapshots))
	t.Write(w, "")
	fmt.Fprintln(w)
	if len(d.Calls) > 0 {
		calls := cli.Table{Right: []bool{false, true, true, true, true, true}}
		calls.Add("CALL", "PER SECOND", "MEAN", "HALF WITHIN", "99 % WITHIN", "FAILED")
		for _, c := range d.Calls {
			calls.Add(c.Call, fmt.Sprintf("%.1f", c.PerSecond), duration(c.Mean), within(c.P50), within(c.P99), fmt.Sprintf("%.1f", c.Failed))
		}
		calls.Write(w, "")
		fmt.Fprintln(w)
	}
	columns := cli.Table{Right: []bool{false, true, true, true, true}}
	columns.Add("COLUMN", "KEYS", "ON DISK", "IN MEMORY", "TO COMPACT")
	for _, c := range d.Columns {
		columns.Add(c.Column, fmt.Sprint(c.Keys), cli.SizeText(c.TableBytes+c.BlobBytes), cli.SizeText(c.MemtableBytes), cli.SizeText(c.PendingCompaction))
	}
	columns.Write(w, "")
}

// duration writes seconds for people.
func duration(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Microsecond).String()
}
