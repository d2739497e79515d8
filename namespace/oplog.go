package namespace

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
)

// ErrBehind is returned to a follower that has missed changes of verdicts. Begin anew.
var ErrBehind = errors.New("namespace: the follower is too far behind")

// Entry is an op in the log of its group.
type Entry struct {
	Seq     uint64 // 1, 2, 3 and so on, in the order in which this node could read them
	ID      codec.OpID
	Op      codec.SignedGroupOp
	Verdict group.Verdict // as it was when the entry was read
}

// Window is a part of the log of a group. The zero Window is all of it, oldest first.
type Window struct {
	From    uint64 // the first number; Reverse: the last; 0: from the end where it begins
	Reverse bool
	Limit   int // 0: all
}

// Ops yields the readable ops of a group with their present verdicts. It ends with the
// first error: [ErrNoGroup], that of ctx, engine.ErrCorrupt or the store's.
func (s *Store) Ops(ctx context.Context, g codec.GroupID, w Window) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		ns, err := s.home(g)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		var entries []Entry
		for left := w.Limit; ; {
			page := Window{From: w.From, Reverse: w.Reverse, Limit: pageOps}
			if w.Limit > 0 {
				page.Limit = min(page.Limit, left)
			}
			err := s.view(ns, func(c *loaded) (err error) {
				entries, err = s.readLog(c, g, page, entries)
				return err
			})
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for i := range entries {
				if !yield(entries[i], nil) {
					return
				}
			}
			left -= len(entries)
			if len(entries) < page.Limit || w.Limit > 0 && left == 0 {
				return
			}
			last := entries[len(entries)-1].Seq
			if w.From = last + 1; w.Reverse {
				if w.From = last - 1; w.From == 0 {
					return
				}
			}
		}
	}
}

// readLog reads a page of the log into the memory of page.
func (s *Store) readLog(c *loaded, g codec.GroupID, w Window, page []Entry) ([]Entry, error) {
	page = slices.Grow(page[:0], min(w.Limit, len(c.logs[g])))
	rg, err := logRange(g, w)
	if err != nil {
		return nil, err
	}
	if c.report != nil {
		rg.Limit = 0 // of entries, which not every row is
	}
	it, err := s.db.Iterate(keys.GroupOpLog{}.Slot().Column, rg)
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for (w.Limit == 0 || len(page) < w.Limit) && it.Next() {
		entry, err := c.entryOf(g, it.Key(), it.Value())
		if err == nil {
			page = append(page, entry)
		} else if err = c.beside(keys.GroupOpLog{}.Slot().Column, it.Key(), err); err != nil {
			return nil, err
		}
	}
	return page, it.Err()
}

// entryOf returns the entry of a row of the log of g.
func (c *loaded) entryOf(g codec.GroupID, row, value []byte) (e Entry, err error) {
	key, err := keys.GroupOpLog{}.Parse(row)
	e.Seq = key.Seq.Uint64()
	log := c.logs[g]
	if err != nil || e.Seq == 0 || e.Seq > uint64(len(log)) {
		return e, fmt.Errorf("namespace: %w: %x is no entry of the log of group %s", engine.ErrCorrupt, row, g)
	}
	i := int(log[e.Seq-1])
	if i == 0 { // the first op of a namespace is of no group
		return e, fmt.Errorf("namespace: %w: number %d of the log of group %s: its op is not here", engine.ErrCorrupt, e.Seq, g)
	}
	e.ID, e.Verdict = c.ledger.Op(i).ID, c.ledger.Verdict(i)
	e.Op, err = decodeLog(&engine.Lookup{Key: row, Value: value, Found: true})
	return e, err
}

// logRange returns the rows of a part of the log.
func logRange(g codec.GroupID, w Window) (engine.Range, error) {
	rg := engine.Prefixed(keys.OpsOf(g).AppendTo(nil))
	rg.Reverse, rg.Limit = w.Reverse, w.Limit
	var err error
	switch {
	case w.From == 0:
	case w.Reverse:
		rg.End, err = keys.GroupOpLog{Group: g, Seq: keys.NewSeq(w.From + 1)}.AppendBinary(nil)
	default:
		rg.Start, err = keys.GroupOpLog{Group: g, Seq: keys.NewSeq(w.From)}.AppendBinary(nil)
	}
	return rg, err
}

