package torture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc"
)

// votes has people answer whether a task may be applied, several at once, and has an agent
// apply it.
//
// A review is linearizable exactly if its task is approved once as many as are needed have
// approved it, rejected once so many can't any more, and neither before; and if who is
// refused as the review is over has not been counted.
type votes struct {
	tenant string
	rand   *rand.Rand
	// byClock says that the daemon has another clock, by which tasks may time out.
	byClock bool

	made      int // tasks
	task      string
	reviewers int
	required  int
	state     string            // that was acknowledged last; "": the task is to be made
	under     string            // that a call under way makes it; "": none
	answers   map[string]string // that were acknowledged, by approval
	perhaps   map[string]string // that may have been taken
}

func newVotes(r *rand.Rand, id byte) worker {
	return &votes{tenant: fmt.Sprint("votes", id), rand: r}
}

func (w *votes) keepTime(*reckoning) { w.byClock = true }

const appliedBy = "agent:a"

// approvalID is that of the n-th reviewer.
func (w *votes) approvalID(n int) string { return fmt.Sprintf("app-%s-%d", w.task, n) }

func (w *votes) use(c *rpc.Client) error {
	switch t, ctx := c.Tasks(w.tenant), context.Background(); w.state {
	case "":
		return w.begin(t)
	case approval.Draft:
		return w.moved(approval.Submitted, func() (rpc.Doc, error) {
			return t.Move(ctx, w.task, rpc.TaskMove{To: approval.Submitted, By: "user:ann"})
		})
	case approval.Submitted:
		return w.moved(approval.Reviewing, func() (d rpc.Doc, err error) {
			asking := rpc.ApprovalAsking{Required: w.required}
			for n := range w.reviewers {
				asking.Approvals = append(asking.Approvals, json.RawMessage(fmt.Sprintf(`{"approval_id":%q,"reviewer_id":"user:%d"}`, w.approvalID(n), n)))
			}
			if _, err = c.Approvals(w.tenant).Request(ctx, w.task, asking, 0); err != nil {
				return d, err
			}
			return t.Get(ctx, w.task)
		})
	case approval.Reviewing:
		return w.vote(c)
	case approval.Approved, approval.Applying:
		if !w.byClock {
			return w.apply(c)
		}
	}
	w.state = ""
	return w.begin(c.Tasks(w.tenant))
}

// begin makes the next task, of which nothing is there.
func (w *votes) begin(t *rpc.Tasks) error {
	if w.under == "" {
		w.made++
		w.task = fmt.Sprintf("t%05d", w.made)
		w.reviewers = 1 + w.rand.IntN(5)
		w.required = 1 + w.rand.IntN(w.reviewers)
		w.answers, w.perhaps = map[string]string{}, map[string]string{}
	}
	return w.moved(approval.Draft, func() (rpc.Doc, error) {
		return t.Create(context.Background(), json.RawMessage(fmt.Sprintf(`{"task_id":%q,"metadata":{"author_id":"user:ann"}}`, w.task)), 0)
	})
}

// moved makes a call that brings the task to a state.
func (w *votes) moved(to string, call func() (rpc.Doc, error)) error {
	w.under = to
	d, err := call()
	if err != nil {
		return err
	}
	if got := stateOf(d); got != to {
		return wrongf("the task %s is %s, not %s", w.task, got, to)
	}
	w.state, w.under = to, ""
	return nil
}

func stateOf(d rpc.Doc) string {
	var task struct{ State, Status string }
	_ = json.Unmarshal(d.JSON, &task) // what has neither is in no state
	return task.State + task.Status
}

// vote has some of those answer at once that have not yet.
func (w *votes) vote(c *rpc.Client) error {
	type answer struct {
		approval, action string
		doc              rpc.Doc
		err              error
	}
	var answers []*answer
	for n := range w.reviewers {
		if id := w.approvalID(n); w.answers[id] == "" && (len(answers) == 0 || w.rand.IntN(2) == 0) {
			answers = append(answers, &answer{approval: id, action: []string{approval.Approve, approval.Approve, approval.Reject}[w.rand.IntN(3)]})
		}
	}
	var all sync.WaitGroup
	for _, a := range answers {
		w.perhaps[a.approval] = a.action
		by := "user:" + a.approval[len(a.approval)-1:]
		all.Go(func() {
			a.doc, a.err = c.Approvals(w.tenant).Respond(context.Background(), rpc.ApprovalAnswer{Approval: a.approval, By: by, Action: a.action}, 0)
		})
	}
	all.Wait()
	var failed error
	late := false
	for _, a := range answers {
		switch {
		case a.err == nil && stateOf(a.doc) == map[string]string{approval.Approve: approval.Approved, approval.Reject: approval.Rejected}[a.action]:
			w.answers[a.approval] = a.action
		case a.err == nil:
			return wrongf("%s was answered by %s, and is %s", a.approval, a.action, a.doc.JSON)
		case isCode(a.err, approval.CodeAlreadyResponded):
			late = true
		default:
			failed = a.err
			continue
		}
		delete(w.perhaps, a.approval)
	}
	if failed != nil {
		return failed
	}
	if _, want := w.verdict(); late && want == approval.Reviewing {
		return wrongf("an answer about %s came too late, which has %v of %d, %d required", w.task, w.answers, w.reviewers, w.required)
	}
	return w.judged(c)
}

