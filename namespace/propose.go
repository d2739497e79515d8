package namespace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

var (
	// ErrNoKey is returned where the group has a current key and this node lacks it: it
	// has to wait for a delivery.
	ErrNoKey = errors.New("namespace: the current key of the group is not here")
	// ErrNotEffective is returned where an op would be void or skipped.
	ErrNotEffective = errors.New("namespace: the op would have no effect")
)

// Proposal is what an op of this node is to do: Root, or what Group does in GroupID.
type Proposal struct {
	Root    *codec.RootOp // of a creation: GroupID, Creator and Salt are filled in, and CreatedAt if it is 0
	GroupID codec.GroupID
	Group   *codec.GroupOp
}

// Propose makes an op on top of all that is here, signed by this node, and what must go
// with it so that nobody seals under a key that someone else than a member holds: a
// rotation in it, or a delivery after it. More than [MaxParents] heads are joined first.
// A context that is registered is placed by its own key, if that is here. All is written
// in one batch. It returns [ErrNoIdentity], [ErrNoNamespace], [ErrNotEffective],
// [ErrContextTaken], [ErrNotPlaced], [ErrNoKey], [ErrIdentity] for a member who is no key, [ErrRefused],
// codec.ErrMalformed, or an error as [Store.Apply] has it.
func (s *Store) Propose(ctx context.Context, ns codec.GroupID, what Proposal) (Proposed, error) {
	var done Proposed
	err := s.change(ctx, ns, &done, func(p *proposing) error {
		switch {
		case what.Root != nil:
			return p.root(*what.Root, &done.Answer)
		case what.Group == nil:
			return fmt.Errorf("%w: nothing is proposed", ErrNotEffective)
		}
		return p.group(what.GroupID, *what.Group, &done.Answer)
	})
	return done, err
}

// change has fn propose ops in one batch.
func (s *Store) change(ctx context.Context, ns codec.GroupID, done *Proposed, fn func(*proposing) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := &request{Task: func(b *batch) error {
		*done = Proposed{}
		p := &proposing{batch: b, done: done}
		switch {
		case b.c.ledger.Len() == 0:
			return fmt.Errorf("%w: %s", ErrNoNamespace, ns)
		case !b.c.identity.Valid:
			return fmt.Errorf("%w: %s", ErrNoIdentity, ns)
		}
		b.settle()
		return fn(p)
	}}
	if err := s.submit(ns, r); err != nil {
		return err
	}
	if r.Err != nil {
		*done = Proposed{}
		return r.Err
	}
	done.Answer.complete()
	return nil
}

// proposing is ops of this node on their way into a batch.
type proposing struct {
	*batch
	done *Proposed
}

func (p *proposing) random() io.Reader { return p.s.options.Rand }

// carrier returns the next op of this node, without content. Heads that are too many are
// joined before.
func (p *proposing) carrier() (*codec.SignedNamespaceOp, error) {
	for {
		s := &codec.SignedNamespaceOp{NamespaceID: p.c.id, Parents: p.c.ledger.Heads(), Signer: p.c.self()}
		many := len(s.Parents) > MaxParents
		if many {
			s.Parents = p.some(s.Parents)
		}
		cut, err := p.c.ledger.Cut(s.Parents)
		if err != nil {
			return nil, err
		}
		if s.Nonce = cut.LastNonce(s.Signer) + 1; !many {
			return s, nil
		}
		s.Op.Root.Kind = codec.RootMerge
		if err := p.signAndTake(s, nil, nil, &Answer{}); err != nil {
			return nil, err
		}
	}
}

// some returns as many heads as an op may join, one among them that descends from the
// latest op of this node, whose nonce would otherwise be used again.
func (p *proposing) some(heads []codec.OpID) []codec.OpID {
	own, last := 0, uint64(0)
	for i := range heads {
		if cut, err := p.c.ledger.Cut(heads[i : i+1]); err == nil && cut.LastNonce(p.c.self()) > last {
			own, last = i, cut.LastNonce(p.c.self())
		}
	}
	heads[0], heads[own] = heads[own], heads[0]
	heads = heads[:MaxParents]
	slices.SortFunc(heads, compare)
	return heads
}

