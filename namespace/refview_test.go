package namespace

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// view is the reference of what can be read, of who holds which key, and of the key under
// which is sealed: it answers questions at cuts of one DAG, and works everything out from
// the ops, by README.md and nothing else. A cut is given by its heads: those ops and all
// their ancestors.
type view struct {
	namespace codec.GroupID
	ops       map[codec.OpID]*Op
	ring      Keyring
	read      map[codec.OpID]group.Op
	heights   map[codec.OpID]int
	results   map[string]*group.Result // by heads
}

// newView returns a view of ops, a set with all its parents, as ring reads them. It
// returns [group.ErrIncomplete] where a parent is missing.
func newView(namespace codec.GroupID, ops []*Op, ring Keyring) (*view, error) {
	v := &view{namespace: namespace, ops: map[codec.OpID]*Op{}, ring: ring, read: map[codec.OpID]group.Op{}, heights: map[codec.OpID]int{},
		results: map[string]*group.Result{}}
	for _, op := range ops {
		v.ops[op.ID] = op
	}
	for len(v.heights) < len(v.ops) {
		before := len(v.heights)
		for id, op := range v.ops {
			v.findHeight(id, op)
		}
		if len(v.heights) == before {
			return nil, fmt.Errorf("%w: the parents of %d ops are missing", group.ErrIncomplete, len(v.ops)-before)
		}
	}
	byHeight := slices.SortedFunc(maps.Keys(v.ops), func(a, b codec.OpID) int { return v.heights[a] - v.heights[b] })
	for _, id := range byHeight { // what an op seals depends on its ancestors
		read, err := v.readOp(v.ops[id])
		if err != nil {
			return nil, err
		}
		v.read[id] = read
	}
	return v, nil
}

// readOp returns op as it can be read.
func (v *view) readOp(op *Op) (group.Op, error) {
	read := *op.asRead(nil, 0)
	if !op.sealed() || op.Signed == nil {
		return read, nil
	}
	key, ok := v.ring[v.keyOf(op)]
	if op.Version == codec.OpVersion2 {
		clear, bytes, err := v.isGood(KeyName{op.GroupID, op.KeyOp})
		if err != nil {
			return read, err
		}
		if !clear || ok && !bytes {
			read.Fault = group.BadKey
			return read, nil
		}
	}
	if ok {
		o := openWith(op, key, nil)
		read.Body, read.Fault = o.body, o.fault
	}
	return read, nil
}

// keyOf returns under which of the keys of a ring a sealed op is.
func (v *view) keyOf(op *Op) GroupKey {
	if op.Version == codec.OpVersion1 {
		return GroupKey{op.GroupID, op.KeyID}
	}
	if k := v.newKey(KeyName{op.GroupID, op.KeyOp}); k != nil {
		return GroupKey{op.GroupID, k.KeyID}
	}
	return GroupKey{}
}

// newKey returns what introduces a key, or nil.
func (v *view) newKey(name KeyName) *codec.NewKey {
	op := v.ops[name.Op]
	if op == nil || op.Signed == nil {
		return nil
	}
	for i := range op.Signed.Op.Keys {
		if k := &op.Signed.Op.Keys[i]; k.GroupID == name.GroupID {
			return k
		}
	}
	return nil
}

// isGood reports whether a key is good by what is clear of it, and by its bytes as far as
// it is here.
func (v *view) isGood(name KeyName) (clear, all bool, err error) {
	k, op := v.newKey(name), v.ops[name.Op]
	if k == nil {
		return false, false, nil
	}
	before, err := v.at(op.Parents)
	if err != nil {
		return false, false, err
	}
	with, err := v.at([]codec.OpID{op.ID})
	if err != nil {
		return false, false, err
	}
	if !slices.Contains(before.Members(name.GroupID), op.Signer) || !slices.Equal(with.Members(name.GroupID), recipients(k.Envelopes)) {
		return false, false, nil
	}
	key, ok := v.ring[GroupKey{name.GroupID, k.KeyID}]
	if !ok {
		return true, false, nil
	}
	var carried []heldKey
	for i := range k.Carried {
		earlier, err := siteOf(op.Signed, name.GroupID).openCarried(key, &k.Carried[i])
		own := v.newKey(KeyName{name.GroupID, k.Carried[i].Op})
		if err != nil || own == nil || KeyID(earlier) != own.KeyID {
			return true, false, nil
		}
		carried = append(carried, heldKey{k.Carried[i].Op, earlier})
	}
	again, err := siteOf(op.Signed, name.GroupID).introduce(key, carried, recipients(k.Envelopes))
	return true, err == nil && slices.Equal(again.Envelopes, k.Envelopes) && slices.Equal(again.Carried, k.Carried), nil
}

