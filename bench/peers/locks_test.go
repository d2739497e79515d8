package main

import (
	"log/slog"
	"os"
	"testing"

	"github.com/bsm/redislock"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/bench"
)

// TestPeersExcludeEachOther checks of the locks of peers what the workloads only time: one
// agent at a time has a lock, and who asks for it while another has it gets it afterwards.
func TestPeersExcludeEachOther(t *testing.T) {
	dir, err := os.MkdirTemp("", "st") // short enough for a socket
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	peers, err := openLocks(bench.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(peers), 2)
	for _, p := range peers {
		t.Run(p.Name, func(t *testing.T) {
			holder, err := p.Client()
			require.NoError(t, err)
			other, err := p.Client()
			require.NoError(t, err)
			require.NoError(t, holder.Lock("one", false))
			require.NoError(t, other.Lock("two", false))
			require.NoError(t, other.Unlock())
			if p.Name == "redis" { // the others wait
				require.ErrorIs(t, other.Lock("one", false), redislock.ErrNotObtained)
			}
			got := make(chan error)
			free := make(chan struct{})
			go func() {
				err := other.Lock("one", true)
				select {
				case <-free:
				default:
					t.Error("two have the lock")
				}
				got <- err
			}()
			close(free)
			require.NoError(t, holder.Unlock())
			require.NoError(t, <-got)
			require.NoError(t, other.Unlock())
			require.NoError(t, other.Release())
			require.NoError(t, holder.Release())
			require.NoError(t, p.Close())
		})
	}
}
