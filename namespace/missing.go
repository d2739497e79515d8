package namespace

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
)

// Heads returns the ops of a namespace that no other descends from, by id; none: it has
// not begun here.
func (s *Store) Heads(_ context.Context, ns codec.GroupID) (heads []codec.OpID, err error) {
	err = s.viewAny(ns, func(c *loaded) error {
		heads = c.ledger.Heads()
		return nil
	})
	return heads, err
}

// Waiting returns how many ops of a namespace wait for ancestors, and their bytes. The
// namespace need not have begun.
func (s *Store) Waiting(ns codec.GroupID) (count int, bytes int64, err error) {
	err = s.viewAny(ns, func(c *loaded) error {
		count, bytes = len(c.pending.ops), c.pending.bytes
		return nil
	})
	return count, bytes, err
}

// PendingOp is an op that waits for ancestors.
type PendingOp struct {
	ID      codec.OpID
	Signer  codec.Identity
	Bytes   int
	Since   time.Time    // zero: not known, as it came before the store was opened
	Missing []codec.OpID // parents that are not of the DAG, in the order of the parents
}

// PendingOps returns the ops that wait for ancestors, by id, from after on; at most
// limit, 0: all. The namespace need not have begun.
func (s *Store) PendingOps(ns codec.GroupID, after codec.OpID, limit int) (found []PendingOp, err error) {
	err = s.viewAny(ns, func(c *loaded) error {
		for id, w := range c.pending.ops {
			if codec.CompareID(id, after) > 0 {
				found = append(found, PendingOp{ID: id, Signer: w.signer, Bytes: w.size, Since: w.since})
			}
		}
		slices.SortFunc(found, func(a, b PendingOp) int { return codec.CompareID(a.ID, b.ID) })
		if limit > 0 && len(found) > limit {
			found = found[:limit]
		}
		for i := range found {
			found[i].Missing = c.missing(c.pending.ops[found[i].ID].parents)
		}
		return nil
	})
	return found, err
}

// Missing returns the ops that others wait for and that are not here, by id, from after
// on; at most limit, 0: all. The namespace need not have begun.
func (s *Store) Missing(ns codec.GroupID, after codec.OpID, limit int) (ids []codec.OpID, err error) {
	err = s.viewAny(ns, func(c *loaded) error {
		for id := range c.pending.named {
			if _, waits := c.pending.ops[id]; !waits && codec.CompareID(id, after) > 0 {
				if _, has := c.ledger.Find(id); !has {
					ids = append(ids, id)
				}
			}
		}
		return nil
	})
	slices.SortFunc(ids, codec.CompareID)
	if limit > 0 && len(ids) > limit {
		ids = ids[:limit]
	}
	return ids, err
}

// Haves returns ops of a namespace, so that who has others sees what both have: the heads, at most
// 64, and ops that came before the last, ever further back. There are none where it has not begun.
func (s *Store) Haves(ns codec.GroupID) (haves []codec.OpID, err error) {
	err = s.viewAny(ns, func(c *loaded) error {
		haves = c.ledger.Heads()
		haves = haves[:min(len(haves), 64)]
		for back := 1; back < c.ledger.Len(); back *= 2 {
			haves = append(haves, c.ledger.Op(c.ledger.Len()-1-back).ID)
		}
		return nil
	})
	return haves, err
}

// Sent is an op as it travels.
type Sent struct {
	Cursor uint64 // go on after it
	ID     codec.OpID
	Wire   []byte
}

const pageOps = 256

// OpsSince yields the ops of a namespace that are neither among heads, nor ancestors of
// one, each after its ancestors: what somebody lacks who has those heads. Heads that are
// not here count for nothing. It begins after cursor, which is that of an op that this
// store has sent before; 0: at the beginning. Ops of which only a skeleton was kept are
// left out. It ends with the first error.
func (s *Store) OpsSince(ctx context.Context, ns codec.GroupID, heads []codec.OpID, cursor uint64) iter.Seq2[Sent, error] {
	return s.opsSince(ctx, ns, heads, nil, cursor)
}

