package namespace

import (
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// randomness is a source that gives the same bytes every time.
func randomness(seed byte) io.Reader { return rand.NewChaCha8([32]byte{seed}) }

// seedOf returns the seed of the person of that name.
func seedOf(name string) codec.Secret { return sha256.Sum256([]byte("seed of " + name)) }

func idOf(name string) codec.Identity { return group.IdentityOf(seedOf(name)) }

// node is one person's node: the ops it has, and its keys.
type node struct {
	t         require.TestingT
	name      string
	namespace codec.GroupID
	ops       []*Op
	ring      Keyring
	random    io.Reader
}

// found returns the node of name with a new namespace.
func found(t require.TestingT, name string) *node {
	n := &node{t: t, name: name, ring: Keyring{}, random: randomness(name[0])}
	s := &codec.SignedNamespaceOp{Nonce: 1, Op: codec.NamespaceOp{Root: codec.RootOp{Creator: idOf(name), Salt: codec.Hash{7}}}}
	id, err := CreationID(&s.Op.Root)
	require.NoError(t, err)
	s.NamespaceID, s.Op.Root.GroupID, n.namespace = id, id, id
	require.NoError(t, Sign(s, seedOf(name)))
	n.take(s)
	return n
}

// peer returns an empty node of another person in the namespace of n.
func (n *node) peer(name string) *node {
	return &node{t: n.t, name: name, namespace: n.namespace, ring: Keyring{}, random: randomness(name[0])}
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
		n.ops = append(n.ops, op)
	}
	n.ring.Gather(n.namespace, n.ops, seedOf(n.name))
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

// try has n make an op on its heads.
func (n *node) try(g codec.GroupID, body codec.GroupOp) ([]*codec.SignedNamespaceOp, error) {
	v := n.view()
	ops, err := v.compose(n.random, seedOf(n.name), n.ring, v.heads(), g, body)
	if err == nil {
		n.take(ops...)
	}
	return ops, err
}

func (n *node) do(body codec.GroupOp) []*codec.SignedNamespaceOp {
	ops, err := n.try(n.namespace, body)
	require.NoError(n.t, err)
	return ops
}

// root has n make a root op on its heads.
func (n *node) root(r codec.RootOp) *codec.SignedNamespaceOp {
	v := n.view()
	s := &codec.SignedNamespaceOp{NamespaceID: n.namespace, Parents: v.heads(), Op: codec.NamespaceOp{Root: r}}
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

func (n *node) result() *group.Result {
	r, err := group.Evaluate(n.ring.ReadAll(n.ops), codec.Identity{})
	require.NoError(n.t, err)
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
