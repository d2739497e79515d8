package kvstorage

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// CreateTenant makes a tenant that has nothing, with a quota, sets the quota of
// one that is there, and says whether there was none.
func (s *Storage) CreateTenant(ctx context.Context, tenant string, q kv.Quota) (created bool, err error) {
	if err := s.begin(tenant); err != nil {
		return false, s.clientError(err)
	}
	found, created, err := s.store.OpenSpace(ctx, tenant, kv.SystemStorage, space, q)
	if err != nil {
		return false, s.clientError(err)
	}
	return created, s.clientError(found.SetQuota(ctx, q))
}

// HasTenant says whether there is a tenant: one that was made, or that has
// written.
func (s *Storage) HasTenant(tenant string) (bool, error) {
	found, err := s.read(tenant)
	return found != nil, err
}

// DropTenant removes a tenant with everything that it has, in every system of
// the store, and says whether there was one, and how much it had.
func (s *Storage) DropTenant(ctx context.Context, tenant string) (had kv.Dropped, existed bool, err error) {
	if err := s.begin(tenant); err != nil {
		return had, false, s.clientError(err)
	}
	had, err = s.store.DropTenant(ctx, tenant)
	if errors.Is(err, kv.ErrSpaceNotFound) {
		return had, false, nil
	}
	return had, err == nil, s.clientError(err)
}

// SetQuota sets what a tenant may hold. What it holds beyond that stays. It
// returns kv.ErrSpaceNotFound if there is no such tenant.
func (s *Storage) SetQuota(ctx context.Context, tenant string, q kv.Quota) error {
	if err := s.begin(tenant); err != nil {
		return s.clientError(err)
	}
	found, err := s.store.Space(tenant, kv.SystemStorage, space)
	if err != nil {
		return s.clientError(err)
	}
	return s.clientError(found.SetQuota(ctx, q))
}

// Tenants yields the names of the store's tenants that come after a name, in byte
// order; "" is before all.
func (s *Storage) Tenants(ctx context.Context, after string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if s.o.Off {
			yield("", s.clientError(missing("kvStorage")))
			return
		}
		for t, err := range s.store.Tenants(ctx, after, false) {
			if !yield(t.Name, s.clientError(err)) {
				return
			}
		}
	}
}

// Stats returns the counters and quotas of a tenant; zero for one that has
// nothing.
func (s *Storage) Stats(tenant string) (kv.Stats, error) {
	found, err := s.read(tenant)
	if err != nil || found == nil {
		return kv.Stats{}, err
	}
	stats, err := found.Stats()
	return stats, s.clientError(err)
}

// line is one value of an export. Its form is that of the value: one line of
// JSON, with the fields in this order.
type line struct {
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value"`
	Counter bool            `json:"counter,omitempty"`   // made by increment: an integer, or its digits in a string
	Expires *time.Time      `json:"expiresAt,omitempty"` // to the millisecond
}

// Export writes what a tenant has as lines of JSON, in byte order of the keys.
func (s *Storage) Export(ctx context.Context, tenant string, w io.Writer) error {
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for i, err := range s.All(ctx, tenant, "") {
		if err != nil {
			return err
		}
		l := line{Key: i.Key, Value: i.Value, Counter: i.counter}
		if !i.Expires.IsZero() {
			l.Expires = &i.Expires
		}
		if err := encoder.Encode(l); err != nil {
			return err
		}
	}
	return out.Flush()
}

// importLines is how many lines of an import are one batch.
const importLines = 256

// Import stores what lines of an export say, and returns how many it has stored.
// What a tenant has under other keys stays. Lines that have expired are left
// out. It ends at the first line that is refused; those of earlier batches are
// stored.
func (s *Storage) Import(ctx context.Context, tenant string, r io.Reader) (stored int, err error) {
	if err := s.begin(tenant); err != nil {
		return 0, s.clientError(err)
	}
	in := bufio.NewReader(r)
	for number := 1; ; {
		lines, last, err := s.readLines(in, number)
		if err != nil {
			return stored, s.clientError(err)
		}
		n := 0
		err = s.update(ctx, tenant, engine.Synced, func(tx *kv.Tx) (err error) {
			n, err = putLines(tx, lines)
			return err
		})
		if err != nil {
			return stored, err
		}
		if stored += n; last {
			return stored, nil
		}
		number += len(lines)
	}
}

// readLines reads up to importLines lines, of which the first has a number.
func (s *Storage) readLines(in *bufio.Reader, number int) (lines []line, last bool, err error) {
	for len(lines) < importLines {
		text, err := in.ReadBytes('\n')
		if len(text) == 0 && errors.Is(err, io.EOF) {
			return lines, true, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, false, err
		}
		var l line
		if l, err = s.parseLine(text); err != nil {
			return nil, false, at(err, fmt.Sprintf("line %d", number+len(lines)))
		}
		lines = append(lines, l)
	}
	return lines, false, nil
}

func (s *Storage) parseLine(text []byte) (l line, err error) {
	canonical, err := canonical("value", text)
	if err != nil {
		return l, err
	}
	a, err := parseArguments(canonical, "key", "value", "counter", "expiresAt")
	if err != nil {
		return l, err
	}
	l.Key, l.Value = a.text("key"), a["value"]
	l.Counter = a.flag("counter")
	if a["expiresAt"] != nil {
		at, err := time.Parse(time.RFC3339Nano, a.text("expiresAt"))
		if err != nil {
			return l, refuse(InvalidArgument, "expiresAt", "not a time as 2026-03-01T12:00:00.000Z")
		}
		l.Expires = &at
	}
	if err := s.checkKey([]byte(l.Key)); err != nil {
		return l, err
	}
	if l.Value, err = s.canonical("value", l.Value); err != nil {
		return l, err
	}
	if l.Counter {
		n, ok := integer(l.Value)
		if !ok {
			return l, refuse(NotANumber, "value", "a counter is an integer of 64 bits")
		}
		l.Value = fmt.Append(nil, n)
	}
	return l, nil
}

func putLines(tx *kv.Tx, lines []line) (stored int, err error) {
	for _, l := range lines {
		o := kv.PutOptions{Form: formJSON}
		if l.Counter {
			o.Form = formCounter
		}
		if l.Expires != nil {
			if o.Expires = *l.Expires; !o.Expires.After(tx.Now()) {
				continue
			}
		}
		if _, err := tx.Put([]byte(l.Key), l.Value, o); err != nil {
			return 0, err
		}
		stored++
	}
	return stored, nil
}
