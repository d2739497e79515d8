package sessiontest

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/kv/session"
)

const day = 24 * time.Hour

// ann is a session with all fields that somebody gives.
const ann = `{"session_id":"s-1","user_id":"user-7","user_name":"Ann","roles":["admin"],"permissions":["tasks:create"],"ip_address":"192.0.2.7","user_agent":"curl/8","team":"ops"}`

func a1A2LiteralKeys(t *testing.T, h *Host) {
	require.Equal(t, "[]", h.Key("ade:session:index:user:user-7"), "of who has none")
	h.Made(ann)
	want := `{"user_id":"user-7","user_name":"Ann","roles":["admin"],"permissions":["tasks:create"],"created_at":"2026-03-01T12:00:00Z","last_active":"2026-03-01T12:00:00Z","ip_address":"192.0.2.7","user_agent":"curl/8"}`
	for _, key := range []string{"ade:session:s-1", "ade:session:{s-1}", "{ade:session:s-1}"} {
		require.JSONEq(t, want, h.Key(key), key)
	}
	h.Made(`{"session_id":"s-2","user_id":"a:b"}`)
	h.Made(`{"session_id":"s-0","user_id":"user-7"}`)
	require.Equal(t, `["s-1","s-0"]`, h.Key("ade:session:index:user:user-7"), "the oldest first")
	require.Equal(t, `["s-1","s-0"]`, h.Key("ade:session:index:{user:user-7}"))
	require.Equal(t, `["s-2"]`, h.Key("ade:session:index:user:a:b"))
	for key, is := range map[string]error{
		"ade:session:s-3": record.ErrNotFound, "ade:session:": record.ErrInvalidKey, "ade:session:index:user:": record.ErrInvalidKey, "ade:session:index:x": record.ErrInvalidKey,
		"session:s-1": record.ErrInvalidKey, "ade:session:" + session.HandleOf("s-1"): record.ErrInvalidKey,
	} {
		_, err := h.Lookup(ctx, "t", key)
		require.ErrorIs(t, err, is, key)
	}
}

func a72A93ASessionIsThereForADay(t *testing.T, h *Host) {
	begun := h.Clock.Now()
	s := h.Made(ann)
	require.Equal(t, Session{session.HandleOf("s-1"), "s-1", "user-7", "Ann", []string{"admin"}, []string{"tasks:create"}, begun, begun, begun.Add(day), "192.0.2.7", "curl/8", 86400, false}, s)
	other := h.Made(`{"user_id":"user-7","ttl_seconds":60}`)
	require.Regexp(t, `^sess-[a-z2-7]{32}$`, other.ID)
	require.Equal(t, begun.Add(time.Minute), other.Expires)

	h.Clock.Pass(time.Minute - time.Millisecond)
	require.True(t, h.There(other.ID))
	h.Clock.Pass(time.Millisecond)
	require.False(t, h.There(other.ID))
	require.Equal(t, []string{"s-1"}, h.IDs("user-7"), "it is gone from there at the same time")
	require.True(t, h.rowsGone(1))
	require.Less(t, h.Clock.Now().Sub(begun), time.Minute+time.Second, "and its row within a second")

	h.Clock.Pass(time.Hour)
	touched := h.Touched("s-1")
	s.Active = h.Clock.Now()
	require.Equal(t, s, touched, "it is active now, and there for no longer by that")
	d, err := h.Get(ctx, "t", "s-1")
	require.NoError(t, err)
	require.Equal(t, s, Of(t, d))
	require.Contains(t, string(d.JSON), `"team":"ops"`, "what is not known is kept")

	h.Clock.Pass(s.Expires.Sub(h.Clock.Now()) - time.Millisecond)
	require.True(t, h.There(s.Handle))
	h.Clock.Pass(time.Millisecond)
	require.False(t, h.There("s-1"))
	require.False(t, h.There(s.Handle))
	require.Empty(t, h.IDs("user-7"))
	_, err = h.Touch(ctx, "t", "s-1", record.WriteOptions{})
	require.ErrorIs(t, err, record.ErrNotFound, "a touch revives nothing")
	require.True(t, h.rowsGone(0))
	h.Made(ann) // the id may be taken again
}

