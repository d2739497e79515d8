package namespace

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stoadb/stoa/codec"
)

// ErrNotDue is returned where a group has a current key that all members hold: another
// one would not count.
var ErrNotDue = errors.New("namespace: no rotation is due")

// KeyInfo is what is known of a key of a group; never the key.
type KeyInfo struct {
	ID      codec.KeyID
	Op      codec.OpID // that introduces it
	Height  int
	Current bool
	Here    bool             // this node has it
	Holders []codec.Identity // by identity
}

// Keys returns the keys of a group, by (height, key id).
func (s *Store) Keys(g codec.GroupID) (found []KeyInfo, err error) {
	ns, err := s.home(g)
	if err != nil {
		return nil, err
	}
	r := &request{Task: func(b *batch) error { // which key is current is kept in mind
		b.settle()
		found, err = b.c.keys(g)
		return err
	}}
	if err := s.submit(ns, r); err != nil {
		return nil, err
	}
	return found, r.Err
}

func (c *loaded) keys(g codec.GroupID) (found []KeyInfo, err error) {
	here := c.here()
	current, has, err := here.current(g, -1)
	if err != nil {
		return nil, err
	}
	for _, r := range c.holders.groups[g] {
		k := GroupKey{g, r.key}
		info := KeyInfo{ID: r.key, Op: c.ledger.Op(r.op).ID, Height: c.ledger.Height(r.op), Current: has && r.key == current}
		_, info.Here = c.ring[k]
		c.holders.all(k, here.cut, func(id codec.Identity) bool {
			info.Holders = append(info.Holders, id)
			return true
		})
		slices.SortFunc(info.Holders, compare)
		info.Holders = slices.Compact(info.Holders)
		found = append(found, info)
	}
	slices.SortStableFunc(found, func(a, b KeyInfo) int {
		if a.Height != b.Height {
			return a.Height - b.Height
		}
		return compare(a.ID, b.ID)
	})
	return found, nil
}

// Rotate gives a group a key, where it has none that only members hold, and sends the
// current one to the members who lack it. It returns [ErrNotDue] where neither is due.
// What carries it does nothing else.
func (s *Store) Rotate(ctx context.Context, g codec.GroupID) (done Proposed, err error) {
	ns, err := s.home(g)
	if err != nil {
		return done, err
	}
	err = s.change(ctx, ns, &done, func(p *proposing) error {
		here := p.c.here()
		id, has, err := here.current(g, -1)
		if err != nil {
			return err
		}
		if has && len(here.lacking(GroupKey{g, id}, p.c.ledger)) == 0 {
			return fmt.Errorf("%w in group %s: key %s is current", ErrNotDue, g, id)
		}
		return p.group(g, codec.GroupOp{Kind: codec.OpKeyRotated}, &done.Answer)
	})
	return done, err
}
