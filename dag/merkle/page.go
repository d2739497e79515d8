package merkle

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
	"unsafe"

	"github.com/stoadb/stoa/codec"
)

// page is a part of a trie that is read and written as one: the keys below a
// prefix, as a bucket of leaves where they are few, else as the hashes of what
// is below each next nibble. It never changes once others know it.
type page struct {
	hash   codec.Hash   // of the subtree
	count  uint8        // of its leaves, at most manyLeaves
	leaves []Leaf       // of a bucket
	marks  []uint64     // of the leaves, which hash does not know; see owner
	hashes []codec.Hash // of the leaves; nil: they are not kept
	kids   *[16]kid     // of an inner page, nil of a bucket
	owner  uint64       // of the trie that knows the marks; 0: nobody does
}

// kid is what a page knows of the page below one of its nibbles. The zero kid is
// none.
type kid struct {
	hash  codec.Hash
	count uint8
}

// manyLeaves stands for this many leaves and more.
const manyLeaves = 255

// A bucket at the root holds at most rootBucket leaves, others at most
// innerBucket. What is below a prefix is a bucket exactly if it fits; below one
// nibble it never is.
const (
	rootBucket  = 64
	innerBucket = 24
)

// bucketSize returns the most leaves of a bucket at depth.
func bucketSize(depth int) int {
	switch depth {
	case 0:
		return rootBucket
	case 1:
		return 0
	default:
		return innerBucket
	}
}

// hasRow reports whether the page of count leaves at depth has a row. Buckets
// have. Of the inner pages those of the first two levels and of the fourth have
// none and are made again from the rows below: they would be written with nearly
// every delta, and there are few enough of them to keep in memory.
func hasRow(depth int, count uint8) bool {
	return count > 0 && (int(count) <= bucketSize(depth) || hasInnerRow(depth))
}

func hasInnerRow(depth int) bool { return depth == 2 || depth >= 4 }

// addCount returns the sum of two counts.
func addCount(a, b uint8) uint8 { return uint8(min(int(a)+int(b), manyLeaves)) }

// Buckets in the cache keep the hashes of their leaves as far down as hashedDepth:
// a change of one leaf hashes no other. A context has at most 257 of these; of the
// buckets below, half as many again fit into memory without.
const hashedDepth = 2

// newBucket returns the page at depth of leaves and their marks, of which it keeps none. The hashes
// of leaves that old has too are taken from there; old may be nil.
func newBucket(leaves []Leaf, marks []uint64, old *page, depth int) *page {
	n := len(leaves)
	pg := &page{count: uint8(n)}
	// One piece of memory: leaves, which are two hashes, their own hashes if they are kept, and marks.
	const words = len(codec.Hash{}) / 8
	kept := 0
	if depth <= hashedDepth {
		kept = n
	}
	all := make([]uint64, (2*n+kept)*words+n)
	pg.leaves = unsafe.Slice((*Leaf)(unsafe.Pointer(&all[0])), n)
	pg.marks = all[(2*n+kept)*words:]
	var array [innerBucket]codec.Hash // stays on the stack
	hashes := array[:min(n, innerBucket)]
	if kept > 0 {
		pg.hashes = unsafe.Slice((*codec.Hash)(unsafe.Pointer(&all[2*n*words])), n)
		hashes = pg.hashes
	}
	copy(pg.marks, marks)
	copy(pg.leaves, leaves)
	at := 0 // in old
	for i := range leaves {
		l := &leaves[i]
		if old != nil && old.hashes != nil {
			for at < len(old.leaves) && bytes.Compare(old.leaves[at].Key[:], l.Key[:]) < 0 {
				at++
			}
			if at < len(old.leaves) && old.leaves[at] == *l {
				hashes[i] = old.hashes[at]
				continue
			}
		}
		hashes[i] = leafHash(&l.Key, &l.Value)
	}
	pg.hash = joinLeaves(leaves, hashes)
	return pg
}

// bucketPage is memory for a bucket that is read to be replaced. It has the hashes
// of its leaves at any depth, so that proving it and replacing it hash each once.
type bucketPage struct {
	page   page
	leaves [rootBucket]Leaf
	marks  [rootBucket]uint64
	hashes [rootBucket]codec.Hash
}

// seal returns the page of the first n leaves.
func (b *bucketPage) seal(n int) *page {
	for i := range b.leaves[:n] {
		b.hashes[i] = leafHash(&b.leaves[i].Key, &b.leaves[i].Value)
	}
	b.page = page{count: uint8(n), leaves: b.leaves[:n], marks: b.marks[:n], hashes: b.hashes[:n]}
	b.page.hash = joinLeaves(b.page.leaves, b.page.hashes)
	return &b.page
}

// innerPage is a page and its kids in one piece of memory.
type innerPage struct {
	page
	array [16]kid
}

// newInner returns an inner page of kids, and none of its own yet.
func newInner(kids *[16]kid) *page {
	p := new(innerPage)
	p.kids = &p.array
	if kids != nil {
		p.array = *kids
	}
	return &p.page
}

// seal sets hash and count of an inner page at p from its kids.
func (pg *page) seal(p *Prefix) {
	var w branchHasher
	w.start(&p.bits, int(p.n))
	pg.count = 0
	for i := range pg.kids {
		if k := &pg.kids[i]; k.count > 0 {
			w.add(i, &k.hash)
			pg.count = addCount(pg.count, k.count)
		}
	}
	if pg.count > 0 {
		pg.hash = w.sum()
	}
}

func (pg *page) kid() kid { return kid{hash: pg.hash, count: pg.count} }

