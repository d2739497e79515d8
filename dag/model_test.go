package dag_test

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle/merkletest"
)

// world is a set of deltas and what README.md says of them, worked out in the
// most direct way: by sets of ancestors and folds of all their deltas. It shares
// nothing with the store but the struct of a delta.
type world struct {
	context codec.ContextID
	all     []*fact // every parent before its children
	byID    map[codec.DeltaID]*fact
}

// fact is what the world knows of one of its deltas.
type fact struct {
	delta   *dag.Delta
	id      codec.DeltaID
	cut     map[codec.DeltaID]*fact // all its ancestors in the world, and itself
	ghosts  bool                    // it or an ancestor names a parent that nobody has
	fault   dag.RefusalReason       // what is wrong with it by itself; 0: nothing
	correct codec.Hash              // the root of its cut, where there are no ghosts
}

// GoString keeps what rapid prints short.
func (f *fact) GoString() string { return f.id.String()[:8] }

func newWorld(context codec.ContextID) *world {
	return &world{context: context, byID: map[codec.DeltaID]*fact{}}
}

// naiveDelta returns the gossip bytes of a delta, by the table of README.md.
func naiveDelta(d *dag.Delta) []byte {
	count := func(b []byte, n int) []byte { return binary.LittleEndian.AppendUint32(b, uint32(n)) }
	text := func(b []byte, s string) []byte { return append(count(b, len(s)), s...) }
	b := count(slices.Clone(d.Context[:]), len(d.Parents))
	for _, p := range d.Parents {
		b = append(b, p[:]...)
	}
	b = count(b, len(d.Actions))
	for _, a := range d.Actions {
		b = text(append(b, byte(a.Kind)), string(a.Key))
		if a.Kind == codec.ActionPut {
			b = text(b, string(a.Value))
		}
	}
	b = binary.LittleEndian.AppendUint64(b, d.HLC.Time)
	b = binary.LittleEndian.AppendUint64(b, d.HLC.ID.Lo)
	b = binary.LittleEndian.AppendUint64(b, d.HLC.ID.Hi)
	b = count(append(b, d.ExpectedRoot[:]...), len(d.Events))
	for _, e := range d.Events {
		b = text(text(b, e.Kind), string(e.Data))
	}
	return b
}

func naiveID(d *dag.Delta) codec.DeltaID {
	return sha256.Sum256(append([]byte("stoa.delta.v1"), naiveDelta(d)...))
}

// stampOf returns bytes that order deltas as the last writer wins.
func stampOf(f *fact) string {
	b := binary.BigEndian.AppendUint64(nil, f.delta.HLC.Time)
	b = binary.BigEndian.AppendUint64(b, f.delta.HLC.ID.Hi)
	b = binary.BigEndian.AppendUint64(b, f.delta.HLC.ID.Lo)
	return string(append(b, f.id[:]...))
}

// cutOf returns the ancestors of parents in the world and those themselves, and
// whether there are any that it has not.
func (w *world) cutOf(parents []codec.DeltaID) (cut map[codec.DeltaID]*fact, ghosts bool) {
	cut = map[codec.DeltaID]*fact{}
	for _, p := range parents {
		f := w.byID[p]
		if f == nil {
			ghosts = true
			continue
		}
		maps.Copy(cut, f.cut)
		ghosts = ghosts || f.ghosts
	}
	return cut, ghosts
}

// foldState folds deltas.
func foldState(deltas map[codec.DeltaID]*fact) map[string]string {
	newest := map[string]string{}
	state := map[string]string{}
	for _, f := range deltas {
		for _, a := range f.delta.Actions {
			if stampOf(f) < newest[string(a.Key)] {
				continue
			}
			newest[string(a.Key)] = stampOf(f)
			if delete(state, string(a.Key)); a.Kind == codec.ActionPut {
				state[string(a.Key)] = string(a.Value)
			}
		}
	}
	return state
}

// rootOf returns the root of the state that deltas make.
func rootOf(deltas map[codec.DeltaID]*fact) codec.Hash { return merkletest.Root(foldState(deltas)) }

// add takes a delta into the world, all of whose parents are there or nowhere.
func (w *world) add(d *dag.Delta) *fact {
	f := &fact{delta: d, id: naiveID(d)}
	if old := w.byID[f.id]; old != nil {
		return old
	}
	f.cut, f.ghosts = w.cutOf(d.Parents)
	f.cut[f.id] = f
	if !f.ghosts {
		f.correct = rootOf(f.cut)
	}
	f.fault = w.faultOf(f)
	w.all, w.byID[f.id] = append(w.all, f), f
	return f
}

