//go:build cgo

package approval_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks"
	. "github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/approval/approvaltest"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/record"
)

// responders is how many are asked about each task, and answer at once.
const responders = 20

// ballot is what has been answered about a task.
type ballot struct {
	answered              [responders]bool
	approvals, rejections int
	last                  uint64 // revision of the answer that came last
}

// verdict is what becomes of the task.
func (b *ballot) verdict(required int) string {
	switch {
	case b.approvals >= required:
		return Approved
	case b.rejections > responders-required:
		return Rejected
	}
	return Reviewing
}

// voice is an answer by one of those who are asked, "look" at the state of the task, or
// "count" its answers.
type voice struct {
	Task     string
	Required int
	Do       string
	Who      int
}

func (v voice) by() string       { return fmt.Sprint("user-", v.Who) }
func (v voice) approval() string { return v.Task + "-" + v.by() }

// voiced is what comes of it: whether the answer counts, or the state, or the counts.
type voiced struct {
	OK                  bool
	At                  uint64 // revision of the answer; so it is known in which order they came, and not all orders are tried
	State               string
	Approvals, Rejected int
}

// byQuorum is how answers make the state of a task.
func byQuorum(b ballot, in voice, out *voiced) (ballot, bool) {
	var want voiced
	switch in.Do {
	case "look":
		want.State = b.verdict(in.Required)
	case "count":
		want.Approvals, want.Rejected = b.approvals, b.rejections
	default:
		if want.OK = b.verdict(in.Required) == Reviewing && !b.answered[in.Who]; want.OK {
			if out != nil {
				if out.At <= b.last {
					return b, false
				}
				want.At, b.last = out.At, out.At
			}
			b.answered[in.Who] = true
			if in.Do == Approve {
				b.approvals++
			} else {
				b.rejections++
			}
		}
	}
	return b, out == nil || *out == want
}

// lasting says that whoever is told that a task is decided would be told so later, too, and
// that one that is not was not before.
func lasting(in voice, out voiced) int {
	switch {
	case out.OK, in.Do == "count":
		return 0
	case in.Do == "look" && out.State == Reviewing:
		return -1
	}
	return 1
}

var quorums = kvtest.Rule[ballot, voice, voiced]{Of: func(in voice) string { return in.Task }, Step: byQuorum, Lasting: lasting}

// Twenty answer about each task at once, while others look at its state,
// in processes that are killed: that is linearizable. So the answer that makes the quorum,
// or makes it unreachable, decides, and no other: who comes later is told so, and not
// counted.
func TestA49A50TwentyAnswerAtOnceAndAreKilled(t *testing.T) {
	if dir := os.Getenv(doomed); dir != "" {
		voteUntilKilled(t, dir)
	}
	dir, random := t.TempDir(), rand.New(rand.NewPCG(50, 51))
	var history kvtest.History[voice, voiced]
	for range max(enginetest.Scale(2), 2) {
		history.Add(t, enginetest.UntilKilled(t, doomed, dir, time.Duration(random.IntN(100_000))*time.Microsecond))
		db, err := rocks.Open(dir, rocks.Options{})
		require.NoError(t, err)
		h := approvaltest.Open(t, db, kvtest.New(), approvaltest.InProcess)
		h.Check()
		history.Settle(func(in voice) *voiced {
			if in.Do == "look" || h.Asked(in.approval())["response_action"] == nil {
				return nil
			}
			d, err := h.Approval(ctx, "t", in.approval())
			require.NoError(t, err)
			return &voiced{OK: true, At: d.Revision}
		})
		for in := range slices.Values(slices.Collect(history.Inputs)) {
			if in.Who == responders-1 && in.Do != "look" && in.Do != "count" {
				for _, do := range []string{"look", "count"} {
					in.Do, in.Who = do, 0
					history.Do(in, voicing(t, h, in))
				}
			}
		}
		h.Close()
		require.NoError(t, db.Close())
	}
	kvtest.Linearizable(t, &history, quorums)
	t.Logf("%d operations", history.Answered())
}

func voicing(t testing.TB, h *approvaltest.Host, in voice) (out voiced) {
	switch in.Do {
	case "look":
		out.State, _ = h.Get(in.Task)["state"].(string)
	case "count":
		c, err := h.TaskStats(ctx, "t", in.Task)
		require.NoError(t, err)
		out.Approvals, out.Rejected = c.Approved, c.Rejected
	default:
		d, err := h.Respond(ctx, "t", Answer{Approval: in.approval(), By: in.by(), Action: in.Do}, engine.WAL)
		if out.OK = err == nil; out.OK {
			out.At = d.Revision
		} else {
			var e *record.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, CodeAlreadyResponded, e.Code)
		}
	}
	return out
}

