package merkle

import (
	"crypto/sha256"

	"github.com/stoadb/stoa/codec"
)

// Every hash begins with the name of what is hashed, so that the bytes of one
// kind of node are never those of another.
const (
	domainEmpty  = "stoa.merkle.empty.v1"
	domainLeaf   = "stoa.merkle.leaf.v1"
	domainBranch = "stoa.merkle.node.v1"
)

// emptyRoot is never written to.
var emptyRoot = codec.Hash(sha256.Sum256([]byte(domainEmpty)))

// EmptyRoot returns the root of a context without state.
func EmptyRoot() codec.Hash { return emptyRoot }

// HashKey returns the hash by which an app_key is in the trie.
func HashKey(appKey []byte) codec.Hash { return sha256.Sum256(appKey) }

// HashValue returns the hash by which a value is in the trie.
func HashValue(value []byte) codec.Hash { return sha256.Sum256(value) }

// leafHash returns
//
//	SHA-256("stoa.merkle.leaf.v1" ‖ key 32 ‖ value 32)
func leafHash(key, value *codec.Hash) codec.Hash {
	var b [len(domainLeaf) + 64]byte
	copy(b[:], domainLeaf)
	copy(b[len(domainLeaf):], key[:])
	copy(b[len(domainLeaf)+32:], value[:])
	return sha256.Sum256(b[:])
}

// branchHasher hashes a branch:
//
//	SHA-256("stoa.merkle.node.v1" ‖ depth u8 ‖ prefix ‖ children u16 LE ‖ hashes)
//
// depth is the nibbles that all keys below share; prefix is those, in
// ⌈depth/2⌉ bytes with zero bits at the end; children has bit i set where there
// are keys whose next nibble is i; hashes are those of these children, in order.
type branchHasher struct {
	b    [len(domainBranch) + 1 + 32 + 2 + 16*32]byte
	n    int
	mask int // where the bits of the children are
	bits uint16
	only codec.Hash // the last child
}

func (w *branchHasher) start(prefix *[32]byte, depth int) {
	w.n = copy(w.b[:], domainBranch)
	w.b[w.n] = byte(depth)
	w.n += 1 + copy(w.b[w.n+1:], prefix[:(depth+1)/2])
	if depth%2 == 1 {
		w.b[w.n-1] &= 0xF0
	}
	w.mask, w.bits = w.n, 0
	w.n += 2
}

// add adds the next child.
func (w *branchHasher) add(i int, h *codec.Hash) {
	w.bits |= 1 << i
	w.n += copy(w.b[w.n:], h[:])
	w.only = *h
}

// sum returns the hash of the branch; of a single child that of the child, for
// there are no branches of one.
func (w *branchHasher) sum() codec.Hash {
	if w.bits&(w.bits-1) == 0 {
		return w.only
	}
	w.b[w.mask], w.b[w.mask+1] = byte(w.bits), byte(w.bits>>8)
	return sha256.Sum256(w.b[:w.n])
}

// hashLeaves returns the hash of the subtree of leaves, which are sorted and at
// least one.
func hashLeaves(leaves []Leaf) codec.Hash {
	hashes := make([]codec.Hash, len(leaves))
	for i := range leaves {
		hashes[i] = leafHash(&leaves[i].Key, &leaves[i].Value)
	}
	return joinLeaves(leaves, hashes)
}

// joinLeaves returns the hash of the subtree of leaves, which are sorted, at least one,
// and have these hashes.
func joinLeaves(leaves []Leaf, hashes []codec.Hash) codec.Hash {
	if len(leaves) == 1 {
		return hashes[0]
	}
	depth := common(&leaves[0].Key, &leaves[len(leaves)-1].Key)
	var w branchHasher
	w.start((*[32]byte)(&leaves[0].Key), depth)
	for len(leaves) > 0 {
		n := run(leaves, depth)
		h := joinLeaves(leaves[:n], hashes[:n])
		w.add(nibble(&leaves[0].Key, depth), &h)
		leaves, hashes = leaves[n:], hashes[n:]
	}
	return w.sum()
}

// run returns how many leaves at the start of leaves have the same nibble at
// depth.
func run(leaves []Leaf, depth int) int {
	i := nibble(&leaves[0].Key, depth)
	n := 1
	for n < len(leaves) && nibble(&leaves[n].Key, depth) == i {
		n++
	}
	return n
}
