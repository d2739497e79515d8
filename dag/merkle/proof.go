package merkle

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/stoadb/stoa/codec"
)

// ErrProof is returned for a proof that does not show what is asked of it.
var ErrProof = errors.New("dag: proof does not hold")

// MaxProof is more than the bytes of any proof.
const MaxProof = 1 << 15

const proofVersion = 1

// proofKind says what a proof shows, and how. The zero proofKind is none.
type proofKind uint8

const (
	proofIncluded proofKind = 1 + iota // the leaf is there
	proofNothing                       // the last step has no child for the key; without steps, nothing is there
	proofLeaf                          // where the key would be is another leaf
	proofBranch                        // where the key would be is a branch of other keys
)

// Proof shows that a root has a key with a value, or that it has not the key:
// [Trie.Prove] makes one, and whoever has the root checks it, without a store.
// It is not to be changed, and is safe for concurrent use.
type Proof struct {
	kind  proofKind
	steps []proofStep // branches on the way, from the root
	other node        // of proofLeaf and proofBranch
}

// proofStep is a branch on the way of a key: all its children but the one on
// the way.
type proofStep struct {
	depth    int
	bits     uint16
	siblings []codec.Hash
}

// Prove returns the proof that key ([HashKey] of the app_key) is in t, or that it
// is not. Its error is engine.ErrCorrupt or the store's.
func (t *Trie) Prove(key codec.Hash) (*Proof, error) {
	p := new(Proof)
	n, err := t.topNode()
	for err == nil {
		switch {
		case n.kind == nodeNone:
			p.kind = proofNothing
			return p, nil
		case n.kind == nodeLeaf && n.key == key:
			p.kind = proofIncluded
			return p, nil
		case n.kind == nodeLeaf:
			p.kind, p.other = proofLeaf, node{key: n.key, value: n.value}
			return p, nil
		case !n.prefix().Covers(key):
			p.kind = proofBranch
			p.other = node{key: codec.Hash(n.prefix().bits), depth: n.depth, bits: n.bits, hashes: n.hashes}
			return p, nil
		}
		way := nibble(&key, n.depth)
		s := proofStep{depth: n.depth, bits: n.bits &^ (1 << way)}
		for i := range n.hashes {
			if s.bits>>i&1 == 1 {
				s.siblings = append(s.siblings, n.hashes[i])
			}
		}
		p.steps = append(p.steps, s)
		n, err = t.below(&n, way)
	}
	return nil, err
}

// Included reports whether the proof is one of inclusion, else it is one of
// absence. It says nothing of whether it holds.
func (p *Proof) Included() bool { return p.kind == proofIncluded }

// VerifyIncluded returns nil if p shows that root has key ([HashKey]) with value
// ([HashValue]), else [ErrProof].
func (p *Proof) VerifyIncluded(root, key, value codec.Hash) error {
	if p.kind != proofIncluded {
		return fmt.Errorf("%w: it is one of absence", ErrProof)
	}
	return p.fold(root, key, leafHash(&key, &value), len(p.steps))
}

// VerifyAbsent returns nil if p shows that root has not the key ([HashKey]), else
// [ErrProof].
func (p *Proof) VerifyAbsent(root, key codec.Hash) error {
	passed := 0 // nibbles that a node at the end of the way shares with the key
	if n := len(p.steps); n > 0 {
		passed = p.steps[n-1].depth + 1
	}
	shared := common(&p.other.key, &key)
	switch p.kind {
	case proofNothing:
		return p.verifyNothing(root, key)
	case proofLeaf:
		if shared == MaxPrefix || shared < passed {
			return fmt.Errorf("%w: the other leaf does not stand in the key's place", ErrProof)
		}
		return p.fold(root, key, leafHash(&p.other.key, &p.other.value), len(p.steps))
	case proofBranch:
		if shared >= p.other.depth || shared < passed {
			return fmt.Errorf("%w: the other branch does not stand in the key's place", ErrProof)
		}
		return p.fold(root, key, p.other.branchHash(), len(p.steps))
	default:
		return fmt.Errorf("%w: it is one of inclusion", ErrProof)
	}
}

