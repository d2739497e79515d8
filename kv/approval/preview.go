package approval

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// SetPreview notes what a task would do, an object, for seven days, in the place of what was
// said before. It returns record.ErrNotFound if there is no such task.
func (s *Store) SetPreview(ctx context.Context, tenant, id string, preview []byte, o record.WriteOptions) error {
	canonical, err := object(Previews, "preview", preview)
	if err != nil {
		return err
	}
	draft, err := s.records.Draft(Previews, fields{"task_id": id, "preview": canonical}.json())
	if err != nil {
		return err
	}
	return s.do(ctx, tenant, o.Durability, func(u *turn) error {
		if _, err := u.Get(Tasks, id); err != nil {
			return err
		}
		if _, err := u.Delete(Previews, id, record.UpdateOptions{}); err != nil && !errors.Is(err, record.ErrNotFound) {
			return err
		}
		_, err := u.Insert(draft)
		return err
	})
}

// Preview returns what a task would do, or record.ErrNotFound: there is none, or its time is
// over.
func (s *Store) Preview(ctx context.Context, tenant, id string) (json.RawMessage, error) {
	d, err := s.records.Get(ctx, tenant, Previews, id)
	return document.Field(d.JSON, document.Path{"preview"}), err
}
