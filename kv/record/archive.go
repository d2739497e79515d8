package record

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
)

// archiveBatch is how many records are put aside in one batch.
const archiveBatch = 64

// PutAside moves the records that the declaration's archive rule names into the archive,
// the collection NAME.archive, and returns how many: in batches, in each of which a
// record leaves the one and comes to the other. An archive is read as any collection,
// and not written to. It returns ErrInvalidArgument for a collection without a rule.
func (s *Store) PutAside(ctx context.Context, tenant, collection string) (moved int, err error) {
	c, space, err := s.look(tenant, collection)
	if err != nil || space == nil {
		return 0, err
	}
	if c.Archive == nil {
		return 0, c.told(noArchive())
	}
	view, err := s.View(tenant)
	if err != nil {
		return 0, err
	}
	defer func() { _ = view.Close() }()
	var due []Doc
	for d, err := range view.All(ctx, collection) {
		if err != nil {
			return moved, err
		}
		if !c.aside(d, view.Time()) {
			continue
		}
		d.JSON = nil // they are read again in the batch
		if due = append(due, d); len(due) == archiveBatch {
			n, err := s.putAside(ctx, tenant, c, due)
			if moved += n; err != nil {
				return moved, c.told(err)
			}
			due = due[:0]
		}
	}
	n, err := s.putAside(ctx, tenant, c, due)
	return moved + n, c.told(err)
}

// aside reports whether a record is to be archived at a time.
func (c *Collection) aside(d Doc, now time.Time) bool {
	since, ok := instant(d.JSON, document.ParsePath(c.Archive.Since))
	return ok && c.Archive.When.holds(d.JSON) && !now.Before(since.Add(time.Duration(c.Archive.After)))
}

func (s *Store) putAside(ctx context.Context, tenant string, c *Collection, due []Doc) (moved int, err error) {
	if len(due) == 0 {
		return 0, nil
	}
	archive := s.collections[c.Name+archiveSuffix]
	err = s.Do(ctx, tenant, engine.Synced, func(tx *Tx) error {
		moved = 0
		_, from, err := tx.in(c.Name)
		if err != nil {
			return err
		}
		_, to, err := tx.in(archive.Name)
		if err != nil {
			return err
		}
		for _, d := range due {
			now, err := c.get(from, d.ID)
			if errors.Is(err, ErrNotFound) || err == nil && now.Revision != d.Revision {
				continue // it has changed since: the next time tells
			}
			if err == nil {
				err = c.toArchive(from, to, archive, now)
			}
			if err != nil {
				return err
			}
			moved++
		}
		return nil
	})
	return moved, err
}

// toArchive moves a record.
func (c *Collection) toArchive(from, to *kv.Tx, archive *Collection, d Doc) error {
	there, err := archive.get(to, d.ID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if _, err := archive.put(to, d.ID, there.Ordinal, bytes.Clone(d.JSON), kv.PutOptions{}); err != nil {
		return err
	}
	if _, err := from.Delete(c.ID.key(d.ID)); err != nil {
		return err
	}
	return c.arm(from, d.ID, nil)
}

// PutAside moves one record into the archive, if the declaration's archive rule names it at
// the time of the transaction, and says whether it did; not where there is no such record.
// It returns ErrInvalidArgument for a collection without a rule.
func (tx *Tx) PutAside(collection, id string) (moved bool, err error) {
	c, from, err := tx.in(collection)
	if err != nil {
		return false, err
	}
	if c.Archive == nil {
		return false, c.told(noArchive())
	}
	d, err := c.get(from, id)
	if errors.Is(err, ErrNotFound) || err == nil && !c.aside(d, tx.Now()) {
		return false, nil
	}
	if err != nil {
		return false, c.told(err)
	}
	archive, to, err := tx.in(c.Name + archiveSuffix)
	if err == nil {
		err = c.toArchive(from, to, archive, d)
	}
	return err == nil, c.told(err)
}

func noArchive() *Error {
	return invalid("collection", "the declaration has no rule by which records are archived")
}
