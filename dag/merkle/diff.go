package merkle

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/stoadb/stoa/codec"
)

// ErrRootGone is returned by a [Peer] that no longer has, or never had, the trie
// of the root in a request. Ask it for its root again, and begin anew.
var ErrRootGone = errors.New("dag: no trie of that root")

// ErrPeer is returned by [Diff] when an answer is not what the peer's root
// stands for.
var ErrPeer = errors.New("dag: false answer")

// Peer answers for the trie of another node. [Trie] is one for tries at hand.
type Peer interface {
	// Nodes returns the nodes that r asks for. It returns [ErrRootGone] if it has
	// not that root.
	Nodes(ctx context.Context, r *NodeRequest) (*NodeAnswer, error)
}

// Nodes answers whoever compares itself with t. It returns [ErrRootGone] if t has
// another root, codec.ErrMalformed for a request out of order, engine.ErrCorrupt, or the
// error of the store.
func (t *Trie) Nodes(_ context.Context, r *NodeRequest) (*NodeAnswer, error) {
	if fault := r.fault(); fault != "" {
		return nil, &codec.Error{Type: "NodeRequest", Field: "prefixes", Offset: -1, Reason: fault}
	}
	if r.Root != t.root {
		return nil, fmt.Errorf("%w: %s was asked for, %s is here", ErrRootGone, r.Root, t.root)
	}
	a := &NodeAnswer{nodes: make([]answerNode, len(r.Prefixes))}
	for i, p := range r.Prefixes {
		n, err := t.nodeUnder(p)
		if err != nil {
			return nil, err
		}
		switch to := &a.nodes[i]; {
		case n.kind == nodeLeaf:
			to.leaves = []Leaf{{Key: n.key, Value: n.value}}
		case n.kind == nodeBranch && n.leaves != nil:
			to.leaves = slices.Clone(n.leaves)
		case n.kind == nodeBranch:
			to.branch = n
		}
	}
	return a, nil
}

// Difference is a key that two tries have with different values, or one of them
// has not.
type Difference struct {
	Key    codec.Hash // [HashKey] of the app_key
	Local  codec.Option[codec.Hash]
	Remote codec.Option[codec.Hash]
}

// Diff yields the keys in which local differs from the trie of a peer whose root
// is remoteRoot, in no order of use, each once. It asks for nodes below which
// something differs only, up to [MaxNodes] at a time, and needs memory for as
// many and their children on each level. It ends after an error: [ErrPeer], what
// the peer returned, engine.ErrCorrupt or the store's. local must not be changed
// meanwhile.
func Diff(ctx context.Context, local *Trie, peer Peer, remoteRoot codec.Hash) iter.Seq2[Difference, error] {
	return func(yield func(Difference, error) bool) {
		d := differ{local: local, yield: yield}
		if err := d.run(ctx, peer, remoteRoot); err != nil && !d.done {
			yield(Difference{}, err)
		}
	}
}

// differ is a comparison under way.
type differ struct {
	local *Trie
	yield func(Difference, error) bool
	done  bool   // the receiver wants no more
	open  []want // nodes of the peer to look at, in their order in the trie
}

// want is a node of the peer that is not the same here.
type want struct {
	below Prefix
	hash  codec.Hash
}

func (d *differ) run(ctx context.Context, peer Peer, remoteRoot codec.Hash) error {
	switch remoteRoot {
	case d.local.Root():
		return nil
	case emptyRoot:
		n, err := d.local.topNode()
		if err == nil {
			err = d.onlyLocal(&n)
		}
		return err
	}
	d.open = append(d.open, want{hash: remoteRoot})
	for len(d.open) > 0 && !d.done {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.round(ctx, peer, remoteRoot); err != nil {
			return err
		}
	}
	return nil
}

// round asks the peer for the last of the open nodes, in the place of which come
// those of their children that differ, and looks at them.
func (d *differ) round(ctx context.Context, peer Peer, remoteRoot codec.Hash) error {
	from := max(0, len(d.open)-MaxNodes)
	wants := slices.Clone(d.open[from:])
	d.open = d.open[:from]
	r := &NodeRequest{Root: remoteRoot, Prefixes: make([]Prefix, len(wants))}
	for i := range wants {
		r.Prefixes[i] = wants[i].below
	}
	a, err := peer.Nodes(ctx, r)
	if err != nil {
		return err
	}
	if len(a.nodes) != len(wants) {
		return fmt.Errorf("%w: %d nodes instead of %d", ErrPeer, len(a.nodes), len(wants))
	}
	for i := range wants {
		w, n := &wants[i], &a.nodes[i]
		if h := n.hash(); h != w.hash || !n.within(w.below) {
			return fmt.Errorf("%w: the node at %q has the hash %s instead of %s", ErrPeer, w.below, h, w.hash)
		}
		mine, err := d.local.nodeUnder(w.below)
		switch {
		case err != nil:
		case n.branch.kind == nodeBranch:
			err = d.branch(&mine, &n.branch)
		default:
			err = d.leaves(&mine, n.leaves)
		}
		if err != nil || d.done {
			return err
		}
	}
	return nil
}

