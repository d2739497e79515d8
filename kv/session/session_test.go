package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/record"
	. "github.com/stoadb/stoa/kv/session"
	"github.com/stoadb/stoa/kv/session/sessiontest"
)

var ctx = context.Background()

func open(t *testing.T) *sessiontest.Host {
	db := mem.New()
	t.Cleanup(func() { _ = db.Close() })
	return sessiontest.Open(t, db, kvtest.New(), sessiontest.InProcess)
}

// Sessions are what a naive list of them says, whatever comes after what: made, touched,
// revoked, imported, over, and by another process.
func TestSessionsAgreeWithAList(t *testing.T) {
	type one struct {
		id, user     string
		made, active time.Time
		ttl          time.Duration
		sliding      bool
	}
	until := func(s *one) time.Time {
		if s.sliding {
			return s.active.Add(s.ttl)
		}
		return s.made.Add(s.ttl)
	}
	enginetest.Check(t, 100, func(rt *rapid.T) {
		db, clock := mem.New(), kvtest.New()
		defer func() { _ = db.Close() }()
		h := sessiontest.Open(t, db, clock, sessiontest.InProcess)
		defer func() { h.Close() }()
		var list []*one
		user := func() string { return rapid.SampledFrom([]string{"a", "b", "a:b"}).Draw(rt, "user") }
		pick := func() *one {
			if len(list) == 0 {
				return &one{id: "nobody"}
			}
			return rapid.SampledFrom(list).Draw(rt, "session")
		}
		live := func(s *one) bool { return slices.Contains(list, s) && until(s).After(clock.Now()) }
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			list = slices.DeleteFunc(list, func(s *one) bool { return !live(s) })
			switch rapid.SampledFrom([]string{"make", "make", "touch", "revoke", "all", "import", "pass", "pass", "reopen"}).Draw(rt, "step") {
			case "make":
				s := &one{user: user(), made: clock.Now(), active: clock.Now(), ttl: time.Duration(rapid.SampledFrom([]int{1, 60, 86400}).Draw(rt, "ttl")) * time.Second, sliding: rapid.Bool().Draw(rt, "sliding")}
				s.id = h.Made(fmt.Sprintf(`{"user_id":%q,"ttl_seconds":%d,"sliding":%t}`, s.user, int(s.ttl.Seconds()), s.sliding)).ID
				list = append(list, s)
			case "touch":
				s := pick()
				_, err := h.Touch(ctx, "t", s.id, record.WriteOptions{})
				require.Equal(rt, !live(s), errors.Is(err, record.ErrNotFound), err)
				s.active = clock.Now()
			case "revoke":
				s := pick()
				was, err := h.Revoke(ctx, "t", rapid.SampledFrom([]string{s.id, HandleOf(s.id)}).Draw(rt, "ref"), 0)
				require.NoError(rt, err)
				require.Equal(rt, live(s), was)
				list = slices.DeleteFunc(list, func(o *one) bool { return o == s })
			case "all":
				u := user()
				n, err := h.RevokeAll(ctx, "t", u, 0)
				require.NoError(rt, err)
				before := len(list)
				list = slices.DeleteFunc(list, func(o *one) bool { return o.user == u })
				require.Equal(rt, before-len(list), n)
			case "import":
				s := &one{id: fmt.Sprint("i-", rapid.IntRange(0, 3).Draw(rt, "id")), user: "b", made: clock.Now().Add(-time.Duration(rapid.IntRange(0, 30).Draw(rt, "hours")) * time.Hour), ttl: 24 * time.Hour}
				s.active = s.made
				done, err := h.Import(ctx, "t", []json.RawMessage{fmt.Appendf(nil, `{"session_id":%q,"user_id":"b","created_at":%q}`, s.id, s.made.Format(time.RFC3339Nano))}, 0)
				require.NoError(rt, err)
				switch {
				case !until(s).After(clock.Now()):
					require.Equal(rt, Imported{Over: 1}, done)
				case slices.ContainsFunc(list, func(o *one) bool { return o.id == s.id }):
					require.Equal(rt, Imported{Kept: 1}, done)
				default:
					require.Equal(rt, Imported{Made: 1}, done)
					list = append(list, s)
				}
			case "pass":
				clock.Pass(time.Duration(rapid.SampledFrom([]int{1, 999, 1000, 59_000, 3600_000, 43_200_000}).Draw(rt, "ms")) * time.Millisecond)
			case "reopen":
				h.Close()
				h = sessiontest.Open(t, db, clock, sessiontest.InProcess)
			}
			want := map[string][]string{}
			for _, s := range list {
				require.Equal(rt, live(s), h.There(s.id))
				if live(s) {
					want[s.user] = append(want[s.user], s.id)
				}
			}
			for _, u := range []string{"a", "b", "a:b"} {
				require.Equal(rt, append([]string{}, want[u]...), h.IDs(u))
			}
		}
	})
}

