package kv

import (
	"errors"
	"time"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// count counts rows, and the first and the last number of them.
func (c *checker) count(r engine.Range) (n, first, last uint64, err error) {
	for row, err := range scanRows(c.ctx, c.r, r) {
		if err != nil {
			return 0, 0, 0, err
		}
		if n == 0 {
			first = row.Number
		}
		n, last = n+1, row.Number
	}
	return n, first, last, nil
}

func (c *checker) head(row storedRow) error {
	if row.Kind == KindStream {
		return c.stream(row)
	}
	info, err := parseSetHead(row.raw, row.value)
	if err != nil {
		return err
	}
	scores, _, _, err := c.count(under(row.Scope, ShapeScore, row.Key))
	if err != nil {
		return err
	}
	orders, _, _, err := c.count(under(row.Scope, ShapeOrder, row.Key))
	if err == nil && (scores != info.Members || orders != info.Members) {
		return c.find("set", row.raw, "it counts %d members, there are %d, and %d in order", info.Members, scores, orders)
	}
	return err
}

func (c *checker) score(row storedRow) error {
	score, err := parseScore(row.raw, row.value)
	if err != nil {
		return err
	}
	if err := c.need("set", row, Row{Scope: row.Scope, Shape: ShapeHead, Kind: KindSet, Key: row.Name}); err != nil {
		return err
	}
	return c.need("set", row, Row{Scope: row.Scope, Shape: ShapeOrder, Name: row.Name, Score: score, Key: row.Key})
}

func (c *checker) order(row storedRow) error {
	return c.need("set", row, Row{Scope: row.Scope, Shape: ShapeScore, Name: row.Name, Key: row.Key})
}

func (c *checker) stream(row storedRow) error {
	info, err := parseStreamHead(row.raw, row.value)
	if err != nil {
		return err
	}
	n, first, last, at := uint64(0), uint64(0), uint64(0), uint64(0)
	for entry, err := range scanRows(c.ctx, c.r, under(row.Scope, ShapeEntry, row.Key)) {
		if err != nil {
			return err
		}
		if first == 0 {
			first = entry.Number
		}
		n, last = n+1, entry.Number
		e, err := parseEntry(entry.raw, entry.value)
		if err != nil {
			continue // which is found where it stands
		}
		if msOf(e.Time) < at || e.Time.After(info.Newest) {
			if err := c.find("stream", entry.raw, "an entry that was added after one that follows it"); err != nil {
				return err
			}
		}
		at = msOf(e.Time)
		if last == info.First && info.Limits.Age > 0 && (info.due == 0 || info.due > at+uint64(info.Limits.Age/time.Millisecond)) {
			if err := c.find("stream", row.raw, "its first entry is too old before the stream is due"); err != nil {
				return err
			}
		}
	}
	if n != info.Last+1-info.rows || n > 0 && (first != info.rows || last != info.Last) {
		if err := c.find("stream", row.raw, "it has entries %d to %d, there are %d from %d to %d", info.rows, info.Last, n, first, last); err != nil {
			return err
		}
	}
	return c.armed(row)
}

func (c *checker) entry(row storedRow) error {
	if _, err := parseEntry(row.raw, row.value); err != nil {
		return err
	}
	return c.need("stream", row, Row{Scope: row.Scope, Shape: ShapeHead, Kind: KindStream, Key: row.Name})
}

func (c *checker) group(row storedRow) error {
	info, err := parseGroup(row.raw, row.value)
	if err != nil {
		return err
	}
	n, _, last, err := c.count(under(row.Scope, ShapePending, row.Name, row.Key))
	if err != nil {
		return err
	}
	head := Row{Scope: row.Scope, Shape: ShapeHead, Kind: KindStream, Key: row.Name}.AppendKey(nil)
	value, err := c.get(head)
	if err != nil {
		return err
	}
	var stream StreamInfo
	if value != nil {
		if stream, err = parseStreamHead(head, value); err != nil {
			return err
		}
	}
	if n != info.Pending || max(last, info.Delivered) > stream.Last {
		return c.find("group", row.raw, "it counts %d pending entries, there are %d up to %d, and it is at %d of %d", info.Pending, n, last, info.Delivered, stream.Last)
	}
	return nil
}

func (c *checker) pending(row storedRow) error {
	if _, err := parsePending(row.raw, row.value); err != nil {
		return err
	}
	return c.need("group", row, Row{Scope: row.Scope, Shape: ShapeGroup, Name: row.Name, Key: row.Group})
}

// due looks for what a row of the line stands for. Behind those of a space that
// is gone there is nothing.
func (c *checker) due(row storedRow) error {
	if meta, err := c.get(Row{Scope: row.Of, Shape: ShapeMeta}.AppendKey(nil)); err != nil || meta == nil {
		return err
	}
	of := Row{Scope: row.Of, Shape: Shape(row.Kind), Key: row.Key}
	if of.Shape == ShapeEntry {
		of.Shape, of.Kind = ShapeHead, KindStream
	}
	key := of.AppendKey(nil)
	value, err := c.get(key)
	if err != nil {
		return err
	}
	if value != nil {
		due, err := dueOf(storedRow{of, key, value})
		if err != nil {
			return err
		}
		if due.Due == row.Due {
			return nil
		}
	}
	return c.find("due", row.raw, "nothing is due then")
}

func (c *checker) tenant(row storedRow) error {
	t, err := parseTenant(row.raw, row.value)
	if err != nil {
		return err
	}
	spaces, err := tenantSpaces(c.ctx, c.r, t.number)
	if err != nil {
		return err
	}
	if uint64(len(spaces)) != t.spaces {
		if err := c.find("registry", row.raw, "it counts %d spaces, there are %d", t.spaces, len(spaces)); err != nil {
			return err
		}
	}
	return c.named(row, Row{Shape: ShapeTenantName, Number: t.number})
}

// named finds fault with the row of a name unless the row of its number says the
// same name.
func (c *checker) named(row storedRow, by Row) error {
	name, err := c.get(by.AppendKey(nil))
	if err == nil && string(name) != string(row.Key) {
		return c.find("registry", row.raw, "number %d is of another name", by.Number)
	}
	return err
}

func (c *checker) tenantName(row storedRow) error {
	t, err := lookTenant(func(key []byte) ([]byte, error) { return c.r.Get(nil, column.Generic, key) }, string(row.value))
	if errors.Is(err, ErrSpaceNotFound) || err == nil && t.number != row.Number {
		return c.find("registry", row.raw, "its name has another number, or none")
	}
	return err
}

func (c *checker) space(row storedRow) error {
	n, err := parseU64(row.raw, row.value)
	if err != nil {
		return err
	}
	return c.named(row, Row{Shape: ShapeSpaceName, Kind: row.Kind, Number: n})
}

func (c *checker) spaceName(row storedRow) error {
	by := Row{Shape: ShapeSpace, Kind: row.Kind, Key: row.value}.AppendKey(nil)
	value, err := c.get(by)
	if err != nil {
		return err
	}
	if n, err := parseU64(by, value); err != nil || n != row.Number {
		return c.find("registry", row.raw, "its name has another number, or none")
	}
	return nil
}

func (c *checker) tenantSpace(row storedRow) error {
	if row.Of.Tenant() != row.Number {
		return c.find("registry", row.raw, "a space of another tenant")
	}
	if err := c.need("registry", row, Row{Shape: ShapeTenantName, Number: row.Number}); err != nil {
		return err
	}
	return c.need("registry", row, Row{Scope: row.Of, Shape: ShapeMeta})
}
