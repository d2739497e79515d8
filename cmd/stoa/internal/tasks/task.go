package tasks

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/rpc"
)

func newTask(p *cli.Process) *cobra.Command {
	subs := []*cobra.Command{newCreate(p), newShow(p), newList(p), newBoard(p), newUpdate(p), newReview(p), newRisk(p), newPreview(p),
		newApply(p), newComplete(p), newRetry(p), newStats(p), newDelete(p), newKey(p), newImport(p)}
	for _, m := range moves {
		subs = append(subs, newMove(p, m.name, m.short, m.to))
	}
	cmd := cli.Parent("task", "Make tasks, have people approve them, apply them, and see how far they are",
		"  stoa task create '{\"task_id\":\"t-new\",\"metadata\":{\"author_id\":\"ann\"}}' --tenant acme\n  stoa task board --tenant acme", subs...)
	cmd.Long = `Make tasks, have people approve them, apply them, and see how far they are. A task goes from
DRAFT to SUBMITTED, REVIEWING, APPROVED, APPLYING and COMPLETED; it may be REJECTED or
CANCELLED on its way. --tenant, else $STOA_TENANT, says whose.`
	return cmd
}

// moves are the transitions that want nothing but a task.
var moves = []struct{ name, short, to string }{
	{"submit", "Submit a draft: people may be asked about it, or its risk is low", approval.Submitted},
	{"approve", "Approve a task that nobody is asked about", approval.Approved},
	{"reject", "Reject a task that nobody is asked about", approval.Rejected},
	{"revise", "Make a draft again of a task that was rejected, or is in review", approval.Draft},
	{"cancel", "Cancel a task that is not done", approval.Cancelled},
}

func newMove(p *cli.Process, name, short, to string) *cobra.Command {
	var m rpc.TaskMove
	var level cli.Durability
	id := map[string]string{approval.Submitted: "t-draft", approval.Approved: "t-plain", approval.Rejected: "t-plain", approval.Draft: "t-plain", approval.Cancelled: "t-draft"}[to]
	return ofTenant(p, "task", command{
		Name: name, Short: short, Args: []string{"ID"},
		Long:    short + ". If it can't go from the state that it has to\n" + to + ", the exit code is 5.",
		Example: id + " --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&m.By, "by", "", "who does it, for the event")
			fs.StringVar(&m.Reason, "reason", "", "why, for the event")
			fs.StringVar(&m.From, "from", "", "the state that it is to be in (default: any)")
			level.Register(fs)
		},
		Run: func(c *call) error {
			m.To, m.Durability = to, rpc.Durability(level)
			d, err := c.tasks.Move(c.Ctx, c.Args[0], m)
			if err != nil {
				return err
			}
			return c.emitState(d, "state")
		},
	})
}

func newCreate(p *cli.Process) *cobra.Command {
	var level cli.Durability
	return ofTenant(p, "task", command{
		Name: "create", Short: "Make a task, a draft", Args: []string{"DOCUMENT"},
		Long: `Make a task of a JSON object; - reads it from stdin, @FILE from a file. metadata.author_id is
who makes it; config says what is to be done, and never changes once it is there.`,
		Example: `'{"task_id":"t-new","metadata":{"author_id":"ann"},"config":{"type":"infrastructure","timeout_seconds":60}}' --tenant acme`,
		Flags:   level.Register,
		Run: func(c *call) error {
			doc, err := c.JSONArgument("DOCUMENT", c.Args[0])
			if err != nil {
				return err
			}
			d, err := c.tasks.Create(c.Ctx, doc, rpc.Durability(level))
			if err != nil {
				return err
			}
			return c.emitState(d, "state")
		},
	})
}

func newShow(p *cli.Process) *cobra.Command {
	return ofTenant(p, "task", command{
		Name: "show", Offline: true, Short: "Print a task", Args: []string{"ID"},
		Example: "t-draft --tenant acme",
		Run: func(c *call) error {
			d, err := c.tasks.Get(c.Ctx, c.Args[0])
			if err != nil {
				return err
			}
			return c.emitDoc(d)
		},
	})
}

func newList(p *cli.Process) *cobra.Command {
	by := map[string]*string{"by_state": new(string), "by_author": new(string), "by_resource": new(string), "by_tag": new(string)}
	var limit int
	var oldest bool
	return ofTenant(p, "task", command{
		Name: "list", Offline: true, Short: "List tasks, the newest first", Args: nil,
		Example: "--tenant acme\n--state DRAFT --author ann --limit 10 --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(by["by_state"], "state", "", "in this state")
			fs.StringVar(by["by_author"], "author", "", "of this author")
			fs.StringVar(by["by_resource"], "resource", "", "that touch this resource, TYPE:ID")
			fs.StringVar(by["by_tag"], "tag", "", "with this tag")
			fs.IntVar(&limit, "limit", 100, "at most so many; 0: all")
			fs.BoolVar(&oldest, "oldest", false, "the oldest first")
		},
		Run: func(c *call) error {
			q := rpc.RecordQuery{Reverse: !oldest, Limit: limit}
			for _, name := range []string{"by_state", "by_author", "by_resource", "by_tag"} {
				if value := *by[name]; value != "" {
					q.Filters = append(q.Filters, equal(name, value))
				}
			}
			docs, err := c.all(approval.Tasks, q)
			if err != nil {
				return err
			}
			return c.rows(docs, "state", "metadata.author_id", "config.type", "risk.level", "metadata.created_at")
		},
	})
}

