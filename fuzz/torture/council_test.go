package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
)

// council proposes ops of a namespace of its own, and reads what they made through
// the Group service.
type council struct {
	rand      *rand.Rand
	namespace codec.GroupID
	members   []codec.Identity
	ops       []codec.OpID
	groups    []codec.GroupID
	contexts  []codec.ContextID
	seen      [3]int // how many of the lists above were looked up
	homes     homes
}

func newCouncil(r *rand.Rand, _ byte) worker { return &council{rand: r, homes: homes{rand: r}} }

// mostMembers and mostGroups keep what is rewritten with every op small.
const (
	mostMembers = 12
	mostGroups  = 12
)

func (w *council) use(c *rpc.Client) error {
	n, bg := c.Namespaces(), context.Background()
	if w.namespace.IsZero() {
		ns, done, err := n.Create(bg, namespace.Create{Alias: codec.Some(codec.AliasName("torture"))})
		if err == nil {
			w.namespace, w.ops = ns, append(w.ops, done.Answer.ID)
		}
		return err
	}
	what, room, member := namespace.Proposal{GroupID: w.namespace}, codec.ContextID{}, codec.Identity{}
	switch k := w.rand.IntN(12); {
	case k >= 10:
		return w.homes.place(n, w.namespace, append([]codec.GroupID{w.namespace}, w.groups...))
	case k == 0 && len(w.members) < mostMembers:
		member = group.IdentityOf(codec.Secret{byte(w.rand.Uint32()), byte(w.rand.Uint32()), byte(w.rand.Uint32()), byte(w.rand.Uint32()), 1})
		what.Group = &codec.GroupOp{Kind: codec.OpMemberAdded, Member: member, Role: codec.Member}
	case k == 1 && len(w.groups) < mostGroups:
		what = namespace.Proposal{Root: &codec.RootOp{Kind: codec.RootGroupCreated, ParentID: w.namespace}}
	case k < 5 && len(w.members) > 0:
		alias := codec.Some(codec.AliasName(fmt.Sprint("m", w.rand.Uint64())))
		what.Group = &codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: w.members[w.rand.IntN(len(w.members))], Name: alias}
	default:
		for i := range room {
			room[i] = byte(w.rand.Uint32())
		}
		what.Group = &codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: room}
	}
	done, below, err := n.Propose(bg, w.namespace, what)
	if err != nil {
		return err
	}
	if done.Answer.Kind != namespace.Stored || done.Answer.Verdict.Outcome != group.Effective {
		return wrongf("op %s of its only Admin is %s, %s", done.Answer.ID, done.Answer.Kind, done.Answer.Verdict.Outcome)
	}
	w.ops = append(w.ops, done.Answer.ID)
	if !below.IsZero() {
		w.groups = append(w.groups, below)
	}
	if !room.IsZero() {
		w.contexts = append(w.contexts, room)
	}
	if !member.IsZero() {
		w.members = append(w.members, member)
	}
	return nil
}

func (w *council) recount(c *rpc.Client) error {
	n, g := c.Namespaces(), c.Groups()
	lost := func(what any, err error) error {
		var e *rpc.Error
		if errors.Is(err, rpc.ErrUnavailable) || !errors.As(err, &e) && !errors.Is(err, engine.ErrNotFound) {
			return err
		}
		return wrongf("%v is not there: %v", what, err)
	}
	for ; w.seen[0] < len(w.ops); w.seen[0]++ {
		if _, err := n.Op(context.Background(), w.namespace, w.ops[w.seen[0]]); err != nil {
			return lost(w.ops[w.seen[0]], err)
		}
	}
	for ; w.seen[1] < len(w.groups); w.seen[1]++ {
		if _, err := g.Show(context.Background(), w.groups[w.seen[1]]); err != nil {
			return lost(w.groups[w.seen[1]], err)
		}
	}
	for ; w.seen[2] < len(w.contexts); w.seen[2]++ {
		of, root, err := g.Resolve(context.Background(), w.contexts[w.seen[2]])
		if err != nil {
			return lost(w.contexts[w.seen[2]], err)
		}
		if of != w.namespace || root != w.namespace {
			return wrongf("context %s is of group %s", w.contexts[w.seen[2]], of)
		}
	}
	return w.homes.recount(g, w.namespace)
}
