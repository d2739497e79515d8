package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/backend"
)

// monitoring is the calls that a monitor of a daemon is told of, once it has been told of one that
// was made until then.
func monitoring(t *testing.T, d *testDaemon, o rpc.MonitorOptions) <-chan rpc.MonitoredCall {
	t.Helper()
	told := make(chan rpc.MonitoredCall, 100)
	watcher := d.dial(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		for c, err := range watcher.Monitor(ctx, o) {
			if err != nil {
				ended <- err
				return
			}
			told <- c
		}
	}()
	t.Cleanup(func() {
		stop()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
	require.Eventually(t, d.monitors.some.Load, 30*time.Second, time.Millisecond)
	return told
}

// home is the key of an alias that is not there.
func home(t *testing.T) []byte {
	key, err := keys.Alias{Kind: keys.AliasContext, Name: keys.Name{'h'}}.AppendBinary(nil)
	require.NoError(t, err)
	return key
}

func TestMonitor(t *testing.T) {
	everyFraming(t, func(t *testing.T, framing rpc.Framing) {
		d := start(t, nil, Options{})
		c := d.dialAs(t, framing)
		told := monitoring(t, d, rpc.MonitorOptions{Method: "Store."})
		_, err := c.Status(t.Context()) // is another method
		require.NoError(t, err)
		store := c.Store(t.Context())
		_, err = store.Get(nil, column.Alias, home(t))
		require.ErrorIs(t, err, engine.ErrNotFound)
		_, err = store.Get(nil, column.Alias, []byte("short"))
		require.Error(t, err)
		require.NoError(t, scanned(c, column.Alias, engine.Range{}))
		for i, want := range []rpc.MonitoredCall{
			{Method: "Store.Get", Code: "OK"},
			{Method: "Store.Get", Code: "InvalidArgument", Kind: "KEY"},
			{Method: "Store.Scan", Code: "OK"},
		} {
			got := <-told
			require.NotZero(t, got.TimeMs)
			require.EqualValues(t, os.Getpid(), got.PID)
			require.EqualValues(t, os.Geteuid(), got.UID)
			require.Equal(t, i < 2, got.RequestBytes > 0, "of a stream it is not known")
			got.TimeMs, got.PID, got.UID, got.TookUs, got.RequestBytes = 0, 0, 0, 0, 0
			require.Equal(t, want, got)
		}
	})
}

func TestWhoMonitorsTooSlowlyIsToldHowMuchItMisses(t *testing.T) {
	var m monitors
	other := uint32(7)
	behind, slow, others := m.add(backend.MonitorOptions{}), m.add(backend.MonitorOptions{SlowerUs: 100}), m.add(backend.MonitorOptions{UID: &other})
	for i := range monitored + 3 {
		m.tell(backend.Call{Method: "Kv.Get", TookUs: uint64(i)})
	}
	for range monitored {
		require.Zero(t, (<-behind.calls).Missed)
	}
	m.tell(backend.Call{Method: "Kv.Get"})
	require.EqualValues(t, 3, (<-behind.calls).Missed)
	require.EqualValues(t, 100, (<-slow.calls).TookUs)
	require.Empty(t, others.calls)
	m.tell(backend.Call{UID: other})
	require.Equal(t, other, (<-others.calls).UID)
	m.remove(behind)
	m.remove(slow)
	require.True(t, m.some.Load())
	m.remove(others)
	require.False(t, m.some.Load())
}

// storage is an engine in memory that says what is asked of it of its writes.
type storage struct {
	engine.Engine
	stats engine.Stats
	err   error
}

func (s *storage) Stats() (engine.Stats, error) { return s.stats, s.err }

func TestSlowCallsAreInTheLogWithTheirCause(t *testing.T) {
	var now atomic.Int64 // seconds, of which each look takes one
	clock := func() time.Time { return time.Unix(now.Add(1), 0) }
	after := time.Unix(1<<40, 0)
	for name, test := range map[string]struct {
		stats engine.Stats
		err   error
		least time.Duration
		want  string
	}{
		"work":    {least: time.Second, want: "its own work, or the machine has other work"},
		"disk":    {stats: engine.Stats{SlowWrite: engine.SlowWrite{Ended: after, Took: 1234567 * time.Microsecond}}, least: time.Second, want: "the disk took 1.235s for a write"},
		"stalled": {stats: engine.Stats{SlowWrite: engine.SlowWrite{Ended: after, Took: time.Second, Stalled: true}}, least: time.Second, want: "a write waited 1s for compaction, which is behind"},
		"stopped": {stats: engine.Stats{Stopped: true}, least: time.Second, want: "writes wait for compaction, which is behind"},
		"before":  {stats: engine.Stats{SlowWrite: engine.SlowWrite{Ended: time.Unix(0, 0), Took: time.Second}}, least: time.Second, want: "its own work, or the machine has other work"},
		"closed":  {err: errors.New("it is closed"), least: time.Second, want: "the engine can't be asked: it is closed"},
		"quick":   {least: time.Hour},
		"off":     {},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			d := start(t, &storage{mem.New(), test.stats, test.err}, Options{Now: clock, SlowCall: test.least, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			c := d.dial(t)
			_, err := c.Store(t.Context()).Get(nil, column.Alias, home(t))
			require.ErrorIs(t, err, engine.ErrNotFound)
			require.NoError(t, scanned(c, column.Alias, engine.Range{}))
			require.NoError(t, c.Flush(t.Context()))
			require.NoError(t, c.Close())
			d.stop()
			if test.want == "" {
				require.NotContains(t, log.String(), "slow call")
				return
			}
			require.Regexp(t, fmt.Sprintf(`"slow call" method=/stoa.v1.Store/Get code=OK took=\d+s uid=%d pid=%d cause=%s`, os.Geteuid(), os.Getpid(), regexp.QuoteMeta(strconv.Quote(test.want))), log.String())
			require.NotContains(t, log.String(), "/Scan", "a stream takes what it takes")
			require.NotContains(t, log.String(), "/Flush", "it takes as long as it takes")
		})
	}
}

func TestACallThatWaitedForItsTurnSaysSo(t *testing.T) {
	var now atomic.Int64
	clock := func() time.Time { return time.Unix(now.Add(1), 0) }
	table := peers(map[uint32]access.Rights{uint32(os.Geteuid()): {Roles: access.Reader | access.Operator}}, nil)
	d := start(t, nil, Options{Now: clock, Peers: table})
	told := monitoring(t, d, rpc.MonitorOptions{Method: "Store.Get"})
	_, err := d.dial(t).Store(t.Context()).Get(nil, column.Alias, home(t))
	require.ErrorIs(t, err, engine.ErrNotFound)
	call := <-told
	require.GreaterOrEqual(t, call.WaitedUs, uint64(time.Second.Microseconds()), "from when it was asked for until it was made")
	require.GreaterOrEqual(t, call.TookUs, call.WaitedUs+2*uint64(time.Second.Microseconds()))

	require.Equal(t, "it waited for its turn 3s: its user has as much under way as the others leave to it", d.cause(time.Now(), 3*time.Second, 4*time.Second))
	require.True(t, strings.HasPrefix(d.cause(time.Now(), time.Second, 4*time.Second), "its own work"))
}

func TestSlowCallsDoNotFillTheLog(t *testing.T) {
	var c slowCalls
	for range 2 * slowEach {
		out, _ := c.take(time.Unix(1, 5))
		require.Zero(t, out)
	}
	out, ok := c.take(time.Unix(2, 0))
	require.True(t, ok)
	require.EqualValues(t, slowEach, out)
	out, ok = c.take(time.Unix(2, 0))
	require.True(t, ok)
	require.Zero(t, out)
}
