package server

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/kv/limit"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
	kvsession "github.com/stoadb/stoa/kv/session"
	"github.com/stoadb/stoa/kv/setting"
	"github.com/stoadb/stoa/kv/stream"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
)

var roles = []access.Role{access.Reader, access.Writer, access.Signer, access.Secrets, access.Operator}

// heldBy is the context of a call by a peer with these rights.
func heldBy(t *testing.T, r access.Rights) context.Context {
	return peer.NewContext(t.Context(), &peer.Peer{AuthInfo: demux.Peer{UID: 5003, Rights: r}})
}

// TestEveryOperationTakesItsRole: what names no role is in no daemon, since package op panics.
func TestEveryOperationTakesItsRole(t *testing.T) {
	d, err := New(mem.New(), Options{Dag: new(dag.Store), Namespaces: new(namespace.Store), KV: new(kvstorage.Storage), Records: new(record.Store), Policies: new(policy.Store),
		Locks: new(lock.Store), Limits: new(limit.Store), Settings: new(setting.Store), Sessions: new(kvsession.Store), Events: new(event.Store), Jobs: new(job.Store),
		Buckets: new(bucket.Store), Streams: new(stream.Store), Approvals: new(approval.Store)})
	require.NoError(t, err)
	defer d.hangUp()
	require.Len(t, d.methods, len(op.Methods()), "the server has them all")
	for name := range d.grpc.GetServiceInfo() {
		for _, m := range d.grpc.GetServiceInfo()[name].Methods {
			if full := "/" + name + "/" + m.Name; ours(full) {
				require.Contains(t, d.methods, full)
			}
		}
	}
	for full, m := range d.methods {
		for _, role := range roles {
			for _, has := range []access.Role{0, role, access.All &^ role, access.All} {
				err := d.permit(heldBy(t, access.Rights{Roles: has}), full)
				switch {
				case m.Role == access.Anyone || m.Role&has != 0:
					require.NoError(t, err, "%s by %s", m.Name, has)
				case m.Role == access.Secrets:
					require.ErrorIs(t, err, rpc.ErrSecret, "%s by %s", m.Name, has)
				default:
					require.ErrorIs(t, err, rpc.ErrRole, "%s by %s", m.Name, has)
					require.EqualError(t, err, fmt.Sprintf("rpc: not for this peer: %s takes the role %s; uid 5003 has %s (stoa serve --peer)", m.Name, m.Role, has))
				}
			}
		}
		for _, bound := range []access.Role{access.Reader, access.Writer, access.Reader | access.Writer} {
			err := d.permit(heldBy(t, access.Rights{Roles: bound, Tenant: "a"}), full)
			switch {
			case m.Role == access.Anyone || m.Tenant && m.Role&bound != 0:
				require.NoError(t, err, "%s by %s of a tenant", m.Name, bound)
			case m.Tenant:
				require.ErrorIs(t, err, rpc.ErrRole, m.Name)
			default:
				require.ErrorIs(t, err, rpc.ErrBound, m.Name)
			}
		}
	}
	require.Equal(t, codes.Unimplemented, status.Code(d.permit(heldBy(t, access.Rights{}), "/stoa.v1.Kv/Steal")))
	require.ErrorIs(t, d.permit(t.Context(), "/stoa.v1.Kv/Get"), demux.ErrPeer)
	require.NoError(t, d.permit(heldBy(t, access.Rights{}), "/grpc.health.v1.Health/Check"), "gRPC's own are everybody's")
}

// TestTheReadmeSaysWhatTakesWhichRole holds the table of README.md to the operations.
func TestTheReadmeSaysWhatTakesWhichRole(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	for _, role := range append([]access.Role{access.Anyone}, roles...) {
		name := role.String()
		if role == access.Anyone {
			name = "anyone"
		}
		of, order := map[string][]string{}, []string{}
		for _, m := range op.Methods() {
			service, call, _ := strings.Cut(m.Name, ".")
			if m.Role == role {
				if of[service] == nil {
					order = append(order, service)
				}
				of[service] = append(of[service], call)
			}
		}
		var cells []string
		for _, service := range order {
			cells = append(cells, "`"+service+"` "+strings.Join(of[service], " "))
		}
		require.Contains(t, string(readme), fmt.Sprintf("| `%s` | %s |\n", name, strings.Join(cells, ", ")))
	}
}

