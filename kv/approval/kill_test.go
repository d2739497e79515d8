//go:build cgo

package approval_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
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

// doomed names the directory that a process of this test writes to until it is killed.
const doomed = "STOA_APPROVAL_DOOMED"

var ctx = context.Background()

// Processes that move tasks and answer approvals at random are killed at random moments,
// until there were 5,000 changes: each task is in the index of its state and in no other,
// what was answered is there, and the events of each record lead to what it is.
func TestA62AProcessIsKilled(t *testing.T) {
	if dir := os.Getenv(doomed); dir != "" {
		moveUntilKilled(t, dir)
	}
	dir, random := t.TempDir(), rand.New(rand.NewPCG(61, 62))
	for changes := 0; changes < max(enginetest.Scale(5000), 200); {
		told := enginetest.UntilKilled(t, doomed, dir, time.Duration(random.IntN(600_000))*time.Microsecond)
		db, err := rocks.Open(dir, rocks.Options{})
		require.NoError(t, err)
		h := approvaltest.Open(t, db, kvtest.New(), approvaltest.InProcess)
		h.Check()
		in := map[string]string{}
		for _, state := range States {
			page, err := h.Store.Records().List(ctx, "t", Tasks, record.Query{Filters: []record.Filter{record.Equal("by_state", state)}, Limit: 10_000})
			require.NoError(t, err)
			for _, d := range page.Docs {
				require.Empty(t, in[d.ID], "%s is in two indexes", d.ID)
				in[d.ID] = state
			}
		}
		for d, err := range h.Store.Records().All(ctx, "t", Tasks) {
			require.NoError(t, err)
			require.Equal(t, h.Get(d.ID)["state"], in[d.ID])
			delete(in, d.ID)
		}
		require.Empty(t, in)
		for _, id := range told {
			require.NotEqual(t, Pending, h.Asked(id)["status"], "what was answered is there")
		}
		changes = len(h.Events())
		h.Close()
		require.NoError(t, db.Close())
	}
}

// moveUntilKilled has users and an agent change tasks, and prints the approvals that were
// answered.
func moveUntilKilled(t *testing.T, dir string) {
	db, err := rocks.Open(dir, rocks.Options{})
	require.NoError(t, err)
	h := approvaltest.Open(t, db, kvtest.New(), approvaltest.InProcess)
	var all sync.WaitGroup
	for n := range 4 {
		random := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(n)))
		all.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprint("task-", os.Getpid(), "-", n, "-", i)
				h.NewTask(id)
				h.MoveTo(id, Submitted)
				for _, ask := range h.Ask(id, 1+random.IntN(2), "ann", "bob", "cid") {
					action := []string{Approve, Reject, RequestChanges}[random.IntN(3)]
					user := ask[len(ask)-3:]
					_, err := h.Respond(ctx, "t", Answer{Approval: ask, By: user, Action: action}, engine.WAL)
					if err != nil {
						var e *record.Error
						require.ErrorAs(t, err, &e)
						require.Equal(t, CodeAlreadyResponded, e.Code)
					}
					_, _ = fmt.Println(ask + ".")
				}
				if h.Get(id)["state"] == Approved {
					token := h.Apply(id, "agent")
					h.Complete(id, "agent", token, Outcome{Result: "success"})
				}
			}
		})
	}
	all.Wait()
}
