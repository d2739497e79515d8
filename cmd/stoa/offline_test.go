package main

import (
	"bytes"
	"encoding/hex"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/namespace"
)

// noOffline are the commands that ask a daemon and read no directory instead, and why.
var noOffline = map[string]string{
	"top": "it watches a daemon", "monitor": "it watches a daemon", "shell": "its commands say it", "stats": "it counts what a daemon does",
	"flush": "it is the daemon's to do", "reopen": "it is the daemon's to do",
	"blob put": "it writes", "blob delete": "it writes",
	"context create": "it writes", "context place": "it signs, and counts what it signs", "context delete": "it writes", "context application": "it writes",
	"context private put": "it writes", "context private delete": "it writes",
	"dag commit": "it writes", "dag clock": "it is the daemon's", "dag add": "it writes", "dag seed": "it writes",
	"kv put": "it writes", "kv del": "it writes", "kv incr": "it writes", "kv cas": "it writes", "kv touch": "it writes",
	"kv batch": "it writes", "kv watch": "a directory does not change", "kv capabilities": "they are a daemon's",
	"kv tenants create": "it writes", "kv tenants drop": "it writes", "kv tenants quota": "it writes",
	"record create": "it writes", "record update": "it writes", "record transition": "it writes", "record delete": "it writes", "record import": "it writes",
	"policy add": "it writes", "policy use": "it writes", "policy approve": "it writes", "policy reject": "it writes", "policy bootstrap": "it writes",
	"policy heartbeat": "it writes", "policy step": "it writes", "policy revoke": "it writes", "policy migrate": "it writes", "policy drop": "it writes",
	"task apply": "it writes", "task approve": "it writes", "task cancel": "it writes", "task complete": "it writes", "task create": "it writes", "task delete": "it writes", "task import": "it writes", "task preview": "it writes", "task reject": "it writes", "task retry": "it writes", "task review": "it writes", "task revise": "it writes", "task risk": "it writes", "task submit": "it writes", "task update": "it writes",
	"approval create": "it writes", "approval respond": "it writes", "approval batch": "it writes", "approval delegate": "it writes", "approval escalate": "it writes", "approval policy add": "it writes", "approval policy delete": "it writes",
	"setting set": "it writes", "setting reset": "it writes", "setting watch": "a directory does not change", "limit check": "it writes", "limit reset": "it writes",
	"session create": "it writes", "session touch": "it writes", "session revoke": "it writes", "session revoke-all": "it writes",
	"job schedule": "it writes", "job enqueue": "it writes", "job cancel": "it writes", "job retry": "it writes", "job lease": "it writes", "job extend": "it writes", "job complete": "it writes", "job fail": "it writes", "job work": "it writes",
	"event publish": "it writes", "event read": "as a consumer it writes", "event follow": "a directory does not change", "event ack": "it writes", "event claim": "it writes",
	"event group create": "it writes", "event group move": "it writes", "event group delete": "it writes",
	"bucket add": "it writes", "bucket alter": "it writes", "bucket drop": "it writes", "bucket put": "it writes", "bucket create": "it writes", "bucket update": "it writes", "bucket merge": "it writes", "bucket delete": "it writes", "bucket purge": "it writes", "bucket touch": "it writes", "bucket purge-deletes": "it writes", "bucket watch": "a directory does not change",
	"stream add": "it writes", "stream alter": "it writes", "stream drop": "it writes", "stream publish": "it writes", "stream consumer add": "it writes", "stream consumer alter": "it writes", "stream consumer drop": "it writes", "stream consumer replay": "it writes", "stream ack": "it writes", "stream nak": "it writes", "stream in-progress": "it writes", "stream terminate": "it writes", "stream dead retry": "it writes", "stream dead drop": "it writes", "stream fetch": "it writes who has what",
	"contract propose": "it writes", "contract accept": "it writes", "contract reject": "it writes", "contract reconcile": "it writes", "contract revoke": "it writes",
	"lock acquire": "it writes", "lock renew": "it writes", "lock release": "it writes", "lock release-all": "it writes", "lock downgrade": "it writes", "lock run": "it writes",
	"peers":      "nobody is connected to a directory",
	"lock queue": "nobody waits in a directory", "lock watch": "a directory does not change",
	"lock agent register": "it writes", "lock agent heartbeat": "it writes", "lock agent drain": "it writes", "lock agent deregister": "it writes",
	"ledger append":    "it writes",
	"record watch":     "a directory does not change",
	"namespace create": "it writes", "namespace invite": "it signs", "namespace revoke": "it writes", "namespace join": "it writes",
	"dag adopt": "it writes", "namespace admit": "it writes", "namespace apply": "it writes", "namespace follow": "it writes", "namespace resume": "it writes", "namespace upgrade": "it writes", "namespace pending drop": "it writes",
	"group create": "it writes", "group delete": "it writes", "group move": "it writes", "group add": "it writes", "group remove": "it writes",
	"group leave": "it writes", "group role": "it writes", "group caps": "it writes", "group transfer": "it writes", "group target": "it writes",
	"group policy": "it writes", "group migration": "it writes", "group migrated": "it writes", "group alias": "it writes",
	"group register": "it writes", "group detach": "it writes", "group join": "it writes", "group reissue": "it writes", "group rotate": "it writes",
	"sync serve": "it writes", "sync connect": "it writes", "group upgrade start": "it writes", "group upgrade progress": "it writes", "group upgrade done": "it writes",
}

