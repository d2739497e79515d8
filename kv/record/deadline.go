package record

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
)

// Deadline says what becomes of a record for which an instant comes while its fields have
// one of the values that When gives: it gets those of Set. The store writes that itself,
// usually within 10 ms; Check is not asked.
type Deadline struct {
	At   string          `json:"at"`
	When When            `json:"when"`
	Set  json.RawMessage `json:"set"` // a merge patch

	at document.Path
}

func (c *Collection) compileDeadline() *Error {
	d := c.Deadline
	if d == nil {
		return nil
	}
	d.at = document.ParsePath(d.At)
	if !c.schema.isInstant(d.at) || document.Kind(d.Set) != '{' {
		return invalid("deadline", "it says at which instant (at) of which records (when) what is set (set, an object)")
	}
	if d.When.holds(document.Merge(json.RawMessage("{}"), d.Set)) {
		return invalid("deadline", "what is set is not what the deadline is for")
	}
	return nil
}

// comes returns when the deadline of a document comes; false if it has none, as nil.
func (d *Deadline) comes(doc json.RawMessage) (time.Time, bool) {
	if !d.When.holds(doc) {
		return time.Time{}, false
	}
	return instant(doc, d.at)
}

// arm has the store come back when the deadline of a document does; nil: it is removed.
func (c *Collection) arm(inner *kv.Tx, id string, doc json.RawMessage) error {
	if c.Deadline == nil {
		return nil
	}
	if at, ok := c.Deadline.comes(doc); ok {
		return inner.Schedule(id, at, nil)
	}
	_, err := inner.Cancel(id)
	return err
}

// due writes what the deadline of a record says, if it has come.
func (c *Collection) due(inner *kv.Tx, j kv.Job) error {
	old, err := c.get(inner, j.Name)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if at, ok := c.Deadline.comes(old.JSON); !ok || inner.Now().Before(at) {
		return nil
	}
	next := document.Merge(old.JSON, c.Deadline.Set)
	if s := c.States; s != nil {
		next = s.enter(next, s.of(old.JSON), inner.Now())
	}
	next = c.stamp(next, old.JSON, inner.Now())
	_, err = c.put(inner, old.ID, old.Ordinal, next, c.lifetime(next, false))
	return err
}
