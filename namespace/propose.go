package namespace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

var (
	// ErrNoKey is returned where something is to be sealed, and this node has no key of the
	// group that only members hold, and is no member itself who could make one; in a
	// namespace of version 1 where others have one.
	ErrNoKey = errors.New("namespace: no key of the group is here")
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
// in one batch. It returns [ErrNoIdentity], [ErrNoNamespace], [ErrRestored], [ErrNotEffective],
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
		case b.c.restored:
			return fmt.Errorf("%w: %s", ErrRestored, ns)
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
	done     *Proposed
	collects bool // a key was made since there were too many to deliver
}

func (p *proposing) random() io.Reader { return p.s.options.Rand }

// carrier returns the next op of this node, without content. Heads that are too many are
// joined before.
func (p *proposing) carrier() (*codec.SignedNamespaceOp, error) {
	heads := p.c.ledger.Heads()
	if len(heads) > MaxParents {
		var err error
		if heads, err = p.join(heads); err != nil {
			return nil, err
		}
	}
	return p.on(heads)
}

// on returns the next op of this node on top of others, without content.
func (p *proposing) on(parents []codec.OpID) (*codec.SignedNamespaceOp, error) {
	cut, err := p.c.ledger.Cut(parents)
	if err != nil {
		return nil, err
	}
	self := p.c.self()
	return &codec.SignedNamespaceOp{Version: p.c.version(cut), NamespaceID: p.c.id, Parents: parents, Signer: self, Nonce: cut.LastNonce(self) + 1}, nil
}

// join joins heads until an op may have all that are left as its parents. The first op joins
// one that descends from the latest of this node, whose nonce would otherwise be used again, and
// each other one the op before it.
func (p *proposing) join(heads []codec.OpID) ([]codec.OpID, error) {
	own, last := 0, uint64(0)
	for i := range heads {
		cut, err := p.c.ledger.Cut(heads[i : i+1])
		if err != nil {
			return nil, err
		}
		if nonce := cut.LastNonce(p.c.self()); nonce > last {
			own, last = i, nonce
		}
	}
	heads[0], heads[own] = heads[own], heads[0]
	for len(heads) > MaxParents {
		s, err := p.on(slices.SortedFunc(slices.Values(heads[:MaxParents]), codec.CompareID))
		if err != nil {
			return nil, err
		}
		s.Op.Root.Kind = codec.RootMerge
		var a Answer
		if err := p.signAndTake(s, nil, nil, &a); err != nil {
			return nil, err
		}
		heads = heads[MaxParents-1:]
		heads[0] = a.ID
	}
	slices.SortFunc(heads, codec.CompareID)
	return heads, nil
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
	var read *opened
	if op.sealed() {
		read = &opened{body: body, inner: inner}
	}
	if err := p.take(op, read, a); err != nil {
		return err
	}
	p.settle()
	p.done.Wire = append(p.done.Wire, op.wire())
	for _, k := range op.Keys {
		p.done.Keys = append(p.done.Keys, GroupKey{k.GroupID, k.KeyID})
	}
	for _, r := range op.Rotations {
		p.done.Keys = append(p.done.Keys, GroupKey{r.GroupID, r.NewKeyID})
	}
	return nil
}

