package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/record"
	kvsession "github.com/stoadb/stoa/kv/session"
	"github.com/stoadb/stoa/kv/session/sessiontest"
	"github.com/stoadb/stoa/rpc"
)

// The rows of sessions hold over the socket as they do in process.
func TestSessionRows(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		sessiontest.Run(t, func(t testing.TB, db engine.Engine, s *kvsession.Store) (sessiontest.Sessions, func()) {
			d := start(t, keptOpen{db}, Options{Sessions: s})
			return remoteSessions{d.dialAs(t, f)}, d.stop
		})
	})
}

// remoteSessions are the sessions of a client as those of a store.
type remoteSessions struct{ c *rpc.Client }

func (r remoteSessions) Create(ctx context.Context, tenant string, doc []byte, o record.WriteOptions) (record.Doc, error) {
	return r.c.Sessions(tenant).Create(ctx, json.RawMessage(doc), o.Durability)
}

func (r remoteSessions) Get(ctx context.Context, tenant, ref string) (record.Doc, error) {
	return r.c.Sessions(tenant).Get(ctx, ref)
}

func (r remoteSessions) Touch(ctx context.Context, tenant, id string, o record.WriteOptions) (record.Doc, error) {
	return r.c.Sessions(tenant).Touch(ctx, id, o.Durability)
}

func (r remoteSessions) List(ctx context.Context, tenant, user string, q record.Query) (record.Page, error) {
	return r.c.Sessions(tenant).List(ctx, user, q)
}

func (r remoteSessions) Revoke(ctx context.Context, tenant, ref string, d engine.Durability) (bool, error) {
	return r.c.Sessions(tenant).Revoke(ctx, ref, d)
}

func (r remoteSessions) RevokeAll(ctx context.Context, tenant, user string, d engine.Durability) (int, error) {
	return r.c.Sessions(tenant).RevokeAll(ctx, user, d)
}

func (r remoteSessions) Lookup(ctx context.Context, tenant, key string) (json.RawMessage, error) {
	return r.c.Sessions(tenant).Lookup(ctx, key)
}

func (r remoteSessions) Import(ctx context.Context, tenant string, docs []json.RawMessage, d engine.Durability) (kvsession.Imported, error) {
	return r.c.Sessions(tenant).Import(ctx, docs, d)
}

// Whoever is bound to a tenant signs its users in and out, sees nothing of others, and imports
// nothing, nor writes sessions as records.
func TestSessionsOfABoundTenant(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		store, err := kv.Open(mem.New(), kv.Options{Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		records, err := record.New(store, record.Options{})
		require.NoError(t, err)
		sessions, err := kvsession.New(records, kvsession.Options{})
		require.NoError(t, err)
		d := start(t, mem.New(), Options{Records: records, Sessions: sessions, Peers: boundTo("mine")})
		t.Cleanup(func() { d.stop(); require.NoError(t, store.Close()) })
		c, ctx := d.dialAs(t, f), t.Context()
		s := c.Sessions("")
		var want, got []string
		for range 40 {
			d, err := s.Create(ctx, map[string]string{"user_id": "ann"}, rpc.WAL)
			require.NoError(t, err)
			want = append(want, d.ID)
		}
		for d, err := range c.Sessions("mine").All(ctx, "ann", record.Query{}) {
			require.NoError(t, err)
			got = append(got, d.ID)
		}
		require.Equal(t, want, got)
		got = nil
		for d, err := range s.All(ctx, "", record.Query{Limit: 3, Reverse: true}) {
			require.NoError(t, err)
			got = append(got, d.ID)
		}
		require.Equal(t, []string{want[39], want[38], want[37]}, got)

		_, theirs := c.Sessions("theirs").RevokeAll(ctx, "ann", rpc.WAL)
		_, imported := s.Import(ctx, nil, rpc.WAL)
		_, created := c.Records("").Create(ctx, kvsession.Sessions, map[string]string{"user_id": "ann"})
		_, deleted := c.Records("").Delete(ctx, kvsession.Sessions, want[0])
		for name, err := range map[string]error{"theirs": theirs, "import": imported, "as a record": created, "deleted": deleted} {
			require.ErrorIs(t, err, rpc.ErrBound, name)
		}
		_, err = s.Create(ctx, make(chan int), rpc.WAL)
		require.ErrorIs(t, err, rpc.ErrRequest)
	})
}
