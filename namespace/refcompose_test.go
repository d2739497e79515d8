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

// compose is the reference of what a [Store] proposes: the op of g that does body, signed
// with seed, on all that is there, and what must go with it so that nobody seals under a key
// that someone else than a member holds, and every member holds those that matter. Each op
// stands on the one before. New keys are added to ring, and all ops to the view, which is
// another one afterwards. It returns [ErrNoKey], [ErrNotEffective] or [errHeads].
func (v *view) compose(random io.Reader, seed codec.Secret, g codec.GroupID, body codec.GroupOp) (made []*codec.SignedNamespaceOp, err error) {
	d := &draft{view: v, random: random, seed: seed, self: group.IdentityOf(seed)}
	if err := d.judge(g, &body); err != nil {
		return nil, err
	}
	if IsClear(body.Kind) {
		err = d.clear(g, &body)
	} else {
		err = d.seal(g, &body)
	}
	if err == nil {
		err = d.deliver(g)
	}
	return d.made, err
}

// draft is ops under construction.
type draft struct {
	*view
	random io.Reader
	seed   codec.Secret
	self   codec.Identity
	made   []*codec.SignedNamespaceOp
}

// carrier returns the next op, on all that is there.
func (d *draft) carrier() *codec.SignedNamespaceOp {
	s := &codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: d.namespace, Parents: d.heads(), Signer: d.self}
	for _, op := range d.cut(s.Parents) {
		if op.Signer == d.self {
			s.Nonce = max(s.Nonce, op.Nonce)
		}
	}
	s.Nonce++
	return s
}

// judge finds out whether the op would do anything.
func (d *draft) judge(g codec.GroupID, body *codec.GroupOp) error {
	s := d.carrier()
	if len(s.Parents) > MaxParents {
		return fmt.Errorf("%w: %d", errHeads, len(s.Parents))
	}
	// It is on top of everything, so that its id, which is not known yet, orders nothing.
	planned := group.Op{Version: s.Version, Parents: s.Parents, Signer: d.self, Nonce: s.Nonce, Group: g, Body: body}
	after, err := group.Evaluate(append(d.readAt(s.Parents), planned), codec.Identity{})
	if err != nil {
		return err
	}
	if verdict := after.Verdicts[planned.ID]; verdict.Outcome != group.Effective {
		return fmt.Errorf("%w: %s", ErrNotEffective, verdict)
	}
	return nil
}

// after returns what is clear with an op on top of all.
func (d *draft) after(g codec.GroupID, body *codec.GroupOp) (*group.Result, error) {
	s := d.carrier()
	var clear []group.Op
	for _, op := range d.cut(s.Parents) {
		clear = append(clear, *op.asRead(nil, 0))
	}
	return group.Evaluate(append(clear, group.Op{Version: s.Version, Parents: s.Parents, Signer: d.self, Nonce: s.Nonce, Group: g, Body: body}), codec.Identity{})
}

// take adds s to what is there.
func (d *draft) take(s *codec.SignedNamespaceOp) error {
	if err := Sign(s, d.seed); err != nil {
		return err
	}
	op, err := NewOp(s)
	if err != nil {
		return err
	}
	ops := []*Op{op}
	for _, o := range d.ops {
		ops = append(ops, o)
	}
	d.made = append(d.made, s)
	next, err := newView(d.namespace, ops, d.ring)
	if err == nil {
		*d.view = *next
	}
	return err
}

