package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc"
)

func newApproval(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("approval", "See who is asked about tasks, answer, delegate and escalate",
		"  stoa approval queue ann --tenant acme\n  stoa approval respond app-1 approve --by ann --tenant acme",
		newRequest(p), newApprovalShow(p), newApprovalList(p), newQueue(p), newRespond(p), newBatch(p), newDelegate(p), newEscalate(p), newUserStats(p), newPolicy(p))
	cmd.Long = `See who is asked about tasks, answer, delegate and escalate. ` + "`stoa task review`" + ` asks people; what
they answer decides about the task. --tenant, else $STOA_TENANT, says whose.`
	return cmd
}

// equal is the filter of an index whose field has a text.
func equal(index, text string) rpc.RecordFilter { return record.Equal(index, text) }

// all are the records of a list.
func (c *call) all(collection string, q rpc.RecordQuery) (docs []rpc.Doc, err error) {
	return gathered(c.records.All(c.Ctx, collection, q))
}

func gathered(list iter.Seq2[rpc.Doc, error]) (docs []rpc.Doc, err error) {
	for d, err := range list {
		if err != nil {
			return nil, err
		}
		docs = append(docs, d)
	}
	return docs, nil
}

func newReview(p *cli.Process) *cobra.Command {
	var required int
	var priority, timeout string
	var due time.Duration
	var next []string
	var level cli.Durability
	return ofTenant(p, "task", command{
		Name: "review", Short: "Ask people about a task that is submitted", Args: []string{"ID", "[REVIEWER...]"},
		Long: `Ask people about a task that is submitted, or in review. Once --required of them have approved,
by default all, it is APPROVED, and REJECTED once they can't any more. Without a reviewer the
review begins, and whoever may move the task decides: ` + "`stoa task approve`" + `.`,
		Example: "t-submitted ann bob cid --required 2 --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.IntVar(&required, "required", 0, "approvals that it needs (default: all)")
			fs.StringVar(&priority, "priority", "NORMAL", "LOW, NORMAL, HIGH or URGENT")
			fs.DurationVar(&due, "due", 0, "how long they have (default: what the tenant says, else 48h)")
			fs.StringVar(&timeout, "on-timeout", "escalate", "what becomes of it then: escalate, auto_reject or auto_approve")
			fs.StringSliceVar(&next, "escalate-to", nil, "who is asked then, one after the other")
			level.Register(fs)
		},
		Run: func(c *call) error {
			if len(c.Args) == 1 {
				d, err := c.tasks.Move(c.Ctx, c.Args[0], rpc.TaskMove{To: approval.Reviewing, Durability: rpc.Durability(level)})
				if err != nil {
					return err
				}
				return c.emitState(d, "state")
			}
			a := rpc.ApprovalAsking{Required: required}
			for _, reviewer := range c.Args[1:] {
				doc := map[string]any{"reviewer_id": reviewer, "priority": priority, "on_timeout": timeout}
				if due != 0 {
					doc["due_at"] = document.FormatInstant(time.Now().Add(due))
				}
				if len(next) > 0 {
					doc["escalate_to"] = next
				}
				text, err := json.Marshal(doc)
				if err != nil {
					return err
				}
				a.Approvals = append(a.Approvals, text)
			}
			return c.ask(c.Args[0], a, level)
		},
	})
}

// ask asks about a task, and prints who is asked.
func (c *call) ask(task string, a rpc.ApprovalAsking, level cli.Durability) error {
	docs, err := c.approvals.Request(c.Ctx, task, a, rpc.Durability(level))
	if err != nil {
		return err
	}
	return c.rows(docs, shownOfApproval...)
}

// shownOfApproval are the columns of a list of approvals.
var shownOfApproval = []string{"task_id", "status", "reviewer_id", "delegated_to", "priority", "due_at"}

