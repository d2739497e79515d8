package policies

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/rpc"
)

// watchFlags are those of watch.
type watchFlags struct {
	now   bool
	after cli.Optional
	count int
}

func newWatch(p *cli.Process) *cobra.Command {
	var f watchFlags
	return ofTenant(p, "record", command{
		Name: "watch", Short: "Print changes of records as they are made", Args: []string{"COLLECTION", "[ID]"},
		Long: `Print what there is, a line that says that this was it (synced), and then every change as
it is made, until Ctrl-C or the end of the daemon, of all records of a collection or of one.
--now leaves out what there is; --after goes on behind a revision, such as the last one
printed, and says synced once it has caught up. A line that says resync is followed by all
there is, as the log does not reach that far.`,
		Example: "intent --tenant acme\nintent --tenant acme --after 42 --json",
		Flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&f.now, "now", false, "begin with the next change")
			fs.Var(&f.after, "after", "begin behind this revision")
			fs.IntVar(&f.count, "count", 0, "end after so many lines (default: never)")
		},
		Run: f.run,
	})
}

func (f *watchFlags) options() ([]rpc.WatchOption, error) {
	o := []rpc.WatchOption{rpc.Once()}
	switch {
	case f.now && f.after.Given:
		return nil, cli.Bad(errors.New("--now and --after exclude each other"), "")
	case f.now:
		o = append(o, rpc.FromNow())
	case f.after.Given:
		n, err := strconv.ParseUint(f.after.Text, 10, 64)
		if err != nil {
			return nil, cli.Bad(fmt.Errorf("--after: %q is no revision", f.after.Text), "")
		}
		o = append(o, rpc.After(n))
	}
	return o, nil
}

func (f *watchFlags) run(c *call) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	n := 0
	for e, err := range c.records.Watch(c.Ctx, c.Args[0], c.arg(1), o...) {
		if err != nil {
			return c.UntilInterrupted(err)
		}
		if err := c.emitEvent(&e); err != nil {
			return err
		}
		if n++; n == f.count {
			return nil
		}
	}
	return nil
}

func (c *call) emitEvent(e *rpc.RecordEvent) error {
	d := struct {
		Event    string     `json:"event"`
		Revision uint64     `json:"revision,string"`
		ID       string     `json:"id,omitempty"`
		Record   *recordDoc `json:"record,omitempty"`
	}{Event: e.Kind.String(), Revision: e.Revision, ID: e.Doc.ID}
	if e.Doc.JSON != nil {
		doc := newRecordDoc(&e.Doc)
		d.Record = &doc
	}
	return c.Emit(d, func(w io.Writer) {
		fmt.Fprintf(w, "%d  %s", d.Revision, d.Event)
		if d.ID != "" {
			fmt.Fprintf(w, "  %s", d.ID)
		}
		if d.Record != nil {
			fmt.Fprintf(w, "  %s", cli.Shorten(string(d.Record.Document), cli.LineText))
		}
		fmt.Fprintln(w)
	})
}
