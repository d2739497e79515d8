package dag

import (
	"bytes"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/google/btree"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// metaHeads is how many heads are in the row of Meta. Where there are more it begins with the
// zero id, which is that of no delta, and those beyond the first by id are rows of dag-head: so
// that one more of many costs what one more of few does.
const metaHeads = 64

// HeadsOf returns the ids of all heads of a context, of which ids are those in its row of Meta.
// r is read in the same state.
func HeadsOf(r engine.Reader, id codec.ContextID, ids []codec.DeltaID) ([]codec.DeltaID, error) {
	if len(ids) == 0 || !ids[0].IsZero() {
		return ids, nil
	}
	all := slices.Clone(ids[1:])
	err := each(r, engine.Prefixed(contextPrefix(nil, headScope, &id)), func(key, _ []byte) error {
		head, ok := idAfter(key, contextPrefixLen)
		if !ok {
			return damagedRow(column.Generic, key, "not a head")
		}
		all = append(all, head)
		return nil
	})
	return all, err
}

// wholeInMeta reports whether ids, the heads in Meta, are more than are written there now.
func wholeInMeta(ids []codec.DeltaID) bool { return len(ids) > metaHeads && !ids[0].IsZero() }

// headKey appends the key of the row of a head.
func headKey(dst []byte, context *codec.ContextID, id *codec.DeltaID) []byte {
	return append(contextPrefix(dst, headScope, context), id[:]...)
}

// heads are those of a loaded context, by id.
type heads struct{ tree *btree.BTreeG[head] }

func newHeads(list []head) heads {
	h := heads{btree.NewG(32, func(a, b head) bool { return bytes.Compare(a.id[:], b.id[:]) < 0 })}
	for _, one := range list {
		h.tree.ReplaceOrInsert(one)
	}
	return h
}

func (h heads) len() int { return h.tree.Len() }

func (h heads) get(id *codec.DeltaID) (head, bool) { return h.tree.Get(head{stamp: stamp{id: *id}}) }

func (h heads) all() iter.Seq[head] {
	return func(yield func(head) bool) { h.tree.Ascend(yield) }
}

// beyond returns the first of those that are not in Meta, by id.
func (h heads) beyond() (first head, is bool) {
	if h.len() <= metaHeads {
		return first, false
	}
	n := 0
	h.tree.Ascend(func(one head) bool {
		first, n = one, n+1
		return n <= metaHeads
	})
	return first, true
}

// appendMeta appends what Meta has of them.
func (h heads) appendMeta(dst []byte) []byte {
	n := h.len()
	if n > metaHeads {
		dst = append(binary.LittleEndian.AppendUint32(dst, metaHeads+1), make([]byte, len(codec.DeltaID{}))...)
		n = metaHeads
	} else {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	}
	h.tree.Ascend(func(one head) bool {
		if n == 0 {
			return false
		}
		n--
		dst = append(dst, one.id[:]...)
		return true
	})
	return dst
}

// addHead has a delta be a head, with the row that this makes.
func (g *writeGroup) addHead(h head) {
	g.c.heads.tree.ReplaceOrInsert(h)
	moved, many := g.c.heads.beyond()
	if !many {
		return
	}
	if bytes.Compare(h.id[:], moved.id[:]) > 0 {
		moved = h
	}
	g.putHead(&moved)
}

// putHeads makes the rows of all heads that are not in Meta.
func (g *writeGroup) putHeads() {
	first, many := g.c.heads.beyond()
	if many {
		g.c.heads.tree.AscendGreaterOrEqual(first, func(h head) bool {
			g.putHead(&h)
			return true
		})
	}
	g.c.whole = false
}

// putHead makes the row of a head.
func (g *writeGroup) putHead(h *head) {
	g.key, g.value = headKey(g.key[:0], &g.c.id, &h.id), appendU64(g.value[:0], h.seq)
	g.put(g.key, g.value)
}

// removeHead has a delta be a head no more, if it was.
func (g *writeGroup) removeHead(id *codec.DeltaID) {
	h, is := g.c.heads.get(id)
	if !is {
		return
	}
	if moved, many := g.c.heads.beyond(); many {
		if bytes.Compare(h.id[:], moved.id[:]) > 0 {
			moved = h
		}
		g.key = headKey(g.key[:0], &g.c.id, &moved.id)
		g.delete(g.key)
	}
	g.c.heads.tree.Delete(h)
}

// readHeads returns the heads of a context, of which ids are those in Meta, without those for
// whose damage beside returns nil.
func readHeads(r engine.Reader, id codec.ContextID, ids []codec.DeltaID, beside func(error) error) ([]head, error) {
	list := make([]head, 0, len(ids))
	for i := range ids {
		h, err := readHead(r, id, &ids[i])
		if err == nil {
			list = append(list, h)
		} else if err = beside(err); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b head) int { return bytes.Compare(a.id[:], b.id[:]) })
	return list, nil
}

// list returns all of them.
func (h heads) list() []head { return slices.Collect(h.all()) }