// signAndTake signs s, which is complete but for that, and takes it into the DAG. Of a sealed
// op body and inner are what it seals.
func (p *proposing) signAndTake(s *codec.SignedNamespaceOp, body *codec.GroupOp, inner []byte, a *Answer) error {
	if err := Sign(s, p.c.identity.V.PrivateKey); err != nil {
		return err
	}
	op, err := NewOp(s)
	if err != nil {
		return err
	}
	if detail := formFault(op); detail != "" {
		return &Refusal{op.ID, BadForm, detail}
	}
	if op.Root != nil && op.Root.Kind == codec.RootMemberJoined {
		if detail := signatureFault(op, &p.s.verifier); detail != "" {
			return &Refusal{op.ID, BadSignature, detail}
		}
	}
	a.Namespace, a.ID = p.c.id, op.ID
	if err := p.take(op, &opened{body: body, inner: inner}, a); err != nil {
		return err
	}
	p.settle()
	p.done.Wire = append(p.done.Wire, op.wire())
	for _, r := range op.Rotations {
		p.done.Keys = append(p.done.Keys, GroupKey{r.GroupID, r.NewKeyID})
	}
	return nil
}

// try returns what would become of an op on top of all, and calls look with its effect.
func (p *proposing) try(s *codec.SignedNamespaceOp, planned group.Op, look func()) error {
	planned.Parents, planned.Signer, planned.Nonce = s.Parents, s.Signer, s.Nonce
	var verdict group.Verdict
	err := p.c.ledger.Try(&planned, func(v group.Verdict) {
		if verdict = v; v.Outcome == group.Effective {
			look()
		}
	})
	switch {
	case err != nil || verdict.Outcome == group.Effective:
		return err
	case verdict.Reason == group.ContextElsewhere:
		home, _ := p.c.ledger.Claim(planned.Body.ContextID)
		return taken(planned.Body.ContextID, planned.Group, home.Group)
	}
	return fmt.Errorf("%w: %s", ErrNotEffective, verdict)
}

// root proposes a root op.
func (p *proposing) root(r codec.RootOp, a *Answer) error {
	s, err := p.carrier()
	if err != nil {
		return err
	}
	if r.Kind == codec.RootGroupCreated {
		r.Creator, r.GroupID = p.c.self(), codec.GroupID{}
		if r.CreatedAt == 0 {
			r.CreatedAt = uint64(p.s.options.Now().Unix())
		}
		if _, err := io.ReadFull(p.random(), r.Salt[:]); err != nil {
			return err
		}
		if r.GroupID, err = CreationID(&r); err != nil {
			return err
		}
	}
	s.Op.Root = r
	if _, err := r.AppendBinary(nil); err != nil {
		return err
	}
	if r.Kind == codec.RootNamespaceCreated {
		return fmt.Errorf("%w: the namespace has been created", ErrNotEffective)
	}
	if err := p.try(s, group.Op{Root: &r}, func() {}); err != nil {
		return err
	}
	if err := p.signAndTake(s, nil, nil, a); err != nil || r.Kind != codec.RootMemberJoined {
		return err
	}
	err = p.deliver(r.Invitation.GroupID)
	if errors.Is(err, ErrNoKey) {
		return nil // who has it delivers it
	}
	return err
}

// group proposes an op of a group, with what has to be done about its key.
func (p *proposing) group(g codec.GroupID, body codec.GroupOp, a *Answer) error {
	s, err := p.carrier()
	if err != nil {
		return err
	}
	if body, err = p.placing(g, body); err != nil {
		return err
	}
	if _, err := body.AppendBinary(nil); err != nil {
		return err
	}
	if names(&body) && !ValidIdentity(body.Member) {
		return fmt.Errorf("%w: %s", ErrIdentity, body.Member)
	}
	here := p.c.here()
	id, has, err := here.current(g, -1)
	if err != nil {
		return err
	}
	stays := false
	after := map[codec.GroupID][]codec.Identity{}
	if err := p.try(s, group.Op{Group: g, Body: &body}, func() {
		stays = has && here.within(GroupKey{g, id}, p.c.ledger)
		for _, below := range p.c.ledger.Groups() {
			if below == g || g == p.c.id && body.Kind == codec.OpMemberRemoved {
				after[below] = p.c.ledger.Members(below)
			}
		}
	}); err != nil {
		return err
	}
	if err := p.contest(g, &body); err != nil {
		return err
	}
	s.Op = codec.NamespaceOp{Kind: codec.NamespaceGroup, GroupID: g}
	var sealing codec.Option[codec.Secret]
	if has {
		key, ok := p.c.ring[GroupKey{g, id}]
		if !ok {
			return fmt.Errorf("%w: %s", ErrNoKey, id)
		}
		sealing = codec.Some(key)
	}
	if !stays && len(after[g]) > 0 {
		fresh, err := p.rotate(s, g, sealing, after[g])
		if err != nil {
			return err
		}
		if !sealing.Valid {
			sealing = codec.Some(fresh)
		}
	}
	if g == p.c.id && body.Kind == codec.OpMemberRemoved {
		if err := p.rotateBelow(s, body.Member, after); err != nil {
			return err
		}
	}
	inner, err := p.seal(s, &body, sealing.V)
	if err != nil {
		return err
	}
	if err := p.signAndTake(s, &body, inner, a); err != nil {
		return err
	}
	return p.deliver(g) // to nobody, where the key is new
}

