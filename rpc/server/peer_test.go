package server

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// as makes every peer look like uid.
func as(uid uint32) func(net.Conn) (demux.Peer, error) {
	return func(net.Conn) (demux.Peer, error) {
		return demux.Peer{PID: 4711, UID: uid, GID: uid + 1, Groups: []uint32{uid + 2, uid + 3}}, nil
	}
}

// mayAll is the rights of those who may do mayAll.
var mayAll = access.Rights{Roles: access.All}

// peers is a table of users and groups.
func peers(users, groups map[uint32]access.Rights) *access.Table {
	var t access.Table
	for uid, r := range users {
		if err := t.User(uid, r); err != nil {
			panic(err)
		}
	}
	for gid, r := range groups {
		if err := t.Group(gid, r); err != nil {
			panic(err)
		}
	}
	return &t
}

// only has the user of the tests have these roles.
func only(roles access.Role) *access.Table {
	return peers(map[uint32]access.Rights{uint32(os.Geteuid()): {Roles: roles}}, nil)
}

// boundTo has the user of the tests be bound to a tenant.
func boundTo(tenant string) *access.Table {
	return peers(map[uint32]access.Rights{uint32(os.Geteuid()): {Roles: access.Reader | access.Writer, Tenant: tenant}}, nil)
}

