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
	"github.com/stoadb/stoa/rpc"
)

// monitoredDoc is a call with --json. Times are in microseconds.
type monitoredDoc struct {
	At           time.Time `json:"at"` // when it ended
	Method       string    `json:"method"`
	UID          uint32    `json:"uid"`
	Name         string    `json:"name,omitempty"`
	PID          int64     `json:"pid,omitempty"`
	Took         uint64    `json:"took_us"`
	Waited       uint64    `json:"waited_us,omitempty"`
	Code         string    `json:"code"`
	Kind         string    `json:"kind,omitempty"`
	RequestBytes uint64    `json:"request_bytes,omitempty"`
	Missed       uint64    `json:"missed,omitempty"` // calls that are left out before it
}

func newMonitor(p *cli.Process) *cobra.Command {
	var o rpc.MonitorOptions
	var user string
	var slower, lasts time.Duration
	var count uint64
	return cli.Command[*cli.Call]{
		Name: "monitor", Short: "Show the calls of a daemon as they end",
		Long: `Show each call when it has ended, a stream too: when, whose, how long it took, and how it
ended; never what is in it. Calls that waited for their turn, since their user had as much of the
daemon as others leave to it, say for how long. Who reads too slowly misses some, and is told how
many. It goes on until Ctrl-C, or as --for and --count say. Operators may look. What takes longer than serve --slow-call is in
the daemon's log, with its cause.`,
		Example: "\n--method Kv. --user root\n--slower 10ms --for 1m --json",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&o.Method, "method", "", "calls whose methods begin so, such as Kv. or Store.Get (default all)")
			fs.StringVar(&user, "user", "", "calls of this user, by name or uid (default all)")
			fs.DurationVar(&slower, "slower", 0, "calls that took as long or longer")
			fs.DurationVar(&lasts, "for", 0, "end after this time (default never)")
			fs.Uint64Var(&count, "count", 0, "end after so many calls (default never)")
		},
		Check: func() error {
			if slower < 0 || lasts < 0 {
				return cli.Bad(errors.New("--slower and --for: not less than 0"), "")
			}
			o.SlowerUs = uint64(slower.Microseconds())
			if user == "" {
				return nil
			}
			uid, err := parseUser("user", user)
			o.UID = &uid
			return err
		},
		Run: func(c *cli.Call) error {
			ctx := c.Ctx
			if lasts > 0 {
				// Not by a deadline, which the daemon would say is over.
				ends, end := context.WithCancel(ctx)
				defer time.AfterFunc(lasts, end).Stop()
				ctx = ends
			}
			names := map[uint32]string{} // of users, looked up once
			for call, err := range c.Client.Monitor(ctx, o) {
				if ctx.Err() != nil {
					return nil
				}
				if err != nil {
					return err
				}
				name, known := names[call.UID]
				if !known {
					name = userName(call.UID)
					names[call.UID] = name
				}
				d := monitoredDoc{
					At: time.UnixMilli(int64(call.TimeMs)).UTC(), Method: call.Method, UID: call.UID, Name: name, PID: call.PID, Took: call.TookUs, Waited: call.WaitedUs,
					Code: call.Code, Kind: call.Kind, RequestBytes: call.RequestBytes, Missed: call.Missed,
				}
				if err := p.Emit(d, d.write); err != nil {
					return err
				}
				if count--; count == 0 {
					return nil
				}
			}
			return nil
		},
	}.Cobra(p, "", cli.Plainly)
}

func (d monitoredDoc) write(w io.Writer) {
	if d.Missed > 0 {
		fmt.Fprintf(w, "(%d calls are left out)\n", d.Missed)
	}
	how := d.Code
	if d.Kind != "" {
		how += " " + d.Kind
	}
	if d.Waited > 0 {
		how += ", waited " + micros(d.Waited)
	}
	fmt.Fprintf(w, "%s  %10s  %-24s  %s  pid %d  %s\n", d.At.Local().Format("15:04:05.000"), micros(d.Took), d.Method, called("user", d.UID, d.Name), d.PID, how)
}

// micros is a time of so many microseconds.
func micros(n uint64) string { return (time.Duration(n) * time.Microsecond).String() }
