package namespace

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/group"
)

// randomness is a source that gives the same bytes every time.
func randomness(seed byte) io.Reader { return rand.NewChaCha8([32]byte{seed}) }

// seedOf returns the seed of the person of that name.
func seedOf(name string) codec.Secret { return sha256.Sum256([]byte("seed of " + name)) }

func idOf(name string) codec.Identity { return group.IdentityOf(seedOf(name)) }

// node is one person's node: a [Store], and beside it the reference, which is told of the
// same ops. Each answer of the one is held to the other.
type node struct {
	t         require.TestingT
	name      string
	namespace codec.GroupID
	store     *Store
	ops       []*Op
	ring      Keyring
	random    io.Reader
}

func newNode(t require.TestingT, name string, ns codec.GroupID) *node {
	n := &node{t: t, name: name, namespace: ns, ring: Keyring{}, random: randomness(name[0])}
	var err error
	n.store, err = Open(mem.New(), Options{Rand: n.random, MaxForks: 1000, MaxSignerHeads: 1000})
	require.NoError(t, err)
	require.NoError(t, n.store.ImportIdentity(ns, codec.NamespaceIdentityValue{PublicKey: idOf(name), PrivateKey: seedOf(name)}))
	return n
}

// found returns the node of name with a new namespace.
func found(t require.TestingT, name string) *node {
	s := &codec.SignedNamespaceOp{Version: codec.OpVersion2, Nonce: 1, Op: codec.NamespaceOp{Root: codec.RootOp{Creator: idOf(name), Salt: codec.Hash{7}}}}
	id, err := CreationID(&s.Op.Root)
	require.NoError(t, err)
	s.NamespaceID, s.Op.Root.GroupID = id, id
	require.NoError(t, Sign(s, seedOf(name)))
	n := newNode(t, name, id)
	n.take(s)
	return n
}

// peer returns an empty node of another person in the namespace of n.
func (n *node) peer(name string) *node { return newNode(n.t, name, n.namespace) }

// copy returns another node of the same person, with what n has.
func (n *node) copy() *node {
	c := n.peer(n.name)
	c.sync(n)
	return c
}

// take has n accept ops, each on its ancestors, and gather keys.
func (n *node) take(ops ...*codec.SignedNamespaceOp) {
	for _, s := range ops {
		op, err := Check(s)
		require.NoError(n.t, err)
		if n.has(op.ID) {
			continue
		}
		require.NoError(n.t, admit(op, n.above(op)))
		a, err := n.store.Apply(context.Background(), op.wire())
		require.NoError(n.t, err)
		require.Equal(n.t, Stored, a.Kind, "%v", a.Refusal)
		n.ops = append(n.ops, op)
	}
	n.gather()
}

// offer returns why n refuses s, or nil: the store and the reference say the same.
func (n *node) offer(s *codec.SignedNamespaceOp) error {
	op, err := Check(s)
	if err == nil {
		err = admit(op, n.above(op))
	}
	b, encoding := s.AppendBinary(nil)
	require.NoError(n.t, encoding)
	a, broken := n.store.Apply(context.Background(), b)
	require.NoError(n.t, broken)
	if err == nil {
		require.Equal(n.t, Stored, a.Kind, "%v", a.Refusal)
		n.ops = append(n.ops, op)
		n.gather()
		return nil
	}
	require.Equal(n.t, Refused, a.Kind, err)
	var r *Refusal
	require.ErrorAs(n.t, err, &r)
	require.Equal(n.t, r.Reason, a.Refusal.Reason)
	return a.Refusal
}

// gather has the reference find keys, which must be those that the store has.
func (n *node) gather() {
	n.ring.Gather(n.namespace, n.ops, seedOf(n.name))
	require.NoError(n.t, n.store.view(n.namespace, func(c *loaded) error {
		require.True(n.t, maps.EqualFunc(n.ring, c.ring, codec.Secret.Equal), "%s has other keys than those that can be had", n.name)
		return nil
	}))
}

func (n *node) has(id codec.OpID) bool {
	return slices.ContainsFunc(n.ops, func(o *Op) bool { return o.ID == id })
}

func (n *node) above(op *Op) []*Op { return n.view().cut(op.Parents) }

// sync has n take all that o has, in the order in which o took it.
func (n *node) sync(o *node) {
	for _, op := range o.ops {
		if !n.has(op.ID) {
			n.take(op.Signed)
		}
	}
}

func (n *node) view() *view {
	v, err := newView(n.namespace, n.ops, n.ring)
	require.NoError(n.t, err)
	return v
}

