//go:build cgo

package rocks

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// What an update has read of a store with a fault may be gone after its reopening: an
// update that is under way ends, without an effect, before the storage is exchanged.
func TestReopenWaitsForWritersUnderWay(t *testing.T) {
	e := open(t, t.TempDir(), Options{})
	e.fail(errors.New("a disk that failed once"))
	reopened := make(chan error, 1)
	err := e.Update(func(_ engine.Getter, b *engine.Batch) error {
		go func() { reopened <- e.Reopen() }()
		for {
			// Nothing is said to a batch of no changes but that writers are stopped.
			if errors.Is(e.Apply(new(engine.Batch)), errReopening) {
				break
			}
			select {
			case err := <-reopened:
				reopened <- err
				t.Error("reopened in the middle of an update")
			default:
				continue
			}
			break
		}
		b.Put(column.Meta, []byte("k"), []byte("v"))
		return nil
	})
	require.ErrorIs(t, err, engine.ErrReadOnly)
	require.NoError(t, <-reopened)
	_, err = e.Get(nil, column.Meta, []byte("k"))
	require.ErrorIs(t, err, engine.ErrNotFound)
	put(t, e, engine.Synced, column.Meta, "k", "taken again")
}
