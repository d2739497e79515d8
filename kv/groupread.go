package kv

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// Group returns where a group is, or ErrNotFound.
func (v *View) Group(stream, group string) (GroupInfo, error) {
	row := Row{Scope: v.scope, Shape: ShapeGroup, Name: []byte(stream), Key: []byte(group)}.AppendKey(nil)
	value, err := v.reader.Get(nil, column.Generic, row)
	if errors.Is(err, engine.ErrNotFound) {
		return GroupInfo{}, &Error{Code: CodeNotFound, Field: "group", Reason: "the stream has no such group"}
	}
	if err != nil {
		return GroupInfo{}, err
	}
	return parseGroup(row, value)
}

// Group is a group of a stream by its name.
type Group struct {
	Name string
	GroupInfo
}

// Groups returns the groups of a stream in order of their names, at most MaxPage of them.
func (v *View) Groups(ctx context.Context, stream string) ([]Group, error) {
	r := under(v.scope, ShapeGroup, []byte(stream))
	r.Limit = MaxPage
	var list []Group
	for row, err := range scanRows(ctx, v.reader, r) {
		if err != nil {
			return nil, err
		}
		info, err := parseGroup(row.raw, row.value)
		if err != nil {
			return nil, err
		}
		list = append(list, Group{string(row.Key), info})
	}
	return list, nil
}

// Pending returns what is pending in a group after an entry, oldest first, at
// most limit of it, 0 for 100. It returns ErrNotFound if there is no such group.
func (v *View) Pending(ctx context.Context, stream, group string, after uint64, limit int) ([]Pending, error) {
	if limit < 0 || limit > MaxPage {
		return nil, invalid("limit", "a page has 1 to %d entries, and 0 is %d", MaxPage, defaultPage)
	}
	if limit == 0 {
		limit = defaultPage
	}
	if _, err := v.Group(stream, group); err != nil {
		return nil, err
	}
	if after == math.MaxUint64 {
		return nil, nil
	}
	r := under(v.scope, ShapePending, []byte(stream), []byte(group))
	r.Start, r.Limit = appendU64(r.Start[:len(r.Start):len(r.Start)], after+1), limit
	var list []Pending
	for row, err := range scanRows(ctx, v.reader, r) {
		if err != nil {
			return nil, err
		}
		p, err := parsePending(row.raw, row.value)
		if err != nil {
			return nil, err
		}
		p.Number = row.Number
		list = append(list, p)
	}
	return list, nil
}

// ClaimIdle gives a consumer pending entries of a group whose last delivery is
// at least idle ago, oldest first, at most limit of them, which is 1 to MaxPage.
// Gone are the numbers of those that were pending and that the stream no longer keeps, at
// most limit in each look. It returns ErrNotFound if there is no such group.
func (s *Space) ClaimIdle(ctx context.Context, d engine.Durability, stream, group, consumer string, idle time.Duration, limit int) (claimed []Entry, gone []uint64, err error) {
	for after := uint64(0); ; {
		page, err := s.now().Pending(ctx, stream, group, after, limit)
		if err != nil || len(page) == 0 {
			return claimed, gone, err
		}
		var numbers []uint64
		for _, p := range page {
			after = p.Number
			if timeOf(s.store.line.now()).Sub(p.Since) >= idle && len(numbers) < limit-len(claimed) {
				numbers = append(numbers, p.Number)
			}
		}
		var got []Entry
		var lost []uint64
		if len(numbers) > 0 {
			err = s.Update(ctx, d, func(tx *Tx) (err error) {
				got, lost, err = tx.Claim(stream, group, consumer, idle, numbers...)
				for i := range got {
					got[i].Payload = append([]byte(nil), got[i].Payload...)
				}
				return err
			})
		}
		gone = append(gone, lost...)
		if claimed = append(claimed, got...); err != nil || len(claimed) >= limit {
			return claimed, gone, err
		}
	}
}