// try has n make an op on its heads, which must be as the reference makes it.
func (n *node) try(g codec.GroupID, body codec.GroupOp) ([]*codec.SignedNamespaceOp, error) {
	v, err := newView(n.namespace, n.ops, maps.Clone(n.ring))
	require.NoError(n.t, err)
	want, due := v.compose(randomness(0), seedOf(n.name), g, body)
	done, err := n.store.Propose(context.Background(), n.namespace, Proposal{GroupID: g, Group: &body})
	if due != nil || err != nil {
		require.Error(n.t, due, "%v", err)
		require.Error(n.t, err, "%v", due)
		require.Equal(n.t, errors.Is(due, ErrNoKey), errors.Is(err, ErrNoKey), "%v, and due is %v", err, due)
		require.Equal(n.t, errors.Is(due, ErrNotEffective), errors.Is(err, ErrNotEffective), "%v, and due is %v", err, due)
		return nil, err
	}
	var ops []*codec.SignedNamespaceOp
	for _, wire := range done.Wire {
		op, _, err := parseWire(wire)
		require.NoError(n.t, err)
		require.NoError(n.t, admit(op, n.above(op)))
		n.ops, ops = append(n.ops, op), append(ops, op.Signed)
	}
	n.keep(done.Keys)
	n.gather()
	require.Equal(n.t, n.shapes(want), n.shapes(ops))
	return ops, nil
}

// keep takes keys that the store has made, for whomever they are.
func (n *node) keep(made []GroupKey) {
	require.NoError(n.t, n.store.view(n.namespace, func(c *loaded) error {
		for _, k := range made {
			n.ring[k] = c.ring[k]
		}
		return nil
	}))
}

// shape is what of an op does not depend on ids and keys that are drawn. Keys that were
// made with it are named by the number of their op.
type shape struct {
	kind     codec.NamespaceOpKind
	root     codec.RootOpKind
	group    codec.GroupID
	clear    codec.GroupOpKind
	under    string
	keys     map[codec.GroupID][]codec.Identity
	carried  map[codec.GroupID][]string
	delivery []codec.Identity
}

func (n *node) shapes(ops []*codec.SignedNamespaceOp) (found []shape) {
	numbers := map[codec.OpID]string{}
	called := func(id codec.OpID) string {
		if number, ok := numbers[id]; ok {
			return number
		}
		return id.String()
	}
	for i, s := range ops {
		op, err := NewOp(s)
		require.NoError(n.t, err)
		numbers[op.ID] = fmt.Sprint("of op ", i)
		p := shape{kind: s.Op.Kind, root: s.Op.Root.Kind, group: s.Op.GroupID, clear: s.Op.Op.Kind, under: called(s.Op.KeyOp),
			keys: map[codec.GroupID][]codec.Identity{}, carried: map[codec.GroupID][]string{}, delivery: recipients(s.Op.Root.Envelopes)}
		if s.Op.Kind == codec.NamespaceRoot {
			p.group, p.under = s.Op.Root.GroupID, called(s.Op.Root.KeyOp)
		}
		for _, k := range op.Keys {
			p.keys[k.GroupID] = k.Recipients
			for _, earlier := range k.Carried {
				p.carried[k.GroupID] = append(p.carried[k.GroupID], called(earlier))
			}
			slices.Sort(p.carried[k.GroupID])
		}
		found = append(found, p)
	}
	return found
}

func (n *node) do(body codec.GroupOp) []*codec.SignedNamespaceOp {
	ops, err := n.try(n.namespace, body)
	require.NoError(n.t, err)
	return ops
}

// root has n make a root op on its heads.
func (n *node) root(r codec.RootOp) *codec.SignedNamespaceOp {
	v := n.view()
	s := &codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: n.namespace, Parents: v.heads(), Op: codec.NamespaceOp{Root: r}}
	for _, op := range n.ops {
		if op.Signer == idOf(n.name) {
			s.Nonce = max(s.Nonce, op.Nonce)
		}
	}
	s.Nonce++
	require.NoError(n.t, Sign(s, seedOf(n.name)))
	n.take(s)
	return s
}

// result evaluates what n has, which must be what its store says.
func (n *node) result() *group.Result {
	v := n.view()
	r, err := group.Evaluate(v.readAt(v.heads()), codec.Identity{})
	require.NoError(n.t, err)
	require.NoError(n.t, n.store.view(n.namespace, func(c *loaded) error {
		require.Equal(n.t, len(r.Verdicts), c.ledger.Len())
		for id, want := range r.Verdicts {
			i, ok := c.ledger.Find(id)
			require.True(n.t, ok)
			require.Equal(n.t, want, c.ledger.Verdict(i))
		}
		return nil
	}))
	found, err := n.store.Verify(context.Background(), n.namespace)
	require.NoError(n.t, err)
	require.Empty(n.t, found)
	return r
}

func add(name string, role codec.GroupMemberRole) codec.GroupOp {
	return codec.GroupOp{Kind: codec.OpMemberAdded, Member: idOf(name), Role: role}
}

func remove(name string) codec.GroupOp {
	return codec.GroupOp{Kind: codec.OpMemberRemoved, Member: idOf(name)}
}

func call(name string) codec.GroupOp {
	return codec.GroupOp{Kind: codec.OpGroupAliasSet, Name: codec.Some(codec.AliasName(name))}
}
