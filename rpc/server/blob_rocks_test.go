//go:build cgo

package server

import (
	"bufio"
	"io"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/rpc"
)

// Server and client share this process, so that both are measured.
func TestTransfersTakeBoundedMemory(t *testing.T) {
	eng, err := rocks.Open(filepath.Join(t.TempDir(), "data"), rocks.Options{MinFreeBytes: -1})
	require.NoError(t, err)
	d := start(t, eng, Options{Blobs: withSpool(t, eng)})
	c := d.dial(t)
	size := int64(enginetest.Scale(256)) << 20
	content := func() io.Reader {
		return io.LimitReader(bufio.NewReaderSize(rand.NewChaCha8([32]byte{1}), chunk), size)
	}

	defer debug.SetGCPercent(debug.SetGCPercent(20)) // so that what waits to be collected is little
	peak, stop := watchHeap()
	stored, _, err := c.BlobPut(t.Context(), content(), rpc.BlobPutOptions{}) // spooled
	require.NoError(t, err)
	require.EqualValues(t, size, stored.Size)
	require.NoError(t, c.BlobDelete(t.Context(), stored.ID, false))
	_, _, err = c.BlobPut(t.Context(), content(), rpc.BlobPutOptions{ID: stored.ID, Size: uint64(size)})
	require.NoError(t, err)
	_, err = c.BlobGet(t.Context(), stored.ID, io.Discard, rpc.BlobGetOptions{})
	require.NoError(t, err)
	stop()
	require.Less(t, peak.Load(), int64(32<<20))
}

// watchHeap follows by how much the heap grows, until stop has returned.
func watchHeap() (peak *atomic.Int64, stop func()) {
	peak = new(atomic.Int64)
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			runtime.ReadMemStats(&now)
			peak.Store(max(peak.Load(), int64(now.HeapInuse)-int64(before.HeapInuse)))
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return peak, func() { close(done); <-stopped }
}