// clear makes an op that says who may do what: with a new key for who stays, where it takes
// a group's keys to somebody who does not.
func (d *draft) clear(g codec.GroupID, body *codec.GroupOp) error {
	s := d.carrier()
	s.Op = codec.NamespaceOp{Kind: codec.NamespaceClear, GroupID: g, Op: *body}
	after, err := d.after(g, body)
	if err != nil {
		return err
	}
	removes := body.Kind == codec.OpMemberRemoved || body.Kind == codec.OpMembersRemoved || body.Kind == codec.OpMemberLeft
	for _, below := range after.Groups() {
		members := after.Members(below)
		if !slices.Contains(members, d.self) || below != g && (g != d.namespace || !removes) {
			continue
		}
		all, err := d.usable(s.Parents, below)
		if err != nil {
			return err
		}
		stays := !slices.ContainsFunc(d.cut(s.Parents), func(op *Op) bool { return d.newKey(KeyName{below, op.ID}) != nil })
		for _, name := range all {
			held, err := d.holders(s.Parents, name)
			if err != nil {
				return err
			}
			within := true
			for id := range held {
				within = within && slices.Contains(members, id)
			}
			stays = stays || within
		}
		if body.Kind == codec.OpKeyRotated || removes && !stays {
			if err := d.introduce(s, below, members); err != nil {
				return err
			}
		}
	}
	if body.Kind == codec.OpKeyRotated && len(s.Op.Keys) == 0 {
		return ErrNoKey
	}
	inner := codec.SignedGroupOp{GroupID: g, Parents: s.Parents, Signer: s.Signer, Nonce: s.Nonce, Op: *body}
	if err := group.SignOp(&inner, d.seed); err != nil {
		return err
	}
	s.Op.OpSignature = inner.Signature
	return d.take(s)
}

// introduce adds a new key of g to s, which carries those that may be used.
func (d *draft) introduce(s *codec.SignedNamespaceOp, g codec.GroupID, to []codec.Identity) error {
	key, err := NewKey(d.random)
	if err != nil {
		return err
	}
	all, err := d.usable(s.Parents, g)
	if err != nil {
		return err
	}
	var carried []heldKey
	for _, name := range d.latest(all) {
		carried = append(carried, heldKey{name.Op, d.ring[GroupKey{g, d.newKey(name).KeyID}]})
	}
	made, err := siteOf(s, g).introduce(key, carried, to)
	s.Op.Keys = append(s.Op.Keys, made)
	d.ring[GroupKey{g, made.KeyID}] = key
	return err
}

// seal makes a sealed op, after a new key where there is none to seal it under.
func (d *draft) seal(g codec.GroupID, body *codec.GroupOp) error {
	name, has, err := d.sealingKey(d.heads(), g)
	if err != nil {
		return err
	}
	if !has {
		if err := d.clear(g, &codec.GroupOp{Kind: codec.OpKeyRotated}); err != nil {
			return err
		}
		if name, has, err = d.sealingKey(d.heads(), g); err != nil || !has {
			return errors.Join(err, ErrNoKey)
		}
	}
	s := d.carrier()
	s.Op = codec.NamespaceOp{Kind: codec.NamespaceSealed, GroupID: g, KeyOp: name.Op}
	inner := codec.SignedGroupOp{GroupID: g, Parents: s.Parents, Signer: s.Signer, Nonce: s.Nonce, Op: *body}
	if err := group.SignOp(&inner, d.seed); err != nil {
		return err
	}
	plain, err := inner.AppendBinary(nil)
	if err != nil {
		return err
	}
	if err := SealOp(d.random, s, d.ring[GroupKey{g, d.newKey(name).KeyID}], plain); err != nil {
		return err
	}
	return d.take(s)
}

// deliver makes the ops that send keys of g to the members who lack them.
func (d *draft) deliver(g codec.GroupID) error {
	at, err := d.at(d.heads())
	if err != nil || !slices.Contains(at.Members(g), d.self) {
		return err
	}
	all, err := d.usable(d.heads(), g)
	if err != nil {
		return err
	}
	for _, name := range d.latest(all) {
		to, err := d.lacking(d.heads(), name)
		if err != nil {
			return err
		}
		if len(to) == 0 || slices.Contains(to, d.self) {
			continue
		}
		s := d.carrier()
		envelopes, err := siteOf(s, g).envelopes(d.ring[GroupKey{g, d.newKey(name).KeyID}], to)
		if err != nil {
			return err
		}
		s.Op.Root = codec.RootOp{Kind: codec.RootKeyDelivered, GroupID: g, KeyOp: name.Op, Envelopes: envelopes}
		if err := d.take(s); err != nil {
			return err
		}
	}
	return nil
}
