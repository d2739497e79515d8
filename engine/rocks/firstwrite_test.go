//go:build cgo

package rocks

import (
	"crypto/rand"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// readerFunc is a source of randomness.
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A node id is drawn right before the rows of a new store, or of a new node, are
// written. A crash after that must find the watermark, and no marker.
func TestMarksAreOnDiskBeforeTheFirstRow(t *testing.T) {
	dir, drawn := t.TempDir(), 0
	random := readerFunc(func(p []byte) (int, error) {
		drawn++
		_, problem := readWatermark(dir)
		require.Empty(t, problem)
		_, clean, problem := readMarker(dir)
		require.Empty(t, problem)
		require.False(t, clean)
		return rand.Read(p)
	})
	require.NoError(t, open(t, dir, Options{Rand: random}).Close())
	w, problem := readWatermark(dir)
	require.Empty(t, problem)
	require.EqualValues(t, 2, w.sequence)
	require.NoError(t, open(t, dir, Options{Rand: random, NewNode: true}).Close())
	require.Equal(t, 2, drawn)
}

// What a creation leaves that fails right there is a creation that was broken off.
func TestCreationThatFailsAtItsFirstRowIsFinished(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(dir, Options{Rand: readerFunc(func([]byte) (int, error) { return 0, io.ErrClosedPipe })})
	require.ErrorIs(t, err, io.ErrClosedPipe)
	e := open(t, dir, Options{})
	require.True(t, e.Recovery().Created)
	require.Empty(t, e.Recovery().Problems)
	require.False(t, e.NodeID().IsZero())
}
