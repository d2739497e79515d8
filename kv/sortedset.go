package kv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// Member is one of a sorted set. Members sort by score, and then by their bytes.
type Member struct {
	Member []byte
	Score  float64
}

// SetInfo is the head of a sorted set.
type SetInfo struct {
	Members uint64
	// Version grows with every change of the set. Whoever has looked for members
	// outside a transaction compares it within, and knows that nothing came between.
	Version uint64
}

// The value of a set's head is members u64 ‖ version u64, that of a score row the
// score's 8 bytes as they are in an order row's key.

func parseSetHead(row, src []byte) (i SetInfo, err error) {
	if len(src) != 16 {
		return i, damaged(row, "not the head of a sorted set")
	}
	return SetInfo{binary.LittleEndian.Uint64(src), binary.LittleEndian.Uint64(src[8:])}, nil
}

func parseScore(row, src []byte) (float64, error) {
	if len(src) == 8 {
		if score, ok := scoreOf(binary.BigEndian.Uint64(src)); ok {
			return score, nil
		}
	}
	return 0, damaged(row, "not a score")
}

func (tx *Tx) setHead(set string) (row []byte, i SetInfo, err error) {
	if err := checkName("set", set); err != nil {
		return nil, i, err
	}
	row = tx.u.key(Row{Scope: tx.scope, Shape: ShapeHead, Kind: KindSet, Key: []byte(set)})
	value, err := tx.u.get(row)
	if errors.Is(err, engine.ErrNotFound) {
		return row, i, nil
	}
	if err == nil {
		i, err = parseSetHead(row, value)
	}
	return row, i, err
}

// Set returns the head of a sorted set. One that has no members is no different
// from one that never was, but for its version.
func (tx *Tx) Set(set string) (SetInfo, error) {
	_, i, err := tx.setHead(set)
	return i, err
}

// Score returns the score of a member, or ErrNotFound.
func (tx *Tx) Score(set string, member []byte) (float64, error) {
	if err := checkName("set", set); err != nil {
		return 0, err
	}
	row := tx.u.key(Row{Scope: tx.scope, Shape: ShapeScore, Name: []byte(set), Key: member})
	value, err := tx.u.get(row)
	if errors.Is(err, engine.ErrNotFound) {
		return 0, notFound()
	}
	if err != nil {
		return 0, err
	}
	return parseScore(row, value)
}

// Add gives a member a score, and says whether it is new. A score is any number
// but NaN.
func (tx *Tx) Add(set string, member []byte, score float64) (added bool, err error) {
	if math.IsNaN(score) {
		return false, invalid("score", "not a number")
	}
	if err := checkKey(member); err != nil {
		return false, err
	}
	head, info, err := tx.setHead(set)
	if err != nil {
		return false, err
	}
	old, err := tx.Score(set, member)
	added = errors.Is(err, ErrNotFound)
	if err != nil && !added || err == nil && old == score {
		return false, err
	}
	order := Row{Scope: tx.scope, Shape: ShapeOrder, Name: []byte(set), Score: old, Key: member}
	if added {
		info.Members++
	} else {
		tx.u.delete(tx.u.key(order))
	}
	order.Score = score
	tx.u.put(tx.u.key(order), nil)
	tx.u.put(tx.u.key(Row{Scope: tx.scope, Shape: ShapeScore, Name: []byte(set), Key: member}), appendU64(nil, OrderedScore(score)))
	tx.putSetHead(head, info)
	return added, nil
}

func (tx *Tx) putSetHead(row []byte, i SetInfo) {
	i.Version++
	tx.changed = true
	tx.u.put(row, binary.LittleEndian.AppendUint64(u64Bytes(i.Members), i.Version))
}

// Remove removes a member, and says whether it was there.
func (tx *Tx) Remove(set string, member []byte) (bool, error) {
	head, info, err := tx.setHead(set)
	if err != nil {
		return false, err
	}
	score, err := tx.Score(set, member)
	if err != nil {
		return false, unless(err, ErrNotFound)
	}
	tx.u.delete(tx.u.key(Row{Scope: tx.scope, Shape: ShapeOrder, Name: []byte(set), Score: score, Key: member}))
	tx.u.delete(tx.u.key(Row{Scope: tx.scope, Shape: ShapeScore, Name: []byte(set), Key: member}))
	info.Members--
	tx.putSetHead(head, info)
	return true, nil
}

// DeleteSet removes a sorted set. Its version begins anew.
func (tx *Tx) DeleteSet(set string) error {
	head, _, err := tx.setHead(set)
	if err != nil {
		return err
	}
	for _, shape := range []Shape{ShapeScore, ShapeOrder} {
		tx.u.deleteAll(under(tx.scope, shape, []byte(set)).Start)
	}
	tx.u.delete(head)
	tx.changed = true
	return nil
}

