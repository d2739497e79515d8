package merkle

import (
	"fmt"

	"github.com/stoadb/stoa/codec"
)

// nodeKind tells the nodes of the trie that README.md defines, whatever page
// they stand on.
type nodeKind uint8

const (
	nodeNone nodeKind = iota
	nodeLeaf
	nodeBranch
)

// node is a node of the trie, and where its children are. The zero node is none.
type node struct {
	kind   nodeKind
	hash   codec.Hash
	key    codec.Hash // of a leaf; of a branch any bytes that begin with its prefix
	value  codec.Hash // of a leaf
	depth  int        // of a branch: nibbles of its prefix
	bits   uint16     // of a branch: which children there are
	hashes [16]codec.Hash

	kids   *[16]kid // of a branch that is an inner page
	leaves []Leaf   // of a branch within a bucket: all below it
}

// prefix returns what all keys below a branch begin with.
func (n *node) prefix() Prefix { return NewPrefix(n.key, n.depth) }

// topNode returns the node at the root.
func (t *Trie) topNode() (node, error) {
	k, err := t.rootKid()
	if err != nil {
		return node{}, err
	}
	return t.nodeAt(Prefix{}, k)
}

// nodeAt returns the topmost node of the page at p, which is known as k.
func (t *Trie) nodeAt(p Prefix, k kid) (node, error) {
	for {
		if k.count == 0 {
			return node{}, nil
		}
		pg, err := t.load(&p, k, true)
		if err != nil {
			return node{}, err
		}
		if pg.kids == nil {
			return leavesNode(pg.leaves, pg.hash), nil
		}
		n := node{kind: nodeBranch, hash: pg.hash, key: p.bits, depth: p.Len(), kids: pg.kids}
		last := 0
		for i := range pg.kids {
			if pg.kids[i].count > 0 {
				n.bits |= 1 << i
				n.hashes[i] = pg.kids[i].hash
				last = i
			}
		}
		if n.bits&(n.bits-1) != 0 {
			return n, nil
		}
		p, k = p.child(last), pg.kids[last]
	}
}

// leavesNode returns the topmost node of leaves, whose hash is hash.
func leavesNode(leaves []Leaf, hash codec.Hash) node {
	first, last := &leaves[0], &leaves[len(leaves)-1]
	if first == last {
		return node{kind: nodeLeaf, hash: hash, key: first.Key, value: first.Value}
	}
	n := node{kind: nodeBranch, hash: hash, key: first.Key, depth: common(&first.Key, &last.Key), leaves: leaves}
	for len(leaves) > 0 {
		size := run(leaves, n.depth)
		i := nibble(&leaves[0].Key, n.depth)
		n.bits |= 1 << i
		n.hashes[i] = hashLeaves(leaves[:size])
		leaves = leaves[size:]
	}
	return n
}

// below returns the child i of a branch; none if it has none there.
func (t *Trie) below(n *node, i int) (node, error) {
	switch {
	case n.bits>>i&1 == 0:
		return node{}, nil
	case n.kids != nil:
		return t.nodeAt(n.prefix().child(i), n.kids[i])
	}
	for leaves := n.leaves; len(leaves) > 0; {
		size := run(leaves, n.depth)
		if nibble(&leaves[0].Key, n.depth) == i {
			return leavesNode(leaves[:size], n.hashes[i]), nil
		}
		leaves = leaves[size:]
	}
	return node{}, fmt.Errorf("dag: trie: branch %s has no child %x", n.prefix(), i)
}

// nodeUnder returns the topmost node of which all keys begin with q, none if
// there are no such keys.
func (t *Trie) nodeUnder(q Prefix) (node, error) {
	n, err := t.topNode()
	for err == nil && n.kind != nodeNone {
		depth := MaxPrefix
		if n.kind == nodeBranch {
			depth = n.depth
		}
		shared := common(&n.key, (*codec.Hash)(&q.bits))
		switch {
		case shared < min(depth, q.Len()):
			return node{}, nil
		case depth >= q.Len():
			return n, nil
		}
		n, err = t.below(&n, q.Nibble(depth))
	}
	return n, err
}