// Whatever a daemon is asked for and a directory can answer is to be had of a directory.
func TestWhatReadsADaemonReadsADirectory(t *testing.T) {
	unused := maps.Clone(noOffline)
	for cmd := range leaves(newRoot(&cli.Process{})) {
		name := strings.TrimPrefix(cmd.CommandPath(), "stoa ")
		asks := cmd.Flags().Lookup("socket") != nil && cmd.Flags().Lookup("dir") != nil
		if !asks || name == "serve" {
			continue
		}
		_, excused := noOffline[name]
		delete(unused, name)
		offline := cmd.Flags().Lookup("offline")
		assert.NotEqual(t, excused, offline != nil, "stoa %s", name)
	}
	require.Empty(t, slices.Sorted(maps.Keys(unused)))
}

// leaves yields the commands below cmd that do something themselves.
func leaves(cmd *cobra.Command) func(func(*cobra.Command) bool) {
	return func(yield func(*cobra.Command) bool) {
		var visit func(*cobra.Command) bool
		visit = func(c *cobra.Command) bool {
			for _, sub := range c.Commands() {
				if !visit(sub) {
					return false
				}
			}
			return !c.Flags().HasFlags() || yield(c)
		}
		visit(cmd)
	}
}

// What reads a directory lists what is good of it, tells of each row that is not, and
// exits with 2.
func TestOfflineReadersGoOnBehindDamage(t *testing.T) {
	if !hasRocks {
		t.Skip("no RocksDB in this build")
	}
	dir := filepath.Join(t.TempDir(), "data")
	store, err := rocks.Open(dir, rocks.Options{})
	require.NoError(t, err)
	var bad engine.Batch
	home := damagedGovernance(t, store, &bad)
	contexts, deltas := damagedContexts(t, store, &bad)
	room, first, last := contexts[2].String(), deltas[0].String(), deltas[2].String()
	damagedTenant(t, store, &bad)
	require.NoError(t, store.Apply(&bad))
	require.NoError(t, store.Close())

	for args, good := range map[string][]string{
		"namespace list":                            {home.String(), "home"},
		"namespace ops home":                        {"namespace_created"},
		"namespace show home":                       {"home"},
		"group members home":                        {"  member     ann", "  member     bob", "  member     cyd", "  admin"},
		"group show home":                           {"members    4"},
		"group contexts home":                       {contexts[0].String() + "  room"},
		"group ops home":                            {"group_alias_set name=home", "member_alias_set member=cyd name=cyd"},
		"context list":                              {contexts[0].String(), contexts[2].String()},
		"dag log " + room:                           {"3  " + last, "1  " + first},
		"dag log " + room + " --limit 2":            {"3  " + last, "1  " + first},
		"dag log " + room + " --from " + last:       {"3  " + last},
		"dag since " + room:                         {"1  " + first, "3  " + last},
		"dag since " + room + " --head " + first:    {"3  " + last},
		"dag follow " + room:                        {"1  " + first, "3  " + last},
		"dag graph " + room:                         {first[:12], last[:12]},
		"dag heads " + contexts[0].String():         {"root  "},
		"dag cursors " + room:                       {"a  1", "c  1"},
		"kv list --tenant acme":                     {`"a"  1`, `"c"  3`},
		"get GroupMeta --group-id " + home.String(): nil,
	} {
		var out, errs strings.Builder
		code := run(append(strings.Fields(args), "--offline", dir), strings.NewReader(""), &out, &errs, nil)
		if good == nil {
			require.Equal(t, cli.ExitOK, code, "%s: %s", args, &errs)
			continue
		}
		assert.Equal(t, cli.ExitDamage, code, "%s: %s%s", args, &out, &errs)
		for _, line := range good {
			assert.Contains(t, out.String(), line, "%s: %s", args, &errs)
		}
		assert.Regexp(t, `(?m)^(value|unreadable)  [A-Z][a-z]+ [0-9a-f]+  `, errs.String(), args)
		assert.Contains(t, errs.String(), "could not be read", args)
	}
}