func a72ASlidingSession(t *testing.T, h *Host) {
	s := h.Made(`{"user_id":"user-7","sliding":true}`)
	short := h.Made(`{"user_id":"user-7","sliding":true,"ttl_seconds":600}`)
	for range 5 {
		h.Clock.Pass(day - time.Second)
		s = h.Touched(s.ID)
		require.Equal(t, h.Clock.Now(), s.Active)
		require.Equal(t, h.Clock.Now().Add(day), s.Expires)
	}
	require.False(t, h.There(short.ID))
	h.Clock.Pass(day - time.Millisecond)
	require.True(t, h.There(s.ID))
	h.Clock.Pass(time.Millisecond)
	require.False(t, h.There(s.ID))
	require.Empty(t, h.IDs("user-7"))
}

// However many sessions come and go meanwhile, who looks sees all of those that are revoked
// together, or none.
func a73AllSessionsOfAUserAreRevoked(t *testing.T, h *Host) {
	const many = 50
	revoked, err := h.RevokeAll(ctx, "t", "user-7", engine.WAL)
	require.NoError(t, err)
	require.Zero(t, revoked, "of a tenant that has none")
	for i := range many {
		h.Made(fmt.Sprintf(`{"session_id":"s-%d","user_id":"user-7"}`, i))
		h.Made(fmt.Sprintf(`{"session_id":"t-%d","user_id":"user-70"}`, i))
	}
	var looking sync.WaitGroup
	seen := make([][]int, 4)
	for i := range seen {
		looking.Go(func() {
			for last := many; last > 0; {
				page, err := h.List(ctx, "t", "user-7", record.Query{Limit: many})
				if err != nil {
					seen[i] = append(seen[i], -1)
					return
				}
				last = len(page.Docs)
				seen[i] = append(seen[i], last)
			}
		})
	}
	revoked, err = h.RevokeAll(ctx, "t", "user-7", engine.WAL)
	require.NoError(t, err)
	require.Equal(t, many, revoked)
	looking.Wait()
	for _, counts := range seen {
		for i, n := range counts {
			require.Equal(t, map[bool]int{true: 0, false: many}[i == len(counts)-1], n)
		}
	}
	require.False(t, h.There("s-1"))
	require.Empty(t, h.IDs("user-7"))
	require.Len(t, h.IDs("user-70"), many)

	for _, ref := range []string{"t-1", session.HandleOf("t-2")} {
		was, err := h.Revoke(ctx, "t", ref, engine.WAL)
		require.NoError(t, err)
		require.True(t, was)
		was, err = h.Revoke(ctx, "t", ref, engine.WAL)
		require.NoError(t, err)
		require.False(t, was)
	}
	require.Len(t, h.IDs("user-70"), many-2)
}