// leaves compares all that is below a node with all that the peer has there.
func (d *differ) leaves(mine *node, theirs []Leaf) error {
	_, err := d.local.walk(mine, func(l Leaf) bool {
		for len(theirs) > 0 && string(theirs[0].Key[:]) < string(l.Key[:]) {
			d.emit(theirs[0].Key, codec.Option[codec.Hash]{}, codec.Some(theirs[0].Value))
			theirs = theirs[1:]
		}
		if len(theirs) == 0 || theirs[0].Key != l.Key {
			d.emit(l.Key, codec.Some(l.Value), codec.Option[codec.Hash]{})
			return !d.done
		}
		if theirs[0].Value != l.Value {
			d.emit(l.Key, codec.Some(l.Value), codec.Some(theirs[0].Value))
		}
		theirs = theirs[1:]
		return !d.done
	})
	for _, l := range theirs {
		d.emit(l.Key, codec.Option[codec.Hash]{}, codec.Some(l.Value))
	}
	return err
}

// branch compares a node with a branch of the peer in the same place: what is
// here and can't be below the branch is only here; what is below its children is
// looked at if it differs.
func (d *differ) branch(mine, theirs *node) error {
	if err := d.outside(mine, theirs); err != nil || d.done {
		return err
	}
	prefix := theirs.prefix()
	for i := range theirs.hashes {
		if theirs.bits>>i&1 == 0 {
			continue
		}
		below := prefix.child(i)
		hash, err := d.hashUnder(mine, below)
		if err != nil {
			return err
		}
		if hash != theirs.hashes[i] {
			d.open = append(d.open, want{below: below, hash: theirs.hashes[i]})
		}
	}
	return nil
}

// hashUnder returns the hash of what is below p here, of which all that is there
// is below mine; zero if nothing is.
func (d *differ) hashUnder(mine *node, p Prefix) (codec.Hash, error) {
	if mine.kind == nodeBranch && mine.depth == p.Len()-1 && mine.prefix().Covers(codec.Hash(p.bits)) {
		return mine.hashes[p.Nibble(mine.depth)], nil
	}
	n, err := d.local.nodeUnder(p)
	return n.hash, err
}

// outside yields the keys below n that have no place below the children of a
// branch of the peer.
func (d *differ) outside(n, theirs *node) error {
	switch {
	case n.kind == nodeNone || d.done:
		return nil
	case !theirs.prefix().Covers(n.key) && common(&n.key, &theirs.key) < n.reach():
		return d.onlyLocal(n)
	case n.reach() > theirs.depth: // all of it is where one child could be
		if theirs.bits>>nibble(&n.key, theirs.depth)&1 == 0 {
			return d.onlyLocal(n)
		}
		return nil
	}
	for i := range n.hashes {
		if n.bits>>i&1 == 0 {
			continue
		}
		if n.depth == theirs.depth && theirs.bits>>i&1 == 1 {
			continue
		}
		child, err := d.local.below(n, i)
		if err == nil {
			err = d.outside(&child, theirs)
		}
		if err != nil || d.done {
			return err
		}
	}
	return nil
}

// reach returns how many nibbles all keys of a node share.
func (n *node) reach() int {
	if n.kind == nodeLeaf {
		return MaxPrefix
	}
	return n.depth
}

// onlyLocal yields all keys below n, which the peer has not.
func (d *differ) onlyLocal(n *node) error {
	_, err := d.local.walk(n, func(l Leaf) bool {
		d.emit(l.Key, codec.Some(l.Value), codec.Option[codec.Hash]{})
		return !d.done
	})
	return err
}

func (d *differ) emit(key codec.Hash, local, remote codec.Option[codec.Hash]) {
	if !d.done && !d.yield(Difference{Key: key, Local: local, Remote: remote}, nil) {
		d.done = true
	}
}
