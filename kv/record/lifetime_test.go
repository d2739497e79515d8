package record

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

// withExpiry has tasks be gone when they are due.
var withExpiry = strings.Replace(taskJSON, `"name": "task",`, `"name": "task", "expires": "due",`, 1)

// Whatever verb writes the field, the record is there until the instant in it; and for ever
// where it has none.
func TestARecordIsGoneWhenItsFieldSays(t *testing.T) {
	h := newHostOf(t, parse(t, withExpiry))
	c := h.collections["task"]
	begun := h.clock.Now()
	due := func(d time.Duration) object { return object{"due": begun.Add(d).Format(time.RFC3339Nano)} }
	there := func(id string) bool {
		d, err := h.Get(ctx, "a", "task", id)
		if err != nil {
			require.ErrorIs(t, err, ErrNotFound)
			return false
		}
		require.NoError(t, c.Verify(d))
		return true
	}
	stays := h.create("task", aTask.with(due(time.Hour)))
	longer := h.create("task", aTask.with(due(time.Hour)))
	shorter := h.create("task", aTask.with(due(2*time.Hour)))
	noted := h.create("task", aTask.with(due(time.Hour)))
	gone := h.create("task", aTask.with(due(time.Hour+time.Nanosecond)))
	_, err := h.update("task", stays.ID, object{"due": nil})
	require.NoError(t, err)
	_, err = h.update("task", longer.ID, due(2*time.Hour))
	require.NoError(t, err)
	_, err = h.update("task", shorter.ID, due(time.Hour))
	require.NoError(t, err)
	require.NoError(t, h.Do(ctx, "a", engine.WAL, func(tx *Tx) error {
		_, err := tx.Note("task", noted.ID, due(2*time.Hour).json())
		return err
	}))
	var dump bytes.Buffer
	require.NoError(t, h.Export(ctx, "a", "task", &dump))

	h.clock.Pass(time.Hour)
	require.True(t, there(gone.ID), "it is rounded up to a millisecond")
	require.False(t, there(shorter.ID))
	h.clock.Pass(time.Millisecond)
	require.False(t, there(gone.ID))
	for _, d := range []Doc{stays, longer, noted} {
		require.True(t, there(d.ID))
	}
	page, err := h.List(ctx, "a", "task", Query{})
	require.NoError(t, err)
	require.Len(t, page.Docs, 3)
	space, err := h.Space(ctx, "a", "task")
	require.NoError(t, err)
	require.True(t, h.clock.Until(func() bool { s, err := space.Stats(); return err == nil && s.Keys == 3 }), "the rows are gone")

	_, err = h.Import(ctx, "b", "task", &dump)
	require.NoError(t, err)
	page, err = h.List(ctx, "b", "task", Query{})
	require.NoError(t, err)
	require.Len(t, page.Docs, 3, "what is over does not come back")
	h.clock.Pass(time.Hour)
	require.True(t, there(stays.ID))
	require.False(t, there(longer.ID))
	require.False(t, there(noted.ID))

	d, err := h.Get(ctx, "a", "task", stays.ID)
	require.NoError(t, err)
	d.Expires = begun
	refused(t, c.Verify(d), CodeValidation, "due")
	for f, err := range h.kv.Check(ctx) {
		require.NoError(t, err)
		require.Fail(t, f.String())
	}
}

func TestLifetimesThatAreNotWellFormedAreRefused(t *testing.T) {
	for expires, field := range map[string]string{`"due", "ttl": "1h"`: "declaration.expires", `"title"`: "declaration.schema"} {
		_, err := Parse([]byte(strings.Replace(taskJSON, `"name": "task",`, `"name": "task", "expires": `+expires+`,`, 1)))
		refused(t, err, CodeInvalidArgument, field)
	}
}
