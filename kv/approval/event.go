package approval

import (
	"encoding/json"

	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// The streams, and the names of events in them. A payload is an object: task_id or
// approval_id, from and to where a state has changed, and what else the event is about.
const (
	StreamTasks     = "task"
	StreamApprovals = "approval"

	EventTaskCreated       = "task:created"
	EventTaskState         = "task:state_changed"
	EventTaskDeleted       = "task:deleted"
	EventApprovalCreated   = "approval:created"
	EventApprovalState     = "approval:state_changed"
	EventApprovalDelegated = "approval:delegated" // further than it was
	EventApprovalEscalated = "approval:escalated"
	EventApprovalOverdue   = "approval:overdue"
)

// fields are those of an object.
type fields map[string]any

// with adds a text, unless there is none.
func (f fields) with(field, text string) fields {
	if text != "" {
		f[field] = text
	}
	return f
}

// json is the canonical form. Values are texts, numbers and what is canonical JSON already,
// which never fails.
func (f fields) json() json.RawMessage {
	text, err := json.Marshal(map[string]any(f))
	if err != nil {
		panic(err)
	}
	canonical, err := document.Canonical(text)
	if err != nil {
		panic(err)
	}
	return canonical
}

// tell appends an event.
func (u *turn) tell(stream, name string, payload fields) error {
	if u.feed == nil {
		return nil
	}
	return u.feed.Append(u.Work(), stream, name, payload.json())
}

func at(d record.Doc, path string) json.RawMessage {
	return document.Field(d.JSON, document.ParsePath(path))
}

func text(d record.Doc, path string) string {
	s, _ := document.Text(at(d, path))
	return s
}

// number is that of a field; 0 if there is none.
func number(d record.Doc, path string) (n int64) {
	if value := at(d, path); document.Kind(value) == '0' {
		_ = json.Unmarshal(value, &n) // the schema has seen to it
	}
	return n
}

func is(d record.Doc, path string) bool { return string(at(d, path)) == "true" }

// texts are the elements of an array.
func texts(d record.Doc, path string) (list []string) {
	for element := range document.Elements(at(d, path)) {
		s, _ := document.Text(element)
		list = append(list, s)
	}
	return list
}
