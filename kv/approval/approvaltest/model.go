package approvaltest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
)

// naive is tasks and approvals without any cleverness: everything is counted anew from
// everything.
type naive struct {
	tasks map[string]*naiveTask
	asked map[string]*naiveApproval
}

type naiveTask struct {
	state           string
	round, required int
}

type naiveApproval struct {
	id, task, user, status, by string
	round                      int
	created, responded         time.Time
	chain                      []string
}

func (a *naiveApproval) open() bool {
	return a.status == approval.Pending || a.status == approval.Delegated
}

// round are the approvals of the present round of a task.
func (n *naive) round(task string) (list []*naiveApproval) {
	for _, id := range slices.Sorted(maps.Keys(n.asked)) {
		if a := n.asked[id]; a.task == task && a.round == n.tasks[task].round {
			list = append(list, a)
		}
	}
	return list
}

// leave brings a task out of its review.
func (n *naive) leave(task, to string, now time.Time) {
	for _, a := range n.round(task) {
		if a.open() {
			a.status, a.responded = approval.Closed, now
		}
	}
	n.tasks[task].state = to
}

func (n *naive) stats(task string) (s approval.TaskStats) {
	list := n.round(task)
	if s.Required = n.tasks[task].required; s.Required == 0 {
		s.Required = len(list)
	}
	for _, a := range list {
		switch {
		case a.open():
			s.Pending++
		case a.status == approval.Approved:
			s.Approved++
		case a.status == approval.Rejected:
			s.Rejected++
		}
	}
	s.QuorumReached = len(list) > 0 && s.Approved >= s.Required
	return s
}

func (n *naive) user(user string, now time.Time) (s approval.UserStats) {
	var total time.Duration
	answers := 0
	var last time.Time
	for _, a := range n.asked {
		if a.open() && a.user == user {
			s.Pending++
		}
		if a.by != user || a.open() || now.Sub(a.responded) >= 30*24*time.Hour {
			continue
		}
		answers++
		total += a.responded.Sub(a.created)
		if a.responded.After(last) {
			last, s.LastAction = a.responded, a.responded.UTC().Format(time.RFC3339Nano)
		}
		if a.responded.Truncate(24 * time.Hour).Equal(now.Truncate(24 * time.Hour)) {
			if a.status == approval.Approved {
				s.ApprovedToday++
			} else {
				s.RejectedToday++
			}
		}
	}
	if answers > 0 {
		s.AvgResponseTime = float64(total.Milliseconds()) / float64(answers) / 1000
	}
	return s
}

var users = []string{"ann", "bob", "cid", "dan"}

// a51A52A60StatisticsAreARecount does what users and agents do in any order, and compares
// every answer, every state and every count with those of the naive model.
func a51A52A60StatisticsAreARecount(t *testing.T, h *Host) {
	h.Close() // each case has its own
	enginetest.Check(t, 100, func(rt *rapid.T) {
		db := mem.New()
		defer func() { _ = db.Close() }()
		h := Open(t, db, kvtest.New(), h.reach)
		defer h.Close()
		m := &machine{h: h, n: &naive{map[string]*naiveTask{}, map[string]*naiveApproval{}}, t: rt}
		rt.Repeat(map[string]func(*rapid.T){
			"make": m.make, "move": m.move, "ask": m.ask, "answer": m.answer, "delegate": m.delegate, "pass": m.pass, "": m.compare,
		})
		h.Check()
	})
}

type machine struct {
	h *Host
	n *naive
	t *rapid.T
}

func (m *machine) make(rt *rapid.T) {
	id := fmt.Sprint("t", len(m.n.tasks))
	if len(m.n.tasks) < 4 {
		m.h.NewTask(id)
		m.n.tasks[id] = &naiveTask{state: approval.Draft}
	}
}

func (m *machine) task(rt *rapid.T) string {
	if len(m.n.tasks) == 0 {
		rt.Skip("there is no task")
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(m.n.tasks))).Draw(rt, "task")
}

func (m *machine) approval(rt *rapid.T) *naiveApproval {
	if len(m.n.asked) == 0 {
		rt.Skip("nobody is asked")
	}
	return m.n.asked[rapid.SampledFrom(slices.Sorted(maps.Keys(m.n.asked))).Draw(rt, "approval")]
}

