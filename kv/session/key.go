package session

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// The literal keys of sessions begin with keyPrefix, that of a user's sessions with
// indexPrefix: no id has a colon.
const (
	keyPrefix   = "ade:session:"
	indexPrefix = keyPrefix + "index:user:"
)

// shown are the fields that the literal key of a session shows.
var shown = []string{"user_id", "user_name", "roles", "permissions", "created_at", "last_active", "ip_address", "user_agent"}

// Lookup returns what a literal key stands for: an object of the fields of a session, or the
// list of the ids of a user's sessions, the oldest first. Of one that has come without its id
// the handle is listed. Braces in a key are left out. It returns record.ErrNotFound where
// there is no session, record.ErrInvalidKey for a key of no pattern, record.ErrTooLarge for
// more than MaxListed sessions.
func (s *Store) Lookup(ctx context.Context, tenant, key string) (json.RawMessage, error) {
	plain := kv.Untagged(key)
	if user, ok := strings.CutPrefix(plain, indexPrefix); ok && user != "" {
		return s.ids(ctx, tenant, user)
	}
	id, ok := strings.CutPrefix(plain, keyPrefix)
	if !ok || checkID(id) != nil {
		return nil, refuse(record.CodeInvalidKey, "key", "no literal key of sessions looks like this; they are %sID and %sUSER", keyPrefix, indexPrefix)
	}
	d, err := s.records.Get(ctx, tenant, Sessions, HandleOf(id))
	if errors.Is(err, record.ErrNotFound) {
		err = refuse(record.CodeNotFound, "key", "there is nothing under this key")
	}
	if err != nil {
		return nil, err
	}
	out := json.RawMessage("{}")
	for _, field := range shown {
		if value := document.Field(d.JSON, document.Path{field}); value != nil {
			out = with(out, field, value)
		}
	}
	return out, nil
}

// ids are those of the sessions of a user.
func (s *Store) ids(ctx context.Context, tenant, user string) (json.RawMessage, error) {
	view, err := s.records.View(tenant)
	if err != nil {
		return nil, err
	}
	defer func() { _ = view.Close() }()
	list := []string{}
	for q := (record.Query{Filters: []record.Filter{ofUser(user)}, Limit: 1000}); ; {
		page, err := view.List(ctx, Sessions, q)
		if err != nil {
			return nil, err
		}
		for _, d := range page.Docs {
			id, ok := document.Text(document.Field(d.JSON, document.Path{fieldID}))
			if !ok {
				id = d.ID
			}
			list = append(list, id)
		}
		if len(list) > MaxListed {
			e := refuse(record.CodeTooLarge, "key", "the key stands for too many sessions: list them by pages")
			e.Limit, e.Have = MaxListed, uint64(len(list))
			return nil, e
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	return document.Canonical(text)
}

// Shown is what a literal key stands for, of whatever it is, as it is shown to people: of a
// user's sessions their handles in the place of their ids.
func Shown(key string, value json.RawMessage) json.RawMessage {
	if !strings.HasPrefix(kv.Untagged(key), indexPrefix) {
		return value
	}
	handles := []string{}
	for one := range document.Elements(value) {
		id, _ := document.Text(one)
		if !strings.HasPrefix(id, handleMark) {
			id = HandleOf(id)
		}
		handles = append(handles, id)
	}
	text, _ := json.Marshal(handles) // texts, which never fail
	return text
}