func sessionsAreImported(t *testing.T, h *Host) {
	begun := h.Clock.Now()
	ago := func(d time.Duration) string { return begun.Add(-d).Format(time.RFC3339) }
	var docs []json.RawMessage
	add := func(format string, args ...any) { docs = append(docs, fmt.Appendf(nil, format, args...)) }
	add(`{"session_id":"s-1","user_id":"user-7","user_name":"Ann","roles":["admin"],"permissions":[],"created_at":%q,"last_active":%q,"ip_address":"","x":1}`, ago(20*time.Hour), ago(time.Hour))
	add(`{"session_id":"s-2","user_id":"user-7","created_at":%q}`, ago(day))
	add(`{"session_id":"s-3","user_id":"user-7","created_at":%q,"last_active":%q,"sliding":true}`, ago(40*time.Hour), ago(23*time.Hour))
	add(`{"session_id":"s-4","user_id":"user-8","created_at":%q,"expires_at":%q,"last_active":""}`, ago(time.Hour), ago(-2*time.Hour))
	add(`{"session_id":"s-5","user_id":"user-8","created_at":%q,"expires_at":%q}`, ago(-time.Hour), ago(-48*time.Hour))
	for at, left := range []time.Duration{4 * time.Hour, 0, time.Hour, 2 * time.Hour, day} { // it is said before, too
		until, err := session.Importable(docs[at], begun)
		require.NoError(t, err)
		require.Equal(t, begun.Add(left), until.UTC(), at)
	}
	done, err := h.Import(ctx, "t", docs, engine.WAL)
	require.NoError(t, err)
	require.Equal(t, session.Imported{Made: 4, Over: 1}, done)
	for id, left := range map[string]time.Duration{"s-1": 4 * time.Hour, "s-3": time.Hour, "s-4": 2 * time.Hour, "s-5": day} {
		d, err := h.Get(ctx, "t", id)
		require.NoError(t, err)
		require.Equal(t, begun.Add(left), Of(t, d).Expires, id)
	}
	d, err := h.Get(ctx, "t", "s-1")
	require.NoError(t, err)
	require.Equal(t, begun.Add(-20*time.Hour), Of(t, d).Created)
	require.Equal(t, begun.Add(-time.Hour), Of(t, d).Active)
	require.Contains(t, string(d.JSON), `"x":1`)

	h.Clock.Pass(time.Minute)
	touched := h.Touched("s-1")
	done, err = h.Import(ctx, "t", docs, engine.WAL)
	require.NoError(t, err)
	require.Equal(t, session.Imported{Kept: 4, Over: 1}, done)
	d, err = h.Get(ctx, "t", "s-1")
	require.NoError(t, err)
	require.Equal(t, touched, Of(t, d), "what is there stays")

	for at, wrong := range map[string]string{
		"docs.1.created_at": `{"session_id":"s-9","user_id":"user-7"}`,
		"docs.1.session_id": `{"user_id":"user-7","created_at":"2026-03-01T12:00:00Z"}`,
		"docs.1.user_id":    `{"session_id":"s-9","created_at":"2026-03-01T12:00:00Z"}`,
		"docs.1.doc":        `[]`,
	} {
		_, err := h.Import(ctx, "t", []json.RawMessage{docs[0], json.RawMessage(wrong)}, engine.WAL)
		h.refused(err, record.CodeValidation, at)
	}
	require.False(t, h.There("s-9"))
}