// memory returns about how many bytes the page takes, none if there is none.
func (pg *page) memory() int {
	if pg == nil {
		return 0
	}
	if pg.kids != nil {
		return int(unsafe.Sizeof(innerPage{}))
	}
	return int(unsafe.Sizeof(page{})) + cap(pg.leaves)*int(unsafe.Sizeof(Leaf{})) + cap(pg.marks)*8 + cap(pg.hashes)*len(codec.Hash{})
}

// The tags of rows.
const (
	tagOlder  = 1 // key 32 ‖ value 32 of each leaf, by key: what builds without marks wrote
	tagInner  = 2 // children u16 LE, then hash 32 ‖ count u8 of each
	tagBucket = 3 // key 32 ‖ value 32 ‖ mark u64 LE of each leaf, by key, and u32 LE: CRC-32C of all before it
)

// castagnoli is of the checksums of rows: what hashes do not know, damage is not to change unnoticed either.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendRow appends the bytes of the page; README.md has the format.
func (pg *page) appendRow(dst []byte) []byte {
	if pg.kids == nil {
		start := len(dst)
		dst = append(dst, tagBucket)
		for i := range pg.leaves {
			dst = append(dst, pg.leaves[i].Key[:]...)
			dst = append(dst, pg.leaves[i].Value[:]...)
			dst = binary.LittleEndian.AppendUint64(dst, pg.marks[i])
		}
		return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
	}
	dst = append(dst, tagInner, 0, 0)
	mask := len(dst) - 2
	var set uint16
	for i := range pg.kids {
		if k := &pg.kids[i]; k.count > 0 {
			set |= 1 << i
			dst = append(append(dst, k.hash[:]...), k.count)
		}
	}
	binary.LittleEndian.PutUint16(dst[mask:], set)
	return dst
}

// Remark appends a row of a trie with one mark at all leaves, in place of those that they have. A row of a build without
// marks becomes one with them.
func Remark(dst, row []byte, mark uint64) []byte {
	size, end := 64+8, len(row)-4
	switch {
	case len(row) > 0 && row[0] == tagOlder:
		size, end = 64, len(row)
	case len(row) < 5 || row[0] != tagBucket:
		return append(dst, row...)
	}
	start := len(dst)
	dst = append(dst, tagBucket)
	for leaves := row[1:end]; len(leaves) >= size; leaves = leaves[size:] {
		dst = binary.LittleEndian.AppendUint64(append(dst, leaves[:64]...), mark)
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// parseRow returns the page at p whose bytes are exactly row, with its hash, and
// otherwise what is wrong with them.
// A bucket is made in into, where it is good until the next, if that is not nil.
func parseRow(p *Prefix, row []byte, into *bucketPage) (pg *page, fault string) {
	if len(row) == 0 {
		return nil, "an empty row"
	}
	switch row[0] {
	case tagBucket:
		end := len(row) - 4
		if end < 1 || binary.LittleEndian.Uint32(row[end:]) != crc32.Checksum(row[:end], castagnoli) {
			return nil, "a bucket with a wrong checksum"
		}
		return parseBucket(p, row[1:end], 64+8, into)
	case tagOlder:
		return parseBucket(p, row[1:], 64, into)
	case tagInner:
		return parseInner(p, row[1:])
	default:
		return nil, fmt.Sprintf("unknown tag %#02x", row[0])
	}
}

// parseBucket takes leaves of so many bytes apart.
func parseBucket(p *Prefix, b []byte, size int, into *bucketPage) (*page, string) {
	n := len(b) / size
	if len(b)%size != 0 || n == 0 || n > bucketSize(int(p.n)) {
		return nil, fmt.Sprintf("a bucket of %d bytes, not of 1 to %d leaves of %d", len(b), bucketSize(int(p.n)), size)
	}
	var array [rootBucket]Leaf
	var marked [rootBucket]uint64
	leaves, marks := array[:n], marked[:n]
	if into != nil {
		leaves, marks = into.leaves[:n], into.marks[:n]
	}
	for i := range leaves {
		leaf := b[size*i:]
		key, value := codec.Hash(leaf), codec.Hash(leaf[32:])
		if i > 0 && string(leaves[i-1].Key[:]) >= string(key[:]) {
			return nil, fmt.Sprintf("leaf %d out of order", i)
		}
		if !p.Covers(key) {
			return nil, fmt.Sprintf("leaf %d of another prefix", i)
		}
		leaves[i] = Leaf{Key: key, Value: value}
		if marks[i] = 0; size > 64 {
			marks[i] = binary.LittleEndian.Uint64(leaf[64:])
		}
	}
	if into != nil {
		return into.seal(n), ""
	}
	return newBucket(leaves, marks, nil, int(p.n)), ""
}

func parseInner(p *Prefix, b []byte) (*page, string) {
	if len(b) < 2 || !hasInnerRow(p.Len()) {
		return nil, "an inner page that is cut short, or has no row here"
	}
	set := binary.LittleEndian.Uint16(b)
	if b = b[2:]; len(b) != 33*bits.OnesCount16(set) {
		return nil, fmt.Sprintf("an inner page with %d bytes for %d children of 33", len(b), bits.OnesCount16(set))
	}
	pg := newInner(nil)
	for i := range pg.kids {
		if set>>i&1 == 0 {
			continue
		}
		pg.kids[i] = kid{hash: codec.Hash(b), count: b[32]}
		if b[32] == 0 {
			return nil, fmt.Sprintf("child %d without leaves", i)
		}
		b = b[33:]
	}
	if pg.seal(p); int(pg.count) <= bucketSize(int(p.n)) {
		return nil, fmt.Sprintf("an inner page of %d leaves, which fit a bucket", pg.count)
	}
	return pg, ""
}
