package namespace

import (
	"slices"

	"github.com/stoadb/stoa/codec"
)

// keptRefusals is how many refused ops of a namespace are remembered. To forget one is
// harmless: what descends from it waits until it is offered, and refused, again.
const keptRefusals = 4096

// refusals are the ops of a namespace that were refused lately. The zero refusals are
// none.
type refusals struct {
	ids    map[codec.OpID]struct{}
	oldest []codec.OpID // by when they were refused
}

func (r *refusals) note(id codec.OpID) {
	if _, known := r.ids[id]; known {
		return
	}
	if r.ids == nil {
		r.ids = map[codec.OpID]struct{}{}
	}
	if len(r.oldest) == keptRefusals {
		delete(r.ids, r.oldest[0])
		r.oldest = slices.Delete(r.oldest, 0, 1)
	}
	r.ids[id] = struct{}{}
	r.oldest = append(r.oldest, id)
}

// among returns the first of ids that was refused.
func (r *refusals) among(ids []codec.OpID) (codec.OpID, bool) {
	i := slices.IndexFunc(ids, func(id codec.OpID) bool { _, refused := r.ids[id]; return refused })
	if i < 0 {
		return codec.OpID{}, false
	}
	return ids[i], true
}

func orphaned(id, parent codec.OpID) *Refusal {
	return &Refusal{id, RefusedAncestor, "its parent " + parent.String() + " was refused"}
}

// refuse refuses an op, and with it all that have waited for it.
func (b *batch) refuse(r *Refusal, a *Answer) {
	c := b.c
	a.Kind, a.Namespace, a.Refusal = Refused, c.id, r
	c.refused.note(r.Op)
	for gone := []codec.OpID{r.Op}; len(gone) > 0; gone = gone[1:] {
		for _, id := range slices.Clone(c.pending.childrenOf(gone[0])) {
			b.release(id)
			c.refused.note(id)
			a.cascade(&Answer{Kind: Refused, Namespace: c.id, ID: id, Refusal: orphaned(id, gone[0])})
			gone = append(gone, id)
		}
	}
}

// inUse returns the queue of a namespace that this process has used, or nil.
func (s *Store) inUse(ns codec.GroupID) *writeQueue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queues[ns]
}

// refusing returns what refuses those that wait for an op which was refused by itself;
// nil where nothing waits, so that garbage of a namespace that is not here takes no room.
func (s *Store) refusing(x *checked) *request {
	if ns := x.answer.Namespace; s.inUse(ns) == nil && !s.waits.Any(ns) {
		return nil
	}
	first := x.answer
	return &request{Task: func(b *batch) error {
		x.answer = first
		b.refuse(first.Refusal, &x.answer)
		return nil
	}}
}

// claimed returns the namespace that bytes claim to be an op of, well-formed or not.
func claimed(wire []byte) (ns codec.GroupID) {
	if len(wire) > len(ns) {
		copy(ns[:], wire[1:]) // after the version
	}
	return ns
}
