package view

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// sample is a store with something of everything to look at.
type sample struct {
	store     *mem.Engine
	context   codec.ContextID
	applied   []codec.DeltaID // in the order of application
	pending   codec.DeltaID
	missing   codec.DeltaID
	namespace codec.GroupID
	ops       []codec.OpID
	child     codec.GroupID
	blob      codec.BlobID
	secrets   []codec.Secret // none of which may be shown
}

func idNamed(name string) [32]byte { return sha256.Sum256([]byte(name)) }

// newSample returns a sample whose context has rounds in which two nodes work on
// their own before they meet.
func newSample(t *testing.T, rounds int) *sample {
	s := &sample{store: mem.New(), context: idNamed("a context")}
	t.Cleanup(func() { require.NoError(t, s.store.Close()) })
	s.addDeltas(t, rounds)
	s.addNamespace(t)
	s.addGroups(t)
	s.addSecrets(t)
	return s
}

// served returns the server of the sample.
func (s *sample) served(t *testing.T) *Server { return s.servedWith(t, nil) }

// servedWith returns the server of the sample as a daemon with locks has it.
func (s *sample) servedWith(t *testing.T, locks func(tenant string) inspect.Locks) *Server {
	srv, err := New(Options{Open: func() (*inspect.Source, error) {
		snapshot, err := s.store.Snapshot()
		if err != nil {
			return nil, err
		}
		src := inspect.From(snapshot, inspect.Facts{Where: "/var/lib/stoa", How: inspect.ReadOnly, Schema: 1, Clean: true, NodeID: strings.Repeat("5a", 16)})
		src.Locks = locks
		return src, nil
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	return srv
}

// addDeltas has two nodes commit at the same time and exchange what they made, and
// leaves a delta that waits for another.
func (s *sample) addDeltas(t *testing.T, rounds int) {
	other := mem.New()
	defer func() { require.NoError(t, other.Close()) }()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { now = now.Add(1234 * time.Millisecond); return now }
	var nodes []*dag.Store
	for i, e := range []engine.Engine{s.store, other} {
		n, err := dag.Open(e, dag.Options{Node: codec.NodeID{Hi: uint64(i + 7), Lo: 0xBEEF}, Now: clock})
		require.NoError(t, err)
		defer func() { require.NoError(t, n.Close()) }()
		require.NoError(t, n.CreateContext(s.context, codec.ApplicationMeta{}))
		nodes = append(nodes, n)
	}
	commit := func(n *dag.Store, key string) dag.Committed {
		_, root, err := n.Heads(s.context)
		require.NoError(t, err)
		done, err := n.Commit(t.Context(), dag.Commit{
			Context: s.context, ReadRoot: root, Actions: []codec.Action{codec.Put([]byte(key), []byte("value of "+key))},
			Events: []codec.Event{{Kind: "changed", Data: []byte(key)}},
		})
		require.NoError(t, err)
		return done
	}
	for i := range rounds {
		commit(nodes[0], fmt.Sprintf("counter/%d", i))
		if i%3 == 0 {
			for j := range 1 + i%2 {
				commit(nodes[1], fmt.Sprintf("note/%d/%d", i, j))
			}
			s.exchange(t, nodes[0], nodes[1])
			s.exchange(t, nodes[1], nodes[0])
		}
	}
	s.missing = commit(nodes[1], "absent").Delta
	s.pending = commit(nodes[1], "waiting").Delta
	d, _, err := nodes[1].Get(s.context, s.pending)
	require.NoError(t, err)
	answer, err := nodes[0].Add(t.Context(), d, dag.AddOptions{})
	require.NoError(t, err)
	require.Equal(t, dag.Pending, answer.Kind)
	for d, err := range nodes[0].Since(t.Context(), s.context, nil, dag.SinceOptions{}) {
		require.NoError(t, err)
		s.applied = append(s.applied, d.Position.Delta)
	}
}

func (s *sample) exchange(t *testing.T, from, to *dag.Store) {
	var all []*dag.Delta
	for d, err := range from.Since(context.Background(), s.context, nil, dag.SinceOptions{}) {
		require.NoError(t, err)
		all = append(all, d.Delta)
	}
	for _, d := range all {
		_, err := to.Add(t.Context(), d, dag.AddOptions{})
		require.NoError(t, err)
	}
}

// addNamespace adds the ops of a namespace: its creation, some at the same time,
// and a merge.
func (s *sample) addNamespace(t *testing.T) {
	seed := codec.Secret(idNamed("seed"))
	first := codec.SignedNamespaceOp{Version: codec.OpVersion2, Nonce: 1, Op: codec.NamespaceOp{Root: codec.RootOp{
		Creator: group.IdentityOf(seed), Salt: codec.Hash{7}, CreatedAt: 1_772_000_000}}}
	id, err := namespace.CreationID(&first.Op.Root)
	require.NoError(t, err)
	first.NamespaceID, first.Op.Root.GroupID, s.namespace = id, id, id
	s.child = idNamed("group 0")
	add := func(op codec.SignedNamespaceOp) codec.OpID {
		require.NoError(t, namespace.Sign(&op, seed))
		parsed, err := namespace.NewOp(&op)
		require.NoError(t, err)
		row, err := codec.StoredNamespaceOp{Signed: op}.AppendBinary(nil)
		require.NoError(t, err)
		s.put(t, func(b *engine.Batch) {
			engine.Put(b, keys.NamespaceGovOp{Namespace: id, Delta: parsed.ID}, codec.NamespaceGovOpValue{SkeletonBytes: row})
		})
		s.ops = append(s.ops, parsed.ID)
		return parsed.ID
	}
	root := add(first)
	var heads []codec.OpID
	for i := range 3 {
		heads = append(heads, add(codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: id, Parents: []codec.OpID{root}, Nonce: uint64(2 + i),
			Op: codec.NamespaceOp{Kind: codec.NamespaceSealed, GroupID: s.child, KeyOp: root, Sealed: make([]byte, 64+i)}}))
	}
	slices.SortFunc(heads, func(a, b codec.OpID) int { return strings.Compare(string(a[:]), string(b[:])) })
	last := add(codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: id, Parents: heads, Nonce: 5, Op: codec.NamespaceOp{Root: codec.RootOp{Kind: codec.RootMerge}}})
	s.put(t, func(b *engine.Batch) {
		engine.Put(b, keys.NamespaceGovHead{Namespace: id}, codec.NamespaceGovHeadValue{Sequence: 6, DagHeads: []codec.OpID{last}})
	})
}

// addGroups adds a tree of groups with members, names and contexts.
func (s *sample) addGroups(t *testing.T) {
	names := []string{"engineering", "field team <b>north</b>", "archive", "", "operations"}
	parents := []codec.GroupID{s.namespace, s.namespace, s.child, s.child, s.namespace}
	s.put(t, func(b *engine.Batch) {
		s.putGroup(b, s.namespace, "Kalliope", 7)
		for i, name := range names {
			g := codec.GroupID(idNamed(fmt.Sprint("group ", i)))
			s.putGroup(b, g, name, i+1)
			engine.Put(b, keys.GroupChildIndex{Parent: parents[i], Child: g}, codec.Present{})
			engine.Put(b, keys.GroupParentRef{Child: g}, codec.ParentRefValue{ParentID: parents[i]})
		}
		engine.Put(b, keys.GroupContextIndex{Group: s.child, Context: s.context}, codec.Present{})
		engine.Put(b, keys.ContextGroupRef{Context: s.context}, codec.GroupRefValue{GroupID: s.child})
		engine.Put(b, keys.GroupContextAlias{Group: s.child, Context: s.context}, codec.AliasName("shared notes"))
	})
}

func (s *sample) putGroup(b *engine.Batch, g codec.GroupID, name string, members int) {
	engine.Put(b, keys.GroupMeta{Group: g}, codec.GroupMetaValue{CreatedAt: 1_772_000_000, AdminIdentity: idNamed("ada")})
	if name != "" {
		engine.Put(b, keys.GroupAlias{Group: g}, codec.AliasName(name))
	}
	people := []string{"ada", "grace", "barbara", "margaret", "radia", "frances", "hedy"}
	roles := []codec.GroupMemberRole{codec.Admin, codec.Member, codec.ReadOnly}
	for i, who := range people[:members] {
		engine.Put(b, keys.GroupMember{Group: g, Identity: idNamed(who)}, roles[min(i, 1+i%2)])
		if i%3 != 2 {
			engine.Put(b, keys.GroupMemberAlias{Group: g, Identity: idNamed(who)}, codec.AliasName(who))
		}
	}
	engine.Put(b, keys.GroupMemberCapability{Group: g, Identity: idNamed("ada")}, codec.GroupMemberCapabilityValue{Capabilities: codec.AllCapabilities})
}

// addSecrets puts secrets into all places that have some.
func (s *sample) addSecrets(t *testing.T) {
	random := rand.NewChaCha8([32]byte{9})
	draw := func() (k codec.Secret) {
		_, _ = random.Read(k[:]) // it never fails
		s.secrets = append(s.secrets, k)
		return k
	}
	s.put(t, func(b *engine.Batch) {
		engine.Put(b, keys.ContextIdentity{Context: s.context}, codec.ContextIdentityValue{PrivateKey: codec.Some(draw()), SenderKey: codec.Some(draw())})
		sign, namespaceKey, entry := draw(), draw(), draw()
		engine.Put(b, keys.GroupSigningKey{Group: s.child, Key: codec.KeyID(group.IdentityOf(sign))}, codec.GroupSigningKeyValue{PrivateKey: sign})
		engine.Put(b, keys.NamespaceIdentity{Namespace: s.namespace}, codec.NamespaceIdentityValue{
			PublicKey: group.IdentityOf(namespaceKey), PrivateKey: namespaceKey, SenderKey: draw()})
		engine.Put(b, keys.GroupKeyEntry{Group: s.child, Key: namespace.KeyID(entry)}, codec.GroupKeyValue{Key: entry})
	})
}

func (s *sample) put(t *testing.T, fill func(*engine.Batch)) {
	var b engine.Batch
	fill(&b)
	require.NoError(t, s.store.Apply(&b))
}
