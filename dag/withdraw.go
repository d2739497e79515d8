package dag

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
)

// ErrNotLast is returned for deltas that can't be withdrawn: one that stays descends from them, or
// the context begins with one of them.
var ErrNotLast = errors.New("dag: deltas that stay need those that are to be withdrawn")

// Withdrawal is deltas that are to be taken off a context.
type Withdrawal struct {
	Context    codec.ContextID
	Deltas     []codec.DeltaID // with all that descends from them; those that are not applied are none
	Durability engine.Durability
	Beside     Beside // of each of them, parents after their children
}

// Withdraw takes deltas off a context, as if they had never come: state, root and heads are those of
// what stays. Their numbers in the order of application stay without a delta, and each gets another
// one at the end, which tells followers. They can be added again, and are new ones then. All is
// written in one batch. It returns [ErrNotLast], or an error as [Store.Add] has it.
//
// It costs a walk over what was applied after the first parent of them, and what they have written.
func (s *Store) Withdraw(ctx context.Context, w Withdrawal) error {
	if err := ready(ctx, w.Durability); err != nil {
		return err
	}
	r := &request{Task: task{alone: true, synced: w.Durability == engine.Synced}}
	r.Task.do = func(g *writeGroup) error {
		err := g.load()
		if err != nil {
			return err
		}
		g.begin()
		g.synced = w.Durability == engine.Synced
		if err = g.withdraw(ctx, &w); err == nil {
			err = g.write()
		}
		if err != nil {
			g.q.state = nil // what is in memory is half done
		}
		return err
	}
	if err := s.submit(ctx, w.Context, r); err != nil {
		return err
	}
	return r.Err
}

// leaving is a delta that is being withdrawn.
type leaving struct {
	seq uint64
	row orderRow
	d   *Delta
}

// withdraw puts the withdrawal of deltas into the batch.
func (g *writeGroup) withdraw(ctx context.Context, w *Withdrawal) error {
	past := history{r: g.s.db, context: g.c.id}
	var leave []leaving
	seqs := map[uint64]bool{}
	for i := range w.Deltas {
		seq, applied, err := readSeq(g.s.db, &g.c.id, &w.Deltas[i])
		switch {
		case err != nil:
			return err
		case !applied || seqs[seq]:
			continue
		case w.Deltas[i] == g.c.row.base.id:
			return fmt.Errorf("%w: context %s begins with %s", ErrNotLast, g.c.id, w.Deltas[i])
		}
		l := leaving{seq: seq}
		if l.row, err = past.order(seq); err == nil {
			l.d, err = past.delta(l.row.id)
		}
		if err != nil {
			return err
		}
		seqs[seq] = true
		leave = append(leave, l)
	}
	if len(leave) == 0 {
		return nil
	}
	slices.SortFunc(leave, func(a, b leaving) int { return int(int64(b.seq) - int64(a.seq)) })
	heads, err := g.headsWithout(ctx, leave, seqs)
	if err != nil {
		return err
	}
	g.lasts = map[codec.Hash]uint64{}
	written := map[codec.Hash][]byte{} // app_keys
	for i := range leave {
		if err := g.withdraw1(&leave[i], w.Beside, written); err != nil {
			return err
		}
	}
	for _, h := range heads {
		g.addHead(h)
	}
	g.meta, g.endsTail = true, true // a tail knows nothing of what was
	g.putContextRow()
	if err := g.restore(&past, written); err != nil {
		return err
	}
	return g.waitAgain()
}

// waitAgain has what waits wait for those of its parents too that are applied no more.
func (g *writeGroup) waitAgain() error {
	if g.c.waiting == 0 {
		return nil
	}
	var all []codec.DeltaID
	prefix := kindPrefix(nil, pendingScope, indexRow, &g.c.id)
	err := g.view.scan(prefix, prefix, func(key, _ []byte) error {
		id, ok := idAfter(key, len(prefix))
		if !ok {
			return damagedRow(column.Generic, key, "not a key of dag-pending")
		}
		all = append(all, id)
		return nil
	})
	for i := range all {
		if err != nil {
			return err
		}
		err = g.waitFor(&all[i])
	}
	return err
}

func (g *writeGroup) waitFor(id *codec.DeltaID) error {
	x, err := g.waiting(id)
	if x == nil || err != nil {
		return err
	}
	defer x.p.release()
	absent, _, err := g.resolve(x)
	if err != nil || len(absent) == 0 {
		return err
	}
	x.ready = true // or not
	return g.pend(x, absent, &Answer{})
}

