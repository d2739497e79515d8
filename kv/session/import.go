package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/record"
)

// Imported is what an import came to.
type Imported struct {
	Made int `json:"made"` // are there now, and were not
	Kept int `json:"kept"` // were there, and stay as they are
	Over int `json:"over"` // had their time, and are left
}

// Import takes sessions that another system had: documents of a session, each with its
// session_id and its created_at, which stay. It is there for what is left of its time: until
// its expires_at, or else for its time to live from its creation on, or, if it is sliding,
// from its last activity; and never for longer than one that is made now. What is there is not
// replaced, so that who imports twice has the same, and a touch in between counts. It ends at
// the first document that is refused, whose number the field of the error has; those of earlier
// batches are there, and counted.
func (s *Store) Import(ctx context.Context, tenant string, docs []json.RawMessage, d engine.Durability) (all Imported, err error) {
	for first := 0; first < len(docs); first += importBatch {
		batch, over, err := s.drafts(docs[first:min(first+importBatch, len(docs))], first)
		if err != nil {
			return all, err
		}
		var done Imported
		if len(batch) > 0 {
			if done, err = s.load(ctx, tenant, batch, d); err != nil {
				return all, err
			}
		}
		all.Made, all.Kept, all.Over = all.Made+done.Made, all.Kept+done.Kept, all.Over+done.Over+over
	}
	return all, nil
}

// imported is a session of an import, and its number.
type imported struct {
	newSession
	at int
}

// drafts prepares those of a batch whose time is not over; first is the number of the first.
func (s *Store) drafts(docs []json.RawMessage, first int) (batch []imported, over int, err error) {
	now := s.records.Now()
	for i, text := range docs {
		n, err := s.imported(text, now)
		if err != nil {
			return nil, 0, numbered(err, first+i)
		}
		if !n.until.After(now) {
			over++
			continue
		}
		batch = append(batch, imported{n, first + i})
	}
	return batch, over, nil
}

func (s *Store) imported(text json.RawMessage, now time.Time) (newSession, error) {
	doc, err := importable(text)
	if err != nil {
		return newSession{}, err
	}
	return s.draft(doc, now)
}

// importable is the canonical form of a document that says what an import asks of one.
func importable(text json.RawMessage) (json.RawMessage, error) {
	doc, err := object("doc", text)
	if err != nil {
		return nil, err
	}
	for _, field := range []string{fieldID, fieldCreated} {
		if !says(doc, field) {
			return nil, malformed(field, "it is required of a session that is imported")
		}
	}
	return doc, nil
}

// Importable says until when the session of a document is there that is imported at a time:
// not after that, its time is over, and an import leaves it. It returns the refusal of a
// document that an import would not take.
func Importable(doc json.RawMessage, now time.Time) (until time.Time, err error) {
	if doc, err = importable(doc); err != nil {
		return until, err
	}
	if doc, until, err = timed(doc, now); err != nil {
		return until, err
	}
	c, err := declaredOnce()
	if err != nil {
		return until, err
	}
	return until, c.Creatable(doc, now)
}

// load makes those of a batch that there are none of yet.
func (s *Store) load(ctx context.Context, tenant string, batch []imported, d engine.Durability) (done Imported, err error) {
	err = s.records.Do(ctx, tenant, d, func(tx *record.Tx) error {
		done = Imported{}
		for _, n := range batch {
			_, err := tx.Get(Sessions, n.handle)
			if err == nil {
				done.Kept++
				continue
			}
			if errors.Is(err, record.ErrNotFound) {
				_, err = insert(tx, n.newSession)
			}
			if err != nil {
				return numbered(err, n.at)
			}
			done.Made++
		}
		return nil
	})
	return done, err
}

// numbered is a refusal of one of several documents.
func numbered(err error, at int) error {
	var e *record.Error
	if !errors.As(err, &e) {
		return err
	}
	one := *e
	one.Field = fmt.Sprintf("docs.%d.%s", at, e.Field)
	return &one
}
