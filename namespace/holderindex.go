package namespace

import (
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// holders is an index of what is clear of all ops: who is known to anyone, which ops
// create a group, and which are about a key.
type holders struct {
	known   map[codec.Identity][]int // ops that introduce somebody
	created map[codec.GroupID][]int  // ops that create a group
	placed  map[codec.GroupID][]int  // ops that put a group below another
	about   map[GroupKey][]mention
	groups  map[codec.GroupID][]rotation // by the order in which they came
}

// mention is an op that is about a key.
type mention struct {
	op        int
	to        []codec.Identity // who is given it by this
	follower  codec.KeyID      // or a key that opens it
	isChained bool
}

// rotation is one that introduces a key.
type rotation struct {
	op  int
	key codec.KeyID
}

func newHolders() holders {
	return holders{known: map[codec.Identity][]int{}, created: map[codec.GroupID][]int{}, placed: map[codec.GroupID][]int{}, about: map[GroupKey][]mention{},
		groups: map[codec.GroupID][]rotation{}}
}

// take adds op i.
func (h *holders) take(i int, op *Op) {
	for _, r := range op.Rotations {
		k := GroupKey{r.GroupID, r.NewKeyID}
		h.groups[r.GroupID] = append(h.groups[r.GroupID], rotation{i, r.NewKeyID})
		h.about[k] = append(h.about[k], mention{op: i, to: append([]codec.Identity{op.Signer}, r.Recipients...)})
		if r.Previous.Valid {
			before := GroupKey{r.GroupID, r.Previous.V}
			h.about[before] = append(h.about[before], mention{op: i, follower: r.NewKeyID, isChained: true})
		}
		h.introduce(i, r.Recipients...)
	}
	if b := op.Clear; b != nil && names(b) {
		h.introduce(i, b.Member)
	}
	if op.Root == nil {
		return
	}
	switch r := op.Root; r.Kind {
	case codec.RootNamespaceCreated:
		h.created[r.GroupID] = append(h.created[r.GroupID], i)
		h.introduce(i, op.Signer)
	case codec.RootGroupCreated:
		h.created[r.GroupID] = append(h.created[r.GroupID], i)
		h.placed[r.GroupID] = append(h.placed[r.GroupID], i)
	case codec.RootGroupReparented:
		h.placed[r.GroupID] = append(h.placed[r.GroupID], i)
	case codec.RootMemberJoined:
		h.introduce(i, r.Member)
	case codec.RootAuthorityStated:
		for _, m := range r.Members {
			h.introduce(i, m.Member)
		}
		h.introduce(i, r.AdminIdentity)
	case codec.RootKeyDelivery:
		to := recipients(r.Envelopes)
		k := GroupKey{r.GroupID, r.KeyID}
		h.about[k] = append(h.about[k], mention{op: i, to: to})
		h.introduce(i, to...)
	}
}

func (h *holders) introduce(i int, ids ...codec.Identity) {
	for _, id := range ids {
		h.known[id] = append(h.known[id], i)
	}
}

// isKnown reports whether an op of the cut introduces id.
func (h *holders) isKnown(id codec.Identity, cut group.Cut) bool {
	return slices.ContainsFunc(h.known[id], cut.Has)
}

// isCreated reports whether an op of the cut creates a group.
func (h *holders) isCreated(g codec.GroupID, cut group.Cut) bool {
	return slices.ContainsFunc(h.created[g], cut.Has)
}

// hasKey reports whether an op of the cut is about a key.
func (h *holders) hasKey(k GroupKey, cut group.Cut) bool {
	return slices.ContainsFunc(h.about[k], func(m mention) bool { return cut.Has(m.op) })
}

// all calls fn with those who hold a key at a cut, some of them more than once, until it
// returns false; it reports whether it never did.
func (h *holders) all(k GroupKey, cut group.Cut, fn func(codec.Identity) bool) bool {
	seen := map[codec.KeyID]bool{k.KeyID: true}
	for queue := []codec.KeyID{k.KeyID}; len(queue) > 0; {
		at := GroupKey{k.GroupID, queue[0]}
		queue = queue[1:]
		for _, m := range h.about[at] {
			if !cut.Has(m.op) {
				continue
			}
			if m.isChained && !seen[m.follower] {
				seen[m.follower] = true
				queue = append(queue, m.follower)
			}
			for _, id := range m.to {
				if !fn(id) {
					return false
				}
			}
		}
	}
	return true
}

// holds reports whether id holds a key at a cut.
func (h *holders) holds(k GroupKey, cut group.Cut, id codec.Identity) bool {
	return !h.all(k, cut, func(other codec.Identity) bool { return other != id })
}