func (m *machine) move(rt *rapid.T) {
	id, to := m.task(rt), rapid.SampledFrom(approval.States).Draw(rt, "to")
	task, now := m.n.tasks[id], m.h.KV.Now()
	move := approval.Move{To: to, Durability: wal}
	var want record.Code
	switch {
	case !slices.Contains(strings.Fields(legal[task.state]), to):
		want = record.CodeIllegalTransition
		if task.state == approval.Submitted && to == approval.Approved {
			want = record.CodePrecondition
		}
	case task.state == approval.Reviewing && to != approval.Cancelled && len(m.n.round(id)) > 0:
		want = record.CodePrecondition
	}
	if to == approval.Applying || to == approval.Completed {
		move.Agent = "agent-" + id
		g, err := m.h.Locks.Acquire(ctx, "t", lock.Request{Name: lock.Task(id), Agent: move.Agent})
		require.NoError(rt, err)
		move.Token, move.Outcome.Result = g.Token, rapid.SampledFrom([]string{"success", "failure"}).Draw(rt, "result")
	}
	_, err := m.h.Move(ctx, "t", id, move)
	require.Equal(rt, string(want), code(err))
	switch {
	case want != "":
	case task.state == approval.Reviewing:
		m.n.leave(id, to, now)
	default:
		if to == approval.Reviewing {
			task.round++
		}
		task.state = to
	}
}

func (m *machine) ask(rt *rapid.T) {
	id := m.task(rt)
	task := m.n.tasks[id]
	who := rapid.SliceOfNDistinct(rapid.SampledFrom(users), 1, 3, rapid.ID).Draw(rt, "reviewers")
	required := rapid.IntRange(0, 3).Draw(rt, "required")
	var want record.Code
	switch {
	case task.state != approval.Submitted && task.state != approval.Reviewing:
		want = record.CodePrecondition
	case task.state == approval.Reviewing:
		for _, a := range m.n.round(id) {
			if first := a.id[len(a.id)-3:]; slices.Contains(who, first) {
				want = record.CodeAlreadyExists
			}
		}
	}
	round := task.round
	if task.state == approval.Submitted {
		round++
	}
	var docs []Object
	for _, user := range who {
		docs = append(docs, Object{"approval_id": fmt.Sprint(id, "-", round, "-", user), "reviewer_id": user})
	}
	_, err := m.h.TryAsk(id, required, docs...)
	require.Equal(rt, string(want), code(err))
	if want != "" {
		return
	}
	task.state, task.round = approval.Reviewing, round
	if required > 0 {
		task.required = required
	}
	for n, user := range who {
		aid := docs[n]["approval_id"].(string)
		m.n.asked[aid] = &naiveApproval{id: aid, task: id, user: user, status: approval.Pending, round: round, created: m.h.KV.Now()}
	}
}

func (m *machine) answer(rt *rapid.T) {
	a, by := m.approval(rt), rapid.SampledFrom(users).Draw(rt, "by")
	action := rapid.SampledFrom([]string{approval.Approve, approval.Reject, approval.RequestChanges}).Draw(rt, "action")
	if rapid.Bool().Draw(rt, "asked") {
		by = a.user
	}
	err := m.h.TryAnswer(a.id, by, action)
	switch {
	case !a.open():
		require.Equal(rt, string(approval.CodeAlreadyResponded), code(err))
		return
	case by != a.user:
		require.Equal(rt, string(approval.CodeForbidden), code(err))
		return
	}
	require.NoError(rt, err)
	now := m.h.KV.Now()
	a.by, a.responded, a.status = by, now, approval.Rejected
	if action == approval.Approve {
		a.status = approval.Approved
	}
	s := m.n.stats(a.task)
	switch {
	case action == approval.RequestChanges:
		m.n.leave(a.task, approval.Draft, now)
	case s.Approved >= s.Required:
		m.n.leave(a.task, approval.Approved, now)
	case len(m.n.round(a.task))-s.Rejected < s.Required:
		m.n.leave(a.task, approval.Rejected, now)
	}
}

func (m *machine) delegate(rt *rapid.T) {
	a, to := m.approval(rt), rapid.SampledFrom(users).Draw(rt, "to")
	err := m.h.delegate(a.id, a.user, to)
	switch {
	case !a.open():
		require.Equal(rt, string(approval.CodeAlreadyResponded), code(err))
	case to == a.id[len(a.id)-3:] || slices.Contains(a.chain, to):
		require.Equal(rt, string(approval.CodeDelegationCycle), code(err))
	default:
		require.NoError(rt, err)
		a.user, a.status, a.chain = to, approval.Delegated, append(a.chain, to)
	}
}

func (m *machine) pass(rt *rapid.T) {
	m.h.Clock.Pass(time.Duration(rapid.IntRange(1, 1000*60*60).Draw(rt, "ms")) * time.Millisecond)
}

func (m *machine) compare(rt *rapid.T) {
	for id, task := range m.n.tasks {
		require.Equal(rt, task.state, m.h.Get(id)["state"])
		got, err := m.h.TaskStats(ctx, "t", id)
		require.NoError(rt, err)
		require.Equal(rt, m.n.stats(id), got)
	}
	for id, a := range m.n.asked {
		require.Equal(rt, a.status, m.h.Asked(id)["status"])
	}
	for _, user := range users {
		got, err := m.h.UserStats(ctx, "t", user)
		require.NoError(rt, err)
		require.Equal(rt, m.n.user(user, m.h.KV.Now()), got)
	}
}
