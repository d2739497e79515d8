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

// contexts makes the contexts, each with its state as the base that it begins with.
func (c *carrier) contexts() error {
	c.there = map[codec.ContextID]bool{}
	err := opened(c.openContexts, func(to *dag.Store) error {
		return c.each("Meta", nil, func(row diskfile.Row) error {
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
			return c.state(to, id)
		})
	})
	if err == nil {
		err = c.stray("State")
	}
	return err
}

// stray leaves behind rows of contexts that are not there, and of keys that are none.
func (c *carrier) stray(family string) error {
	return c.each(family, nil, func(row diskfile.Row) error {
		switch name, _ := merodKind(family, row); {
		case name == "":
			return c.leave(family, row, whyUnknown)
		case !c.there[codec.ContextID(row.Key[:32])]:
			return c.leave(family, row, "its context is not there")
		}
		return nil
	})
}

// state makes the state of a context the base that it begins with.
func (c *carrier) state(to *dag.Store, id codec.ContextID) error {
	var changes []merkle.Change
	err := c.each("State", id[:], func(row diskfile.Row) error {
		if name, _ := merodKind("State", row); name != "" {
			changes = append(changes, merkle.Change{Key: merkle.HashKey(row.Key[32:]), Value: merkle.HashValue(row.Value)})
		}
		return nil
	})
	if err != nil || len(changes) == 0 {
		return err
	}
	merkle.SortChanges(changes)
	trie := merkle.Open(merkle.NewCache(1<<20), mem.New(), id, merkle.EmptyRoot())
	if err := trie.Update(changes); err != nil {
		return err
	}
	stamp, err := to.Clock().Stamp()
	if err != nil {
		return err
	}
	base := dag.Delta{Context: id, HLC: stamp, ExpectedRoot: trie.Root()}
	sent, err := base.AppendBinary(nil)
	if err != nil {
		return err
	}
	done, err := to.Seed(c.ctx, id, c.parts(id, sent), dag.SeedOptions{})
	c.out.State += done.Rows
	return err
}

// partBytes is about how many bytes of rows go together.
const partBytes = 1 << 20

// parts is the snapshot of a context: a base, and its state.
func (c *carrier) parts(id codec.ContextID, base []byte) iter.Seq2[*dag.SnapshotPart, error] {
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
		for row, err := range c.from.Rows("State", engine.Prefixed(id[:])) {
			if err != nil {
				yield(nil, err)
				return
			}
			if name, _ := merodKind("State", row); name == "" {
				continue
			}
			part.Rows = append(part.Rows, dag.StateRow{AppKey: bytes.Clone(row.Key[32:]), Value: bytes.Clone(row.Value)})
			size += len(row.Key) + len(row.Value)
			if rows++; size >= partBytes && !flush() {
				return
			}
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
		if name, _ := merodKind("PrivateState", row); name == "" || !c.there[codec.ContextID(row.Key[:32])] {
			return nil
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
	if err == nil {
		err = c.stray("PrivateState")
	}
	return err
}