// Set returns the counters of a sorted set in the state of the view; see [Tx.Set].
func (v *View) Set(set string) (SetInfo, error) {
	row := Row{Scope: v.scope, Shape: ShapeHead, Kind: KindSet, Key: []byte(set)}.AppendKey(nil)
	value, err := v.reader.Get(nil, column.Generic, row)
	if errors.Is(err, engine.ErrNotFound) {
		return SetInfo{}, nil
	}
	if err != nil {
		return SetInfo{}, err
	}
	return parseSetHead(row, value)
}

// Score returns the score of a member in the state of the view; see [Tx.Score].
func (v *View) Score(set string, member []byte) (float64, error) {
	row := Row{Scope: v.scope, Shape: ShapeScore, Name: []byte(set), Key: member}.AppendKey(nil)
	value, err := v.reader.Get(nil, column.Generic, row)
	if errors.Is(err, engine.ErrNotFound) {
		return 0, notFound()
	}
	if err != nil {
		return 0, err
	}
	return parseScore(row, value)
}

// MembersOptions say which members a page has. The zero MembersOptions are all,
// the lowest score first.
type MembersOptions struct {
	From, To *float64 // scores from From up to To, both included; nil: no bound
	Reverse  bool     // the highest first
	Cursor   string   // of the page before, whose other options were the same; "": the first page
	Limit    int      // at most MaxPage; 0: 100
}

// Members returns a page of a sorted set and the cursor of the next; errors are
// those of List.
func (s *Space) Members(ctx context.Context, set string, o MembersOptions) ([]Member, string, error) {
	return s.now().Members(ctx, set, o)
}

// Members returns a page of a sorted set in the state of the view; see
// [Space.Members].
func (v *View) Members(ctx context.Context, set string, o MembersOptions) ([]Member, string, error) {
	r := under(v.scope, ShapeOrder, []byte(set))
	base := r.Start
	r.Reverse = o.Reverse
	question := append([]byte{byte(ShapeOrder), boolByte(o.Reverse)}, base...)
	if o.From != nil {
		r.Start = appendU64(base[:len(base):len(base)], OrderedScore(*o.From))
	}
	if o.To != nil {
		r.End = engine.Successor(appendU64(base[:len(base):len(base)], OrderedScore(*o.To)))
	}
	for _, bound := range []*float64{o.From, o.To} {
		if bound == nil {
			question = append(question, 0)
		} else if math.IsNaN(*bound) {
			return nil, "", invalid("score", "not a number")
		} else {
			question = appendU64(append(question, 1), OrderedScore(*bound))
		}
	}
	if bytes.Compare(r.Start, r.End) >= 0 {
		return nil, "", nil
	}
	var members []Member
	next, err := v.page(ctx, r, question, o.Cursor, o.Limit, func(row storedRow) (int, error) {
		members = append(members, Member{row.Key, row.Score})
		return len(row.Key) + 32, nil
	})
	if err != nil {
		return nil, "", err
	}
	if next != "" {
		members = members[:len(members)-1]
	}
	return members, next, nil
}

// Pop removes the member with the lowest score, or with the highest if highest
// is set, and returns it, or ErrNotFound if the set has none. It returns ErrBusy
// if others have changed the set again and again meanwhile.
func (s *Space) Pop(ctx context.Context, d engine.Durability, set string, highest bool) (Member, error) {
	for range maxTries {
		m, err := s.tryPop(ctx, d, set, highest)
		if !errors.Is(err, ErrMismatch) {
			return m, err
		}
	}
	return Member{}, &Error{Code: CodeBusy, Field: "set", Reason: "others change the set all the time: try again"}
}

func (s *Space) tryPop(ctx context.Context, d engine.Durability, set string, highest bool) (Member, error) {
	view, err := s.View()
	if err != nil {
		return Member{}, err
	}
	defer func() { _ = view.Close() }()
	seen, err := view.Set(set)
	if err != nil {
		return Member{}, err
	}
	first, _, err := view.Members(ctx, set, MembersOptions{Reverse: highest, Limit: 1})
	if err != nil {
		return Member{}, err
	}
	if len(first) == 0 {
		return Member{}, notFound()
	}
	return first[0], s.Update(ctx, d, func(tx *Tx) error {
		now, err := tx.Set(set)
		if err != nil {
			return err
		}
		if now.Version != seen.Version {
			return &Error{Code: CodeMismatch, Field: "version", Limit: seen.Version, Have: now.Version, Reason: "the set has changed"}
		}
		_, err = tx.Remove(set, first[0].Member)
		return err
	})
}
