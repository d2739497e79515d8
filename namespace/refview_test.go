package namespace

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// view is the reference of which key is current where: it answers questions about keys at
// cuts of one DAG, with what can be read of it, and works everything out from the ops. A
// cut is given by its heads: those ops and all their ancestors.
type view struct {
	namespace codec.GroupID
	ops       map[codec.OpID]*Op
	read      map[codec.OpID]group.Op
	heights   map[codec.OpID]int
	results   map[string]*group.Result // by heads
	due       map[rotationAt]bool
}

// newView returns a view of ops, a set with all its parents, as ring reads them. It
// returns [group.ErrIncomplete] where a parent is missing.
func newView(namespace codec.GroupID, ops []*Op, ring Keyring) (*view, error) {
	v := &view{namespace: namespace, ops: map[codec.OpID]*Op{}, read: map[codec.OpID]group.Op{}, heights: map[codec.OpID]int{},
		results: map[string]*group.Result{}, due: map[rotationAt]bool{}}
	for _, op := range ops {
		v.ops[op.ID] = op
		v.read[op.ID] = ring.Read(op)
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
	return v, nil
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
	slices.SortFunc(heads, compare)
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

// at evaluates the cut with these heads.
func (v *view) at(heads []codec.OpID) (*group.Result, error) {
	key := fmt.Sprint(heads)
	if r, ok := v.results[key]; ok {
		return r, nil
	}
	r, err := group.Evaluate(v.readAt(heads), codec.Identity{})
	v.results[key] = r
	return r, err
}

func (v *view) readAt(heads []codec.OpID) (read []group.Op) {
	for _, op := range v.cut(heads) {
		read = append(read, v.read[op.ID])
	}
	return read
}

// currentKey returns the current key of g at a cut, if there is one: of the keys whose
// holders are all members there, the one introduced last by (height, key id). Only keys
// count whose rotation was due, by a member and to exactly the members at its own cut.
func (v *view) currentKey(heads []codec.OpID, g codec.GroupID) (codec.KeyID, bool, error) {
	return v.current(heads, g, codec.OpID{})
}

// current is currentKey without the keys that the op except introduces.
func (v *view) current(heads []codec.OpID, g codec.GroupID, except codec.OpID) (key codec.KeyID, ok bool, err error) {
	result, err := v.at(heads)
	if err != nil {
		return key, false, err
	}
	members, cut := result.Members(g), v.cut(heads)
	held := holdings(cut)
	last := -1
	for _, op := range cut { // by height, so that a key counts where it was introduced last
		for _, r := range op.Rotations {
			if r.GroupID != g || op.ID == except || !within(held[GroupKey{g, r.NewKeyID}], members) {
				continue
			}
			if good, err := v.counts(op, r); err != nil || !good {
				if err != nil {
					return key, false, err
				}
				continue
			}
			if h := v.heights[op.ID]; h > last || compare(r.NewKeyID, key) > 0 {
				key, ok, last = r.NewKeyID, true, h
			}
		}
	}
	return key, ok, nil
}

// counts reports whether the rotation r of op was due, by a member and to exactly the
// members, at the cut that op is the head of.
func (v *view) counts(op *Op, r codec.RotationSkeleton) (bool, error) {
	at := rotationAt{op.ID, r.GroupID}
	if good, known := v.due[at]; known {
		return good, nil
	}
	heads := []codec.OpID{op.ID}
	result, err := v.at(heads)
	if err != nil {
		return false, err
	}
	members := result.Members(r.GroupID)
	good := slices.Contains(members, op.Signer) && slices.Equal(members, r.Recipients)
	if good {
		_, has, err := v.current(heads, r.GroupID, op.ID)
		if err != nil {
			return false, err
		}
		good = !has
	}
	v.due[at] = good
	return good, nil
}

func within(holders map[codec.Identity]bool, members []codec.Identity) bool {
	for id := range holders {
		if !slices.Contains(members, id) {
			return false
		}
	}
	return true
}

// lackingAt returns the members of g at a cut that do not hold a key, by identity.
func (v *view) lackingAt(heads []codec.OpID, k GroupKey) ([]codec.Identity, error) {
	result, err := v.at(heads)
	if err != nil {
		return nil, err
	}
	return lacking(result.Members(k.GroupID), holdings(v.cut(heads))[k]), nil
}
