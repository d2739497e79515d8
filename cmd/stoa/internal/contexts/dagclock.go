package contexts

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/dag/hlc"
)

func newDagClock(p *cli.Process) *cobra.Command {
	var confirm bool
	return ofContexts(p, "dag", command{
		Name: "clock", Short: "Say what the clock says that deltas are stamped by, and confirm it",
		Long: `Say what the clock says that deltas are stamped by.

A system clock that is set by more than 5 s while the daemon runs, or sets itself, has
jumped: no delta is made until it is set back or confirmed. A clock that was ahead for a
while has left stamps of the future: the contexts that have them go on after these, and
other nodes take their deltas when that time has come; in other contexts no delta is made
until the clock is confirmed. --confirm takes what the system clock says as right.`,
		Example: "\n--confirm",
		Flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&confirm, "confirm", false, "take the system clock as right from now on")
		},
		Run: func(c *call) error {
			ask := c.dag.Clock
			if confirm {
				ask = c.dag.ConfirmClock
			}
			state, err := ask(c.Ctx)
			if err != nil {
				return err
			}
			return c.emitClock(&state)
		},
	})
}

// emitClock prints what a clock says.
func (c *call) emitClock(s *hlc.State) error {
	d := struct {
		Physical time.Time `json:"system_clock"`
		Expected time.Time `json:"expected"`
		Last     time.Time `json:"last_stamp"`
		Jumped   bool      `json:"jumped"`
		Ahead    bool      `json:"ahead"`
	}{s.Physical.UTC(), s.Expected.UTC(), s.Last.UTC(), s.Jumped, s.Ahead}
	return c.Emit(d, func(w io.Writer) {
		var t cli.Table
		t.Add("system clock", d.Physical.Format(time.RFC3339Nano))
		if d.Last.Unix() != 0 {
			t.Add("last stamp", d.Last.Format(time.RFC3339Nano))
		}
		t.Add("state", clockText(s))
		t.Write(w, "")
	})
}

// clockText says in words whether a clock is in order.
func clockText(s *hlc.State) string {
	switch {
	case s.Jumped:
		return fmt.Sprintf("jumped: by the time that has passed it would be %s; no delta is made until it is set right, or confirmed by --confirm",
			s.Expected.UTC().Format(time.RFC3339))
	case s.Ahead:
		return fmt.Sprintf("behind the last stamp by %s: no delta is made, but in contexts that have such stamps, until then or until it is confirmed by --confirm",
			s.Last.Sub(s.Physical).Round(time.Second))
	}
	return "in order"
}
