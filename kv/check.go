package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Finding is a row that disagrees with others. Its codes are stable.
type Finding struct {
	Code   string // counters, log, due, index, history, set, stream, group, registry, row
	Key    []byte // of the row, in column Generic
	Reason string
}

// String names the row and what is wrong; it does not show a value.
func (f Finding) String() string { return fmt.Sprintf("%s: %x: %s", f.Code, f.Key, f.Reason) }

// Check is [Check] of the store's engine in the state that it has now, with the
// types that are declared.
func (s *Store) Check(ctx context.Context) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		if err := s.open(); err != nil {
			yield(Finding{}, err)
			return
		}
		snapshot, err := s.db.Snapshot()
		if err != nil {
			yield(Finding{}, err)
			return
		}
		defer func() { _ = snapshot.Close() }()
		s.mu.RLock()
		known := maps.Clone(s.types)
		s.mu.RUnlock()
		check(ctx, snapshot, known, yield)
	}
}

// Check recounts and recomputes everything that is derived from something else
// and yields what disagrees; nothing, where all is well. r must stay in one
// state. Memory does not grow with what is stored. Rows of a dropped space that
// wait in the line of what is due are no finding. Indexes of types that are not
// given are not looked at. An error of reading ends it; damage of a row is a
// finding.
func Check(ctx context.Context, r engine.Reader, given ...Type) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		known := types{}
		for i := range given {
			number, err := given[i].number(r)
			if err != nil && !errors.Is(err, engine.ErrCorrupt) { // a row that is damaged is found
				yield(Finding{}, err)
				return
			}
			if number != 0 || given[i].Others {
				known[typeKey{given[i].System, number}] = &given[i]
			}
		}
		check(ctx, r, known, yield)
	}
}

func check(ctx context.Context, r engine.Reader, known types, yield func(Finding, error) bool) {
	c := checker{types: known, ctx: ctx, r: r, yield: yield}
	if err := c.run(); err != nil && !c.stopped {
		yield(Finding{}, err)
	}
}

type checker struct {
	types   types
	ctx     context.Context
	r       engine.Reader
	yield   func(Finding, error) bool
	stopped bool
	look    map[Shape]func(storedRow) error

	// The space that is being counted; its rows stand together, the log's and the
	// counters' before those of records.
	scope  keys.Scope
	typ    *Type // nil: not declared
	meta   *Stats
	counts Stats // Keys, Bytes, Revision: the last of the log, Floor: the one before the first
}

var errStopped = errors.New("kv: check stopped")

func (c *checker) find(code string, key []byte, format string, args ...any) error {
	if c.stopped = !c.yield(Finding{code, bytes.Clone(key), fmt.Sprintf(format, args...)}, nil); c.stopped {
		return errStopped
	}
	return nil
}

func (c *checker) run() error {
	c.look = map[Shape]func(storedRow) error{
		ShapeRecord: c.record, ShapeLog: c.log, ShapeHistory: c.history, ShapeRevision: c.revision,
		ShapeIndex: c.index, ShapeHead: c.head, ShapeScore: c.score, ShapeOrder: c.order, ShapeEntry: c.entry,
		ShapeGroup: c.group, ShapePending: c.pending, ShapeJob: c.armed,
		ShapeDue: c.due, ShapeTenant: c.tenant, ShapeTenantName: c.tenantName, ShapeSpace: c.space,
		ShapeSpaceName: c.spaceName, ShapeTenantSpaces: c.tenantSpace,
	}
	for row, err := range scanRows(c.ctx, c.r, engine.Range{Start: []byte{0}, End: []byte{1}}) {
		if errors.Is(err, engine.ErrCorrupt) && row.raw != nil {
			err = c.find("row", row.raw, "%s", err)
		} else if err == nil {
			err = c.row(row)
		}
		if err != nil {
			return err
		}
	}
	return c.finish()
}

// row looks at one row. Damage of it, or of one that it leads to, is a finding.
func (c *checker) row(row storedRow) error {
	if row.Scope != c.scope {
		if err := c.finish(); err != nil {
			return err
		}
		c.scope, c.typ, c.meta, c.counts = row.Scope, c.types.of(row.Scope), nil, Stats{}
		if err := c.readMeta(row.raw); err != nil {
			return err
		}
	}
	look := c.look[row.Shape]
	if look == nil {
		return nil
	}
	err := look(row)
	if errors.Is(err, engine.ErrCorrupt) {
		return c.find("row", row.raw, "%s", err)
	}
	return err
}

