package view

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
)

// tasksOf runs fn with the tasks of a tenant.
func (s *sample) tasksOf(t *testing.T, fn func(*approval.Store)) {
	store, err := kv.Open(s.store, kv.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	rules, err := policy.New(store, policy.Options{})
	require.NoError(t, err)
	tasks, err := approval.New(rules.Records(), approval.Options{})
	require.NoError(t, err)
	fn(tasks)
}

// addTasks adds four tasks to a tenant: a draft, one that is reviewed by three, of whom two
// are to approve and one has, one that nobody has asked for, one that is submitted.
func (s *sample) addTasks(t *testing.T) {
	s.tasksOf(t, func(tasks *approval.Store) {
		for i, about := range []string{"rotate <i>keys</i>", "migrate the database", "drop it", "grow the disk"} {
			doc := fmt.Sprintf(`{"task_id":"task-%d","config":{"type":"infrastructure","description":%q},"metadata":{"author_id":"ada"}}`, i, about)
			_, err := tasks.CreateTask(t.Context(), "acme", json.RawMessage(doc), record.WriteOptions{})
			require.NoError(t, err)
		}
		for _, m := range []struct{ id, to string }{{"task-1", approval.Submitted}, {"task-2", approval.Cancelled}, {"task-3", approval.Submitted}} {
			_, err := tasks.Move(t.Context(), "acme", m.id, approval.Move{To: m.to, By: "ada"})
			require.NoError(t, err)
		}
		asking := approval.Asking{Required: 2}
		for _, who := range []string{"ann", "bob", "cy"} {
			asking.Approvals = append(asking.Approvals, json.RawMessage(fmt.Sprintf(`{"approval_id":"app-%s","reviewer_id":%q,"priority":"HIGH"}`, who, who)))
		}
		_, err := tasks.Request(t.Context(), "acme", "task-1", asking, record.WriteOptions{})
		require.NoError(t, err)
		_, err = tasks.Respond(t.Context(), "acme", approval.Answer{Approval: "app-bob", By: "bob", Action: approval.Approve}, 0)
		require.NoError(t, err)
	})
}

func TestTasksStandOnABoardByTheirStates(t *testing.T) {
	sample := newSample(t, 1)
	sample.addTasks(t)
	s := sample.served(t)
	board := ask[boardDoc](t, s, "board", "tenant", "acme")
	require.Len(t, board.States, len(approval.States))
	there := map[string]string{}
	for _, state := range board.States {
		for _, task := range state.Tasks {
			there[task.ID] = state.State
			require.JSONEq(t, `"infrastructure"`, string(task.Fields["type"]))
			require.Equal(t, state.State == approval.Reviewing, task.Answers != nil)
		}
	}
	require.Equal(t, map[string]string{"task-0": approval.Draft, "task-1": approval.Reviewing, "task-2": approval.Cancelled, "task-3": approval.Submitted}, there)
	require.Equal(t, &approval.TaskStats{Required: 2, Approved: 1, Pending: 2}, board.States[2].Tasks[0].Answers)
	for _, state := range ask[boardDoc](t, s, "board", "tenant", "nobody").States {
		require.Empty(t, state.Tasks)
	}
	status, _ := get(s, "api/board")
	require.Equal(t, http.StatusBadRequest, status, "without a tenant")
}

// Of many tasks of a state the board has the newest, and says that there are more; of a
// long description the beginning.
func TestABoardHasTheNewestTasks(t *testing.T) {
	sample := newSample(t, 1)
	sample.tasksOf(t, func(tasks *approval.Store) {
		for i := range boardTasks + 1 {
			about := make([]rune, 300)
			for i := range about {
				about[i] = 'ä'
			}
			doc, err := json.Marshal(map[string]any{"task_id": fmt.Sprint("t", i), "config": map[string]any{"type": "x", "description": string(about)}, "metadata": map[string]any{"author_id": "ada"}})
			require.NoError(t, err)
			_, err = tasks.CreateTask(t.Context(), "acme", doc, record.WriteOptions{})
			require.NoError(t, err)
		}
	})
	drafts := ask[boardDoc](t, sample.served(t), "board", "tenant", "acme").States[0]
	require.Len(t, drafts.Tasks, boardTasks)
	require.True(t, drafts.More)
	require.Equal(t, fmt.Sprint("t", boardTasks), drafts.Tasks[0].ID, "the newest first")
	var about string
	require.NoError(t, json.Unmarshal(drafts.Tasks[0].Fields["description"], &about))
	require.Len(t, about, longestOfTask+len("…"))
}

func TestAQueueIsAPageAtATime(t *testing.T) {
	sample := newSample(t, 1)
	sample.addTasks(t)
	s := sample.served(t)
	first := ask[queueDoc](t, s, "queue", "tenant", "acme", "limit", "1")
	require.Len(t, first.Approvals, 1)
	require.Equal(t, "app-ann", first.Approvals[0].ID)
	require.EqualValues(t, 500, first.Approvals[0].Score)
	second := ask[queueDoc](t, s, "queue", "tenant", "acme", "limit", "1", "cursor", first.Next)
	require.Equal(t, "app-cy", second.Approvals[0].ID, "who has answered is asked no more")
	require.Len(t, ask[queueDoc](t, s, "queue", "tenant", "acme", "user", "ann").Approvals, 1)
	require.Empty(t, ask[queueDoc](t, s, "queue", "tenant", "acme", "user", "bob").Approvals)
	status, _ := get(s, "api/queue?tenant=acme&cursor=x")
	require.Equal(t, http.StatusBadRequest, status)
}
