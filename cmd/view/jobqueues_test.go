package view

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	kvjob "github.com/stoadb/stoa/kv/job"
)

// addJobs adds jobs to a tenant: one that is scheduled, one that is leased, one that is dead, and
// one more of those that are ready than are shown at once.
func (s *sample) addJobs(t *testing.T) {
	store, err := kv.Open(s.store, kv.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	jobs, err := kvjob.New(store, kvjob.Options{})
	require.NoError(t, err)
	defer jobs.Close()
	q, err := jobs.Open(t.Context(), "acme")
	require.NoError(t, err)
	add := func(j kvjob.Job) {
		_, _, err := q.Add(t.Context(), engine.WAL, j)
		require.NoError(t, err)
	}
	lease := func() kvjob.Info {
		list, err := q.Lease(t.Context(), kvjob.LeaseOptions{Queue: kvjob.TaskTimeout, Worker: "worker-1", For: time.Hour})
		require.NoError(t, err)
		require.Len(t, list, 1)
		return list[0]
	}
	require.NoError(t, q.Put(t.Context(), engine.WAL, kvjob.Job{ID: "later", Queue: kvjob.LockCleanup, Due: time.Now().Add(time.Hour)}))
	add(kvjob.Job{ID: "failing", Queue: kvjob.TaskTimeout, MaxAttempts: 1})
	dead := lease()
	_, err = q.Fail(t.Context(), engine.WAL, dead.ID, dead.Token, "the disk <b>is</b> full", 0)
	require.NoError(t, err)
	add(kvjob.Job{ID: "leased", Queue: kvjob.TaskTimeout, Payload: json.RawMessage(`{"task_id":"` + strings.Repeat("x", longestPayload) + `"}`)})
	lease()
	for i := range usualJobs + 1 {
		add(kvjob.Job{ID: fmt.Sprintf("old-%02d", i), Queue: kvjob.Archive})
	}
}

func TestJobsAreShownByTheirQueuesAndStates(t *testing.T) {
	sample := newSample(t, 1)
	sample.addJobs(t)
	s := sample.served(t)
	of := func(doc jobQueuesDoc) map[string][]queuedJob {
		all := map[string][]queuedJob{}
		for _, q := range doc.Queues {
			for _, state := range q.States {
				all[q.Queue+" "+state.State] = state.Jobs
			}
		}
		return all
	}
	doc := ask[jobQueuesDoc](t, s, "jobs", "tenant", "acme")
	require.Len(t, doc.Queues, len(kvjob.QueueNames()))
	all := of(doc)
	require.Len(t, all, 4)
	require.Equal(t, "later", all["lock_cleanup scheduled"][0].ID)
	leased := all["task_timeout leased"][0]
	require.Equal(t, []any{"leased", "worker-1", 1, 5}, []any{leased.ID, leased.Worker, leased.Attempts, leased.MaxAttempts})
	require.False(t, leased.Until.IsZero())
	require.True(t, strings.HasSuffix(leased.Payload, "x…"), "of a long payload the beginning")
	require.Equal(t, "the disk <b>is</b> full", all["task_timeout dead"][0].Failure)
	require.Len(t, all["archive ready"], usualJobs)

	first := ask[jobQueuesDoc](t, s, "jobs", "tenant", "acme", "queue", kvjob.Archive, "state", "ready", "limit", "2")
	require.Equal(t, "old-00", first.Queues[0].States[0].Jobs[0].ID)
	next := ask[jobQueuesDoc](t, s, "jobs", "tenant", "acme", "queue", kvjob.Archive, "state", "ready", "cursor", first.Queues[0].States[0].Next)
	require.Len(t, next.Queues[0].States[0].Jobs, usualJobs-1)
	require.Empty(t, of(ask[jobQueuesDoc](t, s, "jobs", "tenant", "nobody")))
	for _, path := range []string{"jobs", "jobs?tenant=acme&limit=none", "jobs?tenant=acme&queue=archive", "jobs?tenant=acme&queue=other&state=ready", "jobs?tenant=acme&queue=archive&state=ready&cursor=x"} {
		status, body := get(s, "api/"+path)
		require.Equal(t, http.StatusBadRequest, status, "%s: %s", path, body)
	}
}