// readMeta reads the counters of the space that begins.
func (c *checker) readMeta(first []byte) error {
	if c.scope == (keys.Scope{}) {
		return nil
	}
	row := Row{Scope: c.scope, Shape: ShapeMeta}.AppendKey(nil)
	value, err := c.get(row)
	if err != nil {
		return err
	}
	if value == nil {
		return c.find("counters", first, "rows of a space that has no counters")
	}
	meta, err := parseMeta(row, value)
	if err != nil {
		return c.find("row", row, "%s", err)
	}
	c.meta = &meta
	c.counts.Floor, c.counts.Revision = meta.Floor, meta.Floor
	return nil
}

// finish compares the counters of the space that ends.
func (c *checker) finish() error {
	if c.meta == nil {
		return nil
	}
	row := Row{Scope: c.scope, Shape: ShapeMeta}.AppendKey(nil)
	if c.meta.Keys != c.counts.Keys || c.meta.Bytes != c.counts.Bytes {
		if err := c.find("counters", row, "it counts %d keys and %d bytes, there are %d and %d", c.meta.Keys, c.meta.Bytes, c.counts.Keys, c.counts.Bytes); err != nil {
			return err
		}
	}
	if c.meta.Older != c.counts.Older && c.typ != nil {
		if err := c.find("counters", row, "it counts %d older revisions, there are %d", c.meta.Older, c.counts.Older); err != nil {
			return err
		}
	}
	if c.meta.Revision != c.counts.Revision {
		return c.find("log", row, "the last revision is %d, and the log ends with %d", c.meta.Revision, c.counts.Revision)
	}
	return nil
}

// get returns a value, nil if there is none.
func (c *checker) get(key []byte) ([]byte, error) {
	value, err := c.r.Get([]byte{}, column.Generic, key)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	return value, err
}

// need finds fault with row unless other is there.
func (c *checker) need(code string, row storedRow, other Row) error {
	value, err := c.get(other.AppendKey(nil))
	if err == nil && value == nil {
		return c.find(code, row.raw, "its %s row is missing", other.Shape)
	}
	return err
}