// damagedGovernance makes a namespace with four members and more, and puts damage of
// some rows into bad.
func damagedGovernance(t *testing.T, store engine.Engine, bad *engine.Batch) codec.GroupID {
	made, err := namespace.Open(store, namespace.Options{})
	require.NoError(t, err)
	defer made.Close()
	home, _, err := made.Create(t.Context(), namespace.Create{Alias: codec.Some(codec.AliasName("home"))})
	require.NoError(t, err)
	propose := func(op codec.GroupOp) {
		_, err := made.Propose(t.Context(), home, namespace.Proposal{GroupID: home, Group: &op})
		require.NoError(t, err)
	}
	propose(codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: codec.ContextID{1}})
	propose(codec.GroupOp{Kind: codec.OpContextAliasSet, ContextID: codec.ContextID{1}, Name: codec.Some(codec.AliasName("room"))})
	for _, name := range []string{"ann", "bob", "cyd"} {
		who := group.IdentityOf(codec.Secret{name[0]})
		propose(codec.GroupOp{Kind: codec.OpMemberAdded, Member: who, Role: codec.Member})
		propose(codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: who, Name: codec.Some(codec.AliasName(name))})
	}
	between := group.IdentityOf(codec.Secret{'b'})
	between[31]++
	damage(t, bad, keys.GroupMember{Group: home, Identity: between}, 7)
	damage(t, bad, keys.GroupContextIndex{Group: home, Context: codec.ContextID{0, 1}}, 7)
	damage(t, bad, keys.GroupDefaultCaps{Group: home}, 7)
	damage(t, bad, keys.GroupOpLog{Group: home, Seq: keys.NewSeq(3)}, 7)
	return home
}

// damagedContexts makes three contexts, and puts damage of some rows into bad.
func damagedContexts(t *testing.T, store engine.Engine, bad *engine.Batch) (ids []codec.ContextID, deltas []codec.DeltaID) {
	made, err := dag.Open(store, dag.Options{Node: codec.NodeID{Lo: 1}})
	require.NoError(t, err)
	defer made.Close()
	for n := range 3 {
		id := codec.ContextID{1, byte(n)}
		require.NoError(t, made.CreateContext(id, codec.ApplicationMeta{}))
		for _, key := range []string{"a", "b", "c"} {
			_, root, err := made.Heads(id)
			require.NoError(t, err)
			_, err = made.Commit(t.Context(), dag.Commit{Context: id, ReadRoot: root, Actions: []codec.Action{codec.Put([]byte(key), []byte{"123"[key[0]-'a']})}})
			require.NoError(t, err)
			require.NoError(t, made.Ack(id, key, dag.Position{Seq: 1}, engine.Synced))
		}
		ids = append(ids, id)
	}
	for a, err := range made.Follow(t.Context(), ids[2], dag.FollowOptions{}) {
		require.NoError(t, err)
		deltas = append(deltas, a.Position.Delta)
	}
	damage(t, bad, keys.ContextMeta{Context: ids[1]}, 7)
	damage(t, bad, keys.ContextDagDelta{Context: ids[2], Delta: deltas[1]}, 7)
	damageRow(t, store, bad, "dag-order", append(ids[2][:], 2))
	damageRow(t, store, bad, "dag-order", append(ids[0][:], 3))
	damageRow(t, store, bad, "dag-cursor", append(ids[2][:], 'b'))
	return ids, deltas
}

// damagedTenant makes a tenant with three keys, and puts damage of one into bad.
func damagedTenant(t *testing.T, store engine.Engine, bad *engine.Batch) {
	substrate, err := kv.Open(store, kv.Options{})
	require.NoError(t, err)
	defer substrate.Close()
	storage, err := kvstorage.New(substrate, kvstorage.Options{})
	require.NoError(t, err)
	for _, key := range []string{"a", "b", "c"} {
		_, err := storage.Put(t.Context(), "acme", key, []byte{"123"[key[0]-'a']}, kvstorage.WriteOptions{})
		require.NoError(t, err)
	}
	it, err := store.Iterate(column.Generic, engine.Range{})
	require.NoError(t, err)
	defer it.Close()
	for it.Next() {
		row, err := kv.ParseRow(it.Key())
		if err == nil && string(row.Key) == "b" && bytes.HasSuffix(it.Key(), []byte("b")) {
			bad.Put(column.Generic, it.Key(), []byte{7})
			return
		}
	}
	t.Fatal("no row of the key: ", hex.EncodeToString(it.Key()))
}

// damageRow puts a value that does not parse under the key of Generic that begins with
// a scope and the 32 bytes of id, and ends with the rest of it.
func damageRow(t *testing.T, store engine.Engine, b *engine.Batch, scope string, id []byte) {
	rg := engine.Prefixed([]byte(scope))
	it, err := store.Iterate(column.Generic, rg)
	require.NoError(t, err)
	defer it.Close()
	for it.Next() {
		if bytes.Contains(it.Key(), id[:32]) && bytes.HasSuffix(it.Key(), id[32:]) {
			b.Put(column.Generic, it.Key(), []byte{7})
			return
		}
	}
	t.Fatal("no row of ", scope)
}

// damage puts a value that does not parse.
func damage[K keys.Key[K, V], V codec.Value[V]](t *testing.T, b *engine.Batch, k K, value byte) {
	key, err := k.AppendBinary(nil)
	require.NoError(t, err)
	b.Put(k.Slot().Column, key, []byte{value})
}