// try returns what would become of an op on top of all, and calls look with its effect.
func (p *proposing) try(s *codec.SignedNamespaceOp, planned group.Op, look func()) error {
	planned.Version, planned.Parents, planned.Signer, planned.Nonce = s.Version, s.Parents, s.Signer, s.Nonce
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
	if s.Op.Root = r; r.Kind == codec.RootAuthorityStated {
		s.Version = codec.OpVersion2
	}
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
	if s.Version == codec.OpVersion2 {
		_, err = p.deliver(r.Invitation.GroupID, &Answer{})
		return err
	}
	if err = p.deliver1(r.Invitation.GroupID); errors.Is(err, ErrNoKey) {
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
	if s.Version == codec.OpVersion1 {
		return p.group1(s, g, body, a)
	}
	if IsClear(body.Kind) {
		return p.clear(s, g, &body, a)
	}
	if err := p.try(s, group.Op{Group: g, Body: &body}, func() {}); err != nil {
		return err
	}
	if err := p.contest(g, &body); err != nil {
		return err
	}
	key, made, err := p.keyToSealUnder(g)
	if err != nil {
		return err
	}
	if made {
		if s, err = p.carrier(); err != nil {
			return err
		}
	}
	s.Op = codec.NamespaceOp{Kind: codec.NamespaceSealed, GroupID: g, KeyOp: key.name.Op}
	inner, err := p.sign(s, &body)
	if err != nil {
		return err
	}
	plain, err := inner.AppendBinary(nil)
	if err != nil {
		return err
	}
	if err := SealOp(p.random(), s, key.key, plain); err != nil {
		return err
	}
	if err := p.signAndTake(s, &body, plain, a); err != nil {
		return err
	}
	_, err = p.deliver(g, &Answer{})
	return err
}

// keyToSealUnder returns the key under which this node seals for g, which it makes where there is none.
func (p *proposing) keyToSealUnder(g codec.GroupID) (key usable, made bool, err error) {
	key, has, err := p.sealingKey(g)
	if has || err != nil {
		return key, false, err
	}
	if !p.c.isSettled(g, p.c.ledger, p.c.everything()) {
		return key, false, fmt.Errorf("%w: ops of version 1 are not opened here that may say who is a member of group %s; who began it makes that clear by `stoa namespace upgrade`", ErrNoKey, g)
	}
	if err := p.rotate(g, &Answer{}); err != nil {
		return key, false, err
	}
	if key, has, err = p.sealingKey(g); err != nil || !has {
		return key, false, errors.Join(err, ErrNoKey)
	}
	return key, true, nil
}

// sign returns the op of a group that s carries.
func (p *proposing) sign(s *codec.SignedNamespaceOp, body *codec.GroupOp) (codec.SignedGroupOp, error) {
	inner := codec.SignedGroupOp{GroupID: s.Op.GroupID, Parents: s.Parents, Signer: s.Signer, Nonce: s.Nonce, Op: *body}
	return inner, group.SignOp(&inner, p.c.identity.V.PrivateKey)
}

// clear proposes an op that says who may do what. If it leaves a group that has keys without
// one that only members hold, it brings another one for those who stay.
func (p *proposing) clear(s *codec.SignedNamespaceOp, g codec.GroupID, body *codec.GroupOp, a *Answer) error {
	keyed := map[codec.GroupID][]usable{} // the keys that groups have which this takes somebody from
	for _, below := range p.c.ledger.Groups() {
		if !removes(body.Kind) || below != g && g != p.c.id || len(p.c.handouts.introduced[below]) == 0 {
			continue
		}
		all, err := p.usable(below)
		if err != nil {
			return err
		}
		keyed[below] = all
	}
	stay := map[codec.GroupID][]codec.Identity{} // members of groups that have to have another key
	if err := p.try(s, group.Op{Group: g, Body: body}, func() {
		if body.Kind == codec.OpKeyRotated {
			stay[g] = p.c.ledger.Members(g)
		}
		for below, all := range keyed {
			if !slices.ContainsFunc(all, func(k usable) bool { return p.c.within(k.name) }) {
				stay[below] = p.c.ledger.Members(below)
			}
		}
	}); err != nil {
		return err
	}
	maps.DeleteFunc(stay, func(_ codec.GroupID, members []codec.Identity) bool { return !slices.Contains(members, p.c.self()) })
	if body.Kind == codec.OpKeyRotated && stay[g] == nil {
		return fmt.Errorf("%w: this node is no member of group %s, and makes no key for it", ErrNoKey, g)
	}
	s.Op = codec.NamespaceOp{Kind: codec.NamespaceClear, GroupID: g, Op: *body}
	inner, err := p.sign(s, body)
	if err != nil {
		return err
	}
	s.Op.OpSignature = inner.Signature
	keys := map[GroupKey]codec.Secret{}
	for _, below := range slices.SortedFunc(maps.Keys(stay), codec.CompareID) {
		if err := p.introduce(s, below, stay[below], keys); err != nil {
			return err
		}
	}
	if err := p.fit(s, body.Kind); err != nil {
		return err
	}
	var fresh []GroupKey // nothing has waited for it
	for _, k := range s.Op.Keys {
		name := GroupKey{k.GroupID, k.KeyID}
		p.gaining(&fresh)(name, keys[name])
	}
	if err := p.signAndTake(s, body, nil, a); err != nil {
		return err
	}
	_, err = p.deliver(g, &Answer{})
	return err
}

// fit drops the keys that a removal brings if they make it too large: it removes without
// them, and who seals next makes one.
func (p *proposing) fit(s *codec.SignedNamespaceOp, kind codec.GroupOpKind) error {
	wire, err := s.AppendBinary(nil)
	if err != nil || len(wire) <= MaxOp {
		return err
	}
	if kind == codec.OpKeyRotated {
		return fmt.Errorf("%w: %d envelopes take more than %d bytes: the group has too many members for a key", ErrNotEffective, len(s.Op.Keys[0].Envelopes), MaxOp)
	}
	s.Op.Keys = nil
	return nil
}

func removes(k codec.GroupOpKind) bool {
	return k == codec.OpMemberRemoved || k == codec.OpMembersRemoved || k == codec.OpMemberLeft
}

// rotate proposes an op that does nothing but give a group a key.
func (p *proposing) rotate(g codec.GroupID, a *Answer) error {
	s, err := p.carrier()
	if err != nil {
		return err
	}
	return p.clear(s, g, &codec.GroupOp{Kind: codec.OpKeyRotated}, a)
}

// maxCarried is how many keys a new one carries, so that it fits whatever members have made: those
// that come first as [batch.usable] has them.
const maxCarried = 4096

// introduce adds a new key of g for exactly these members to s, which has its place. It
// carries all that are usable, so that who gets it reads what came before.
func (p *proposing) introduce(s *codec.SignedNamespaceOp, g codec.GroupID, to []codec.Identity, keys map[GroupKey]codec.Secret) error {
	key, err := NewKey(p.random())
	if err != nil {
		return err
	}
	all, err := p.usable(g)
	if err != nil {
		return err
	}
	carried := map[codec.OpID]codec.Secret{}
	for _, k := range first(latest(all), maxCarried) {
		carried[k.name.Op] = k.key
	}
	before, err := p.previous(g, all)
	if err != nil {
		return err
	}
	maps.Copy(carried, before)
	made, err := IntroduceKey(s, g, key, carried, to)
	if err != nil {
		return err
	}
	s.Op.Keys = append(s.Op.Keys, made)
	keys[GroupKey{g, made.KeyID}] = key
	return nil
}

// first returns at most the first n of some keys.
func first(all []usable, n int) []usable { return all[:min(len(all), n)] }

// maxDeliveries is how many keys are delivered by themselves. Instead of more a new one is made,
// which carries them.
const maxDeliveries = 16

// deliver sends the usable keys of g that no other one carries to the members who lack
// them, and reports whether it sent any. a is the answer to the first.
func (p *proposing) deliver(g codec.GroupID, a *Answer) (sent bool, err error) {
	if !p.c.ledger.IsMember(g, p.c.self()) {
		return false, nil // who is one does
	}
	all, err := p.usable(g)
	if err != nil {
		return false, err
	}
	lacking := map[codec.OpID][]codec.Identity{}
	all = slices.DeleteFunc(latest(all), func(k usable) bool {
		to := p.c.lacking(k.name)
		if len(to) == 0 || slices.Contains(to, p.c.self()) {
			return true
		}
		lacking[k.name.Op] = to
		return false
	})
	if len(all) > maxDeliveries && !p.collects {
		p.collects = true
		return true, p.rotate(g, a)
	}
	for _, k := range first(all, maxDeliveries) {
		to := lacking[k.name.Op]
		s, err := p.carrier()
		if err != nil {
			return sent, err
		}
		envelopes, err := siteOf(s, g).envelopes(k.key, to)
		if err != nil {
			return sent, err
		}
		s.Op.Root = codec.RootOp{Kind: codec.RootKeyDelivered, GroupID: g, KeyOp: k.name.Op, Envelopes: envelopes}
		if err := p.signAndTake(s, nil, nil, a); err != nil {
			return sent, err
		}
		sent, a = true, &Answer{}
	}
	return sent, nil
}
