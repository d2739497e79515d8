package group

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/stoadb/stoa/codec"
)

// Equivocation is several ops by one signer with one nonce. All count as ops. However
// many they are, two of them show that the signer has said different things.
type Equivocation struct {
	Signer codec.Identity
	Nonce  uint64
	First  codec.OpID // by id, of the two that are shown
	Second codec.OpID
	Count  int // of the ops with that signer and that nonce
}

func (e Equivocation) compare(o Equivocation) int {
	return cmp.Or(codec.CompareID(e.Signer, o.Signer), cmp.Compare(e.Nonce, o.Nonce))
}

// show notes an op of the equivocation: the two with the least ids are shown.
func (e *Equivocation) show(id codec.OpID) {
	e.Count++
	switch {
	case e.Count == 1 || bytes.Compare(id[:], e.First[:]) < 0:
		e.First, e.Second = id, e.First
	case e.Count == 2 || bytes.Compare(id[:], e.Second[:]) < 0:
		e.Second = id
	}
}

// equivocations returns those among ops, by (signer, nonce).
func equivocations(ops []*Op) (found []Equivocation) {
	type said struct {
		signer codec.Identity
		nonce  uint64
	}
	all := map[said]*Equivocation{}
	for _, op := range ops {
		at := said{op.Signer, op.Nonce}
		if all[at] == nil {
			all[at] = &Equivocation{Signer: op.Signer, Nonce: op.Nonce}
		}
		all[at].show(op.ID)
	}
	for _, e := range all {
		if e.Count > 1 {
			found = append(found, *e)
		}
	}
	slices.SortFunc(found, Equivocation.compare)
	return found
}

// Equivocation returns that of which op i is one, if it is: i and the first to come of the
// others.
func (l *Ledger) Equivocation(i int) (e Equivocation, ok bool) {
	op := l.judge.ops[i]
	v := l.past.authors[op.Signer].said[op.Nonce]
	if v.count < 2 {
		return Equivocation{}, false
	}
	other := v.first
	if int(other) == i {
		other = v.second
	}
	e = Equivocation{op.Signer, op.Nonce, op.ID, l.past.ids[other], int(v.count)}
	if codec.CompareID(e.First, e.Second) > 0 {
		e.First, e.Second = e.Second, e.First
	}
	return e, true
}

// Equivocations returns those after another by (signer, nonce), of which signer and nonce
// are looked at; zero: from the first. A limit of 0 is none. It takes memory for what it
// returns and for the chains of one signer.
func (l *Ledger) Equivocations(after Equivocation, limit int) (found []Equivocation) {
	var signers []codec.Identity
	for who, a := range l.past.authors {
		if len(a.chains) > 1 && codec.CompareID(who, after.Signer) >= 0 {
			signers = append(signers, who)
		}
	}
	slices.SortFunc(signers, codec.CompareID)
	for _, who := range signers {
		from := uint64(0)
		if who == after.Signer {
			if from = after.Nonce + 1; from == 0 {
				continue
			}
		}
		for e := range l.past.equivocations(who, from) {
			if found = append(found, e); len(found) == limit {
				return found
			}
		}
	}
	return found
}

// equivocations yields those of one signer with a nonce not below from, by nonce: it goes
// along the nonces with the chains that have them.
func (h *past) equivocations(who codec.Identity, from uint64) func(func(Equivocation) bool) {
	return func(yield func(Equivocation) bool) {
		var left, here []*chain // by first nonce; those that have the nonce
		for _, id := range h.chainsOf(who) {
			left = append(left, &h.chains[id])
		}
		slices.SortFunc(left, func(a, b *chain) int { return cmp.Compare(a.first, b.first) })
		for nonce := from; ; nonce++ {
			if len(here) < 2 { // nothing until the next begins
				if len(left) == 0 {
					return
				}
				nonce = max(nonce, left[0].first)
			}
			for len(left) > 0 && left[0].first <= nonce {
				here, left = append(here, left[0]), left[1:]
			}
			e := Equivocation{Signer: who, Nonce: nonce}
			here = slices.DeleteFunc(here, func(c *chain) bool { _, has := c.at(nonce); return !has })
			for _, c := range here {
				n, _ := c.at(nonce)
				e.show(h.ids[n])
			}
			if e.Count > 1 && !yield(e) {
				return
			}
		}
	}
}
