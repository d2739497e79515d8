package tasks

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/stoadb/stoa/cmd/redisdump"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc"
)

// sessionsAtOnce is how many sessions are imported by one call: of the largest that there are
// half a message.
const sessionsAtOnce = 256

// allSessions imports sessions, each for what is left of its time. What is there stays as it
// is, by --replace too: its user has been active since.
func (m *importer) allSessions(list []redisdump.Document) error {
	if len(list) == 0 {
		return nil
	}
	if _, err := m.sessions.Import(m.Ctx, nil, rpc.Synced); errors.Is(err, rpc.ErrBound) {
		for _, s := range list {
			m.conflict("session", s.Key, "sessions are imported by who looks after tenants, and you are bound to one")
		}
		return nil
	} else if err != nil {
		return err
	}
	if m.dry {
		return eachOf(list, m.lookForSession)
	}
	for part := range slices.Chunk(list, sessionsAtOnce) {
		if err := m.someSessions(part); err != nil {
			return err
		}
	}
	return nil
}

// lookForSession counts what would become of a session, which is named by its handle.
func (m *importer) lookForSession(s redisdump.Document) error {
	switch _, err := m.sessions.Get(m.Ctx, s.ID); {
	case err == nil:
		m.same("session", 1)
	case errors.Is(err, record.ErrNotFound):
		m.imported("session", 1)
	default:
		return err
	}
	return nil
}

// someSessions imports sessions in one call, or, where one of them is refused, one by one: so
// that it alone stays out, and is named.
func (m *importer) someSessions(list []redisdump.Document) error {
	docs := make([]json.RawMessage, len(list))
	for i, s := range list {
		docs[i] = s.JSON
	}
	done, err := m.sessions.Import(m.Ctx, docs, rpc.Synced)
	var e *record.Error
	switch {
	case errors.As(err, &e) && len(list) == 1:
		m.conflict("session", list[0].Key, e.Reason)
		return nil
	case errors.As(err, &e):
		return eachOf(list, func(s redisdump.Document) error { return m.someSessions([]redisdump.Document{s}) })
	case err != nil:
		return err
	}
	m.imported("session", done.Made)
	m.same("session", done.Kept)
	m.of("session").Left += done.Over // since the dump was read
	return nil
}