func TestPeersThatAreNotOnTheListAreRefused(t *testing.T) {
	var log bytes.Buffer
	d := start(t, nil, Options{peerOf: as(4242), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	_, err := rpc.Dial(t.Context(), d.path)
	require.ErrorIs(t, err, rpc.ErrRefused)
	d.stop()
	require.Contains(t, log.String(), "uid=4242")
	require.Contains(t, log.String(), "pid=4711")
}

func TestPeersAreAllowedByUserOrGroup(t *testing.T) {
	for name, o := range map[string]Options{
		"user":                {Peers: peers(map[uint32]access.Rights{1: mayAll, 4242: mayAll}, nil)},
		"group":               {Peers: peers(nil, map[uint32]access.Rights{4243: mayAll})},
		"supplementary group": {Peers: peers(nil, map[uint32]access.Rights{4245: mayAll})},
	} {
		t.Run(name, func(t *testing.T) {
			o.peerOf = as(4242)
			fine(t, start(t, nil, o).dial(t))
		})
	}
}

func TestPeersWithoutCredentialsAreRefused(t *testing.T) {
	d := start(t, nil, Options{peerOf: func(net.Conn) (demux.Peer, error) { return demux.Peer{}, errors.New("no") }})
	_, err := rpc.Dial(t.Context(), d.path)
	require.ErrorIs(t, err, rpc.ErrRefused)
}

// secretRow is a group key, and its key.
func secretRow() (key, value []byte) {
	key = append([]byte{0x3A}, make([]byte, 64)...)
	return key, append([]byte{32, 0, 0, 0}, bytes.Repeat([]byte{0xC5}, 32)...)
}

func TestSecretsAreForSecretPeersOnly(t *testing.T) {
	var uid atomic.Uint32
	uid.Store(4242)
	d := start(t, nil, Options{
		Peers:  peers(map[uint32]access.Rights{4242: {Roles: access.Reader | access.Writer}, 77: mayAll}, nil),
		Raw:    true,
		peerOf: func(net.Conn) (demux.Peer, error) { return demux.Peer{UID: uid.Load()}, nil },
	})
	stranger := d.dial(t)
	uid.Store(77)
	owner := d.dial(t)
	key, value := secretRow()
	var b engine.Batch
	b.Put(column.Group, key, value)
	require.NoError(t, owner.Store(t.Context()).Apply(&b))

	got, err := owner.Store(t.Context()).Get(nil, column.Group, key)
	require.NoError(t, err)
	require.Equal(t, value, got)
	_, err = stranger.Store(t.Context()).Get(nil, column.Group, key)
	require.ErrorIs(t, err, rpc.ErrSecret)
	require.Equal(t, codes.PermissionDenied, status.Code(err))
	require.ErrorContains(t, err, "Group")
	_, err = stranger.Store(t.Context()).MultiGet(nil, []engine.Lookup{{Column: column.Generic, Key: row("a")}, {Column: column.Group, Key: key}})
	require.ErrorIs(t, err, rpc.ErrSecret)

	scan := func(c *rpc.Client, col column.Column, r engine.Range) error {
		it, err := c.Store(t.Context()).Iterate(col, r)
		if err != nil {
			return err
		}
		defer it.Close()
		for it.Next() {
		}
		return it.Err()
	}
	for _, r := range []engine.Range{{}, engine.Prefixed(key[:1]), {Start: []byte{0x38}, End: []byte{0x3A, 0}}, {Start: []byte{0x3A, 9}}} {
		require.ErrorIs(t, scan(stranger, column.Group, r), rpc.ErrSecret)
		require.NoError(t, scan(owner, column.Group, r))
	}
	require.ErrorIs(t, scan(stranger, column.Identity, engine.Prefixed([]byte{1})), rpc.ErrSecret)
	for _, r := range []engine.Range{engine.Prefixed([]byte{0x21}), {Start: []byte{0x3B}}, {Start: []byte{0x38}, End: []byte{0x3A}}} {
		require.NoError(t, scan(stranger, column.Group, r))
	}

	b.Reset()
	b.Expect(column.Group, key, value)
	require.ErrorIs(t, stranger.Store(t.Context()).Apply(&b), rpc.ErrSecret, "an expectation would tell")
	require.NoError(t, owner.Store(t.Context()).Apply(&b))
	b.Reset()
	b.ExpectAbsent(column.Generic, row("free"))
	b.Put(column.Generic, row("free"), []byte("1"))
	require.NoError(t, stranger.Store(t.Context()).Apply(&b), "what is no secret may be expected")
	b.Reset()
	b.Expect(column.Generic, row("free"), []byte("1"))
	require.NoError(t, stranger.Store(t.Context()).Apply(&b))

	session, err := stoav1.NewStoreClient(d.bare(t)).Session(t.Context())
	require.NoError(t, err)
	require.NoError(t, session.Send(&stoav1.SessionRequest{Id: 3, Request: &stoav1.SessionRequest_Get{
		Get: &stoav1.GetRequest{Column: stoav1.Column_COLUMN_GROUP, Key: key}}}))
	res, err := session.Recv()
	require.NoError(t, err)
	require.NotNil(t, res.GetGet(), "the last one to connect was the owner")
	require.NoError(t, session.CloseSend())
}

func TestSnapshotsAreForTheUserWhoTookThem(t *testing.T) {
	var uid atomic.Uint32
	d := start(t, nil, Options{
		Peers:  peers(map[uint32]access.Rights{1: mayAll, 2: mayAll}, nil),
		peerOf: func(net.Conn) (demux.Peer, error) { return demux.Peer{UID: uid.Load()}, nil },
	})
	uid.Store(1)
	one := d.dial(t)
	snap, err := one.Store(t.Context()).Snapshot()
	require.NoError(t, err)
	defer snap.Close()
	var id uint64
	for id = range d.snapshots.held {
	}
	uid.Store(2)
	_, err = stoav1.NewStoreClient(d.bare(t)).Get(t.Context(), &stoav1.GetRequest{
		Column: stoav1.Column_COLUMN_GENERIC, Key: row("a"), Snapshot: id})
	require.ErrorIs(t, fault.FromStatus(err), engine.ErrClosed)
	_, err = snap.Get(nil, column.Generic, row("a"))
	require.ErrorIs(t, err, engine.ErrNotFound)
}

func TestTooManyConnectionsAreInTheLog(t *testing.T) {
	var log bytes.Buffer
	d := start(t, nil, Options{MaxConnections: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	fine(t, d.dial(t))
	_, err := rpc.Dial(t.Context(), d.path)
	require.ErrorIs(t, err, rpc.ErrBusy)
	d.stop()
	require.Contains(t, log.String(), "too many connections")
}
