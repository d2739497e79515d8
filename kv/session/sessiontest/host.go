package sessiontest

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/kv/session"
)

var ctx = context.Background()

// Host is sessions on an engine, with a clock by hand, and how a test reaches them. Its methods
// are about the tenant t, and fail the test where they return no error.
type Host struct {
	Sessions

	// What is behind: for what no client does.
	DB      engine.Engine
	Clock   *kvtest.Clock
	KV      *kv.Store
	Records *record.Store

	t    testing.TB
	stop func()
}

// Open opens sessions on an engine. What is derived is recounted when it is closed, which is
// after the test at the latest.
func Open(t testing.TB, db engine.Engine, clock *kvtest.Clock, reach Reach) *Host {
	t.Helper()
	h := &Host{DB: db, Clock: clock, t: t}
	var err error
	h.KV, err = kv.Open(db, kv.Options{Clock: clock, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	h.Records, err = record.New(h.KV, record.Options{})
	require.NoError(t, err)
	s, err := session.New(h.Records, session.Options{})
	require.NoError(t, err)
	var leave func()
	h.Sessions, leave = reach(t, db, s)
	h.stop = func() {
		h.stop = func() {}
		h.check()
		leave()
		require.NoError(t, h.KV.Close())
	}
	t.Cleanup(func() { h.stop() })
	return h
}

// Close closes all but the engine.
func (h *Host) Close() { h.stop() }

// check demands that what follows from the records is what it is to be, and that each document
// is as a write has left it.
func (h *Host) check() {
	for f, err := range h.KV.Check(ctx) {
		require.NoError(h.t, err)
		require.Fail(h.t, "the check finds", f.String())
	}
	view, err := h.Records.View("t")
	require.NoError(h.t, err)
	defer func() { require.NoError(h.t, view.Close()) }()
	c, err := h.Records.Collection(session.Sessions)
	require.NoError(h.t, err)
	for d, err := range view.All(ctx, session.Sessions) {
		require.NoError(h.t, err)
		require.NoError(h.t, c.Verify(d), "%s", d.JSON)
	}
}

// Session is a session as a test reads it.
type Session struct {
	Handle      string    `json:"handle"`
	ID          string    `json:"session_id"`
	User        string    `json:"user_id"`
	Name        string    `json:"user_name"`
	Roles       []string  `json:"roles"`
	Permissions []string  `json:"permissions"`
	Created     time.Time `json:"created_at"`
	Active      time.Time `json:"last_active"`
	Expires     time.Time `json:"expires_at"`
	IP          string    `json:"ip_address"`
	Agent       string    `json:"user_agent"`
	TTL         int       `json:"ttl_seconds"`
	Sliding     bool      `json:"sliding"`
}

// Of is the session of a document.
func Of(t require.TestingT, d record.Doc) (s Session) {
	require.NoError(t, json.Unmarshal(d.JSON, &s))
	return s
}

// Made makes a session.
func (h *Host) Made(doc string) Session {
	h.t.Helper()
	d, err := h.Create(ctx, "t", []byte(doc), record.WriteOptions{Durability: engine.WAL})
	require.NoError(h.t, err)
	return Of(h.t, d)
}

// Touched touches a session.
func (h *Host) Touched(id string) Session {
	h.t.Helper()
	d, err := h.Touch(ctx, "t", id, record.WriteOptions{Durability: engine.WAL})
	require.NoError(h.t, err)
	return Of(h.t, d)
}

// There says whether there is a session of an id or a handle.
func (h *Host) There(ref string) bool {
	h.t.Helper()
	_, err := h.Get(ctx, "t", ref)
	if err != nil {
		require.ErrorIs(h.t, err, record.ErrNotFound)
	}
	return err == nil
}

// IDs are what the literal key of a user lists.
func (h *Host) IDs(user string) (ids []string) {
	h.t.Helper()
	require.NoError(h.t, json.Unmarshal([]byte(h.Key("ade:session:index:user:"+user)), &ids))
	return ids
}

// Key is what a literal key stands for.
func (h *Host) Key(key string) string {
	h.t.Helper()
	found, err := h.Lookup(ctx, "t", key)
	require.NoError(h.t, err)
	return string(found)
}

// rowsGone waits until the store keeps so many sessions, expired ones too.
func (h *Host) rowsGone(left uint64) bool {
	space, err := h.Records.Space(ctx, "t", session.Sessions)
	require.NoError(h.t, err)
	return h.Clock.Until(func() bool { s, err := space.Stats(); return err == nil && s.Keys == left })
}
