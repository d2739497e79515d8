package namespace

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// errHeads is returned where there are more heads than an op may have parents: a Store
// makes merges first.
var errHeads = errors.New("namespace: too many heads")

// draft is an op under construction.
type draft struct {
	*view
	random io.Reader
	seed   codec.Secret
	self   codec.Identity
	ring   Keyring
	heads  []codec.OpID
	nonce  uint64
	after  *group.Result // with the op
}

// compose is the reference of what a [Store] proposes: the op of g that does body, signed
// with seed, on the given heads, and what must go with it so that nobody seals under a key
// that someone else than a member holds: a rotation where the group has no current key or
// will have none, and where the key stays a delivery to members who lack it. New keys are
// added to ring. It returns [ErrNoKey], [ErrNotEffective] or [errHeads].
func (v *view) compose(random io.Reader, seed codec.Secret, ring Keyring, heads []codec.OpID, g codec.GroupID,
	body codec.GroupOp) ([]*codec.SignedNamespaceOp, error) {
	d := &draft{view: v, random: random, seed: seed, self: group.IdentityOf(seed), ring: ring, heads: heads}
	if err := d.judge(g, &body); err != nil {
		return nil, err
	}
	sealing, stays, err := d.currentKey(g)
	if err != nil {
		return nil, err
	}
	s := d.carrier()
	s.Op = codec.NamespaceOp{Kind: codec.NamespaceGroup, GroupID: g}
	if !stays && len(d.after.Members(g)) > 0 {
		fresh, err := d.rotate(s, g, sealing)
		if err != nil {
			return nil, err
		}
		if !sealing.Valid {
			sealing = codec.Some(fresh)
		}
	}
	if err := d.rotateBelow(s, g, &body); err != nil {
		return nil, err
	}
	if err := d.seal(s, g, &body, sealing.V); err != nil || !stays {
		return []*codec.SignedNamespaceOp{s}, err
	}
	delivery, err := d.deliver(s, g, sealing.V)
	if err != nil || delivery == nil {
		return []*codec.SignedNamespaceOp{s}, err
	}
	return []*codec.SignedNamespaceOp{s, delivery}, nil
}

// judge finds the nonce, and what the group is with the op.
func (d *draft) judge(g codec.GroupID, body *codec.GroupOp) (err error) {
	if len(d.heads) > MaxParents {
		return fmt.Errorf("%w: %d", errHeads, len(d.heads))
	}
	d.heads = slices.SortedFunc(slices.Values(d.heads), compare)
	d.nonce = d.nextNonce(d.heads, d.self)
	// It is on top of everything, so that its id, which is not known yet, orders nothing.
	planned := group.Op{Parents: d.heads, Signer: d.self, Nonce: d.nonce, Group: g, Body: body}
	if d.after, err = group.Evaluate(append(d.readAt(d.heads), planned), codec.Identity{}); err != nil {
		return err
	}
	if verdict := d.after.Verdicts[planned.ID]; verdict.Outcome != group.Effective {
		return fmt.Errorf("%w: %s", ErrNotEffective, verdict)
	}
	return nil
}

// currentKey returns the key to seal under, if there is one, and whether it is still
// current with the op.
func (d *draft) currentKey(g codec.GroupID) (key codec.Option[codec.Secret], stays bool, err error) {
	id, has, err := d.view.currentKey(d.heads, g)
	if err != nil || !has {
		return key, false, err
	}
	secret, ok := d.ring[GroupKey{g, id}]
	if !ok {
		return key, false, fmt.Errorf("%w: %s", ErrNoKey, id)
	}
	held := holdings(d.cut(d.heads))[GroupKey{g, id}]
	return codec.Some(secret), within(held, d.after.Members(g)), nil
}

func (d *draft) carrier() *codec.SignedNamespaceOp {
	return &codec.SignedNamespaceOp{NamespaceID: d.namespace, Parents: d.heads, Signer: d.self, Nonce: d.nonce}
}

// rotate adds a rotation of g to exactly its members with the op, and returns the key.
func (d *draft) rotate(s *codec.SignedNamespaceOp, g codec.GroupID, previous codec.Option[codec.Secret]) (codec.Secret, error) {
	key, err := NewKey(d.random)
	if err != nil {
		return key, err
	}
	if !previous.Valid {
		previous = d.latest(g)
	}
	r, err := NewRotation(d.random, d.namespace, g, key, previous, d.after.Members(g))
	if err != nil {
		return key, err
	}
	s.Op.Rotations = append(s.Op.Rotations, r)
	slices.SortFunc(s.Op.Rotations, func(a, b codec.KeyRotation) int { return compare(a.GroupID, b.GroupID) })
	d.ring[GroupKey{g, r.NewKeyID}] = key
	return key, nil
}

// latest returns the key of g introduced last of those that are here.
func (d *draft) latest(g codec.GroupID) (found codec.Option[codec.Secret]) {
	for _, op := range d.cut(d.heads) {
		for _, r := range op.Rotations {
			if key, ok := d.ring[GroupKey{g, r.NewKeyID}]; ok && r.GroupID == g {
				found = codec.Some(key)
			}
		}
	}
	return found
}

// rotateBelow adds to a removal from the namespace rotations of the groups below that
// lose their current key by it, as far as this node has that key.
func (d *draft) rotateBelow(s *codec.SignedNamespaceOp, g codec.GroupID, body *codec.GroupOp) error {
	if g != d.namespace || body.Kind != codec.OpMemberRemoved {
		return nil
	}
	before, err := d.at(d.heads)
	if err != nil {
		return err
	}
	for _, below := range before.Groups() {
		if below == g || !slices.Contains(before.Members(below), body.Member) || !slices.Contains(d.after.Members(below), d.self) {
			continue
		}
		key, stays, err := d.currentKey(below)
		if errors.Is(err, ErrNoKey) || err == nil && (stays || !key.Valid) {
			continue // who has it, or next acts there, mends it
		}
		if err == nil {
			_, err = d.rotate(s, below, key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// seal signs and seals body into s under key, and signs s.
func (d *draft) seal(s *codec.SignedNamespaceOp, g codec.GroupID, body *codec.GroupOp, key codec.Secret) error {
	inner := codec.SignedGroupOp{GroupID: g, Parents: s.Parents, Signer: s.Signer, Nonce: s.Nonce, Op: *body}
	if err := group.SignOp(&inner, d.seed); err != nil {
		return err
	}
	plain, err := inner.AppendBinary(nil)
	if err != nil {
		return err
	}
	s.Op.KeyID = KeyID(key)
	if err := SealOp(d.random, s, key, plain); err != nil {
		return err
	}
	return Sign(s, d.seed)
}

// deliver returns the op after s that sends key to the members who lack it, or nil.
func (d *draft) deliver(s *codec.SignedNamespaceOp, g codec.GroupID, key codec.Secret) (*codec.SignedNamespaceOp, error) {
	k := GroupKey{g, KeyID(key)}
	to := lacking(d.after.Members(g), holdings(d.cut(d.heads))[k])
	if len(to) == 0 {
		return nil, nil
	}
	op, err := NewOp(s)
	if err != nil {
		return nil, err
	}
	delivery := &codec.SignedNamespaceOp{NamespaceID: d.namespace, Parents: []codec.OpID{op.ID}, Nonce: s.Nonce + 1}
	return delivery, deliver(d.random, d.seed, delivery, k, key, to)
}