// verifyNothing checks that the last branch has no child on the way of key.
func (p *Proof) verifyNothing(root, key codec.Hash) error {
	n := len(p.steps)
	if n == 0 {
		return p.fold(root, key, emptyRoot, 0)
	}
	last := &p.steps[n-1]
	if last.bits>>nibble(&key, last.depth)&1 == 1 {
		return fmt.Errorf("%w: the last branch has a child for the key", ErrProof)
	}
	return p.fold(root, key, last.hash(&key, nil), n-1)
}

// fold hashes up from h, below the first n steps on the way of key.
func (p *Proof) fold(root, key, h codec.Hash, n int) error {
	for i := n - 1; i >= 0; i-- {
		s := &p.steps[i]
		if s.bits>>nibble(&key, s.depth)&1 == 1 {
			return fmt.Errorf("%w: step %d is not on the way of the key", ErrProof, i)
		}
		h = s.hash(&key, &h)
	}
	if h != root {
		return fmt.Errorf("%w: it leads to the root %s", ErrProof, h)
	}
	return nil
}

// hash returns the hash of the branch on the way of key, with way as the child
// there unless it is nil.
func (s *proofStep) hash(key, way *codec.Hash) codec.Hash {
	var w branchHasher
	w.start((*[32]byte)(key), s.depth)
	rest := s.siblings
	for i := range 16 {
		switch {
		case s.bits>>i&1 == 1:
			w.add(i, &rest[0])
			rest = rest[1:]
		case way != nil && i == nibble(key, s.depth):
			w.add(i, way)
		}
	}
	return w.sum()
}

// branchHash returns the hash of a branch by its prefix and children.
func (n *node) branchHash() codec.Hash {
	var w branchHasher
	w.start((*[32]byte)(&n.key), n.depth)
	for i := range n.hashes {
		if n.bits>>i&1 == 1 {
			w.add(i, &n.hashes[i])
		}
	}
	return w.sum()
}

// AppendBinary appends the bytes of p; README.md has the format. It never fails.
func (p *Proof) AppendBinary(dst []byte) ([]byte, error) {
	dst = append(dst, proofVersion, byte(p.kind), byte(len(p.steps)))
	for i := range p.steps {
		s := &p.steps[i]
		dst = append(dst, byte(s.depth), byte(s.bits), byte(s.bits>>8))
		for j := range s.siblings {
			dst = append(dst, s.siblings[j][:]...)
		}
	}
	switch p.kind {
	case proofLeaf:
		dst = append(append(dst, p.other.key[:]...), p.other.value[:]...)
	case proofBranch:
		dst = p.other.appendBranch(dst)
	}
	return dst, nil
}

// ParseProof returns the proof whose bytes are exactly b; else an error that is
// codec.ErrMalformed. It keeps nothing of b. Whether the proof holds is not said
// by that.
func ParseProof(b []byte) (*Proof, error) {
	c := cutNodes("Proof", b)
	c.Version(proofVersion)
	p := &Proof{kind: proofKind(c.U8("kind"))}
	if p.kind < proofIncluded || p.kind > proofBranch {
		c.Fail("kind", "unknown")
	}
	n := int(c.U8("steps"))
	if n > MaxPrefix {
		c.Fail("steps", "more than 64")
	}
	passed := -1
	for i := 0; i < n && c.Err == nil; i++ {
		p.steps = append(p.steps, c.step(passed, p.kind == proofNothing && i == n-1))
		passed = p.steps[i].depth
	}
	switch p.kind {
	case proofLeaf:
		p.other.key, p.other.value = c.Hash("key"), c.Hash("value")
	case proofBranch:
		p.other = c.branch()
		if p.other.depth <= passed {
			c.Fail("depth", "not below the last step")
		}
	}
	if err := c.End(); err != nil {
		return nil, err
	}
	return p, nil
}

// step cuts off a step below depth passed. The last of a proof of nothing has
// all children of its branch, of which there are at least two; others lack one.
func (c *nodeCutter) step(passed int, whole bool) (s proofStep) {
	s.depth = int(c.U8("depth"))
	s.bits = c.U16("siblings")
	least, n := 1, bits.OnesCount16(s.bits)
	if whole {
		least = 2
	}
	switch {
	case s.depth <= passed || s.depth >= MaxPrefix:
		c.Fail("depth", "not below the step before, or over 63")
	case n < least || n > 15:
		c.Fail("siblings", "fewer or more than a branch has")
	}
	s.siblings = c.Hashes("siblings", n)
	return s
}