// headsWithout returns the deltas that become heads without those that leave.
func (g *writeGroup) headsWithout(ctx context.Context, leave []leaving, seqs map[uint64]bool) (heads []head, err error) {
	bare := map[uint64]bool{} // parents that stay, and that nobody else is known to name
	first := g.c.next
	for i := range leave {
		first = min(first, leave[i].seq)
		for _, p := range leave[i].row.parents {
			if !seqs[p] {
				bare[p] = true
				first = min(first, p)
			}
		}
	}
	rg := engine.Prefixed(contextPrefix(nil, orderScope, &g.c.id))
	rg.Start = orderKey(nil, &g.c.id, first)
	n := 0
	err = each(g.s.db, rg, func(key, value []byte) error {
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		seq, ok := orderSeq(key)
		row, is := parseOrder(value)
		switch {
		case !ok || !is:
			return damagedRow(column.Generic, key, "not a place in the order")
		case row.gone() || seqs[seq]:
			return nil
		}
		for _, p := range row.parents {
			if delete(bare, p); seqs[p] {
				return fmt.Errorf("%w: %s has one of them as its parent", ErrNotLast, row.id)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for seq := range bare {
		row, err := readOrder(g.s.db, &g.c.id, seq)
		if err != nil {
			return nil, err
		}
		heads = append(heads, head{stamp{row.hlc, row.id}, seq})
	}
	return heads, nil
}

// withdraw1 takes the rows of a delta away, and notes what it has written.
func (g *writeGroup) withdraw1(l *leaving, beside Beside, written map[codec.Hash][]byte) error {
	id, mine := &g.c.id, stamp{l.row.hlc, l.row.id}
	for i := range l.d.Actions {
		hash := merkle.HashKey(l.d.Actions[i].Key)
		written[hash] = l.d.Actions[i].Key
		if err := g.unlink(l.seq, &mine, &hash); err != nil {
			return err
		}
	}
	g.batch.Delete(column.Delta, deltaKey(g.key[:0], id, &l.row.id))
	g.delete(seqKey(g.key[:0], id, &l.row.id))
	g.removeHead(&l.row.id)
	g.mark(l.seq, l.row.id)
	g.mark(g.c.next, l.row.id)
	g.c.next++
	if beside != nil {
		return beside(l.d, l.row.id, &g.batch)
	}
	return nil
}

// unlink takes the version that a number has made of a key out of those of the key. Late versions that were late for it
// alone come into the chain, as if it had never been there.
func (g *writeGroup) unlink(seq uint64, mine *stamp, key *codec.Hash) error {
	p := g.past(-1)
	late := lateKey(nil, &g.c.id, key, mine)
	switch was, err := g.view.has(late); {
	case err != nil:
		return err
	case was:
		g.delete(late)
		return nil
	}
	c, err := p.chain(key)
	if err != nil {
		return err
	}
	var newer, older version // in the chain
	for c.at != seq {
		if newer, err = c.next(nil); err != nil {
			return err
		}
		if newer.seq == 0 {
			return damagedRow(column.Generic, orderKey(nil, &g.c.id, seq), fmt.Sprintf("it has written the key %s, and is none of its versions", key))
		}
	}
	if _, err = c.next(nil); err == nil {
		older, err = c.next(nil)
	}
	if err != nil {
		return err
	}
	var came []version // when there was nothing newer but this one
	err = p.late(key, func(by *stamp, of uint64) error {
		switch {
		case older.seq != 0 && !by.after(&older.stamp):
			return errStop
		case mine.after(by) && of > seq && (newer.seq == 0 || of < newer.seq):
			came = append(came, version{stamp: *by, seq: of})
		}
		return nil
	})
	if err != nil && err != errStop {
		return err
	}
	slices.SortFunc(came, func(a, b version) int { return cmp.Compare(a.seq, b.seq) })
	last := older
	for i := range came {
		if last.seq != 0 && !came[i].after(&last.stamp) {
			continue
		}
		g.delete(lateKey(nil, &g.c.id, key, &came[i].stamp))
		if err := g.setBefore(&p, came[i].seq, key, last.seq); err != nil {
			return err
		}
		last = came[i]
	}
	if newer.seq == 0 {
		g.lasts[*key] = last.seq
		return nil
	}
	return g.setBefore(&p, newer.seq, key, last.seq)
}

// mark makes a number of the order one without a delta; putContextRow writes how many there are.
func (g *writeGroup) mark(seq uint64, id codec.DeltaID) {
	row := orderRow{id: id}
	g.key, g.value = orderKey(g.key[:0], &g.c.id, seq), row.appendBinary(g.value[:0])
	g.put(g.key, g.value)
	g.c.row.withdrawn++
}

// restore makes the state of keys that of their newest versions that are left.
func (g *writeGroup) restore(past *history, written map[codec.Hash][]byte) error {
	id := &g.c.id
	x := lease{past: *past, seeded: g.c.row.base}
	x.past.r = &g.view
	p := g.past(-1)
	changes := make([]merkle.Change, 0, len(written))
	for hash, appKey := range written {
		var v version
		err := p.versions(&hash, func(newest *version) bool {
			v = *newest
			return false
		})
		if err != nil {
			return err
		}
		row := stateKey(nil, id, appKey)
		if v.seq != 0 && !v.put {
			g.putGone(&hash, v.seq)
		} else {
			g.key = goneKey(g.key[:0], id, &hash)
			g.delete(g.key)
		}
		if !v.put {
			changes = append(changes, merkle.Change{Key: hash, Delete: true})
			g.batch.Delete(column.State, row)
			continue
		}
		var seeded []byte // its row
		if v.id == g.c.row.base.id {
			seeded = hashedKey(nil, seededScope, id, &hash)
			has, err := g.view.has(seeded)
			if err != nil {
				return err
			}
			if !has {
				continue // it was the state all along
			}
		}
		value, _, err := x.valueOf(&v, &hash, appKey)
		if err != nil {
			return err
		}
		if seeded != nil {
			g.delete(seeded)
		}
		changes = append(changes, merkle.Change{Key: hash, Value: merkle.HashValue(value), Mark: v.seq})
		g.batch.Put(column.State, row, value)
	}
	merkle.SortChanges(changes)
	return g.c.trie.Update(changes)
}

// skip makes the next number one without a delta: in a replay.
func (s *Store) skip(id codec.ContextID, withdrawn codec.DeltaID) error {
	r := &request{}
	r.Task.do = func(g *writeGroup) error {
		g.mark(g.c.next, withdrawn)
		g.putContextRow()
		g.c.next++
		return nil
	}
	if err := s.submit(context.Background(), id, r); err != nil {
		return err
	}
	return r.Err
}
