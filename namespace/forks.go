package namespace

import (
	"slices"

	"github.com/stoadb/stoa/codec"
)

// Whoever signs several ops with one nonce, or beside each other, can make any number. What
// this node takes of that from others is bounded: two of a nonce, which show what their signer
// does, and so many heads. One beyond that waits until somebody else builds on it, so that no
// op of another lacks its ancestors; until then nodes may have taken different ones, as they may
// where the signer sends them to some only.

// What options say if they say nothing.
const (
	maxForks       = 2
	maxSignerHeads = 8
)

// limit has options say what they are, and leaves what waits as it is where there are more.
func (c *loaded) limit(o *Options) {
	c.limits = o
	c.pending.ready = slices.DeleteFunc(c.pending.ready, func(id codec.OpID) bool {
		w := c.pending.ops[id]
		return c.isFork(w.signer, w.nonce, w.parents) && !c.pending.isWanted(id, w.signer)
	})
}

// isFork reports whether an op, all of whose parents are here, is one more than is taken of its
// signer beside each other.
func (c *loaded) isFork(signer codec.Identity, nonce uint64, parents []codec.OpID) bool {
	return c.ledger.Said(signer, nonce) >= c.limits.MaxForks || c.ledger.HeadsBeside(signer, parents) >= c.limits.MaxSignerHeads
}

// said is a nonce of a signer.
type said struct {
	signer codec.Identity
	nonce  uint64
}

// naming is who names an op as a parent that is not in the DAG.
type naming struct {
	children []codec.OpID
	by       codec.Identity // the first who counts; zero: none
	several  bool           // others do, too
	wanted   bool           // and one of them is built on itself
}

// childrenOf returns what waits and names an op that is not in the DAG.
func (p *pending) childrenOf(id codec.OpID) []codec.OpID {
	if n := p.named[id]; n != nil {
		return n.children
	}
	return nil
}

// isWanted reports whether somebody else than signer builds on an op.
func (p *pending) isWanted(id codec.OpID, signer codec.Identity) bool {
	n := p.named[id]
	return n != nil && (n.wanted || n.several || !n.by.IsZero() && n.by != signer)
}

// builds notes that w, which waits, names parents that are not in the DAG. Whether it counts as
// somebody who builds on them depends on the namespace knowing its signer, and on its not being
// one more of its nonce than is taken.
func (c *loaded) builds(w *waiting, parents []codec.OpID) {
	p := &c.pending
	counts := len(c.holders.known[w.signer]) > 0 && c.ledger.Said(w.signer, w.nonce)+p.said[said{w.signer, w.nonce}] <= c.limits.MaxForks
	for _, id := range parents {
		n := p.named[id]
		if n == nil {
			n = &naming{}
			p.named[id] = n
		}
		n.children = append(n.children, w.id)
		if !counts || n.by == w.signer {
			continue
		}
		before := p.isWantedHere(id)
		if n.several = !n.by.IsZero(); !n.several {
			n.by = w.signer
		}
		if !before && p.isWantedHere(id) {
			c.becomesWanted(p.ops[id])
		}
	}
	if p.isWanted(w.id, w.signer) {
		c.becomesWanted(w)
	}
}

// isWantedHere is isWanted of what waits here; of any other it is not known.
func (p *pending) isWantedHere(id codec.OpID) bool {
	w := p.ops[id]
	return w != nil && p.isWanted(id, w.signer)
}

// becomesWanted has what w stands on be wanted as well, and what waits for nothing else be
// judged.
func (c *loaded) becomesWanted(w *waiting) {
	p := &c.pending
	for open := []*waiting{w}; len(open) > 0; open = open[1:] {
		missing := c.missing(open[0].parents)
		if len(missing) == 0 {
			p.ready = append(p.ready, open[0].id)
		}
		for _, id := range missing {
			n := p.named[id]
			if n == nil || n.wanted {
				continue
			}
			before := p.isWantedHere(id)
			if n.wanted = true; !before && p.ops[id] != nil {
				open = append(open, p.ops[id])
			}
		}
	}
}