func newUpdate(p *cli.Process) *cobra.Command {
	var f changeFlags
	return ofTenant(p, "task", command{
		Name: "update", Short: "Change what a task says of itself, by a merge patch", Args: []string{"ID", "PATCH"},
		Example: `t-draft '{"metadata":{"tags":["night"]}}' --tenant acme`,
		Flags:   f.register,
		Run: func(c *call) error {
			patch, err := c.JSONArgument("PATCH", c.Args[1])
			if err != nil {
				return err
			}
			d, err := c.tasks.Update(c.Ctx, c.Args[0], patch, f.options())
			if err != nil {
				return err
			}
			return c.emitState(d, "state")
		},
	})
}

func newRisk(p *cli.Process) *cobra.Command {
	var f changeFlags
	var by, factors string
	return ofTenant(p, "task", command{
		Name: "risk", Short: "Note how dangerous a task is, 0 to 100", Args: []string{"ID", "SCORE"},
		Example: `t-draft 35 --by risk/1 --tenant acme`,
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&by, "by", "", "what has assessed it, with its version")
			fs.StringVar(&factors, "factors", "", "why: a JSON array; @FILE reads it from a file")
			f.register(fs)
		},
		Run: func(c *call) error {
			score, err := strconv.Atoi(c.Args[1])
			if err != nil {
				return cli.Bad(fmt.Errorf("SCORE: %q is no whole number", c.Args[1]), "")
			}
			risk := rpc.TaskRisk{Score: score, By: by}
			if factors != "" {
				if risk.Factors, err = c.JSONArgument("--factors", factors); err != nil {
					return err
				}
			}
			d, err := c.tasks.Assess(c.Ctx, c.Args[0], risk, f.options())
			if err != nil {
				return err
			}
			return c.Emit(newRecordDoc(&d), func(w io.Writer) { fmt.Fprintf(w, "%s: the risk is %s\n", d.ID, field(&d, "risk.level")) })
		},
	})
}

func newPreview(p *cli.Process) *cobra.Command {
	var level cli.Durability
	return ofTenant(p, "task", command{
		Name: "preview", Short: "Print what a task would do, or note it for seven days", Args: []string{"ID", "[PREVIEW]"},
		Example: `t-draft '{"changes":["one table"],"warnings":[],"errors":[]}' --tenant acme`,
		Flags:   level.Register,
		Run: func(c *call) error {
			if len(c.Args) > 1 {
				preview, err := c.JSONArgument("PREVIEW", c.Args[1])
				if err == nil {
					err = c.tasks.SetPreview(c.Ctx, c.Args[0], preview, rpc.Durability(level))
				}
				if err != nil {
					return err
				}
			}
			preview, err := c.tasks.Preview(c.Ctx, c.Args[0])
			if err != nil {
				return err
			}
			return c.Emit(preview, func(w io.Writer) { fmt.Fprintf(w, "%s\n", preview) })
		},
	})
}

func newStats(p *cli.Process) *cobra.Command {
	return ofTenant(p, "task", command{
		Name: "stats", Offline: true, Short: "Count the approvals of a task's review", Args: []string{"ID"},
		Example: "t-review --tenant acme",
		Run: func(c *call) error {
			s, err := c.tasks.Stats(c.Ctx, c.Args[0])
			if err != nil {
				return err
			}
			return c.Emit(s, func(w io.Writer) {
				fmt.Fprintf(w, "%d of %d required approved, %d rejected, %d pending\n", s.Approved, s.Required, s.Rejected, s.Pending)
			})
		},
	})
}

func newDelete(p *cli.Process) *cobra.Command {
	var f changeFlags
	return ofTenant(p, "task", command{
		Name: "delete", Short: "Remove a task, and close what waits for an answer about it", Args: []string{"ID"},
		Example: "t-draft --tenant acme",
		Flags:   f.register,
		Run: func(c *call) error {
			d, err := c.tasks.Delete(c.Ctx, c.Args[0], f.options())
			if err != nil {
				return err
			}
			return c.Emit(newRecordDoc(&d), func(w io.Writer) { fmt.Fprintf(w, "deleted %s, which was %s\n", d.ID, field(&d, "state")) })
		},
	})
}

func newKey(p *cli.Process) *cobra.Command {
	return ofTenant(p, "task", command{
		Name: "lookup", Offline: true, Short: "Print what a literal key of tasks or approvals stands for", Args: []string{"KEY"},
		Example: "ade:task:t-draft:state --tenant acme\nade:approval:queue:user:ann --tenant acme",
		Run: func(c *call) error {
			value, err := c.tasks.Lookup(c.Ctx, c.Args[0])
			if err != nil {
				return err
			}
			return c.Emit(value, func(w io.Writer) { fmt.Fprintf(w, "%s\n", value) })
		},
	})
}

// errNoAgent is what is said where nobody is named who applies a task.
var errNoAgent = errors.New("--agent says who applies the task")
