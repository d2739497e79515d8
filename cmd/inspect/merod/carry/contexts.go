package carry

import (
	"bytes"
	"iter"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
	"github.com/stoadb/stoa/keys"
)

// identities chooses which keys contexts get.
func (c *carrier) identities() error {
	c.chosen = map[codec.ContextID]codec.ContextIdentityValue{}
	owners := map[codec.ContextID][]codec.Identity{} // with private keys
	err := c.each("Identity", nil, func(row diskfile.Row) error {
		if name, _ := merodKind("Identity", row); name != "" && row.Value[0] == 1 {
			id := codec.ContextID(row.Key[:32])
			owners[id] = append(owners[id], codec.Identity(row.Key[32:]))
		}
		return nil
	})
	if err != nil {
		return err
	}
	var unclear Several
	for id, who := range owners {
		if len(who) > 1 {
			who = slices.DeleteFunc(who, func(one codec.Identity) bool { return !slices.Contains(c.o.Identities, one) })
		}
		if owners[id] = who; len(who) != 1 && !c.o.NoIdentities {
			unclear = append(unclear, id)
		}
	}
	if len(unclear) > 0 {
		slices.SortFunc(unclear, func(a, b codec.ContextID) int { return bytes.Compare(a[:], b[:]) })
		return unclear
	}
	return c.each("Identity", nil, func(row diskfile.Row) error {
		name, _ := merodKind("Identity", row)
		switch {
		case name == "":
			return c.leave("Identity", row, whyUnknown)
		case row.Value[0] == 0:
			return c.leave("Identity", row, "it has no private key: a member, whom groups will have anew")
		}
		id := codec.ContextID(row.Key[:32])
		if c.o.NoIdentities || owners[id][0] != codec.Identity(row.Key[32:]) {
			return c.leave("Identity", row, "it was not chosen")
		}
		c.chosen[id] = identityOf(row.Value)
		return nil
	})
}

// identityOf returns the keys of a row of Identity, which parses: one option, or two.
func identityOf(value []byte) (v codec.ContextIdentityValue) {
	for i, rest := 0, value; len(rest) > 0; i++ {
		option := codec.Option[codec.Secret]{}
		if rest[0] == 1 {
			option = codec.Some(codec.Secret(rest[1:33]))
			rest = rest[32:]
		}
		rest = rest[1:]
		if i == 0 {
			v.PrivateKey = option
		} else {
			v.SenderKey = option
		}
	}
	return v
}

// merodContext is a row of Meta.
type merodContext struct {
	Application codec.ApplicationID `json:"application_id"`
	Service     *string             `json:"service_name"`
}

// contexts makes the contexts, each with its state as the base that it begins with. The rows of Meta and
// of State are in the order of contexts, so that State is read twice, and not once for each.
func (c *carrier) contexts() error {
	c.there = map[codec.ContextID]bool{}
	roots, err := c.roots()
	if err != nil {
		return err
	}
	return opened(c.openContexts, func(to *dag.Store) error {
		state := c.walkState()
		defer state.stop()
		err := c.each("Meta", nil, func(row diskfile.Row) error {
			var m merodContext
			if ok, err := c.explained("Meta", row, &m); !ok || err != nil {
				return err
			}
			app, known := c.applications[m.Application]
			if !known {
				app = codec.ApplicationMeta{ApplicationID: m.Application}
			}
			id := codec.ContextID(row.Key)
			if err := to.CreateContext(id, app); err != nil {
				return err
			}
			c.there[id] = true
			c.out.Contexts++
			if m.Service != nil {
				if err := c.leave("Meta", row, "the name of its service has no place: the rest of the row is taken over"); err != nil {
					return err
				}
			}
			if err := c.passState(state, id[:]); err != nil {
				return err
			}
			root, ok := roots[id]
			if !ok {
				return nil
			}
			return c.state(to, id, root, state)
		})
		if err != nil {
			return err
		}
		return c.passState(state, nil)
	})
}