func newRequest(p *cli.Process) *cobra.Command {
	var level cli.Durability
	var required int
	return ofTenant(p, "approval", command{
		Name: "create", Short: "Ask somebody about a task, by a document", Args: []string{"DOCUMENT"},
		Long: `Ask somebody about a task, by a JSON object with task_id and reviewer_id; - reads it from stdin,
@FILE from a file. ` + "`stoa record schema approval_request`" + ` says what else it may have.`,
		Example: `'{"task_id":"t-submitted","reviewer_id":"ann","priority":"HIGH"}' --tenant acme`,
		Flags: func(fs *pflag.FlagSet) {
			fs.IntVar(&required, "required", 0, "approvals that the task needs (default: what was said before, else all)")
			level.Register(fs)
		},
		Run: func(c *call) error {
			doc, err := c.JSONArgument("DOCUMENT", c.Args[0])
			if err != nil {
				return err
			}
			var of struct {
				Task string `json:"task_id"`
			}
			if json.Unmarshal(doc, &of) != nil || of.Task == "" {
				return cli.Bad(errors.New("DOCUMENT: it is an object with task_id, the task that it is about"), "")
			}
			return c.ask(of.Task, rpc.ApprovalAsking{Approvals: []json.RawMessage{doc}, Required: required}, level)
		},
	})
}

func newApprovalShow(p *cli.Process) *cobra.Command {
	return ofTenant(p, "approval", command{
		Name: "show", Offline: true, Short: "Print an approval, archived or not", Args: []string{"ID"},
		Example: "app-1 --tenant acme",
		Run: func(c *call) error {
			d, err := c.approvals.Get(c.Ctx, c.Args[0])
			if errors.Is(err, rpc.ErrNotFound) {
				archived, aside := c.records.Get(c.Ctx, approval.Archive, c.Args[0])
				if aside == nil {
					d, err = archived, nil
				}
			}
			if err != nil {
				return err
			}
			return c.emitDoc(d)
		},
	})
}

func newApprovalList(p *cli.Process) *cobra.Command {
	var task, status string
	var limit int
	return ofTenant(p, "approval", command{
		Name: "list", Offline: true, Short: "List approvals, the newest first",
		Example: "--tenant acme\n--task t-review --status PENDING --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&task, "task", "", "about this task")
			fs.StringVar(&status, "status", "", "PENDING, DELEGATED, APPROVED, REJECTED or CLOSED")
			fs.IntVar(&limit, "limit", 100, "at most so many; 0: all")
		},
		Run: func(c *call) error {
			q := rpc.RecordQuery{Reverse: true, Limit: limit}
			if task != "" {
				q.Filters = append(q.Filters, equal("by_task", task))
			}
			if status != "" {
				q.Filters = append(q.Filters, equal("by_status", status))
			}
			docs, err := c.all(approval.Approvals, q)
			if err != nil {
				return err
			}
			return c.rows(docs, shownOfApproval...)
		},
	})
}

func newQueue(p *cli.Process) *cobra.Command {
	var limit int
	return ofTenant(p, "approval", command{
		Name: "queue", Offline: true, Short: "Show what waits for a user's answer, the most urgent first; of all by when it is due", Args: []string{"[USER]"},
		Example: "ann --tenant acme\n--tenant acme",
		Flags:   func(fs *pflag.FlagSet) { fs.IntVar(&limit, "limit", 100, "at most so many") },
		Run: func(c *call) error {
			user := ""
			if len(c.Args) > 0 {
				user = c.Args[0]
			}
			page, err := c.approvals.Queue(c.Ctx, user, rpc.RecordQuery{Limit: limit})
			if err != nil {
				return err
			}
			list, t := make([]recordDoc, 0, len(page.Docs)), cli.Table{Right: []bool{false, true}}
			for i := range page.Docs {
				d := &page.Docs[i]
				list = append(list, newRecordDoc(d))
				t.Add(d.ID, strconv.FormatInt(approval.Score(*d), 10), field(d, "queue.user"), field(d, "task_id"), field(d, "priority"), "due "+field(d, "due_at"))
			}
			return c.Emit(list, func(w io.Writer) { t.Write(w, "") })
		},
	})
}

func newRespond(p *cli.Process) *cobra.Command {
	var a rpc.ApprovalAnswer
	var level cli.Durability
	return ofTenant(p, "approval", command{
		Name: "respond", Short: "Answer an approval: approve, reject or request_changes", Args: []string{"ID", "ANSWER"},
		Long: `Answer an approval, once: approve, reject or request_changes. If somebody else is asked, or it
has its answer, the exit code is 5.`,
		Example: "app-1 approve --by ann --tenant acme\napp-1 request_changes --by ann --reason 'a smaller step first' --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&a.By, "by", "", "who answers")
			fs.StringVar(&a.Reason, "reason", "", "why")
			level.Register(fs)
		},
		Run: func(c *call) error {
			a.Approval, a.Action = c.Args[0], c.Args[1]
			d, err := c.approvals.Respond(c.Ctx, a, rpc.Durability(level))
			if err != nil {
				return err
			}
			return c.emitState(d, "status")
		},
	})
}

