package group

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/stoadb/stoa/codec"
)

// past is the causal order of ops that come one by one, each after its parents. Ops
// are known by the order in which they came.
//
// A chain is ops of one signer of which each descends from the one before; who signs
// two things side by side has several. So the ancestors of an op are so many of each
// chain, and a question about two ops is one look into a [clock].
type past struct {
	ids     []codec.OpID
	heights []int32
	links   []link
	clocks  []clock // of each op: its ancestors and itself
	at      map[codec.OpID]int
	chains  []chain
	of      map[codec.Identity][]uint32 // chains
	order   []int32                     // all ops by (height, id)
	heads   []int                       // ops that none descends from
}

// link is the place of an op in its chain.
type link struct{ chain, at uint32 }

// chain has ops with nonces first, first+1 and so on.
type chain struct {
	first uint64
	ops   []int32
}

func newPast() *past {
	return &past{at: map[codec.OpID]int{}, of: map[codec.Identity][]uint32{}}
}

func (h *past) follows(x, a int) bool { return x != a && h.has(h.clocks[x], a) }

func (h *past) has(c clock, a int) bool {
	l := h.links[a]
	return c.get(l.chain) > l.at
}

func (h *past) before(a, b int) bool {
	if h.heights[a] != h.heights[b] {
		return h.heights[a] < h.heights[b]
	}
	return bytes.Compare(h.ids[a][:], h.ids[b][:]) < 0
}

// cut returns the clock of the cut with these heads.
func (h *past) cut(heads []codec.OpID) (c clock, err error) {
	for _, id := range heads {
		i, ok := h.at[id]
		if !ok {
			return c, fmt.Errorf("%w: no op %s, which another has as its parent", ErrIncomplete, id)
		}
		c = c.join(h.clocks[i])
	}
	return c, nil
}

// last returns the chain on which the next op of signer is, and the signer's greatest
// nonce in the cut. There is no such chain if the op begins another.
func (h *past) last(c clock, signer codec.Identity) (on uint32, found bool, nonce uint64) {
	for _, id := range h.of[signer] {
		n := c.get(id)
		if n == 0 {
			continue
		}
		ch := &h.chains[id]
		if last := ch.first + uint64(n) - 1; last >= nonce {
			nonce, on, found = last, id, int(n) == len(ch.ops)
		}
	}
	return on, found, nonce
}

// covers reports whether all ops are in the cut.
func (h *past) covers(c clock) bool {
	return !slices.ContainsFunc(h.heads, func(i int) bool { return !h.has(c, i) })
}

// add takes the next op, whose parents are the heads of the cut c.
func (h *past) add(op *Op, c clock) int {
	i := len(h.ids)
	height := int32(0)
	for _, p := range op.Parents {
		height = max(height, h.heights[h.at[p]]+1)
	}
	on, found, last := h.last(c, op.Signer)
	if !found || op.Nonce != last+1 {
		on = uint32(len(h.chains))
		h.chains = append(h.chains, chain{first: op.Nonce})
		h.of[op.Signer] = append(h.of[op.Signer], on)
	}
	ch := &h.chains[on]
	h.links = append(h.links, link{on, uint32(len(ch.ops))})
	ch.ops = append(ch.ops, int32(i))
	h.ids, h.heights = append(h.ids, op.ID), append(h.heights, height)
	h.clocks = append(h.clocks, c.with(on, uint32(len(ch.ops))))
	h.at[op.ID] = i
	h.heads = append(slices.DeleteFunc(slices.Clone(h.heads), func(a int) bool { return h.follows(i, a) }), i)
	return i
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
	l := h.links[i]
	ch := &h.chains[l.chain]
	if ch.ops = ch.ops[:l.at]; l.at == 0 {
		h.chains = h.chains[:l.chain]
		h.of[op.Signer] = h.of[op.Signer][:len(h.of[op.Signer])-1]
	}
	delete(h.at, op.ID)
	h.ids, h.heights, h.links, h.clocks = h.ids[:i], h.heights[:i], h.links[:i], h.clocks[:i]
	h.order = slices.DeleteFunc(h.order, func(o int32) bool { return int(o) == i })
	h.heads = heads
}