// faultOf returns what is wrong with a delta, whatever has been delivered.
func (w *world) faultOf(f *fact) dag.RefusalReason {
	var none dag.RefusalReason
	for _, p := range f.delta.Parents {
		if parent := w.byID[p]; parent != nil && parent.fault != none {
			return dag.RefusedAncestor
		}
	}
	for _, p := range f.delta.Parents {
		if parent := w.byID[p]; parent != nil && f.delta.HLC.Time <= parent.delta.HLC.Time {
			return dag.BadTime
		}
	}
	if !f.ghosts && f.delta.ExpectedRoot != f.correct {
		return dag.RootMismatch
	}
	return none
}

// seal gives d the root that its cut has.
func (w *world) seal(d *dag.Delta) *dag.Delta {
	cut, _ := w.cutOf(d.Parents)
	f := &fact{delta: d}
	for i := range f.id {
		f.id[i] = 0xFF // after everything of the same stamp; its stamp is after its ancestors' anyway
	}
	cut[f.id] = f
	d.ExpectedRoot = rootOf(cut)
	return d
}

// outcome is what becomes of the deltas that a node has been given.
type outcome struct {
	applied map[codec.DeltaID]*fact
	pending map[codec.DeltaID]*fact
	refused map[codec.DeltaID]*fact
}

// judge says what becomes of deltas that were delivered, in whatever order.
func (w *world) judge(delivered map[codec.DeltaID]bool) outcome {
	o := outcome{map[codec.DeltaID]*fact{}, map[codec.DeltaID]*fact{}, map[codec.DeltaID]*fact{}}
	for _, f := range w.all {
		if !delivered[f.id] {
			continue
		}
		refused, waits := false, false
		for _, p := range f.delta.Parents {
			refused = refused || o.refused[p] != nil
			waits = waits || o.applied[p] == nil
		}
		switch {
		case refused, !waits && f.fault != 0:
			o.refused[f.id] = f
		case waits:
			o.pending[f.id] = f
		default:
			o.applied[f.id] = f
		}
	}
	return o
}

// reason returns why a delta is refused.
func (o outcome) reason(f *fact) dag.RefusalReason {
	for _, p := range f.delta.Parents {
		if o.refused[p] != nil {
			return dag.RefusedAncestor
		}
	}
	return f.fault
}

// heads returns the applied deltas without an applied child, sorted.
func (o outcome) heads() []codec.DeltaID {
	heads := maps.Clone(o.applied)
	for _, f := range o.applied {
		for _, p := range f.delta.Parents {
			delete(heads, p)
		}
	}
	return sortedIDs(heads)
}

// missing returns what pending deltas name as parents and nobody gave.
func (o outcome) missing() []codec.DeltaID {
	missing := map[codec.DeltaID]bool{}
	for _, f := range o.pending {
		for _, id := range o.missingOf(f) {
			missing[id] = true
		}
	}
	return sortedIDs(missing)
}

// missingOf returns the parents of one delta that are not applied and not
// pending, in order.
func (o outcome) missingOf(f *fact) (missing []codec.DeltaID) {
	for _, p := range f.delta.Parents {
		if o.applied[p] == nil && o.pending[p] == nil {
			missing = append(missing, p)
		}
	}
	return missing
}

// versions returns the ids of the deltas that have written each key, by its hash, the newest first.
func (o outcome) versions() map[string]string {
	writers := map[string][]*fact{}
	for _, f := range o.applied {
		for _, a := range f.delta.Actions {
			key := sha256.Sum256(a.Key)
			writers[string(key[:])] = append(writers[string(key[:])], f)
		}
	}
	versions := map[string]string{}
	for key, all := range writers {
		slices.SortFunc(all, func(a, b *fact) int { return strings.Compare(stampOf(b), stampOf(a)) })
		for _, f := range all {
			versions[key] += string(f.id[:])
		}
	}
	return versions
}

func sortedIDs[V any](set map[codec.DeltaID]V) []codec.DeltaID {
	ids := slices.Collect(maps.Keys(set))
	slices.SortFunc(ids, compareIDs)
	return ids
}

func compareIDs(a, b codec.DeltaID) int { return slices.Compare(a[:], b[:]) }
