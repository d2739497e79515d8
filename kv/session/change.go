package session

import (
	"context"
	"errors"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// Touch notes that the holder of an id is active, and returns the session. One that is sliding
// is there for all of its time from now on. It returns record.ErrNotFound; a handle touches
// nothing, since whoever has one need not be the user.
func (s *Store) Touch(ctx context.Context, tenant, id string, o record.WriteOptions) (touched record.Doc, err error) {
	handle, byID, err := handled(id)
	if err != nil {
		return touched, err
	}
	if !byID {
		return touched, malformed(fieldID, "a session is touched by its id, not by its handle")
	}
	// Who has no session waits for no other write.
	if _, err := s.records.Get(ctx, tenant, Sessions, handle); err != nil {
		return touched, unless(err)
	}
	err = s.records.Do(ctx, tenant, o.Durability, func(tx *record.Tx) error {
		old, err := tx.Get(Sessions, handle)
		if err != nil {
			return err
		}
		now := tx.Now()
		if before, err := instant(old.JSON, fieldActive, now); err == nil && before.After(now) {
			now = before // the clock was set back between two processes
		}
		note := with(nil, fieldActive, document.FromText(document.FormatInstant(now)))
		// It may have come without its id, which its holder has brought now.
		note = with(note, fieldID, document.FromText(id))
		if is(old.JSON, fieldSliding) {
			note = with(note, fieldExpires, document.FromText(document.FormatInstant(tx.Now().Add(lifetime(old.JSON)))))
		}
		touched, err = tx.Note(Sessions, handle, note)
		return err
	})
	return touched, unless(err)
}

// Revoke ends the session of an id or of a handle, and says whether there was one.
func (s *Store) Revoke(ctx context.Context, tenant, ref string, d engine.Durability) (was bool, err error) {
	handle, _, err := handled(ref)
	if err != nil {
		return false, err
	}
	_, err = s.records.Delete(ctx, tenant, Sessions, handle, record.UpdateOptions{Durability: d})
	if errors.Is(err, record.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// RevokeAll ends all sessions of a user at once, and returns how many there were.
func (s *Store) RevokeAll(ctx context.Context, tenant, user string, d engine.Durability) (revoked int, err error) {
	page, err := s.List(ctx, tenant, user, record.Query{Limit: 1})
	if err != nil || len(page.Docs) == 0 && page.Next == "" { // nothing is made for a tenant that has nothing
		return 0, err
	}
	err = s.records.Do(ctx, tenant, d, func(tx *record.Tx) error {
		revoked = 0
		for {
			list, more, err := tx.Find(Sessions, ofUser(user), kv.MaxTxRead)
			if err != nil {
				return err
			}
			for _, d := range list {
				if _, err := tx.Delete(Sessions, d.ID, record.UpdateOptions{}); err != nil {
					return err
				}
			}
			if revoked += len(list); !more {
				return nil
			}
			if len(list) == 0 {
				return refuse(record.CodePrecondition, fieldUser, "so many sessions of the user are over, and not removed yet, that others are not found behind them: none is revoked, try again")
			}
		}
	})
	if err != nil {
		return 0, err
	}
	return revoked, nil
}