// TestWhoHasNoRoleIsRefusedOnEveryWay goes the ways that calls have into the daemon: in frames
// and over gRPC, short calls, others, and streams.
func TestWhoHasNoRoleIsRefusedOnEveryWay(t *testing.T) {
	for _, framing := range []rpc.Framing{rpc.FramingAuto, rpc.FramingGRPC} {
		d := startKV(t, Options{Peers: only(0)}, kvstorage.Options{})
		c, ctx := d.dialAs(t, framing), t.Context()
		_, err := c.Store(ctx).Get(nil, column.Generic, row("a"))
		require.ErrorIs(t, err, rpc.ErrRole)
		_, err = c.Store(ctx).MultiGet(nil, []engine.Lookup{{Column: column.Generic, Key: row("a")}})
		require.ErrorIs(t, err, rpc.ErrRole)
		var b engine.Batch
		b.Put(column.Generic, row("a"), []byte("1"))
		require.ErrorIs(t, c.Store(ctx).Apply(&b), rpc.ErrRole)
		_, err = c.Store(ctx).Snapshot()
		require.ErrorIs(t, err, rpc.ErrRole)
		require.ErrorIs(t, scanned(c, column.Generic, engine.Range{}), rpc.ErrRole)
		_, err = c.KV("t").Get(ctx, "k")
		require.ErrorIs(t, err, rpc.ErrRole)
		_, err = c.KV("t").Put(ctx, "k", []byte("1"))
		require.ErrorIs(t, err, rpc.ErrRole)
		require.ErrorIs(t, c.Checkpoint(ctx, "/nowhere/at/all"), rpc.ErrRole)
		for _, err := range c.KV("t").All(ctx, "") {
			require.ErrorIs(t, err, rpc.ErrRole)
		}
		res, err := c.Status(ctx)
		require.NoError(t, err, "how the daemon is is everybody's")
		require.Empty(t, res.Roles)
		require.EqualValues(t, os.Geteuid(), res.Uid)
		_, err = d.engine.Get(nil, column.Generic, row("a"))
		require.ErrorIs(t, err, engine.ErrNotFound)
	}
}

func scanned(c *rpc.Client, col column.Column, r engine.Range) error {
	it, err := c.Store(context.Background()).Iterate(col, r)
	if err != nil {
		return err
	}
	defer it.Close()
	for it.Next() {
	}
	return it.Err()
}

// TestWhatIsATenantsIsForItsPeersAndOperators: who is only allowed reads and writes what is
// nobody's, by no way what others are bound to.
func TestWhatIsATenantsIsForItsPeersAndOperators(t *testing.T) {
	var uid atomic.Uint32
	table := peers(map[uint32]access.Rights{1: {Roles: access.Reader | access.Writer, Tenant: "acme"}, 2: {Roles: access.All &^ access.Operator}, 3: mayAll}, nil)
	d := startKV(t, Options{Peers: table, peerOf: func(net.Conn) (demux.Peer, error) { return demux.Peer{UID: uid.Load()}, nil }}, kvstorage.Options{})
	dial := func(as uint32) *rpc.Client {
		uid.Store(as)
		return d.dial(t)
	}
	own, other, host, ctx := dial(1), dial(2), dial(3), t.Context()
	_, err := own.KV("").Put(ctx, "k", []byte(`"mine"`))
	require.NoError(t, err)
	i, err := host.KV("acme").Get(ctx, "k")
	require.NoError(t, err)
	require.True(t, i.Found)

	for name, err := range map[string]error{
		"get":    errOf(other.KV("acme").Get(ctx, "k")),
		"put":    errOf(other.KV("acme").Put(ctx, "k", []byte("1"))),
		"list":   errOf(other.KV("acme").List(ctx, rpc.ListOptions{})),
		"rows":   scanned(other, column.Generic, engine.Range{}),
		"prefix": scanned(other, column.Generic, engine.Prefixed([]byte{0, 1})),
		"row":    errOf(other.Store(ctx).Get(nil, column.Generic, make([]byte, 17))),
		"drop":   errOf2(other.KV("acme").DropTenant(ctx)),
	} {
		require.ErrorIs(t, err, rpc.ErrRole, name)
		require.ErrorContains(t, err, "takes the role operator; uid 2 has reader,writer,signer,secrets", name)
	}
	var b engine.Batch
	b.ExpectAbsent(column.Generic, make([]byte, 17))
	require.ErrorIs(t, other.Store(ctx).Apply(&b), rpc.ErrRole, "an expectation would tell")

	require.NoError(t, scanned(host, column.Generic, engine.Range{}))
	require.NoError(t, scanned(other, column.Generic, engine.Range{Start: []byte{1}}), "what is nobody's")
	_, err = other.KV("nobodys").Put(ctx, "k", []byte("1"))
	require.NoError(t, err)
	_, err = own.KV("nobodys").Get(ctx, "k")
	require.ErrorIs(t, err, rpc.ErrBound)
}

