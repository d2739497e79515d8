package kv

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

// What a context expects is looked at in the batch of each change that is made by it, before
// anything of the change is done.
func TestAContextExpectsSomethingOfChanges(t *testing.T) {
	h := newTestStore(t)
	s := h.space("t", "plain")
	wrong := errors.New("not what is expected")
	expecting := func(want string) context.Context {
		return Expecting(t.Context(), func(w *Work) error {
			tx, err := w.In(s)
			if err != nil {
				return err
			}
			if r, err := tx.Get([]byte("guard")); err != nil || string(r.Value) != want {
				return wrong
			}
			return nil
		})
	}
	ctx := expecting("1")
	require.True(t, Expects(ctx))
	require.False(t, Expects(t.Context()))
	_, err := s.Put(ctx, []byte("k"), []byte("v"), PutOptions{})
	require.ErrorIs(t, err, wrong)
	_, err = s.Put(t.Context(), []byte("guard"), []byte("1"), PutOptions{})
	require.NoError(t, err)
	_, err = s.Put(ctx, []byte("k"), []byte("v"), PutOptions{})
	require.NoError(t, err)
	called := false
	require.ErrorIs(t, h.Update(expecting("2"), engine.WAL, func(*Work) error {
		called = true
		return nil
	}), wrong)
	require.False(t, called)
	require.NoError(t, h.Update(ctx, engine.WAL, func(w *Work) error {
		tx, err := w.In(s)
		if err == nil {
			_, err = tx.Delete([]byte("k"))
		}
		return err
	}))
}