// Event is what a follower of a group gets: an Entry, or a verdict on an op before it
// that has changed.
type Event struct {
	Entry  *Entry
	Change *group.VerdictChange
}

// Follow yields the readable ops of a group after number from, and changes of the
// verdicts on ops up to there while it runs. With live it then waits for more, without
// polling, until ctx ends or the store is closed. It ends with the first error, as
// [Store.Ops], or [ErrBehind].
func (s *Store) Follow(ctx context.Context, g codec.GroupID, from uint64, live bool) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := &follower{s: s, g: g, last: from}
		var err error
		if f.ns, err = s.home(g); err != nil {
			yield(Event{}, err)
			return
		}
		for {
			events, news, err := f.look()
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
			if len(events) > 0 {
				continue
			}
			if !live {
				return
			}
			select {
			case <-news:
			case <-ctx.Done():
			case <-s.ctx.Done():
				yield(Event{}, ErrClosed)
				return
			}
		}
	}
}

type follower struct {
	s     *Store
	ns, g codec.GroupID
	last  uint64 // number of the last entry
	seen  uint64 // changes
	begun bool
}

// look returns what is new, and what is closed when there is more.
func (f *follower) look() (events []Event, news <-chan struct{}, err error) {
	err = f.s.view(f.ns, func(c *loaded) error {
		p := c.queue
		p.newsMu.Lock()
		news = p.news
		changes, first := p.changes, p.gone
		p.newsMu.Unlock()
		if !f.begun {
			f.begun, f.seen = true, first+uint64(len(changes))
		}
		if f.seen < first {
			return fmt.Errorf("%w: %d changes", ErrBehind, first-f.seen)
		}
		for _, change := range changes[f.seen-first:] {
			i, ok := c.ledger.Find(change.Op)
			if ok && c.ledger.Op(i).Group == f.g && c.facts[i].seq > 0 && c.facts[i].seq <= f.last {
				events = append(events, Event{Change: &change})
			}
		}
		f.seen = first + uint64(len(changes))
		page, err := f.s.readLog(c, f.g, Window{From: f.last + 1, Limit: pageOps}, nil)
		for i := range page {
			events = append(events, Event{Entry: &page[i]})
			f.last = page[i].Seq
		}
		return err
	})
	return events, news, err
}

// home returns the namespace that a group belongs, or belonged, to.
func (s *Store) home(g codec.GroupID) (codec.GroupID, error) {
	for at := g; ; {
		if has, err := engine.Has(s.db, keys.NamespaceGovHead{Namespace: at}); has || err != nil {
			return at, err
		}
		parent, err := engine.Get(s.db, keys.GroupParentRef{Child: at})
		if errors.Is(err, engine.ErrNotFound) {
			return s.formerHome(g)
		}
		if err != nil {
			return at, err
		}
		at = parent.ParentID
	}
}

// formerHome returns the namespace in whose log a group is that was deleted.
func (s *Store) formerHome(g codec.GroupID) (found codec.GroupID, err error) {
	if has, err := engine.Has(s.db, keys.GroupOpHead{Group: g}); err != nil || !has {
		return found, errors.Join(err, fmt.Errorf("%w: %s", ErrNoGroup, g))
	}
	for e, err := range engine.Scan(s.db, keys.Prefix[keys.NamespaceGovHead]{}) {
		if err != nil {
			return found, err
		}
		has := false
		if err := s.view(e.Key.Namespace, func(c *loaded) error { has = len(c.logs[g]) > 0; return nil }); err != nil {
			return found, err
		}
		if has {
			return e.Key.Namespace, nil
		}
	}
	return found, fmt.Errorf("%w: %s", ErrNoGroup, g)
}
