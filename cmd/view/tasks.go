package view

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// How many tasks the board has of a state, and approvals a page of a queue.
const (
	boardTasks    = 30
	usualAnswers  = 50
	mostAnswers   = 200
	longestOfTask = 200 // bytes of a task's description
)

// boardDoc is the tasks of a tenant by their states.
type boardDoc struct {
	States []stateDoc `json:"states"`
	gaps
}

// stateDoc is the newest tasks of a state, of which there may be more.
type stateDoc struct {
	State string    `json:"state"`
	Tasks []taskDoc `json:"tasks"`
	More  bool      `json:"more,omitempty"`
}

// taskDoc is what a board has of a task. What the task does not say is absent.
type taskDoc struct {
	ID      string                     `json:"id"`
	Fields  map[string]json.RawMessage `json:"fields"`
	Answers *approval.TaskStats        `json:"answers,omitempty"` // while people are asked
}

// taskFields are the fields of a task that the board has, by the names that it has for them.
var taskFields = map[string]document.Path{
	"type": {"config", "type"}, "author": {"metadata", "author_id"}, "updated_at": {"metadata", "updated_at"},
	"risk": {"risk", "level"}, "agent": {"execution", "agent_id"}, "result": {"execution", "result"}, "retries": {"execution", "retry_count"},
}

// board answers the newest tasks of each state.
func (s *Server) board(r *http.Request) (any, error) {
	tenant := r.URL.Query().Get("tenant")
	doc := boardDoc{States: []stateDoc{}}
	err := s.store.recorded(func(p *policies) error {
		board, err := p.tasks.Board(r.Context(), tenant, boardTasks+1)
		if err != nil {
			return err
		}
		for i, list := range board {
			state := stateDoc{State: approval.States[i], Tasks: []taskDoc{}, More: len(list) > boardTasks}
			for _, d := range list[:min(len(list), boardTasks)] {
				t := taskDoc{ID: d.ID, Fields: fieldsOf(d)}
				if state.State == approval.Reviewing {
					c, err := p.tasks.TaskStats(r.Context(), tenant, d.ID)
					if err != nil {
						return err
					}
					t.Answers = &c
				}
				state.Tasks = append(state.Tasks, t)
			}
			doc.States = append(doc.States, state)
		}
		doc.gaps = p.gaps()
		return nil
	})
	return doc, err
}

// fieldsOf are the fields of a task that the board has.
func fieldsOf(d record.Doc) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	for name, path := range taskFields {
		if value := document.Field(d.JSON, path); value != nil {
			fields[name] = value
		}
	}
	if about, ok := document.Text(document.Field(d.JSON, document.Path{"config", "description"})); ok {
		if len(about) > longestOfTask {
			about = strings.ToValidUTF8(about[:longestOfTask], "") + "…"
		}
		fields["description"] = document.FromText(about)
	}
	return fields
}

// queueDoc is a page of approvals that wait for answers.
type queueDoc struct {
	Approvals []approvalDoc `json:"approvals"`
	Next      string        `json:"next,omitempty"` // pass it as cursor for the next page
	gaps
}

// approvalDoc is an approval, with its place among those of its user.
type approvalDoc struct {
	recordDoc
	Score int64 `json:"score"`
}

// queue answers a page of what waits for answers: of a user the most urgent first, else of
// all what is due first.
func (s *Server) queue(r *http.Request) (any, error) {
	limit, err := limitOf(r, usualAnswers, mostAnswers)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	doc := queueDoc{Approvals: []approvalDoc{}}
	err = s.store.recorded(func(p *policies) error {
		c, err := p.rules.Records().Collection(approval.Approvals)
		if err != nil {
			return err
		}
		page, err := p.tasks.Queue(r.Context(), q.Get("tenant"), q.Get("user"), record.Query{Cursor: q.Get("cursor"), Limit: limit})
		for _, d := range page.Docs {
			doc.Approvals = append(doc.Approvals, approvalDoc{newRecordDoc(c, d), approval.Score(d)})
		}
		doc.Next, doc.gaps = page.Next, p.gaps()
		return err
	})
	return doc, err
}
