package inspect

import (
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/kv/limit"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/setting"
	"github.com/stoadb/stoa/kv/stream"
)

// capability is a system of spaces with rows of its own.
type capability struct {
	plural string // what its rows are, for people
	types  []kv.Type
	code   string // of the finding of a row that it does not write so
	check  func() spaceCheck
}

// spaceCheck looks at the rows of one space that parse, in the order of their keys.
type spaceCheck interface {
	// Row says what is wrong with a row; "": nothing.
	Row(row kv.Row, value []byte) string
	// End says what the space lacks once all of its rows were looked at; "": nothing.
	End() string
}

// capabilities are those whose rows are not of collections.
var capabilities = map[kv.System]capability{
	kv.SystemLock:    {"locks", []kv.Type{lock.Type()}, "lock-row", records(lock.Fault)},
	kv.SystemSetting: {"settings", []kv.Type{setting.Type()}, "setting-row", records(setting.Fault)},
	kv.SystemLimit:   {"limits", []kv.Type{limit.Type()}, "limit-row", records(limit.Fault)},
	kv.SystemEvent:   {"events", []kv.Type{event.Type()}, "event-row", func() spaceCheck { return &event.Check{} }},
	kv.SystemJob:     {"jobs", []kv.Type{job.Type()}, "job-row", records(job.Fault)},
	kv.SystemBucket:  {"buckets", bucket.Types(), "bucket-row", records(bucket.Fault)},
	kv.SystemStream:  {"streams", []kv.Type{stream.Type()}, "stream-row", func() spaceCheck { return &stream.Check{} }},
}

// recordFault is the check of a space that has records only, each by itself: what says what
// is wrong with one, expired or not.
type recordFault func(*kv.Record) string

func records(fault func(*kv.Record) string) func() spaceCheck {
	return func() spaceCheck { return recordFault(fault) }
}

func (f recordFault) Row(row kv.Row, value []byte) string {
	if row.Shape != kv.ShapeRecord {
		return ""
	}
	record, _, err := kv.RecordOf(row, value)
	if err != nil || record.Kind != kv.Put {
		return "" // kvRecount finds it
	}
	return f(&record)
}

func (recordFault) End() string { return "" }

// capabilityCheck finds rows that their capability does not write so. It holds no row but
// the key of the last.
type capabilityCheck struct {
	v     *verifier
	names *spaces

	scope keys.Scope
	in    *space
	of    capability
	space spaceCheck // nil: of no capability that is known
	last  []byte
}

func checkCapabilities(v *verifier) check {
	return &capabilityCheck{v: v, names: v.source.spaces()}
}

func (c *capabilityCheck) row(r row) error {
	if scope := keys.Scope(r.key); scope != c.scope {
		if err := c.begin(scope); err != nil {
			return err
		}
	}
	if c.space == nil {
		return nil
	}
	c.last = append(c.last[:0], r.key...)
	row, err := kv.ParseRow(r.key)
	if err != nil || kv.CheckRow(r.key, r.value) != nil {
		return nil // checkKVRows and kvRecount find it
	}
	if fault := c.space.Row(row, r.value); fault != "" {
		name := row.Key
		if len(row.Name) > 0 {
			name = row.Name // of the stream
		}
		return c.v.found(c.of.code, column.Generic, r.key, "%s, %q: %s", c.in, name, fault)
	}
	return nil
}

// begin ends a space, and comes to another.
func (c *capabilityCheck) begin(scope keys.Scope) error {
	if err := c.end(); err != nil {
		return err
	}
	in, err := c.names.of(scope)
	if err != nil {
		return err
	}
	c.scope = scope
	if in == nil {
		return nil
	}
	if of, known := capabilities[in.System]; known {
		c.in, c.of, c.space = in, of, of.check()
	}
	return nil
}

// end ends a space.
func (c *capabilityCheck) end() error {
	space := c.space
	if c.space = nil; space == nil {
		return nil
	}
	if lacks := space.End(); lacks != "" {
		return c.v.found(c.of.code, column.Generic, c.last, "%s: %s", c.in, lacks)
	}
	return nil
}
