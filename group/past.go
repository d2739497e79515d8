package group

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/stoadb/stoa/codec"
)

// past is the causal order of ops that come one by one, each after its parents. Ops
// are known by the order in which they came.
//
// A chain is ops of one signer of which each descends from the one before; who signs
// two things side by side has several. So the ancestors of an op are so many of each
// chain, and a question about two ops is one look into a [clock]. Nothing that is asked
// of each op that comes looks at all chains of a signer, who may make any number.
type past struct {
	ids     []codec.OpID
	heights []int32
	links   []link
	cuts    []horizon // of each op: its ancestors and itself
	at      map[codec.OpID]int
	chains  []chain
	authors map[codec.Identity]*author
	order   []int32 // all ops by (height, id)
	heads   []int   // ops that none descends from
}

// horizon is a set of ops with all their ancestors.
type horizon struct {
	chains clock // how many ops of each
	nonces clock // the greatest of each author
}

func (c horizon) join(o horizon) horizon {
	return horizon{c.chains.join(o.chains), c.nonces.join(o.nonces)}
}

// author is who has signed ops.
type author struct {
	number uint32 // in clocks of nonces
	chains []uint32
	said   map[uint64]level // by nonce
	heads  int
}

// level is the ops of an author with one nonce.
type level struct {
	first, second int32 // to come
	count         int32
}

// link is the place of an op in its chain.
type link struct{ chain, at uint32 }

// chain has ops with nonces first, first+1 and so on.
type chain struct {
	by    *author
	first uint64
	ops   []int32
}

func newPast() *past {
	return &past{at: map[codec.OpID]int{}, authors: map[codec.Identity]*author{}}
}

// author returns who has signed ops, with none yet if need be.
func (h *past) author(who codec.Identity) *author {
	a := h.authors[who]
	if a == nil {
		a = &author{number: uint32(len(h.authors)), said: map[uint64]level{}}
		h.authors[who] = a
	}
	return a
}

// chainsOf returns the chains of a signer.
func (h *past) chainsOf(who codec.Identity) []uint32 {
	if a := h.authors[who]; a != nil {
		return a.chains
	}
	return nil
}

func (h *past) follows(x, a int) bool { return x != a && h.has(h.cuts[x], a) }

func (h *past) has(c horizon, a int) bool {
	l := h.links[a]
	return c.chains.get(l.chain) > l.at
}

func (h *past) before(a, b int) bool {
	if h.heights[a] != h.heights[b] {
		return h.heights[a] < h.heights[b]
	}
	return bytes.Compare(h.ids[a][:], h.ids[b][:]) < 0
}

// cut returns the cut with these heads.
func (h *past) cut(heads []codec.OpID) (c horizon, err error) {
	for _, id := range heads {
		i, ok := h.at[id]
		if !ok {
			return c, fmt.Errorf("%w: no op %s, which another has as its parent", ErrIncomplete, id)
		}
		c = c.join(h.cuts[i])
	}
	return c, nil
}

// lastNonce returns the greatest nonce of a signer in the cut; 0: there is none. Those
// beyond 32 bits, which so many ops would have to come before, count as the greatest.
func (h *past) lastNonce(c horizon, who codec.Identity) uint64 {
	if a := h.authors[who]; a != nil {
		return uint64(c.nonces.get(a.number))
	}
	return 0
}

// last returns the chain that the next op of an author goes on in the cut; none where it
// begins another.
func (h *past) last(c horizon, a *author, op *Op) (on uint32, found bool) {
	before := op.Nonce - 1
	goesOn := func(i int) bool {
		l := h.links[i]
		ch := &h.chains[l.chain]
		on = l.chain
		return ch.first+uint64(l.at) == before && int(l.at) == len(ch.ops)-1 && h.has(c, i)
	}
	for _, id := range op.Parents {
		if i := h.at[id]; slices.Contains(a.chains[max(0, len(a.chains)-fewChains):], h.links[i].chain) && goesOn(i) {
			return on, true
		}
	}
	v, has := a.said[before]
	return on, has && (goesOn(int(v.first)) || v.count > 1 && goesOn(int(v.second)))
}

// fewChains is in how many chains an op that names the one before it as its parent goes on.
// Where there are more it may begin another, which is as right.
const fewChains = 16