// roots computes the root of the state of each context that has rows. It tells of rows of Meta
// that are not explained.
func (c *carrier) roots() (map[codec.ContextID]codec.Hash, error) {
	err := c.each("Meta", nil, func(row diskfile.Row) error {
		if name, _ := merodKind("Meta", row); name == "" {
			return c.leave("Meta", row, whyUnknown)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	roots := map[codec.ContextID]codec.Hash{}
	var of codec.ContextID
	var changes []merkle.Change
	end := func() error {
		if len(changes) == 0 {
			return nil
		}
		merkle.SortChanges(changes)
		trie := merkle.Open(merkle.NewCache(1<<20), mem.New(), of, merkle.EmptyRoot())
		if err := trie.Update(changes); err != nil {
			return err
		}
		roots[of], changes = trie.Root(), changes[:0]
		return nil
	}
	err = c.each("State", nil, func(row diskfile.Row) error {
		if name, _ := merodKind("State", row); name == "" {
			return nil
		}
		if id := codec.ContextID(row.Key[:32]); id != of {
			if err := end(); err != nil {
				return err
			}
			of = id
		}
		changes = append(changes, merkle.Change{Key: merkle.HashKey(row.Key[32:]), Value: merkle.HashValue(row.Value)})
		return nil
	})
	if err == nil {
		err = end()
	}
	return roots, err
}

// stateWalk is a walk over State that waits at a row.
type stateWalk struct {
	next func() (diskfile.Row, error, bool)
	stop func()
	row  diskfile.Row // where it is
	err  error
	ok   bool // there is a row, or an error
}

func (c *carrier) walkState() *stateWalk {
	w := &stateWalk{}
	w.next, w.stop = iter.Pull2(c.from.Rows("State", engine.Range{}))
	w.pass()
	return w
}

// pass goes behind the row where it is.
func (w *stateWalk) pass() { w.row, w.err, w.ok = w.next() }

// passState goes to the first row that is not before end, the id of a context; nil: to the end. What it passes
// is of no context that is there, or not explained.
func (c *carrier) passState(w *stateWalk, end []byte) error {
	for ; w.ok && w.err == nil; w.pass() {
		if end != nil && bytes.Compare(w.row.Key, end) >= 0 {
			return nil
		}
		c.step()
		why := "its context is not there"
		if name, _ := merodKind("State", w.row); name == "" {
			why = whyUnknown
		}
		if err := c.leave("State", w.row, why); err != nil {
			return err
		}
	}
	return w.err
}

// state makes the state of a context, which has a root, the base that it begins with.
func (c *carrier) state(to *dag.Store, id codec.ContextID, root codec.Hash, w *stateWalk) error {
	stamp, err := to.Clock().Stamp()
	if err != nil {
		return err
	}
	base := dag.Delta{Context: id, HLC: stamp, ExpectedRoot: root}
	sent, err := base.AppendBinary(nil)
	if err != nil {
		return err
	}
	done, err := to.Seed(c.ctx, id, c.parts(id, sent, w), dag.SeedOptions{})
	c.out.State += done.Rows
	return err
}

// partBytes is about how many bytes of rows go together.
const partBytes = 1 << 20

// parts is the snapshot of a context: a base, and its state, which w is at.
func (c *carrier) parts(id codec.ContextID, base []byte, w *stateWalk) iter.Seq2[*dag.SnapshotPart, error] {
	return func(yield func(*dag.SnapshotPart, error) bool) {
		if !yield(&dag.SnapshotPart{Kind: dag.PartStart, Context: id, Base: base}, nil) {
			return
		}
		part, size, rows := &dag.SnapshotPart{Kind: dag.PartRows}, 0, uint64(0)
		flush := func() bool {
			if len(part.Rows) == 0 {
				return true
			}
			more := yield(part, nil)
			part, size = &dag.SnapshotPart{Kind: dag.PartRows}, 0
			return more
		}
		for ; w.ok && w.err == nil && bytes.HasPrefix(w.row.Key, id[:]); w.pass() {
			c.step()
			if name, _ := merodKind("State", w.row); name == "" {
				if err := c.leave("State", w.row, whyUnknown); err != nil {
					yield(nil, err)
					return
				}
				continue
			}
			part.Rows = append(part.Rows, dag.StateRow{AppKey: bytes.Clone(w.row.Key[32:]), Value: bytes.Clone(w.row.Value)})
			size += len(w.row.Key) + len(w.row.Value)
			if rows++; size >= partBytes && !flush() {
				return
			}
		}
		if w.err != nil {
			yield(nil, w.err)
			return
		}
		if flush() {
			yield(&dag.SnapshotPart{Kind: dag.PartEnd, RowCount: rows}, nil)
		}
	}
}

// private takes over the rows of contexts that only this node has: its keys, its own state, and
// their revisions.
func (c *carrier) private() error {
	var b engine.Batch
	for id, v := range c.chosen {
		if !c.there[id] {
			continue
		}
		engine.Put(&b, keys.ContextIdentity{Context: id}, v)
		c.out.Identities++
	}
	err := c.each("PrivateState", nil, func(row diskfile.Row) error {
		switch name, _ := merodKind("PrivateState", row); {
		case name == "":
			return c.leave("PrivateState", row, whyUnknown)
		case !c.there[codec.ContextID(row.Key[:32])]:
			return c.leave("PrivateState", row, "its context is not there")
		}
		b.Put(column.PrivateState, row.Key, row.Value)
		c.out.Private++
		return c.apply(&b, false)
	})
	if err == nil {
		err = c.each("Config", nil, func(row diskfile.Row) error {
			switch name, _ := merodKind("Config", row); {
			case name == "":
				return c.leave("Config", row, whyUnknown)
			case !c.there[codec.ContextID(row.Key)]:
				return c.leave("Config", row, "its context is not there")
			}
			b.Put(column.Config, row.Key, row.Value)
			return c.apply(&b, false)
		})
	}
	if err == nil {
		err = c.apply(&b, true)
	}
	return err
}