func newBatch(p *cli.Process) *cobra.Command {
	var level cli.Durability
	return ofTenant(p, "approval", command{
		Name: "batch", Short: "Give several answers, all of them or none", Args: []string{"ANSWERS"},
		Long: `Give several answers, all of them or none: a JSON array of objects with approval_id, by, action
and, if you like, reason; - reads it from stdin, @FILE from a file. The tenant has to have
batch_approvals enabled.`,
		Example: `'[{"approval_id":"app-1","by":"ann","action":"approve"}]' --tenant acme`,
		Flags:   level.Register,
		Run: func(c *call) error {
			text, err := c.JSONArgument("ANSWERS", c.Args[0])
			if err != nil {
				return err
			}
			var given []struct {
				Approval string `json:"approval_id"`
				By       string `json:"by"`
				Action   string `json:"action"`
				Reason   string `json:"reason"`
			}
			if err := json.Unmarshal(text, &given); err != nil {
				return cli.Bad(fmt.Errorf("ANSWERS: %w", err), "")
			}
			var list []rpc.ApprovalAnswer
			for _, a := range given {
				list = append(list, rpc.ApprovalAnswer{Approval: a.Approval, By: a.By, Action: a.Action, Reason: a.Reason})
			}
			docs, err := c.approvals.RespondAll(c.Ctx, list, rpc.Durability(level))
			if err != nil {
				return err
			}
			return c.rows(docs, shownOfApproval...)
		},
	})
}

func newDelegate(p *cli.Process) *cobra.Command {
	var g rpc.ApprovalDelegation
	var level cli.Durability
	return ofTenant(p, "approval", command{
		Name: "delegate", Short: "Have somebody else asked", Args: []string{"ID", "USER"},
		Example: "app-1 bob --by ann --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&g.By, "by", "", "who is asked now")
			fs.StringVar(&g.Reason, "reason", "", "why, for the event")
			level.Register(fs)
		},
		Run: func(c *call) error {
			g.Approval, g.To = c.Args[0], c.Args[1]
			d, err := c.approvals.Delegate(c.Ctx, g, rpc.Durability(level))
			if err != nil {
				return err
			}
			return c.Emit(newRecordDoc(&d), func(w io.Writer) { fmt.Fprintf(w, "%s is %s to %s\n", d.ID, field(&d, "status"), g.To) })
		},
	})
}

func newEscalate(p *cli.Process) *cobra.Command {
	return ofTenant(p, "approval", command{
		Name: "escalate", Short: "Do with an approval that is due, or with all, what was said", Args: []string{"[ID]"},
		Long: `Do with an approval that is due, or with all that are, what its request says: ask the next,
reject, or approve. The daemon does so by itself; of what is not due nothing changes.`,
		Example: "--tenant acme",
		Run: func(c *call) error {
			if len(c.Args) > 0 {
				d, err := c.approvals.Escalate(c.Ctx, c.Args[0])
				if err != nil {
					return err
				}
				return c.emitState(d, "status")
			}
			n, err := c.approvals.EscalateDue(c.Ctx)
			if err != nil {
				return err
			}
			return c.Emit(map[string]int{"escalated": n}, func(w io.Writer) { fmt.Fprintf(w, "escalated %s\n", cli.Count(n, "approval")) })
		},
	})
}

func newUserStats(p *cli.Process) *cobra.Command {
	return ofTenant(p, "approval", command{
		Name: "stats", Offline: true, Short: "Count what a user is asked, and has answered", Args: []string{"USER"},
		Example: "ann --tenant acme",
		Run: func(c *call) error {
			s, err := c.approvals.Stats(c.Ctx, c.Args[0])
			if err != nil {
				return err
			}
			return c.Emit(s, func(w io.Writer) {
				fmt.Fprintf(w, "%d pending, today %d approved and %d rejected, an answer takes %.1f s\n", s.Pending, s.ApprovedToday, s.RejectedToday, s.AvgResponseTime)
			})
		},
	})
}