func refusalsNameTheirField(t *testing.T, h *Host) {
	const secret = "s3cr3t-that-nobody-repeats"
	h.Made(`{"session_id":"` + secret + `","user_id":"user-7"}`)
	for doc, want := range map[string]struct {
		code  record.Code
		field string
	}{
		`{"session_id":"` + secret + `","user_id":"user-8"}`: {record.CodeAlreadyExists, "session_id"},
		`{}`:                {record.CodeValidation, "user_id"},
		`[]`:                {record.CodeValidation, "doc"},
		`{"user_id":""}`:    {record.CodeValidation, "user_id"},
		`{"user_id":"a{b"}`: {record.CodeValidation, "user_id"},
		`{"user_id":"a","session_id":"` + secret + `:x"}`:          {record.CodeValidation, "session_id"},
		`{"user_id":"a","session_id":"@` + secret + `"}`:           {record.CodeValidation, "session_id"},
		`{"user_id":"a","session_id":7}`:                           {record.CodeValidation, "session_id"},
		`{"user_id":"a","session_id":""}`:                          {record.CodeValidation, "session_id"},
		`{"user_id":"a","ttl_seconds":0}`:                          {record.CodeValidation, "ttl_seconds"},
		`{"user_id":"a","ttl_seconds":86401}`:                      {record.CodeValidation, "ttl_seconds"},
		`{"user_id":"a","ttl_seconds":"1"}`:                        {record.CodeValidation, "ttl_seconds"},
		`{"user_id":"a","sliding":"yes"}`:                          {record.CodeValidation, "sliding"},
		`{"user_id":"a","roles":"admin"}`:                          {record.CodeValidation, "roles"},
		`{"user_id":"a","roles":[""]}`:                             {record.CodeValidation, "roles.0"},
		`{"user_id":"a","created_at":"2026-03-01T12:00:00Z"}`:      {record.CodeValidation, "created_at"},
		`{"user_id":"a","expires_at":"2036-03-01T12:00:00Z"}`:      {record.CodeValidation, "expires_at"},
		`{"user_id":"a","handle":"` + session.HandleOf("x") + `"}`: {record.CodeValidation, "handle"},
	} {
		_, err := h.Create(ctx, "t", []byte(doc), record.WriteOptions{})
		h.refused(err, want.code, want.field)
		require.NotContains(t, err.Error(), secret)
	}
	for _, ref := range []string{"", "a b", "@12", secret + "\x00", string(make([]byte, 129))} {
		for _, ask := range []func(string) error{
			func(ref string) error { _, err := h.Get(ctx, "t", ref); return err },
			func(ref string) error { _, err := h.Touch(ctx, "t", ref, record.WriteOptions{}); return err },
			func(ref string) error { _, err := h.Revoke(ctx, "t", ref, engine.WAL); return err },
		} {
			err := ask(ref)
			require.ErrorIs(t, err, record.ErrValidation, "%q", ref)
			require.NotContains(t, err.Error(), secret)
		}
	}
	_, err := h.Touch(ctx, "t", session.HandleOf(secret), record.WriteOptions{})
	h.refused(err, record.CodeValidation, "session_id")
	_, err = h.Get(ctx, "t", secret+"x")
	h.refused(err, record.CodeNotFound, "session_id")
	require.NotContains(t, err.Error(), secret)
	_, err = h.Create(ctx, "t", []byte(`{"user_id":"a","x":"`+string(make([]byte, 1<<16))+`"}`), record.WriteOptions{})
	h.refused(err, record.CodeTooLarge, "doc")
	_, err = h.List(ctx, "t", "", record.Query{Cursor: "x"})
	require.ErrorIs(t, err, record.ErrInvalidCursor)
	require.Len(t, h.IDs("user-7"), 1)
	require.Empty(t, h.IDs("a"))
}

func listsAreInOrderAndWithoutIDs(t *testing.T, h *Host) {
	var handles []string
	for i := range 7 {
		handles = append(handles, h.Made(fmt.Sprintf(`{"user_id":"user-%d"}`, i%2)).Handle)
		h.Clock.Pass(time.Second)
	}
	list := func(user string, q record.Query) (got []string) {
		for {
			page, err := h.List(ctx, "t", user, q)
			require.NoError(t, err)
			for _, d := range page.Docs {
				require.NotContains(t, string(d.JSON), "sess-")
				require.Empty(t, Of(t, d).ID)
				require.Equal(t, d.ID, Of(t, d).Handle)
				got = append(got, d.ID)
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				return got
			}
		}
	}
	require.Equal(t, handles, list("", record.Query{Limit: 2}))
	require.Equal(t, []string{handles[1], handles[3], handles[5]}, list("user-1", record.Query{}))
	require.Equal(t, []string{handles[5], handles[3], handles[1]}, list("user-1", record.Query{Limit: 1, Reverse: true}))
	require.Empty(t, list("user", record.Query{}))
	d, err := h.Get(ctx, "t", handles[0])
	require.NoError(t, err)
	require.Empty(t, Of(t, d).ID, "a handle opens nothing")
}

// refused demands a refusal of a code and a field.
func (h *Host) refused(err error, code record.Code, field string) {
	h.t.Helper()
	var e *record.Error
	require.ErrorAs(h.t, err, &e)
	require.Equal(h.t, []any{code, field}, []any{e.Code, e.Field}, e.Reason)
}
