package record

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv"
)

// withDeadline has tasks that are open when they are due be blocked.
var withDeadline = strings.Replace(taskJSON, `"name": "task",`, `"name": "task", "deadline": {"at": "due", "when": {"status": ["open"]}, "set": {"status": "blocked", "blocked_reason": "late", "labels": null}},`, 1)

func TestADeadlineIsWrittenWhenItComes(t *testing.T) {
	h := newHostOf(t, parse(t, withDeadline))
	due := func(d time.Duration) object {
		return object{"due": h.clock.Now().Add(d).Format(time.RFC3339Nano), "labels": []string{"x"}}
	}
	late := h.create("task", aTask.with(due(time.Hour)))
	moved := h.create("task", aTask.with(due(time.Hour)))
	done := h.create("task", aTask.with(due(time.Hour)))
	gone := h.create("task", aTask.with(due(time.Hour)))
	_, err := h.update("task", moved.ID, due(3*time.Hour))
	require.NoError(t, err)
	_, err = h.update("task", done.ID, object{"status": "done"})
	require.NoError(t, err)
	_, err = h.Delete(ctx, "a", "task", gone.ID, UpdateOptions{})
	require.NoError(t, err)
	state := func(id string) string {
		d, err := h.Get(ctx, "a", "task", id)
		require.NoError(t, err)
		return h.collections["task"].States.of(d.JSON)
	}
	require.Equal(t, "open", state(late.ID))
	require.True(t, h.clock.Until(func() bool { return state(late.ID) == "blocked" }))
	d, err := h.Get(ctx, "a", "task", late.ID)
	require.NoError(t, err)
	require.Contains(t, string(d.JSON), `"blocked_reason":"late"`)
	require.NotContains(t, string(d.JSON), `"labels"`)
	require.False(t, d.Written.Before(late.Written.Add(time.Hour)))
	at, _ := instant(d.JSON, h.collections["task"].updated)
	require.False(t, at.Before(late.Written.Add(time.Hour)), "the stamp has moved")
	require.Equal(t, late.Ordinal, d.Ordinal)
	require.Equal(t, "open", state(moved.ID))
	require.True(t, h.clock.Until(func() bool { return state(moved.ID) == "blocked" }))
	require.Equal(t, "done", state(done.ID))
	_, err = h.Get(ctx, "a", "task", gone.ID)
	require.ErrorIs(t, err, ErrNotFound)
	space, err := h.Space(ctx, "a", "task")
	require.NoError(t, err)
	for f, err := range h.kv.Check(ctx) {
		require.NoError(t, err)
		require.Fail(t, f.String())
	}
	require.NoError(t, space.Update(ctx, 0, func(tx *kv.Tx) error { // one that is called for no reason changes nothing
		for _, id := range []string{done.ID, gone.ID, moved.ID} {
			require.NoError(t, h.collections["task"].due(tx, kv.Job{Name: id}))
		}
		return nil
	}))
	stats, err := space.Stats()
	require.NoError(t, err)
	require.EqualValues(t, 9, stats.Revision)
}

func TestDeadlinesThatAreNotWellFormedAreRefused(t *testing.T) {
	for _, deadline := range []string{
		`{}`, `{"at": "due"}`, `{"at": "due", "when": {"status": ["open"]}}`, `{"at": "title", "when": {"status": ["open"]}, "set": {}}`, `{"at": "due", "when": {"status": ["open"]}, "set": []}`, `{"at": "due", "when": {}, "set": {"status": "done"}}`,
		`{"at": "due", "when": {"status": ["open", "blocked"]}, "set": {"status": "blocked"}}`,
	} {
		_, err := Parse([]byte(strings.Replace(taskJSON, `"name": "task",`, `"name": "task", "deadline": `+deadline+`,`, 1)))
		refused(t, err, CodeInvalidArgument, "declaration.deadline")
	}
}
