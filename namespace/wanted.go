package namespace

import (
	"bytes"
	"strings"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
)

// wanted is the rows of the Group column that follow from the ops of a namespace.
type wanted map[string][]byte

// add takes changes of rows, each after those before it.
func (w wanted) add(rows []group.RowChange) {
	for _, r := range rows {
		switch {
		case r.Column != column.Group:
		case r.All:
			for key := range w {
				if strings.HasPrefix(key, string(r.Key)) {
					delete(w, key)
				}
			}
		case r.Value == nil:
			delete(w, string(r.Key))
		default:
			w[string(r.Key)] = r.Value
		}
	}
}

// differing calls fn with each row, of those that mine is true of, which is stored otherwise
// than is wanted: what is there and what should be, nil: nothing. The key and what is there
// are only lent, and want is used up.
func differing(r engine.Reader, mine func(key, value []byte) bool, want wanted, fn func(key, have, due []byte) error) error {
	it, err := r.Iterate(column.Group, engine.Range{})
	if err != nil {
		return err
	}
	defer it.Close()
	for it.Next() {
		key := it.Key()
		if !mine(key, it.Value()) {
			continue
		}
		due, ok := want[string(key)]
		delete(want, string(key))
		if ok && bytes.Equal(due, it.Value()) {
			continue
		}
		if err := fn(key, it.Value(), due); err != nil {
			return err
		}
	}
	if err := it.Err(); err != nil {
		return err
	}
	for key, due := range want {
		if !mine([]byte(key), due) {
			continue
		}
		if err := fn([]byte(key), nil, due); err != nil {
			return err
		}
	}
	return nil
}

// follows reports whether a row of the Group column follows from the ops of the namespace.
func (c *loaded) follows() func(key, value []byte) bool {
	ours := c.ours()
	return func(key, value []byte) bool { return derived(key, value, ours) }
}

// ours returns the namespace and all groups that were ever created below it, whatever
// became of that. The id of a group is a digest of the id of its parent: it is of no other
// namespace.
func (c *loaded) ours() map[codec.GroupID]bool {
	below := map[codec.GroupID][]codec.GroupID{}
	for i := range c.ledger.Len() {
		if r := c.ledger.Op(i).Root; r != nil && r.Kind == codec.RootGroupCreated {
			below[r.ParentID] = append(below[r.ParentID], r.GroupID)
		}
	}
	ours := map[codec.GroupID]bool{c.id: true}
	for left := []codec.GroupID{c.id}; len(left) > 0; left = left[1:] {
		for _, g := range below[left[0]] {
			if !ours[g] {
				ours[g] = true
				left = append(left, g)
			}
		}
	}
	return ours
}

// derived reports whether a row of the Group column follows from the ops of these groups:
// not the ops, the log, or secrets.
func derived(key, value []byte, mine map[codec.GroupID]bool) bool {
	const signingKey, contextRef, log, identity, op, groupKey = 0x25, 0x23, 0x30, 0x37, 0x38, 0x3A
	if len(key) < 33 {
		return false
	}
	switch key[0] {
	case signingKey, log, identity, op, groupKey:
		return false
	case contextRef:
		return len(value) == 32 && mine[codec.GroupID(value)]
	default:
		return mine[codec.GroupID(key[1:33])]
	}
}
