package dag_test

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
)

var (
	dawn     = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	someone  = codec.ContextID{7, 31: 7}
	authors  = []codec.NodeID{{Lo: 2}, {Lo: 3}, {Hi: 1, Lo: 1}}
	fewKeys  = []string{"", "a", "b", "c", "d", "\x00", "a\x00"}
	fewItems = []string{"", "1", "2", "3"}
)

const (
	ntpSecond = 1 << 32
	ntpTick   = 1 << 16 // the least step of physical time
)

// drawWorld draws deltas of authors whose clocks differ and who know of different
// things: lines, branches, merges, deltas that name more than they have to, same
// stamps, keys that collide, and here and there a wrong root or time, or a parent
// that nobody has.
func drawWorld(t *rapid.T, most int) *world {
	w := newWorld(someone)
	faults := rapid.Bool().Draw(t, "faults")
	if rapid.IntRange(0, 9).Draw(t, "large") == 0 {
		w.add(w.seal(&dag.Delta{Context: someone, Actions: manyActions(70), HLC: codec.HybridTimestamp{Time: uint64(hlc.ToNTP64(dawn)), ID: authors[0]}}))
	}
	for range rapid.IntRange(min(4, most), most).Draw(t, "deltas") {
		drawDelta(t, w, faults)
	}
	return w
}

// manyActions fill a trie beyond its first bucket.
func manyActions(n int) (actions []codec.Action) {
	for i := range n {
		actions = append(actions, codec.Put(fmt.Append(nil, "many", i), fmt.Append(nil, i)))
	}
	return actions
}

func drawDelta(t *rapid.T, w *world, faults bool) *fact {
	d := &dag.Delta{Context: w.context, Parents: drawParents(t, w, faults), Actions: drawActions(t)}
	d.HLC.ID = rapid.SampledFrom(authors).Draw(t, "author")
	d.HLC.Time = uint64(hlc.ToNTP64(dawn))
	for _, p := range d.Parents {
		if f := w.byID[p]; f != nil {
			d.HLC.Time = max(d.HLC.Time, f.delta.HLC.Time)
		}
	}
	d.HLC.Time += rapid.SampledFrom([]uint64{1, 1, 1, 2, ntpTick, ntpSecond / 3, 2 * ntpSecond}).Draw(t, "later")
	if rapid.IntRange(0, 3).Draw(t, "event") == 0 {
		d.Events = []codec.Event{{Kind: "seen", Data: []byte(rapid.SampledFrom(fewItems).Draw(t, "data"))}}
	}
	w.seal(d)
	if faults {
		drawFault(t, w, d)
	}
	return w.add(d)
}

// drawFault makes something wrong with one delta in eight.
func drawFault(t *rapid.T, w *world, d *dag.Delta) {
	switch rapid.IntRange(0, 23).Draw(t, "fault") {
	case 0: // the root of everything, which an author may take for that of the cut
		d.ExpectedRoot = rootOf(w.byID)
	case 1: // the root before
		cut, _ := w.cutOf(d.Parents)
		d.ExpectedRoot = rootOf(cut)
	case 2: // not after a parent
		for _, p := range d.Parents {
			if f := w.byID[p]; f != nil {
				d.HLC.Time = f.delta.HLC.Time - rapid.Uint64Range(0, 1).Draw(t, "back")
			}
		}
		w.seal(d)
	}
}

func drawParents(t *rapid.T, w *world, faults bool) (parents []codec.DeltaID) {
	if len(w.all) == 0 {
		return nil
	}
	recent := w.all[max(0, len(w.all)-6):]
	switch rapid.IntRange(0, 11).Draw(t, "parents") {
	case 0:
	case 1: // nobody has one of them
		if faults {
			parents = append(parents, codec.DeltaID{0xEE, byte(rapid.IntRange(0, 1).Draw(t, "ghost"))})
		}
		fallthrough
	case 2, 3, 4: // any, a parent of a parent too
		for range rapid.IntRange(1, 3).Draw(t, "any") {
			parents = append(parents, rapid.SampledFrom(w.all).Draw(t, "parent").id)
		}
	case 5, 6: // a merge of all there is
		for _, f := range w.all {
			if !slices.ContainsFunc(w.all, func(c *fact) bool { return c != f && c.cut[f.id] != nil }) {
				parents = append(parents, f.id)
			}
		}
	case 7, 8:
		parents = append(parents, w.all[len(w.all)-1].id)
	default:
		for range rapid.IntRange(1, 2).Draw(t, "recent") {
			parents = append(parents, rapid.SampledFrom(recent).Draw(t, "parent").id)
		}
	}
	slices.SortFunc(parents, compareIDs)
	return slices.Compact(parents)
}

func drawActions(t *rapid.T) (actions []codec.Action) {
	keys := rapid.SliceOfNDistinct(rapid.SampledFrom(fewKeys), 0, 4, rapid.ID).Draw(t, "keys")
	for _, key := range keys {
		if rapid.IntRange(0, 2).Draw(t, "delete") == 0 {
			actions = append(actions, codec.Delete([]byte(key)))
		} else {
			actions = append(actions, codec.Put([]byte(key), []byte(rapid.SampledFrom(fewItems).Draw(t, "value"))))
		}
	}
	return actions
}

// drawDeliveries draws an order in which a node is given all deltas, some more
// than once.
func drawDeliveries(t *rapid.T, w *world) []*fact {
	var order []*fact
	switch rapid.IntRange(0, 3).Draw(t, "order") {
	case 0:
		order = slices.Clone(w.all)
	case 1:
		order = slices.Clone(w.all)
		slices.Reverse(order)
	default:
		order = rapid.Permutation(w.all).Draw(t, "shuffled")
	}
	for range rapid.IntRange(0, 1+len(order)/4).Draw(t, "again") {
		at := rapid.IntRange(0, len(order)).Draw(t, "at")
		order = slices.Insert(order, at, rapid.SampledFrom(w.all).Draw(t, "twice"))
	}
	return order
}