func voteUntilKilled(t *testing.T, dir string) {
	db, err := rocks.Open(dir, rocks.Options{})
	require.NoError(t, err)
	h := approvaltest.Open(t, db, kvtest.New(), approvaltest.InProcess)
	random := rand.New(rand.NewPCG(uint64(os.Getpid()), 0))
	for n := 0; ; n++ {
		task := fmt.Sprint("task-", os.Getpid(), "-", n)
		h.NewTask(task)
		h.MoveTo(task, Submitted)
		var users []string
		for who := range responders {
			users = append(users, fmt.Sprint("user-", who))
		}
		in := voice{Task: task, Required: 1 + random.IntN(responders)}
		h.Ask(task, in.Required, users...)
		rejects := random.IntN(responders + 1) // of so many, in the mean
		var all sync.WaitGroup
		for client := range responders + 2 {
			in := in
			in.Do = "look"
			if client < responders {
				in.Who, in.Do = client, Approve
				if random.IntN(responders) < rejects {
					in.Do = Reject
				}
			}
			all.Go(func() {
				for range 1 + 2*(client/responders) {
					kvtest.Tell(client, in, func() voiced { return voicing(t, h, in) })
				}
			})
		}
		all.Wait()
	}
}

// The judge says no to an answer that counts too late, to one that is not counted, and to a
// task that is decided by nobody's.
func TestTheJudgeOfQuorumsFindsMistakes(t *testing.T) {
	one := ballot{approvals: 1, answered: [responders]bool{true}}
	for _, tc := range []struct {
		voice
		voiced
	}{
		{voice{Required: 1, Do: Approve, Who: 1}, voiced{OK: true}},
		{voice{Required: 2, Do: Approve, Who: 1}, voiced{}},
		{voice{Required: 2, Do: Approve}, voiced{OK: true}},
		{voice{Required: 2, Do: "look"}, voiced{State: Approved}},
		{voice{Required: 1, Do: "look"}, voiced{State: Reviewing}},
		{voice{Required: 1, Do: "count"}, voiced{Approvals: 2}},
	} {
		_, ok := byQuorum(one, tc.voice, &tc.voiced)
		require.False(t, ok, "%+v", tc)
	}
}

// Where one decides and nineteen come too late, all at once, the judge is not at a loss: it is
// not tried in which order they were told so.
func TestTheJudgeOfQuorumsIsQuick(t *testing.T) {
	tell := func(lines *[]string, client int, what string, v any) {
		text, err := json.Marshal(map[string]any{"Client": client, what: v})
		require.NoError(t, err)
		*lines = append(*lines, string(text))
	}
	judge := func(seen string) bool {
		var lines []string
		for who := range responders {
			tell(&lines, who, "In", voice{Task: "t", Required: 1, Do: Approve, Who: who})
		}
		tell(&lines, responders, "In", voice{Task: "t", Required: 1, Do: "look"})
		tell(&lines, responders, "Out", voiced{State: Reviewing})
		tell(&lines, responders, "In", voice{Task: "t", Required: 1, Do: "look"})
		tell(&lines, 0, "Out", voiced{OK: true, At: 1})
		for who := 1; who < responders; who++ {
			tell(&lines, who, "Out", voiced{})
		}
		tell(&lines, responders, "Out", voiced{State: Approved})
		tell(&lines, responders, "In", voice{Task: "t", Required: 1, Do: "look"})
		tell(&lines, responders, "Out", voiced{State: seen})
		var history kvtest.History[voice, voiced]
		history.Add(t, lines)
		said := &verdictOnly{}
		kvtest.Linearizable(said, &history, quorums)
		return !said.failed
	}
	require.True(t, judge(Approved))
	require.False(t, judge(Reviewing), "once it is decided it stays so")
	require.False(t, judge(Rejected))
}

// verdictOnly keeps whether something was demanded in vain.
type verdictOnly struct{ failed bool }

func (v *verdictOnly) Errorf(string, ...any) { v.failed = true }
func (v *verdictOnly) FailNow()              { v.failed = true }
