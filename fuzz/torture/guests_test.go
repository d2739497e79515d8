package torture

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
)

// guests invites to namespaces of its own, and admits those who ask, before and after
// their invitations have expired by the time of day.
type guests struct {
	rand      *rand.Rand
	time      *reckoning
	namespace codec.GroupID
	waiting   []guest
	ops       []codec.OpID // of those who were admitted
	checked   int
	admitted  int // to this namespace
	late      int // who were refused
}

// guest is somebody's request to join.
type guest struct {
	request []byte
	expires uint64 // s
}

func newGuests(r *rand.Rand, t *reckoning) *guests { return &guests{rand: r, time: t} }

// mostGuests is how many join a namespace before there is another.
const mostGuests = 12

func (w *guests) use(c *rpc.Client) error {
	n, bg := c.Namespaces(), context.Background()
	if w.namespace.IsZero() || w.admitted >= mostGuests {
		ns, _, err := n.Create(bg, namespace.Create{Alias: codec.Some(codec.AliasName("guests"))})
		if err == nil {
			w.namespace, w.waiting, w.ops, w.checked, w.admitted = ns, nil, nil, 0, 0
		}
		return err
	}
	if len(w.waiting) < 4 {
		return w.invite(n)
	}
	if w.rand.IntN(3) > 0 { // so that some wait until it is too late
		return errLater
	}
	i := w.rand.IntN(len(w.waiting))
	g := w.waiting[i]
	w.waiting = append(w.waiting[:i:i], w.waiting[i+1:]...)
	m := w.time.before()
	done, err := n.Admit(bg, g.request)
	t := w.time.after(m)
	expired := errors.Is(err, namespace.ErrExpired)
	if err != nil && !expired {
		return err
	}
	expires := time.Duration(g.expires) * time.Second
	switch {
	case t.steady && expired && t.end < expires:
		return wrongf("an invitation until %s was refused as expired at %s to %s: %v", moments(expires), moments(t.day), moments(t.end), err)
	case t.steady && !expired && t.day >= expires:
		return wrongf("an invitation until %s was taken at %s", moments(expires), moments(t.day))
	case expired:
		w.late++
	default:
		w.admitted++
		w.ops = append(w.ops, done.Answer.ID)
	}
	return nil
}

// invite has another node ask to join.
func (w *guests) invite(n *rpc.Namespaces) error {
	day := w.time.before().day
	in := time.Duration(1+w.rand.IntN([]int{60, 1200}[w.rand.IntN(2)])) * time.Second
	invitation, err := n.Invite(context.Background(), namespace.Invite{GroupID: w.namespace, Role: codec.Member, Expires: time.Unix(0, int64(day+in))})
	if err != nil {
		return err
	}
	v, err := namespace.ParseInvitation(invitation)
	if err != nil {
		return wrongf("an invitation: %v", err)
	}
	db := mem.New()
	other, err := namespace.Open(db, namespace.Options{})
	if err != nil {
		return err
	}
	request, err := other.Join(context.Background(), invitation)
	if err = errors.Join(err, other.Close(), db.Close()); err != nil {
		return wrongf("a guest can't join: %v", err)
	}
	w.waiting = append(w.waiting, guest{request, v.ExpiresAt})
	return nil
}

func (w *guests) recount(c *rpc.Client) error {
	for ; w.checked < len(w.ops); w.checked++ {
		if _, err := c.Namespaces().Op(context.Background(), w.namespace, w.ops[w.checked]); errors.Is(err, rpc.ErrUnavailable) {
			return err
		} else if err != nil {
			return wrongf("op %s, by which a guest joined, is not there: %v", w.ops[w.checked], err)
		}
	}
	return nil
}