// OpsUpTo yields those ops that OpsSince does that are among some ops and their ancestors.
func (s *Store) OpsUpTo(ctx context.Context, ns codec.GroupID, heads, upTo []codec.OpID) iter.Seq2[Sent, error] {
	return s.opsSince(ctx, ns, heads, func(c *loaded) (group.Cut, error) { return c.ledger.Cut(upTo) }, 0)
}

// opsSince is OpsSince, of the ops of a cut; nil: of all.
func (s *Store) opsSince(ctx context.Context, ns codec.GroupID, heads []codec.OpID, within func(*loaded) (group.Cut, error), cursor uint64) iter.Seq2[Sent, error] {
	return func(yield func(Sent, error) bool) {
		for {
			var page []Sent
			err := s.viewAny(ns, func(c *loaded) (err error) {
				page, cursor, err = s.pageSince(c, heads, within, cursor)
				return err
			})
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(Sent{}, err)
				return
			}
			if len(page) == 0 {
				return
			}
			for _, sent := range page {
				if !yield(sent, nil) {
					return
				}
			}
		}
	}
}

// pageSince reads a page of ops after cursor, and returns where the next begins.
func (s *Store) pageSince(c *loaded, heads []codec.OpID, within func(*loaded) (group.Cut, error), cursor uint64) (page []Sent, next uint64, err error) {
	heads = slices.DeleteFunc(slices.Clone(heads), func(id codec.OpID) bool { _, ok := c.ledger.Find(id); return !ok })
	known, err := c.ledger.Cut(heads)
	if err != nil {
		return nil, cursor, err
	}
	all := c.everything()
	if within != nil {
		if all, err = within(c); err != nil {
			return nil, cursor, err
		}
	}
	size := 0
	for ; cursor < uint64(c.ledger.Len()) && len(page) < pageOps && size < fullBytes; cursor++ {
		i := int(cursor)
		if known.Has(i) || !all.Has(i) || !c.ops[i].whole {
			continue
		}
		wire, err := readWire(s.db, c.id, c.ledger.Op(i).ID)
		if err != nil {
			return nil, cursor, err
		}
		size += len(wire)
		page = append(page, Sent{cursor + 1, c.ledger.Op(i).ID, wire})
	}
	return page, cursor, nil
}

// readWire returns a stored op as it travels: it is the end of the row.
func readWire(r engine.Getter, ns codec.GroupID, id codec.OpID) ([]byte, error) {
	v, err := engine.Get(r, keys.NamespaceGovOp{Namespace: ns, Delta: id})
	if err != nil {
		return nil, err
	}
	if b := v.SkeletonBytes; len(b) > 0 && codec.StoredOpKind(b[0]) == codec.StoredSigned {
		return b[1:], nil
	}
	return nil, fmt.Errorf("%w: %s", ErrForgotten, id)
}

// OpInfo is an op of a namespace, and what became of it.
type OpInfo struct {
	*Op
	Height  int
	Verdict group.Verdict
	Body    *codec.GroupOp // of a group op that can be read
	Seq     uint64         // its number in the log of its group; 0: it can't be read
	Wire    []byte         // nil where only a skeleton was kept
}

// Op returns an op of a namespace, or [ErrNoOp].
func (s *Store) Op(ns codec.GroupID, id codec.OpID) (info OpInfo, err error) {
	err = s.view(ns, func(c *loaded) error {
		i, ok := c.ledger.Find(id)
		if !ok {
			return fmt.Errorf("%w: %s", ErrNoOp, id)
		}
		op, err := readOp(s.db, ns, id)
		if err != nil {
			return err
		}
		info = OpInfo{Op: op, Height: c.ledger.Height(i), Verdict: c.ledger.Verdict(i), Body: c.ledger.Op(i).Body, Seq: c.facts[i].seq}
		info.Wire, err = readWire(s.db, ns, id)
		if errors.Is(err, ErrForgotten) {
			err = nil
		}
		return err
	})
	return info, err
}

// Equivocations returns where signers have given a nonce to several ops, after one of
// those by (signer, nonce), which alone are looked at; zero: from the first. A limit of 0
// is none. It returns [ErrNoNamespace].
func (s *Store) Equivocations(ns codec.GroupID, after group.Equivocation, limit int) (found []group.Equivocation, err error) {
	err = s.view(ns, func(c *loaded) error {
		found = c.ledger.Equivocations(after, limit)
		return nil
	})
	return found, err
}