func errOf[T any](_ T, err error) error { return err }

func errOf2[T, U any](_ T, _ U, err error) error { return err }

// TestSecretsAreWrittenByWhoMayReadThem: who replaces a private key knows the new one.
func TestSecretsAreWrittenByWhoMayReadThem(t *testing.T) {
	for _, roles := range []access.Role{access.All, access.All &^ access.Secrets} {
		d := start(t, mem.New(), Options{Peers: only(roles)})
		store, key := d.dial(t).Store(t.Context()), make([]byte, 32)
		check := func(b *engine.Batch, about string) {
			err := store.Apply(b)
			if roles == access.All {
				require.NoError(t, err, about)
			} else {
				require.ErrorIs(t, err, rpc.ErrSecret, about)
				require.ErrorContains(t, err, "these rows of", about)
			}
		}
		var b engine.Batch
		b.Put(column.Identity, key, make([]byte, 2))
		check(&b, "put")
		b.Reset()
		b.Delete(column.Identity, key)
		check(&b, "delete")
		b.Reset()
		b.DeleteRange(column.Identity, []byte{0}, []byte{9})
		check(&b, "range")
		b.Reset()
		b.DeleteRange(column.Group, []byte{0x37}, []byte{0x37, 1})
		check(&b, "range of Group")
		b.Reset()
		group, value := secretRow()
		b.Put(column.Group, group, value)
		check(&b, "key of a group")
	}
}

// TestRawIsForOperators: --raw opens the rows of services for repair, which who runs the host does.
func TestRawIsForOperators(t *testing.T) {
	for _, roles := range []access.Role{access.All, access.All &^ access.Operator} {
		d := startKV(t, Options{Raw: true, Peers: only(roles)}, kvstorage.Options{})
		var b engine.Batch
		b.Delete(column.Blobs, make([]byte, 32))
		err := d.dial(t).Store(t.Context()).Apply(&b)
		if roles == access.All {
			require.NotErrorIs(t, err, rpc.ErrOwned)
		} else {
			require.ErrorIs(t, err, rpc.ErrOwned)
		}
	}
}

// TestARepairIsForWriters: to look at blobs is a reader's, to change them is not.
func TestARepairIsForWriters(t *testing.T) {
	for _, roles := range []access.Role{access.Reader, access.Reader | access.Writer} {
		c := start(t, mem.New(), Options{Peers: only(roles)}).dial(t)
		_, err := c.BlobVerify(t.Context(), blob.VerifyOptions{}, nil)
		require.NoError(t, err)
		_, err = c.BlobVerify(t.Context(), blob.VerifyOptions{Repair: true}, nil)
		if roles == access.Reader {
			require.ErrorIs(t, err, rpc.ErrRole)
			require.ErrorContains(t, err, "takes the role writer")
		} else {
			require.NoError(t, err)
		}
	}
}
