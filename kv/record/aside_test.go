package record

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

// In a unit of work one record is put aside, once its time has come, with what else the
// unit writes.
func TestOneRecordIsPutAsideInAUnitOfWork(t *testing.T) {
	h := newHost(t)
	id := h.tasks(object{"title": "old"})["old"]
	aside := func(end error) (moved bool, err error) {
		err = h.Do(ctx, "a", engine.WAL, func(tx *Tx) error {
			if moved, err = tx.PutAside("task", id); err != nil {
				return err
			}
			return end
		})
		return moved, err
	}
	_, err := h.Transition(ctx, "a", "task", id, "done", nil, UpdateOptions{})
	require.NoError(t, err)
	moved, err := aside(nil)
	require.NoError(t, err)
	require.False(t, moved)
	h.clock.Pass(24 * time.Hour)
	refusal := errors.New("no")
	_, err = aside(refusal)
	require.ErrorIs(t, err, refusal)
	_, err = h.Get(ctx, "a", "task", id)
	require.NoError(t, err)
	moved, err = aside(nil)
	require.NoError(t, err)
	require.True(t, moved)
	_, err = h.Get(ctx, "a", "task", id)
	require.ErrorIs(t, err, ErrNotFound)
	_, err = h.Get(ctx, "a", "task.archive", id)
	require.NoError(t, err)
	moved, err = aside(nil)
	require.NoError(t, err)
	require.False(t, moved, "there is none any more")
	err = h.Do(ctx, "a", engine.WAL, func(tx *Tx) error { _, err := tx.PutAside("worker", "w"); return err })
	refused(t, err, CodeInvalidArgument, "collection")
}

// Where the declaration says so, a time to live begins anew with each change.
func TestATimeToLiveIsRenewed(t *testing.T) {
	h := newHost(t)
	require.NoError(t, h.Add(parse(t, `{"name": "note", "id": {"field": "id", "kind": "given"}, "ttl": "1h", "renew": true, "schema": {"type": "object"}}`)))
	require.Error(t, h.Add(parse(t, `{"name": "note", "id": {"field": "id", "kind": "given"}, "schema": {"type": "object"}}`)))
	h.create("note", object{"id": "n"})
	for n := range 3 {
		h.clock.Pass(50 * time.Minute)
		d, err := h.update("note", "n", object{"n": n})
		require.NoError(t, err)
		require.WithinDuration(t, d.Written.Add(time.Hour), d.Expires, time.Millisecond)
	}
	h.clock.Pass(time.Hour + time.Millisecond)
	_, err := h.Get(ctx, "a", "note", "n")
	require.ErrorIs(t, err, ErrNotFound)
	_, err = Parse([]byte(`{"name": "note", "id": {"field": "id", "kind": "given"}, "renew": true, "schema": {"type": "object"}}`))
	refused(t, err, CodeInvalidArgument, "declaration.renew")
}