// isCode says whether an error is a refusal with a code.
func isCode(err error, code record.Code) bool {
	var e *record.Error
	return errors.As(err, &e) && e.Code == code
}

// verdict is what the answers make of a task under review.
func (w *votes) verdict() (approvals int, state string) {
	rejections := 0
	for _, action := range w.answers {
		if action == approval.Approve {
			approvals++
		} else {
			rejections++
		}
	}
	switch {
	case approvals >= w.required:
		return approvals, approval.Approved
	case rejections > w.reviewers-w.required:
		return approvals, approval.Rejected
	}
	return approvals, approval.Reviewing
}

// judged demands of a review whose answers are all known that they make its state.
func (w *votes) judged(c *rpc.Client) error {
	d, err := c.Tasks(w.tenant).Get(context.Background(), w.task)
	if err != nil {
		return err
	}
	approvals, want := w.verdict()
	if got := stateOf(d); got != want || approvals > w.required || len(w.answers)-approvals > w.reviewers-w.required+1 {
		return wrongf("the task %s is %s, and %s by the answers %v of %d that were asked, %d required", w.task, got, want, w.answers, w.reviewers, w.required)
	}
	w.state = want
	return nil
}

// apply has an agent begin to apply a task, or end it, under the task's lock.
func (w *votes) apply(c *rpc.Client) error {
	g, err := c.Locks(w.tenant).Acquire(context.Background(), rpc.LockRequest{Name: lock.Task(w.task), Agent: appliedBy, TTL: lockTTL})
	if err != nil {
		return err
	}
	m := rpc.TaskMove{To: approval.Applying, Agent: appliedBy, Token: g.Token}
	if w.state == approval.Applying {
		m.To, m.Outcome = approval.Completed, rpc.TaskOutcome{Result: "success"}
	}
	other := m
	other.Token++
	if _, err := c.Tasks(w.tenant).Move(context.Background(), w.task, other); !errors.Is(err, lock.ErrFenced) {
		if err == nil {
			err = wrongf("the task %s was moved to %s with the token %d; that of its lock is %d", w.task, m.To, other.Token, g.Token)
		}
		return err
	}
	return w.moved(m.To, func() (rpc.Doc, error) { return c.Tasks(w.tenant).Move(context.Background(), w.task, m) })
}

func (w *votes) recount(c *rpc.Client) error {
	if w.task == "" {
		return nil
	}
	d, err := c.Tasks(w.tenant).Get(context.Background(), w.task)
	state := stateOf(d)
	if errors.Is(err, record.ErrNotFound) {
		err, state = nil, ""
	}
	if err != nil {
		return err
	}
	if w.state == approval.Reviewing && w.under == "" {
		return w.recountVotes(c)
	}
	if state != w.state && (w.under == "" || state != w.under) {
		return wrongf("the task %s is %q; acknowledged was %q, and under way what makes it %q", w.task, state, w.state, w.under)
	}
	if w.under != "" {
		w.state, w.under = state, ""
		if state == "" {
			w.made--
		}
	}
	return nil
}

// recountVotes demands that what was answered is there, and of the answers that nobody heard
// of, what the state of the task says.
func (w *votes) recountVotes(c *rpc.Client) error {
	for n := range w.reviewers {
		id := w.approvalID(n)
		d, err := c.Approvals(w.tenant).Get(context.Background(), id)
		if err != nil {
			return err
		}
		var says struct {
			Status string
			Action string `json:"response_action"`
		}
		if err := json.Unmarshal(d.JSON, &says); err != nil {
			return wrongf("%s: %s", id, err)
		}
		switch {
		case says.Action == w.answers[id]:
		case w.answers[id] == "" && says.Action == w.perhaps[id]:
			w.answers[id] = says.Action
		default:
			return wrongf("%s is answered by %q; acknowledged was %q, and under way %q", id, says.Action, w.answers[id], w.perhaps[id])
		}
		delete(w.perhaps, id)
	}
	return w.judged(c)
}