// covers reports whether all ops are in the cut.
func (h *past) covers(c horizon) bool {
	return !slices.ContainsFunc(h.heads, func(i int) bool { return !h.has(c, i) })
}

// add takes the next op, whose parents are the heads of the cut c.
func (h *past) add(op *Op, c horizon) int {
	i := len(h.ids)
	height := int32(0)
	parents := make([]int, 0, len(op.Parents))
	for _, p := range op.Parents {
		parents = append(parents, h.at[p])
		height = max(height, h.heights[h.at[p]]+1)
	}
	a := h.author(op.Signer)
	on, found := h.last(c, a, op)
	if !found {
		on = uint32(len(h.chains))
		h.chains = append(h.chains, chain{by: a, first: op.Nonce})
		a.chains = append(a.chains, on)
	}
	ch := &h.chains[on]
	h.links = append(h.links, link{on, uint32(len(ch.ops))})
	ch.ops = append(ch.ops, int32(i))
	v := a.said[op.Nonce]
	switch v.count++; v.count {
	case 1:
		v.first = int32(i)
	case 2:
		v.second = int32(i)
	}
	a.said[op.Nonce] = v
	h.ids, h.heights = append(h.ids, op.ID), append(h.heights, height)
	h.cuts = append(h.cuts, horizon{c.chains.with(on, uint32(len(ch.ops))), c.nonces.with(a.number, max(c.nonces.get(a.number), uint32(min(op.Nonce, math.MaxUint32))))})
	h.at[op.ID] = i
	h.setHeads(append(slices.DeleteFunc(slices.Clone(h.heads), func(o int) bool { return slices.Contains(parents, o) }), i))
	return i
}

// setHeads has other ops be the heads.
func (h *past) setHeads(heads []int) {
	for _, i := range h.heads {
		h.chains[h.links[i].chain].by.heads--
	}
	for _, i := range heads {
		h.chains[h.links[i].chain].by.heads++
	}
	h.heads = heads
}

// headsBeside returns how many heads of a signer there are that are not among ops.
func (h *past) headsBeside(who codec.Identity, ops []codec.OpID) int {
	a := h.authors[who]
	if a == nil {
		return 0
	}
	n := a.heads
	for _, id := range ops {
		if i, ok := h.at[id]; ok && h.chains[h.links[i].chain].by == a && slices.Contains(h.heads, i) {
			n--
		}
	}
	return n
}

// insert puts op i into the order and returns where.
func (h *past) insert(i int) int {
	at := len(h.order)
	for at > 0 && len(h.order)-at < 64 && h.before(i, int(h.order[at-1])) {
		at--
	}
	if at > 0 && h.before(i, int(h.order[at-1])) {
		at = h.position(i)
	}
	h.order = slices.Insert(h.order, at, int32(i))
	return at
}

// position returns where op i is in the order, or would be.
func (h *past) position(i int) int {
	at, _ := slices.BinarySearchFunc(h.order, i, func(o int32, i int) int {
		switch {
		case int(o) == i:
			return 0
		case h.before(int(o), i):
			return -1
		default:
			return 1
		}
	})
	return at
}

// at returns the op of the chain with a nonce, if it has one.
func (c *chain) at(nonce uint64) (op int, has bool) {
	if nonce < c.first || nonce-c.first >= uint64(len(c.ops)) {
		return 0, false
	}
	return int(c.ops[nonce-c.first]), true
}

// drop takes the last op out again, which had found the given heads.
func (h *past) drop(op *Op, heads []int) {
	i := len(h.ids) - 1
	h.setHeads(heads)
	a, l := h.authors[op.Signer], h.links[i]
	ch := &h.chains[l.chain]
	if ch.ops = ch.ops[:l.at]; l.at == 0 {
		h.chains = h.chains[:l.chain]
		a.chains = a.chains[:len(a.chains)-1]
	}
	v := a.said[op.Nonce]
	if v.count--; v.count == 0 {
		delete(a.said, op.Nonce)
	} else {
		a.said[op.Nonce] = v
	}
	delete(h.at, op.ID)
	h.order = slices.DeleteFunc(h.order, func(o int32) bool { return int(o) == i })
	h.ids, h.heights, h.links, h.cuts = h.ids[:i], h.heights[:i], h.links[:i], h.cuts[:i]
}
