package approval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// The states of a task.
const (
	Draft     = "DRAFT"
	Submitted = "SUBMITTED"
	Reviewing = "REVIEWING"
	Approved  = "APPROVED" // of an approval too
	Applying  = "APPLYING"
	Completed = "COMPLETED"
	Rejected  = "REJECTED" // of an approval too
	Cancelled = "CANCELLED"
)

// States are those of a task, in the order in which one comes to them.
var States = []string{Draft, Submitted, Reviewing, Approved, Applying, Completed, Rejected, Cancelled}

// ownOfTask are the fields of a task that only the methods of Store change, and the message
// with which others are refused.
var ownOfTask = []struct{ field, how string }{
	{"state", "a task goes from state to state by its transitions"},
	{"config", "the config of a task is set once"},
	{"execution", "the execution is written by the transitions to APPLYING and from there"},
	{"risk", "the risk is what it was assessed to be"},
	{"round", "rounds are counted by the store"},
	{"required_count", "how many approvals are required is said when they are asked for"},
	{"metadata.submitted_at", "times are set by the store"},
	{"metadata.approved_at", "times are set by the store"},
	{"metadata.applying_at", "times are set by the store"},
	{"metadata.completed_at", "times are set by the store"},
}

// checkTask refuses changes that others than this store would make.
func (s *Store) checkTask(_ *record.Tx, old, changed record.Doc) error {
	if s.within {
		return nil
	}
	if old.JSON == nil || changed.JSON == nil {
		return record.Precondition("collection", "tasks are made and deleted by the Task service, which tells of it: use that")
	}
	for _, own := range ownOfTask {
		before := at(old, own.field)
		if own.field == "config" && before == nil || bytes.Equal(before, at(changed, own.field)) {
			continue
		}
		return refuse(record.CodeImmutable, "", own.field, "%s", own.how)
	}
	return nil
}

// CreateTask makes a task of a document, in the state DRAFT, and returns it. The store gives
// it its id, unless it has one, and its times. It returns record.ErrAlreadyExists;
// record.ErrValidation, with the field, for what the schema refuses, and for fields that
// are the store's to say.
func (s *Store) CreateTask(ctx context.Context, tenant string, doc []byte, o record.WriteOptions) (made record.Doc, err error) {
	canonical, err := object(Tasks, "doc", doc)
	if err != nil {
		return made, err
	}
	given := record.Doc{JSON: canonical}
	for _, own := range ownOfTask {
		if own.field != "config" && own.field != "required_count" && at(given, own.field) != nil && text(given, own.field) != Draft {
			return made, malformed(Tasks, own.field, "%s: leave it out of a new task", own.how)
		}
	}
	for _, field := range []string{"metadata.created_at", "metadata.updated_at"} {
		if at(given, field) != nil {
			return made, malformed(Tasks, field, "times are set by the store: leave it out of a new task")
		}
	}
	draft, err := s.records.Draft(Tasks, canonical)
	if err != nil {
		return made, err
	}
	err = s.do(ctx, tenant, o.Durability, func(u *turn) error {
		if made, err = u.Insert(draft); err != nil {
			return err
		}
		return u.tell(StreamTasks, EventTaskCreated, fields{"task_id": made.ID, "to": Draft, "by": text(made, "metadata.author_id")})
	})
	return made, err
}

// object is the canonical form of an object that a caller gives.
func object(collection, field string, doc []byte) (json.RawMessage, error) {
	if len(doc) > record.MaxDocument {
		return nil, tooMany(collection, field, record.MaxDocument, len(doc), "it has too many bytes")
	}
	canonical, err := document.Canonical(doc)
	if err != nil {
		return nil, malformed(collection, field, "%s", err)
	}
	if document.Kind(canonical) != '{' {
		return nil, malformed(collection, field, "it is to be an object")
	}
	return canonical, nil
}

// Task returns a task, or record.ErrNotFound.
func (s *Store) Task(ctx context.Context, tenant, id string) (record.Doc, error) {
	return s.records.Get(ctx, tenant, Tasks, id)
}

// UpdateTask applies a merge patch to what a task says of itself: metadata, fields that the
// schema does not know, and its config, once. It returns record.ErrNotFound;
// record.ErrImmutable for a config that is there already, and for fields that are the
// store's to say; record.ErrConflict for another revision than is expected.
func (s *Store) UpdateTask(ctx context.Context, tenant, id string, patch []byte, o record.UpdateOptions) (record.Doc, error) {
	canonical, err := object(Tasks, "patch", patch)
	if err != nil {
		return record.Doc{}, err
	}
	if document.Field(canonical, document.Path{"config"}) != nil {
		d, err := s.Task(ctx, tenant, id)
		if err != nil {
			return record.Doc{}, err
		}
		if at(d, "config") != nil {
			return record.Doc{}, refuse(record.CodeImmutable, Tasks, "config", "the config of a task is set once, and this one has it: make another task")
		}
	}
	return s.records.Update(ctx, tenant, Tasks, id, canonical, o)
}

// DeleteTask removes a task, with its preview; approvals that wait for an answer are closed,
// and those that have one stay until they are archived. It returns what the task was;
// record.ErrNotFound; record.ErrPrecondition while it is applied.
func (s *Store) DeleteTask(ctx context.Context, tenant, id string, o record.UpdateOptions) (old record.Doc, err error) {
	err = s.do(ctx, tenant, o.Durability, func(u *turn) error {
		if old, err = u.Delete(Tasks, id, record.UpdateOptions{Revision: o.Revision}); err != nil {
			return err
		}
		if text(old, "state") == Applying {
			return record.Precondition("state", "the task is being applied: cancel it first")
		}
		if _, err := u.Delete(Previews, id, record.UpdateOptions{}); err != nil && !errors.Is(err, record.ErrNotFound) {
			return err
		}
		if err := u.closeOpen(old, "the task is deleted"); err != nil {
			return err
		}
		return u.tell(StreamTasks, EventTaskDeleted, fields{"task_id": id, "from": text(old, "state")})
	})
	return old, err
}

// Board returns the newest tasks of each state, at most limit of each (1 to 1000), in the
// order of States.
func (s *Store) Board(ctx context.Context, tenant string, limit int) (board [][]record.Doc, err error) {
	view, err := s.records.View(tenant)
	if err != nil {
		return nil, err
	}
	defer func() { _ = view.Close() }()
	for _, state := range States {
		page, err := view.List(ctx, Tasks, record.Query{Filters: []record.Filter{record.Equal("by_state", state)}, Reverse: true, Limit: limit})
		if err != nil {
			return nil, err
		}
		board = append(board, page.Docs)
	}
	return board, nil
}

// final reports whether nothing but a retry follows a state.
func final(state string) bool { return slices.Contains([]string{Completed, Cancelled}, state) }
