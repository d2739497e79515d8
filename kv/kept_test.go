package kv

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

// What is kept is in the batch with everything else, and is no record.
func TestWhatIsKeptIsNoRecord(t *testing.T) {
	h := newTestStore(t)
	s, other := h.space("tenant", "words"), h.space("other", "words")
	put(t, s, "k", "some words", 0)
	before, err := s.Stats()
	require.NoError(t, err)
	keep := func(name, value string) error {
		return s.Update(ctx, engine.WAL, func(tx *Tx) error { return tx.Keep(name, []byte(value)) })
	}
	require.NoError(t, keep("a", "1"))
	require.NoError(t, keep("b", "2"))
	require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
		was, err := tx.Kept("a")
		require.NoError(t, err)
		require.Equal(t, "1", string(was))
		require.NoError(t, tx.Keep("a", []byte("3")))
		is, err := tx.Kept("a")
		require.NoError(t, err)
		require.Equal(t, "3", string(is), "a transaction sees what it has changed")
		none, err := tx.Kept("c")
		require.NoError(t, err)
		require.Nil(t, none)
		return nil
	}))
	refusal := errors.New("no")
	require.ErrorIs(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
		require.NoError(t, tx.Keep("a", []byte("4")))
		return refusal
	}), refusal)
	value, err := s.Kept("a")
	require.NoError(t, err)
	require.Equal(t, "3", string(value))
	view, err := s.View()
	require.NoError(t, err)
	defer func() { require.NoError(t, view.Close()) }()
	require.NoError(t, keep("a", ""))
	value, err = s.Kept("a")
	require.NoError(t, err)
	require.Nil(t, value, "an empty value removes what is there")
	value, err = view.Kept("a")
	require.NoError(t, err)
	require.Equal(t, "3", string(value), "a view stays")
	value, err = other.Kept("b")
	require.NoError(t, err)
	require.Nil(t, value)
	after, err := s.Stats()
	require.NoError(t, err)
	require.Equal(t, before, after, "neither revision nor quota knows of it")
	h.sound()
	require.ErrorIs(t, keep("", "x"), ErrInvalidArgument)
	require.ErrorIs(t, keep(strings.Repeat("x", MaxName+1), "x"), ErrInvalidArgument)
	require.ErrorIs(t, keep("a", strings.Repeat("x", MaxValue+1)), ErrValueTooLarge)
	require.NoError(t, keep("a", strings.Repeat("x", MaxValue)))
	require.Equal(t, 2, h.count(ShapeKept))
	require.NoError(t, keep("a", ""))
	require.Equal(t, 1, h.count(ShapeKept))
	_, err = h.DropTenant(ctx, "tenant")
	require.NoError(t, err)
	require.Zero(t, h.count(ShapeKept))
	require.NoError(t, h.Close())
	_, err = s.Kept("b")
	require.ErrorIs(t, err, ErrClosed)
}
