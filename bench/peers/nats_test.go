package main

import (
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/bench"
)

// TestMain makes the test's program the server that openNATS starts.
func TestMain(m *testing.M) {
	if socket := os.Getenv(natsServes); socket != "" {
		panic(serveNATS(socket))
	}
	os.Exit(m.Run())
}

// TestNATSKeepsValuesAndTellsOfTheirEnd checks what the workloads only time.
func TestNATSKeepsValuesAndTellsOfTheirEnd(t *testing.T) {
	dir, err := os.MkdirTemp("", "st") // short enough for a socket
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	peers, err := openNATS(bench.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.Len(t, peers, 2)
	for _, p := range peers {
		t.Run(p.Name, func(t *testing.T) { keepsValuesAndTellsOfTheirEnd(t, p) })
	}
}

func keepsValuesAndTellsOfTheirEnd(t *testing.T, p *bench.KVPeer) {
	c, err := p.Client()
	require.NoError(t, err)
	expired := make(chan string, 10)
	require.NoError(t, c.Watch(t.Context(), func(key string) { expired <- key }))
	require.NoError(t, c.Put("a1", []byte(`"long"`)))
	require.NoError(t, c.PutFor("b2", []byte("1"), time.Second))
	for key, size := range map[string]int{"a1": 6, "b2": 1, "c3": 0} {
		n, found, err := c.Get(key)
		require.NoError(t, err)
		require.Equal(t, size, n)
		require.Equal(t, size > 0, found)
	}
	select {
	case key := <-expired:
		require.Equal(t, "b2", key)
	case <-time.After(20 * time.Second):
		require.Fail(t, "nobody was told")
	}
	_, found, err := c.Get("b2")
	require.NoError(t, err)
	require.False(t, found)
	require.NoError(t, c.Release())
	require.NoError(t, p.Close())
}
