//go:build cgo

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/engine/rocks/rows"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/shm"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
)

// sharing is a daemon whose rows are shared, and how often its engine was read.
type sharing struct {
	*testDaemon
	rocks *rocks.Engine
	reads *atomic.Int64
}

// readEngine counts what is read of an engine.
type readEngine struct {
	*rocks.Engine
	reads atomic.Int64
}

func (e *readEngine) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	e.reads.Add(1)
	return e.Engine.Get(dst, col, key)
}

func (e *readEngine) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	e.reads.Add(1)
	return e.Engine.MultiGet(buf, lookups)
}

func startSharing(t testing.TB, o Options) sharing {
	eng, err := rocks.Open(filepath.Join(t.TempDir(), "store"), rocks.Options{MinFreeBytes: -1, RowCacheBytes: 1 << 20, SharedRowBytes: 4 << 20})
	require.NoError(t, err)
	counted := &readEngine{Engine: eng}
	o.SharedRows, o.Raw = eng, true
	return sharing{start(t, counted, o), eng, &counted.reads}
}

// stateRow is a key of State.
func stateRow(key string) []byte { return append(make([]byte, 32), key...) }

// share reads until the client has shared rows.
func share(t testing.TB, c *rpc.Client) {
	require.Eventually(t, func() bool {
		_, err := c.Store(context.Background()).Get(nil, column.State, stateRow("missing"))
		require.ErrorIs(t, err, engine.ErrNotFound)
		return c.SharesRows()
	}, patience, time.Microsecond)
}

// TestAClientWithSharedRowsKeepsTheContract runs the suite of engines on rows that are shared.
func TestAClientWithSharedRowsKeepsTheContract(t *testing.T) {
	enginetest.SkipUnderRace(t, seenElsewhere)
	enginetest.Run(t, enginetest.Config{
		Open: func(t testing.TB) enginetest.DB {
			c := startSharing(t, Options{}).dialAs(t, rpc.FramingFrames)
			share(t, c)
			return rowsOf(c)
		},
		Reopen: func(t testing.TB, db enginetest.DB) enginetest.DB {
			c, err := rpc.Dial(t.Context(), db.(rowStore).client.Path())
			require.NoError(t, err)
			share(t, c)
			return rowsOf(c)
		},
		Space: enginetest.KeySpace{Columns: []column.Column{column.State}, Prefix: stateRow(""), MaxKey: 32 + keys.MaxVariable},
	})
}

// TestSharedRowsAreReadWithoutACall counts what the daemon is asked for.
func TestSharedRowsAreReadWithoutACall(t *testing.T) {
	d := startSharing(t, Options{})
	c := d.dialAs(t, rpc.FramingAuto)
	s := c.Store(t.Context())
	state, tenants := stateRow("k"), row("k")
	write := func(value string) {
		var b engine.Batch
		b.Put(column.State, state, []byte(value))
		b.Put(column.Generic, tenants, []byte(value))
		require.NoError(t, s.Apply(&b))
	}
	reads := func(col column.Column, key []byte, want string) (asked int64) {
		before := d.reads.Load()
		v, err := s.Get([]byte("<"), col, key)
		require.NoError(t, err)
		require.Equal(t, "<"+want, string(v))
		return d.reads.Load() - before
	}
	write("1")
	share(t, c)
	require.EqualValues(t, 1, d.readers.Load())
	require.EqualValues(t, 1, reads(column.State, state, "1"))
	require.EqualValues(t, 0, reads(column.State, state, "1"))
	require.EqualValues(t, 1, reads(column.Generic, tenants, "1"))
	require.EqualValues(t, 1, reads(column.Generic, tenants, "1"), "what tenants have is not shared")
	write("2")
	require.EqualValues(t, 0, reads(column.State, state, "2"), "a row that is read is kept as it is written")

	lookups := []engine.Lookup{{Column: column.State, Key: state}, {Column: column.State, Key: state}}
	before := d.reads.Load()
	buf, err := s.MultiGet([]byte("<"), lookups)
	require.NoError(t, err)
	require.Equal(t, "<22", string(buf))
	require.Equal(t, "2", string(lookups[1].Value))
	require.Equal(t, before, d.reads.Load())
	lookups = append(lookups, engine.Lookup{Column: column.State, Key: stateRow("none")})
	_, err = s.MultiGet(nil, lookups)
	require.NoError(t, err)
	require.True(t, lookups[0].Found)
	require.False(t, lookups[2].Found)
	require.Greater(t, d.reads.Load(), before)

	snap, err := s.Snapshot()
	require.NoError(t, err)
	defer snap.Close()
	write("3")
	v, err := snap.Get(nil, column.State, state)
	require.NoError(t, err)
	require.Equal(t, "2", string(v), "a snapshot is read by its number")

	res, err := c.Status(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, res.GetSharedRows().GetReaders())
	require.Positive(t, res.GetSharedRows().GetKept())
	require.InDelta(t, 4<<20, res.GetSharedRows().GetBytes(), 64<<10)

	ended, end := context.WithCancel(t.Context())
	end()
	_, err = c.Store(ended).Get(nil, column.State, state)
	require.ErrorIs(t, err, context.Canceled)

	require.NoError(t, c.Close())
	_, err = s.Get(nil, column.State, state)
	require.ErrorIs(t, err, engine.ErrClosed)
	require.Eventually(t, func() bool { return d.readers.Load() == 0 }, patience, time.Millisecond)
}