func (v *view) findHeight(id codec.OpID, op *Op) {
	height := 0
	for _, p := range op.Parents {
		h, known := v.heights[p]
		if !known {
			return
		}
		height = max(height, h+1)
	}
	v.heights[id] = height
}

// heads returns the ops that no other op descends from, by id.
func (v *view) heads() []codec.OpID {
	inner := map[codec.OpID]bool{}
	for _, op := range v.ops {
		for _, p := range op.Parents {
			inner[p] = true
		}
	}
	var heads []codec.OpID
	for id := range v.ops {
		if !inner[id] {
			heads = append(heads, id)
		}
	}
	slices.SortFunc(heads, codec.CompareID)
	return heads
}

// cut returns the ops of the cut with these heads, by (height, id).
func (v *view) cut(heads []codec.OpID) (cut []*Op) {
	seen := map[codec.OpID]bool{}
	for stack := slices.Clone(heads); len(stack) > 0; {
		id := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if op := v.ops[id]; op != nil && !seen[id] {
			seen[id] = true
			cut = append(cut, op)
			stack = append(stack, op.Parents...)
		}
	}
	slices.SortFunc(cut, func(a, b *Op) int {
		return cmp.Or(cmp.Compare(v.heights[a.ID], v.heights[b.ID]), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return cut
}

// at evaluates what is clear of the cut with these heads: who is a member does not depend
// on the rest.
func (v *view) at(heads []codec.OpID) (*group.Result, error) {
	key := fmt.Sprint(heads)
	if r, ok := v.results[key]; ok {
		return r, nil
	}
	var clear []group.Op
	for _, op := range v.cut(heads) {
		clear = append(clear, *op.asRead(nil, 0))
	}
	r, err := group.Evaluate(clear, codec.Identity{})
	v.results[key] = r
	return r, err
}

func (v *view) readAt(heads []codec.OpID) (read []group.Op) {
	for _, op := range v.cut(heads) {
		read = append(read, v.read[op.ID])
	}
	return read
}

// holders returns who holds a key at a cut, by what is clear of it.
func (v *view) holders(heads []codec.OpID, name KeyName) (map[codec.Identity]bool, error) {
	held := map[codec.Identity]bool{}
	for _, op := range v.cut(heads) {
		var to []codec.Identity
		for _, k := range op.Keys {
			own := KeyName{k.GroupID, op.ID}
			if k.GroupID != name.GroupID || own != name && !slices.Contains(k.Carried, name.Op) {
				continue
			}
			clear, _, err := v.isGood(own)
			switch {
			case err != nil:
				return nil, err
			case clear && own == name:
				to = k.Recipients
			case clear:
				later, err := v.holders(heads, own)
				if err != nil {
					return nil, err
				}
				to = slices.Collect(maps.Keys(later))
			}
		}
		if r := op.Root; r != nil && r.Kind == codec.RootKeyDelivered && (KeyName{r.GroupID, r.KeyOp}) == name {
			valid, err := v.isDelivered(op)
			if err != nil {
				return nil, err
			}
			if valid {
				to = recipients(r.Envelopes)
			}
		}
		for _, id := range to {
			held[id] = true
		}
	}
	return held, nil
}

// isDelivered reports whether a delivery is by one who holds the key, to members.
func (v *view) isDelivered(op *Op) (bool, error) {
	held, err := v.holders(op.Parents, KeyName{op.Root.GroupID, op.Root.KeyOp})
	if err != nil {
		return false, err
	}
	at, err := v.at(op.Parents)
	if err != nil {
		return false, err
	}
	members := at.Members(op.Root.GroupID)
	return held[op.Signer] && !slices.ContainsFunc(op.Root.Envelopes, func(e codec.KeyEnvelope) bool { return !slices.Contains(members, e.Recipient) }), nil
}

// isAbandoned reports whether an Admin's rotation in a cut, effective there, leaves a key
// behind.
func (v *view) isAbandoned(heads []codec.OpID, name KeyName) (bool, error) {
	result, err := v.at(heads)
	if err != nil {
		return false, err
	}
	var clear []group.Op
	for _, op := range v.cut(heads) {
		clear = append(clear, *op.asRead(nil, 0))
	}
	members := result.Members(name.GroupID)
	if len(members) == 0 {
		return false, nil // nobody is there for whom it matters
	}
	// What any member may do says it: that is void where it is sealed under such a key.
	probe := group.Op{ID: codec.OpID{0xFF, 1}, Parents: heads, Signer: members[0], Group: name.GroupID,
		Body: &codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: members[0]}, KeyOp: name.Op}
	r, err := group.Evaluate(append(clear, probe), codec.Identity{})
	return err == nil && r.Verdicts[probe.ID].Reason == group.Abandoned, err
}

// usable returns the keys of g under which who has the ring may seal at a cut, but that
// others than members hold them: those of standing Admins first, and of these the one that
// was introduced last.
func (v *view) usable(heads []codec.OpID, g codec.GroupID) (found []KeyName, err error) {
	result, err := v.at(heads)
	if err != nil {
		return nil, err
	}
	for _, op := range v.cut(heads) {
		name := KeyName{g, op.ID}
		if v.newKey(name) == nil {
			continue
		}
		_, good, err := v.isGood(name)
		if err != nil {
			return nil, err
		}
		abandoned, err := v.isAbandoned(heads, name)
		if err != nil {
			return nil, err
		}
		if good && !abandoned {
			found = append(found, name)
		}
	}
	slices.Reverse(found)
	slices.SortStableFunc(found, func(a, b KeyName) int { return v.standing(result, b) - v.standing(result, a) })
	return found, nil
}

// standing returns 1 for a key that a standing Admin has made.
func (v *view) standing(r *group.Result, name KeyName) int {
	signer := v.ops[name.Op].Signer
	for _, row := range r.Rows {
		if row.Key[0] == 0x21 && codec.GroupID(row.Key[1:33]) == name.GroupID && codec.Identity(row.Key[33:]) == signer && row.Value[0] == byte(codec.Admin) {
			return 1
		}
	}
	return 0
}

// sealingKey returns the key of g under which who has the ring seals at a cut.
func (v *view) sealingKey(heads []codec.OpID, g codec.GroupID) (KeyName, bool, error) {
	all, err := v.usable(heads, g)
	if err != nil {
		return KeyName{}, false, err
	}
	for _, name := range all {
		outside, err := v.outsiders(heads, heads, name)
		if err != nil || len(outside) == 0 {
			return name, err == nil, err
		}
	}
	return KeyName{}, false, nil
}

// outsiders returns who holds a key at a cut and is no member at another.
func (v *view) outsiders(heads, members []codec.OpID, name KeyName) (found []codec.Identity, err error) {
	held, err := v.holders(heads, name)
	if err != nil {
		return nil, err
	}
	r, err := v.at(members)
	if err != nil {
		return nil, err
	}
	for id := range held {
		if !slices.Contains(r.Members(name.GroupID), id) {
			found = append(found, id)
		}
	}
	return found, nil
}

// lacking returns the members of the group at a cut who do not hold a key, by identity.
func (v *view) lacking(heads []codec.OpID, name KeyName) (found []codec.Identity, err error) {
	held, err := v.holders(heads, name)
	if err != nil {
		return nil, err
	}
	r, err := v.at(heads)
	if err != nil {
		return nil, err
	}
	for _, m := range r.Members(name.GroupID) {
		if !held[m] {
			found = append(found, m)
		}
	}
	return found, nil
}

// latest returns those of some keys that no other of them carries.
func (v *view) latest(all []KeyName) (found []KeyName) {
	for _, name := range all {
		if !slices.ContainsFunc(all, func(other KeyName) bool {
			return slices.ContainsFunc(v.newKey(other).Carried, func(c codec.CarriedKey) bool { return c.Op == name.Op })
		}) {
			found = append(found, name)
		}
	}
	return found
}
