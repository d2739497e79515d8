package server

import (
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/rpc"
)

// descriptors returns how many file descriptors the process has open.
func descriptors(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc here: descriptors can't be counted")
	}
	return len(list)
}

func TestAThousandClientsComeAndGoWithoutALeak(t *testing.T) {
	d := start(t, nil, Options{})
	c := d.dial(t)
	fine(t, c)
	goroutines, files := runtime.NumGoroutine(), descriptors(t)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for i := range 50 {
				c, err := rpc.Dial(t.Context(), d.path)
				if err != nil {
					t.Error(err)
					return
				}
				if i%3 == 0 {
					if _, err := c.Store(t.Context()).Snapshot(); err != nil { // not closed: it ends with the connection
						t.Error(err)
					}
				}
				if _, err := c.Store(t.Context()).Get(nil, column.Generic, row("fine")); err != nil {
					t.Error(err)
				}
				c.Close()
			}
		})
	}
	all.Wait()
	require.Eventually(t, func() bool {
		return d.connections.Used() == 1 && d.sessions.Used() == 0 &&
			runtime.NumGoroutine() <= goroutines+2 && descriptors(t) <= files+2
	}, patience, time.Millisecond)
	require.Zero(t, d.snapshots.count())
	fine(t, c)
}