// rotate adds a rotation of g to exactly these members, and returns the key, which this
// node keeps even if it is not one of them: it has made it, and its op can be sealed under
// it.
func (p *proposing) rotate(s *codec.SignedNamespaceOp, g codec.GroupID, previous codec.Option[codec.Secret], to []codec.Identity) (codec.Secret, error) {
	key, err := NewKey(p.random())
	if err != nil {
		return key, err
	}
	if !previous.Valid {
		previous = p.latest(g)
	}
	r, err := NewRotation(p.random(), p.c.id, g, key, previous, to)
	if err != nil {
		return key, err
	}
	s.Op.Rotations = append(s.Op.Rotations, r)
	slices.SortFunc(s.Op.Rotations, func(a, b codec.KeyRotation) int { return compare(a.GroupID, b.GroupID) })
	var fresh []GroupKey // nothing has waited for it
	p.gaining(&fresh)(GroupKey{g, r.NewKeyID}, key)
	return key, nil
}

// latest returns the key of g introduced last of those that are here.
func (p *proposing) latest(g codec.GroupID) (found codec.Option[codec.Secret]) {
	last := -1
	for _, r := range p.c.holders.groups[g] {
		key, ok := p.c.ring[GroupKey{g, r.key}]
		if ok && (last < 0 || p.c.ledger.Before(last, r.op)) {
			found, last = codec.Some(key), r.op
		}
	}
	return found
}

// rotateBelow adds to a removal from the namespace rotations of the groups below that
// lose their current key by it, as far as this node has that key.
func (p *proposing) rotateBelow(s *codec.SignedNamespaceOp, gone codec.Identity, after map[codec.GroupID][]codec.Identity) error {
	here := p.c.here()
	for _, below := range p.c.ledger.Groups() {
		if below == p.c.id || !p.c.ledger.IsMember(below, gone) || !slices.Contains(after[below], p.c.self()) {
			continue
		}
		id, has, err := here.current(below, -1)
		if err != nil {
			return err
		}
		k := GroupKey{below, id}
		key, ok := p.c.ring[k]
		if !has || !ok || p.c.holders.all(k, here.cut, func(id codec.Identity) bool { return slices.Contains(after[below], id) }) {
			continue // who has it, or next acts there, mends it
		}
		if _, err := p.rotate(s, below, codec.Some(key), after[below]); err != nil {
			return err
		}
	}
	return nil
}

// seal signs and seals body into s under key, and returns what is sealed.
func (p *proposing) seal(s *codec.SignedNamespaceOp, body *codec.GroupOp, key codec.Secret) ([]byte, error) {
	inner := codec.SignedGroupOp{GroupID: s.Op.GroupID, Parents: s.Parents, Signer: s.Signer, Nonce: s.Nonce, Op: *body}
	if err := group.SignOp(&inner, p.c.identity.V.PrivateKey); err != nil {
		return nil, err
	}
	plain, err := inner.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	s.Op.KeyID = KeyID(key)
	return plain, SealOp(p.random(), s, key, plain)
}

// deliver sends the current key of g to the members who lack it. It returns ErrNoKey
// where this node lacks it too.
func (p *proposing) deliver(g codec.GroupID) error {
	here := p.c.here()
	id, has, err := here.current(g, -1)
	if err != nil || !has {
		return err
	}
	k := GroupKey{g, id}
	to := here.lacking(k, p.c.ledger)
	if len(to) == 0 {
		return nil
	}
	key, ok := p.c.ring[k]
	if !ok {
		return fmt.Errorf("%w: %s", ErrNoKey, id)
	}
	s, err := p.carrier()
	if err != nil {
		return err
	}
	if err := deliver(p.random(), p.c.identity.V.PrivateKey, s, k, key, to); err != nil {
		return err
	}
	return p.signAndTake(s, nil, nil, &Answer{})
}
