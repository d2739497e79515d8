package view

import (
	"net/http"
	"strings"
	"time"

	kvjob "github.com/stoadb/stoa/kv/job"
)

// How many jobs of a queue in a state there are at once, and what is shown of a payload.
const (
	usualJobs      = 20
	mostJobs       = 200
	longestPayload = 200 // bytes
)

// jobQueuesDoc is the jobs of a tenant by their queues.
type jobQueuesDoc struct {
	Queues []jobQueueDoc `json:"queues"`
	gaps
}

// jobQueueDoc is a queue, whose jobs are by their states; those that no job is in are left out.
type jobQueueDoc struct {
	Queue  string        `json:"queue"`
	States []jobStateDoc `json:"states"`
}

type jobStateDoc struct {
	State string      `json:"state"`
	Jobs  []queuedJob `json:"jobs"`
	Next  string      `json:"next,omitempty"` // pass it as cursor, with queue and state, for the next page
}

// queuedJob is a job. What its state does not have is absent.
type queuedJob struct {
	ID          string    `json:"id"`
	Due         time.Time `json:"due"`
	Attempts    int       `json:"attempts"`
	MaxAttempts int       `json:"max_attempts"`
	Worker      string    `json:"worker,omitempty"`
	Until       time.Time `json:"until,omitzero"` // of the lease; of a dead job, when it died
	Failure     string    `json:"failure,omitempty"`
	Payload     string    `json:"payload"` // its beginning
}

func newQueuedJob(j *kvjob.Info) queuedJob {
	payload := string(j.Payload)
	if len(payload) > longestPayload {
		payload = strings.ToValidUTF8(payload[:longestPayload], "") + "…"
	}
	return queuedJob{j.ID, j.Due.UTC(), j.Attempts, j.MaxAttempts, j.Worker, j.Until.UTC(), j.Failure, payload}
}

// jobQueues answers the first jobs of each queue and state, or, where a request names both, a page
// of those.
func (s *Server) jobQueues(r *http.Request) (any, error) {
	limit, err := limitOf(r, usualJobs, mostJobs)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	queues, states := kvjob.QueueNames(), kvjob.States()
	if q.Has("queue") || q.Has("state") {
		if _, err := kvjob.ParseState(q.Get("state")); err != nil {
			return nil, badRequest{err}
		}
		queues, states = []string{q.Get("queue")}, []string{q.Get("state")}
	}
	doc := jobQueuesDoc{Queues: []jobQueueDoc{}}
	err = s.store.recorded(func(p *policies) error {
		of, err := p.jobs.Find(q.Get("tenant"))
		if err != nil {
			return err
		}
		for _, name := range queues {
			one := jobQueueDoc{Queue: name, States: []jobStateDoc{}}
			for _, state := range states {
				parsed, err := kvjob.ParseState(state)
				if err != nil {
					return err
				}
				list, next, err := of.List(r.Context(), kvjob.ListOptions{Queue: name, State: parsed, Cursor: q.Get("cursor"), Limit: limit})
				if err != nil {
					return err
				}
				if len(list) == 0 {
					continue
				}
				column := jobStateDoc{State: state, Next: next}
				for i := range list {
					column.Jobs = append(column.Jobs, newQueuedJob(&list[i]))
				}
				one.States = append(one.States, column)
			}
			doc.Queues = append(doc.Queues, one)
		}
		doc.gaps = p.gaps()
		return nil
	})
	return doc, err
}
