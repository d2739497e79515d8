package kv

import (
	"bytes"
	"context"
	"errors"
	"iter"

	"github.com/stoadb/stoa/engine"
)

// Change is what a revision of a space did to a key.
type Change struct {
	Record
	// Overtaken says that the value, longer than those that the log holds itself, is not kept: there is
	// a later change of the key.
	Overtaken bool
}

// event is the kind of event that tells the change.
func (c *Change) event() EventKind {
	switch c.Kind {
	case Deleted:
		return EventDelete
	case Expired:
		return EventExpire
	}
	return EventPut
}

// size is about the memory that the change takes, in bytes.
func (c *Change) size() int { return len(c.Key) + len(c.Value) + 64 }

// Changes returns the changes of the space after a revision, oldest first and without a
// gap, at most limit of them (1 to MaxPage), and whether there are more; fewer where
// their values take much memory. Their bytes are the caller's. It returns ErrTrimmed
// where the log does not go on from there: changes after it are no longer kept, or are
// missing, or a power loss took it with writes that were not synced. Then what is known of the
// space is to be read again.
func (v *View) Changes(ctx context.Context, after uint64, limit int) (list []Change, more bool, err error) {
	if limit < 1 || limit > MaxPage {
		return nil, false, invalid("limit", "a page has 1 to %d changes", MaxPage)
	}
	if err := v.store.open(); err != nil {
		return nil, false, err
	}
	stats, err := v.Stats()
	if err != nil {
		return nil, false, err
	}
	if after > stats.Revision {
		return nil, false, notLogged(after, "the space has not come to this revision; it lost writes that were not synced: read its records again")
	}
	size := 0
	for c, err := range v.changes(ctx, after, limit) {
		if err != nil {
			return nil, false, err
		}
		list, after = append(list, c), c.Revision
		if size += c.size(); size >= pageBytes {
			break
		}
	}
	more = after < stats.Revision
	if more && len(list) == 0 {
		return nil, false, endsBefore(after)
	}
	return list, more, nil
}

func endsBefore(after uint64) error {
	return notLogged(after+1, "the log ends before the last change: read the records of the space again")
}

// changes yields the changes after a revision that the log has, at most limit of them,
// and ErrTrimmed where those that come next are not kept any more.
func (v *View) changes(ctx context.Context, after uint64, limit int) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		r := engine.Prefixed(append(v.scope[:len(v.scope):len(v.scope)], byte(ShapeLog)))
		r.Start = Row{Scope: v.scope, Shape: ShapeLog, Number: after + 1}.AppendKey(nil)
		r.Limit = limit
		for row, err := range scanRows(ctx, v.reader, r) {
			var c Change
			if err == nil && row.Number != after+1 { // every revision has a row
				err = notLogged(after+1, "the log no longer has what came next: read the records of the space again")
			}
			if err == nil {
				c, err = v.change(row)
			}
			if !yield(c, err) || err != nil {
				return
			}
			after = row.Number
		}
	}
}

// change is what a row of the log says.
func (v *View) change(row storedRow) (c Change, err error) {
	r, elsewhere, err := parseLog(row.raw, row.value)
	if err != nil {
		return c, err
	}
	r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
	if elsewhere {
		if r.Value, c.Overtaken, err = v.longValue(&r); err != nil {
			return c, err
		}
	}
	if v.typ.Others && r.Kind == Put {
		if err := v.lasting(&r); err != nil {
			return c, err
		}
	}
	c.Record = r
	return c, nil
}

// lasting sets when the record of a change expires, as it is now: what is the newest of its key may
// have been touched since, which is no change.
func (v *View) lasting(r *Record) error {
	_, now, err := v.stored(nil, Row{Scope: v.scope, Shape: ShapeRecord, Key: r.Key}.AppendKey(nil))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err == nil && now.Revision == r.Revision {
		r.expires, r.Expires = now.expires, now.Expires
	}
	return err
}

// longValue returns the value of a change that the log does not hold itself, or that
// it is not there any more.
func (v *View) longValue(r *Record) (value []byte, overtaken bool, err error) {
	if v.typ.remembers() {
		old, err := v.AtRevision(r.Key, r.Revision)
		if errors.Is(err, ErrTrimmed) {
			return nil, true, nil
		}
		return old.Value, false, err
	}
	row := Row{Scope: v.scope, Shape: ShapeRecord, Key: r.Key}.AppendKey(nil)
	_, now, err := v.stored(nil, row)
	if errors.Is(err, ErrNotFound) || err == nil && now.Revision != r.Revision {
		return nil, true, nil
	}
	return now.Value, false, err
}