// What an id is made of is at random, of as many bits as the README says, and of nothing else.
func TestIDsAreAtRandom(t *testing.T) {
	db := mem.New()
	defer func() { _ = db.Close() }()
	store, err := kv.Open(db, kv.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	random := bytes.NewReader(slices.Concat(make([]byte, 20), bytes.Repeat([]byte{0xff}, 20), []byte("cut short")))
	records, err := record.New(store, record.Options{})
	require.NoError(t, err)
	s, err := New(records, Options{Rand: random})
	require.NoError(t, err)
	for _, want := range []string{"sess-" + strings.Repeat("a", 32), "sess-" + strings.Repeat("7", 32)} {
		d, err := s.Create(ctx, "t", []byte(`{"user_id":"a"}`), record.WriteOptions{})
		require.NoError(t, err)
		require.Equal(t, want, sessiontest.Of(t, d).ID)
	}
	_, err = s.Create(ctx, "t", []byte(`{"user_id":"a"}`), record.WriteOptions{})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	broken, err := record.New(store, record.Options{})
	require.NoError(t, err)
	s, err = New(broken, Options{Rand: iotest.ErrReader(io.ErrClosedPipe)})
	require.NoError(t, err)
	_, err = s.Create(ctx, "t", []byte(`{"user_id":"a"}`), record.WriteOptions{})
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

// Keys of rows have no ids; where values have one the collection says so, by which it is
// redacted, and left out of dumps. What comes back without it is found by it all the same, and
// has it again from its next touch on.
func TestIDsAreSecrets(t *testing.T) {
	h := open(t)
	s := h.Made(`{"user_id":"a"}`)
	it, err := h.DB.Iterate(column.Generic, engine.Range{})
	require.NoError(t, err)
	rows := 0
	for it.Next() {
		require.NotContains(t, string(it.Key()), s.ID)
		rows++
	}
	require.NoError(t, it.Err())
	require.NoError(t, it.Close())
	require.NotZero(t, rows)
	c, err := h.Records.Collection(Sessions)
	require.NoError(t, err)
	require.Equal(t, []string{"session_id"}, c.Withheld())
	d, err := h.Get(ctx, "t", s.ID)
	require.NoError(t, err)
	require.NotContains(t, string(c.Redacted(d.JSON)), s.ID)

	_, err = h.Records.Import(ctx, "t", Sessions, bytes.NewReader(c.Without(d.JSON)))
	require.NoError(t, err)
	require.Equal(t, []string{s.Handle}, h.IDs("a"), "nobody knows it")
	d, err = h.Get(ctx, "t", s.ID)
	require.NoError(t, err)
	require.Empty(t, sessiontest.Of(t, d).ID)
	require.Equal(t, fmt.Sprintf("[%q]", s.Handle), string(Shown("ade:{session:index:user:a}", []byte(h.Key("ade:session:index:user:a")))))
	require.Equal(t, s.ID, h.Touched(s.ID).ID)
	require.Equal(t, fmt.Sprintf("[%q]", s.Handle), string(Shown("ade:{session:index:user:a}", []byte(h.Key("ade:session:index:user:a")))))
	fields := json.RawMessage(h.Key("ade:session:" + s.ID))
	require.Equal(t, fields, Shown("ade:session:"+s.ID, fields))
	require.Equal(t, `["a"]`, string(Shown("ade:lock:index:agent:a", []byte(`["a"]`))), "they are no ids of sessions")
	require.Equal(t, []string{s.ID}, h.IDs("a"))
}

// A document whose handle is not that of its id would be found by another.
func TestAHandleIsThatOfItsID(t *testing.T) {
	h := open(t)
	s := h.Made(`{"user_id":"a"}`)
	d, err := h.Get(ctx, "t", s.ID)
	require.NoError(t, err)
	c, err := h.Records.Collection(Sessions)
	require.NoError(t, err)
	require.NoError(t, c.Verify(d))
	d.JSON = bytes.Replace(d.JSON, []byte(s.ID), []byte("other"), 1)
	require.ErrorIs(t, c.Verify(d), record.ErrValidation)
}

// A user has so many sessions and no more, unless some are revoked or over.
func TestAUserHasSoManySessions(t *testing.T) {
	h := open(t)
	var docs []json.RawMessage
	for i := range MaxOfUser - 1 {
		docs = append(docs, fmt.Appendf(nil, `{"session_id":"s-%d","user_id":"a","created_at":"2026-03-01T12:00:00Z","ttl_seconds":60}`, i))
	}
	done, err := h.Import(ctx, "t", docs, engine.WAL)
	require.NoError(t, err)
	require.Equal(t, Imported{Made: MaxOfUser - 1}, done)
	h.Made(`{"user_id":"a"}`)
	full := func() bool {
		_, err := h.Create(ctx, "t", []byte(`{"user_id":"a"}`), record.WriteOptions{})
		if err == nil {
			return false
		}
		var e *record.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, []any{record.CodeTooLarge, "user_id", uint64(MaxOfUser)}, []any{e.Code, e.Field, e.Limit})
		return true
	}
	require.True(t, full())
	_, err = h.Import(ctx, "t", []json.RawMessage{[]byte(`{"session_id":"t","user_id":"a","created_at":"2026-03-01T12:00:00Z"}`)}, engine.WAL)
	require.ErrorIs(t, err, record.ErrTooLarge)
	h.Made(`{"user_id":"b"}`)
	was, err := h.Revoke(ctx, "t", "s-7", engine.WAL)
	require.NoError(t, err)
	require.True(t, was)
	require.False(t, full())
	require.True(t, full())
	h.Clock.Pass(time.Minute)
	require.False(t, full(), "those that are over don't count, whether or not they are removed yet")
	n, err := h.RevokeAll(ctx, "t", "a", engine.WAL)
	require.NoError(t, err)
	require.Equal(t, 3, n)
}

// After a restart by a clock that was set back a session is there for no longer, and its last
// activity stays.
func TestAClockThatIsSetBackExtendsNothing(t *testing.T) {
	db, clock := mem.New(), kvtest.New()
	t.Cleanup(func() { _ = db.Close() })
	h := sessiontest.Open(t, db, clock, sessiontest.InProcess)
	s := h.Made(`{"user_id":"a"}`)
	h.Close()
	clock.Set(-time.Hour)
	h = sessiontest.Open(t, db, clock, sessiontest.InProcess)
	touched := h.Touched(s.ID)
	require.Equal(t, s.Active, touched.Active)
	require.Equal(t, s.Expires, touched.Expires)
}

// What operators import as records goes beyond the bounds: then a user's sessions are not all
// listed, and those who are over, as long as nobody has removed them, hide no others.
func TestSoManySessionsAreRefusedNotCutShort(t *testing.T) {
	h := open(t)
	begun := h.Clock.Now()
	add := func(user string, n int, expires time.Time) {
		var lines bytes.Buffer
		for i := range n {
			fmt.Fprintf(&lines, `{"session_id":"%s-%d","user_id":%q,"created_at":"2026-03-01T12:00:00Z","last_active":"2026-03-01T12:00:00Z","expires_at":%q,"ttl_seconds":60,"sliding":false}`+"\n",
				user, i, user, expires.Format(time.RFC3339Nano))
		}
		_, err := h.Records.Import(ctx, "t", Sessions, &lines)
		require.NoError(t, err)
	}
	add("a", MaxListed+1, begun.Add(time.Hour))
	_, err := h.Lookup(ctx, "t", "ade:session:index:user:a")
	var e *record.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, []any{record.CodeTooLarge, uint64(MaxListed)}, []any{e.Code, e.Limit})
	n, err := h.RevokeAll(ctx, "t", "a", engine.WAL)
	require.NoError(t, err)
	require.Equal(t, MaxListed+1, n)

	// The sweep has begun, has seen what is to come, and sleeps: it removes none of them.
	require.True(t, h.Clock.Until(func() bool { return h.Clock.Elapsed() >= 500*time.Millisecond }))
	add("b", kv.MaxTxRead, begun.Add(700*time.Millisecond))
	require.True(t, h.Clock.Awaited(700*time.Millisecond))
	h.Clock.Oversleep(time.Second)
	h.Made(`{"user_id":"b"}`)
	_, err = h.RevokeAll(ctx, "t", "b", engine.WAL)
	require.ErrorIs(t, err, record.ErrPrecondition)
	require.Len(t, h.IDs("b"), 1)
	require.True(t, h.Clock.Until(func() bool { n, err = h.RevokeAll(ctx, "t", "b", engine.WAL); return err == nil }))
	require.Equal(t, 1, n)
}

// A batch that fails leaves all of the sessions, or, of an import, those of the batches before.
func TestImportsAndRevocationsGoByBatches(t *testing.T) {
	h := open(t)
	var docs []json.RawMessage
	for i := range 300 {
		docs = append(docs, fmt.Appendf(nil, `{"session_id":"s-%d","user_id":"u-%d","created_at":"2026-03-01T12:00:00Z"}`, i, i%2))
	}
	docs[299] = []byte(`{"session_id":"s-299","user_id":"","created_at":"2026-03-01T12:00:00Z"}`)
	done, err := h.Import(ctx, "t", docs, engine.WAL)
	var e *record.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "docs.299.user_id", e.Field)
	require.Equal(t, Imported{Made: 256}, done)
	require.Len(t, h.IDs("u-1"), 128)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err = h.RevokeAll(gone, "t", "u-1", engine.WAL)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, h.IDs("u-1"), 128)
}