// TestSharedRowsEndWithTheStore opens the store anew, and stops the daemon.
func TestSharedRowsEndWithTheStore(t *testing.T) {
	d := startSharing(t, Options{})
	c := d.dialAs(t, rpc.FramingAuto)
	s := c.Store(t.Context())
	var b engine.Batch
	b.Put(column.State, stateRow("k"), []byte("1"))
	require.NoError(t, s.Apply(&b))
	share(t, c)
	handed, err := d.rocks.SharedRows()
	require.NoError(t, err)
	defer handed.Close()
	old, err := rows.Map(handed)
	require.NoError(t, err)
	_, err = s.Get(nil, column.State, stateRow("k"))
	require.NoError(t, err)
	_, found := old.Get(nil, column.State, stateRow("k"))
	require.True(t, found)

	require.NoError(t, os.Rename(d.rocks.Dir(), d.rocks.Dir()+".away"))
	require.Eventually(t, func() bool { return errors.Is(s.Apply(&b), engine.ErrReadOnly) }, patience, time.Millisecond)
	require.NoError(t, os.Rename(d.rocks.Dir()+".away", d.rocks.Dir()))
	v, ok := old.Get(nil, column.State, stateRow("k"))
	require.Equal(t, ok, string(v) == "1", "a store that takes no writes is read")
	require.NoError(t, d.rocks.Reopen())
	_, ok = old.Get(nil, column.State, stateRow("k"))
	require.False(t, ok)
	v, err = s.Get(nil, column.State, stateRow("k"))
	require.NoError(t, err)
	require.Equal(t, "1", string(v))
	share(t, c) // it is handed the new ones
	require.EqualValues(t, 1, d.readers.Load())
	d.stop()
	require.Eventually(t, func() bool { return !c.SharesRows() }, patience, time.Millisecond)
	require.Zero(t, d.readers.Load())
}

// TestRowsAreSharedWithWhoMayReadEverything asks as others.
func TestRowsAreSharedWithWhoMayReadEverything(t *testing.T) {
	const others = 4242
	for rights, want := range map[string]error{
		"all": nil, "reader,secrets": nil, "reader,secrets,writer": nil,
		"reader": shm.ErrNotForPeer, "secrets": shm.ErrNotForPeer, "operator,reader,writer": shm.ErrNotForPeer,
		"tenant:other": shm.ErrNotForPeer, "none": shm.ErrNotForPeer,
	} {
		for _, bound := range []bool{false, true} { // others are bound to a tenant
			t.Run(fmt.Sprint(rights, bound), func(t *testing.T) {
				want := want
				if bound && rights != "all" {
					want = shm.ErrNotForPeer
				}
				r, err := access.Parse(rights)
				require.NoError(t, err)
				var table access.Table
				require.NoError(t, table.User(others, r))
				if bound {
					require.NoError(t, table.User(others+1, access.Rights{Roles: access.Reader, Tenant: "t"}))
				}
				d := startSharing(t, Options{Peers: &table, peerOf: func(net.Conn) (demux.Peer, error) { return demux.Peer{UID: others}, nil }})
				require.ErrorIs(t, askForRows(t, d.path), want)
			})
		}
	}
}

// TestWithoutSharedRowsAClientIsToldSo asks daemons that have none.
func TestWithoutSharedRowsAClientIsToldSo(t *testing.T) {
	require.ErrorIs(t, askForRows(t, start(t, nil, Options{}).path), shm.ErrNone)
	d := startSharing(t, Options{Refuse: func() error { return os.ErrClosed }})
	require.ErrorIs(t, askForRows(t, d.path), shm.ErrNone)
	d = startSharing(t, Options{})
	require.NoError(t, askForRows(t, d.path))
	require.NoError(t, d.rocks.Close())
	require.ErrorIs(t, askForRows(t, d.path), shm.ErrNone)
}

// askForRows asks a daemon for shared rows, and returns why there are none.
func askForRows(t *testing.T, path string) error {
	conn, err := net.Dial("unix", path)
	require.NoError(t, err)
	defer conn.Close()
	handed, err := shm.Receive(conn.(*net.UnixConn))
	if err == nil {
		defer handed.Close()
		r, err := rows.Map(handed)
		require.NoError(t, err)
		require.True(t, r.Current())
	}
	return err
}

// TestAClientThatSaysMoreIsLeft talks on the connection that rows were handed over.
func TestAClientThatSaysMoreIsLeft(t *testing.T) {
	d := startSharing(t, Options{})
	conn, err := net.Dial("unix", d.path)
	require.NoError(t, err)
	defer conn.Close()
	handed, err := shm.Receive(conn.(*net.UnixConn))
	require.NoError(t, err)
	require.NoError(t, handed.Close())
	_, err = conn.Write([]byte("and"))
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	n, err := conn.Read(make([]byte, 1))
	require.Zero(t, n)
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
}