func (c *checker) record(row storedRow) error {
	r, err := parseRecord(row.raw, row.Key, row.value)
	if err != nil {
		return err
	}
	c.counts.Keys++
	c.counts.Bytes += uint64(len(r.Key) + len(r.Value))
	if r.Kind != Put || c.meta != nil && r.Revision > c.meta.Revision {
		if err := c.find("counters", row.raw, "a record of revision %d and kind %s", r.Revision, r.Kind); err != nil {
			return err
		}
	}
	if err := c.changed(row, r); err != nil {
		return err
	}
	if err := c.armed(row); err != nil || c.typ == nil {
		return err
	}
	for _, index := range c.typ.Indexes {
		list, err := terms(index, r)
		if err != nil {
			return err
		}
		for _, term := range list {
			value, err := c.get(Row{Scope: row.Scope, Shape: ShapeIndex, Index: index.Number, Name: term, Key: row.Key}.AppendKey(nil))
			if err == nil && value == nil {
				err = c.find("index", row.raw, "its row of index %s is missing", index.Name)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// changed finds fault with a record unless the change of its revision is of its key, if
// the log still has it.
func (c *checker) changed(row storedRow, r Record) error {
	if c.meta == nil || r.Revision <= c.meta.Floor || r.Revision > c.meta.Revision {
		return nil
	}
	key := Row{Scope: row.Scope, Shape: ShapeLog, Number: r.Revision}.AppendKey(nil)
	value, err := c.get(key)
	if err != nil || value == nil {
		return err // that it is missing is found in the log
	}
	if logged, _, err := parseLog(key, value); err == nil && !bytes.Equal(logged.Key, r.Key) {
		return c.find("log", row.raw, "the change of its revision %d is of another key", r.Revision)
	}
	return nil // what does not parse is found where it stands
}

// armed looks for the row of what is due that belongs to another.
func (c *checker) armed(row storedRow) error {
	due, err := dueOf(row)
	if err != nil || due.Due == 0 {
		return err
	}
	return c.need("due", row, due)
}

func (c *checker) log(row storedRow) error {
	r, elsewhere, err := parseLog(row.raw, row.value)
	if err != nil {
		return err
	}
	last := c.counts.Revision
	c.counts.Revision = row.Number
	if row.Number != last+1 {
		return c.find("log", row.raw, "revision %d follows %d", row.Number, last)
	}
	if r.Revision != row.Number {
		return c.find("log", row.raw, "a change of revision %d", r.Revision)
	}
	return c.logged(row, r, elsewhere)
}

// logged finds fault with a change of the log unless the record that it left, and what
// is kept of it as history, say the same, as far as they are there.
func (c *checker) logged(row storedRow, logged Record, elsewhere bool) error {
	for _, left := range []Row{
		{Scope: row.Scope, Shape: ShapeRecord, Key: logged.Key},
		{Scope: row.Scope, Shape: ShapeRevision, Name: logged.Key, Number: row.Number},
	} {
		if left.Shape == ShapeRevision && !c.typ.remembers() {
			continue
		}
		key := left.AppendKey(nil)
		value, err := c.get(key)
		if err != nil {
			return err
		}
		if value == nil {
			continue
		}
		r, err := parseRecord(key, logged.Key, value)
		if err != nil {
			continue // it is found where it stands
		}
		if r.Revision < row.Number {
			err = c.find("log", row.raw, "its key has a %s of the older revision %d", left.Shape, r.Revision)
		} else if r.Revision == row.Number && !r.same(&logged, elsewhere, c.typ.ruled()) {
			err = c.find("log", row.raw, "its %s says something else", left.Shape)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// same reports whether two records of one revision say the same, their values aside if
// one has left it out, as of what is gone any may, and their form and expiry if these may be set anew.
func (r *Record) same(o *Record, elsewhere, rearmed bool) bool {
	return r.Kind == o.Kind && (rearmed || r.Form == o.Form) && r.Created == o.Created && r.Written.Equal(o.Written) && (rearmed || r.expires == o.expires) &&
		(elsewhere || r.Kind != Put || bytes.Equal(r.Value, o.Value))
}

func (c *checker) index(row storedRow) error {
	if c.typ == nil {
		return nil
	}
	i := slices.IndexFunc(c.typ.Indexes, func(i Index) bool { return i.Number == row.Index })
	if i < 0 {
		return c.find("index", row.raw, "the type has no index %d", row.Index)
	}
	key := Row{Scope: row.Scope, Shape: ShapeRecord, Key: row.Key}.AppendKey(nil)
	value, err := c.get(key)
	if err != nil {
		return err
	}
	if value != nil {
		r, err := parseRecord(key, row.Key, value)
		if err != nil {
			return err
		}
		list, err := terms(c.typ.Indexes[i], r)
		if err != nil {
			return err
		}
		if _, found := slices.BinarySearchFunc(list, row.Name, bytes.Compare); found {
			return nil
		}
	}
	return c.find("index", row.raw, "its record has no such term, or is not there")
}

func (c *checker) history(row storedRow) error {
	list, err := parseRevisions(row.raw, row.value)
	if err != nil {
		return err
	}
	for _, n := range list {
		if err := c.need("history", row, Row{Scope: row.Scope, Shape: ShapeRevision, Name: row.Key, Number: n}); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) revision(row storedRow) error {
	r, err := parseRecord(row.raw, row.Name, row.value)
	if err != nil {
		return err
	}
	if c.typ.ruled() {
		c.counts.Older++
	}
	if err := c.changed(row, r); err != nil {
		return err
	}
	head := Row{Scope: row.Scope, Shape: ShapeHistory, Key: row.Name}.AppendKey(nil)
	value, err := c.get(head)
	if err != nil {
		return err
	}
	if value != nil {
		list, err := parseRevisions(head, value)
		if err != nil {
			return err
		}
		if _, found := slices.BinarySearch(list, row.Number); found && r.Revision == row.Number {
			return nil
		}
	}
	return c.find("history", row.raw, "it is not in the list of its key")
}
