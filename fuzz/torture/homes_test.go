package torture

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
)

// homes is the contexts of a council whose keys it has, which it places in its groups, and
// the model of where each is.
type homes struct {
	rand  *rand.Rand
	rooms []*placedRoom
}

// placedRoom is a context that its key places.
type placedRoom struct {
	key    codec.Secret
	tried  uint64          // the greatest number that it was placed by, acknowledged or not
	stored uint64          // the greatest that was acknowledged; 0: none
	groups []codec.GroupID // where it may be: where it was placed last, and since that perhaps
}

// mostRooms keeps what is looked up after each round small.
const mostRooms = 6

func (r *placedRoom) id() codec.ContextID { return codec.ContextID(group.IdentityOf(r.key)) }

// place has a room placed in a group: a new one, or one that is elsewhere, by a greater
// number; or by an older one, which takes it from nowhere.
func (h *homes) place(n *rpc.Namespaces, ns codec.GroupID, groups []codec.GroupID) error {
	if len(h.rooms) < mostRooms && h.rand.IntN(3) == 0 || len(h.rooms) == 0 {
		h.rooms = append(h.rooms, &placedRoom{key: codec.Secret{byte(len(h.rooms)), byte(h.rand.Uint32()), byte(h.rand.Uint32()), 2}})
	}
	r, g := h.rooms[h.rand.IntN(len(h.rooms))], groups[h.rand.IntN(len(groups))]
	if h.rand.IntN(3) == 0 && r.stored > 1 && !slices.Contains(r.groups, g) {
		_, err := propose(n, ns, g, r, r.stored-1)
		if errors.Is(err, namespace.ErrContextTaken) {
			return nil
		}
		if err == nil {
			return wrongf("context %s of %v is placed in %s by number %d, and was by %d", r.id(), r.groups, g, r.stored-1, r.stored)
		}
		return err
	}
	r.tried++
	if !slices.Contains(r.groups, g) {
		r.groups = append(r.groups, g)
	}
	done, err := propose(n, ns, g, r, r.tried)
	if err != nil {
		return err
	}
	if done.Answer.Kind != namespace.Stored || done.Answer.Verdict.Outcome != group.Effective {
		return wrongf("placement %d of context %s is %s, %s", r.tried, r.id(), done.Answer.Kind, done.Answer.Verdict)
	}
	r.groups, r.stored = []codec.GroupID{g}, r.tried
	return nil
}

func propose(n *rpc.Namespaces, ns, g codec.GroupID, r *placedRoom, number uint64) (namespace.Proposed, error) {
	done, _, err := n.Propose(context.Background(), ns, namespace.Proposal{GroupID: g, Group: &codec.GroupOp{Kind: codec.OpContextPlaced,
		ContextID: r.id(), Number: number, Placement: group.SignPlacement(ns, g, number, r.key)}})
	return done, err
}

// recount demands that each room is where it was placed last, and so at that one of several
// places if an answer was lost.
func (h *homes) recount(g *rpc.Groups, ns codec.GroupID) error {
	for _, r := range h.rooms {
		of, root, err := g.Resolve(context.Background(), r.id())
		var e *rpc.Error
		switch {
		case err == nil && root == ns && slices.Contains(r.groups, of):
		case err == nil:
			return wrongf("context %s is of group %s in namespace %s, and was placed in %v", r.id(), of, root, r.groups)
		case errors.Is(err, rpc.ErrUnavailable) || !errors.As(err, &e) && !errors.Is(err, engine.ErrNotFound):
			return err
		case r.stored > 0:
			return wrongf("context %s, placed in %v, is not there: %v", r.id(), r.groups, err)
		}
	}
	return nil
}
