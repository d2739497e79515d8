package inspect

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
)

// recordCheck looks at the documents of collections, row by row: whether each holds to
// its collection's declaration, and whether the events of ledgers are a chain that ends
// with its head, which counts them. It holds one row.
type recordCheck struct {
	v      *verifier
	spaces *spaces

	scope keys.Scope
	in    *space // nil: of no collection that is known
	chain *ledgerCheck
}

func checkRecords(v *verifier) check {
	return &recordCheck{v: v, spaces: v.source.spaces()}
}

func (c *recordCheck) row(r row) error {
	if scope := keys.Scope(r.key); scope != c.scope {
		if err := c.begin(scope); err != nil {
			return err
		}
	}
	if c.in == nil {
		return nil
	}
	row, err := kv.ParseRow(r.key)
	if err != nil || kv.CheckRow(r.key, r.value) != nil {
		return nil // checkKVRows and kvRecount find it
	}
	stored, err := c.in.Collection.ParseRow(row, r.value)
	if err != nil {
		return c.v.found("record-row", column.Generic, r.key, "%s, %q: %s", c.in, c.in.id(row.Key), err)
	}
	switch stored.Kind {
	case record.RowKept:
		c.chain.kept(stored, r.key)
	case record.RowRecord:
		return c.document(r.key, stored)
	}
	return nil
}

// begin ends a space, and comes to another.
func (c *recordCheck) begin(scope keys.Scope) error {
	if err := c.end(); err != nil {
		return err
	}
	in, err := c.spaces.of(scope)
	if err != nil {
		return err
	}
	c.scope, c.in = scope, nil
	if in == nil || in.System != kv.SystemRecord || !in.Known {
		return nil // what the registry lacks, kvRecount finds
	}
	if in.Collection == nil {
		c.v.unknownCollection(in.Name)
		return nil
	}
	if c.in = in; in.Name == policy.Ledger {
		c.chain = &ledgerCheck{in: in}
	}
	return nil
}

// end ends a space.
func (c *recordCheck) end() error {
	chain := c.chain
	c.chain = nil
	return c.ledger(chain.end())
}

// ledger reports what is wrong with a ledger.
func (c *recordCheck) ledger(found []ledgerFault) error {
	for _, f := range found {
		if err := c.v.found(f.code, column.Generic, f.key, "%s", f.reason); err != nil {
			return err
		}
	}
	return nil
}

// document looks at a record.
func (c *recordCheck) document(key []byte, stored record.Row) error {
	if found := c.chain.next(stored, key); len(found) > 0 {
		return c.ledger(found) // which says more than that it does not hold to a schema
	}
	err := c.in.Collection.Verify(stored.Doc)
	var refused *record.Error
	if errors.As(err, &refused) {
		return c.v.found("record-document", column.Generic, key, "%s, record %q, field %s: %s", c.in, stored.Name, refused.Field, refused.Reason)
	}
	return err
}

// unknownCollection notes, once, that nothing is known of the documents of a space.
func (v *verifier) unknownCollection(name string) {
	const most = 100 // of notes
	if len(v.unknown) == most || v.unknown[name] {
		return
	}
	if v.unknown == nil {
		v.unknown = map[string]bool{}
	}
	v.unknown[name] = true
	v.out.Notes = append(v.out.Notes, "the collection "+strconv.Quote(name)+" is not known to this build: its documents and indexes were not looked at")
}

// ledgerCheck follows the events of a ledger in their order. The nil ledgerCheck is that
// of a space that is none.
type ledgerCheck struct {
	in       *space
	chain    policy.Chain
	position uint64
	last     []byte // the key of the last event
	head     []byte // as it is stored; nil: there is none
	headKey  []byte
}

// ledgerFault is something that is wrong with a ledger.
type ledgerFault struct {
	code   string
	key    []byte
	reason string
}

// kept is told what the collection keeps for itself, which comes before its events.
func (l *ledgerCheck) kept(row record.Row, key []byte) {
	if l != nil && row.Name == policy.HeadName {
		l.head, l.headKey = append([]byte{}, row.Kept...), bytes.Clone(key)
	}
}

// next is told an event, and returns what is wrong with it or before it.
func (l *ledgerCheck) next(row record.Row, key []byte) (found []ledgerFault) {
	if l == nil {
		return nil
	}
	l.position++
	l.last = append(l.last[:0], key...)
	id, ok := policy.ParseEventID(row.Name)
	if !ok {
		return []ledgerFault{{"ledger-chain", key, l.in.String() + ": " + row.Name + " is no id of an event"}}
	}
	for _, f := range l.chain.Next(id, row.Doc.JSON) {
		reason := l.in.String() + ": event " + f.String()
		if f.Event == row.Name {
			reason += " (it is event " + strconv.FormatUint(l.position, 10) + " of those that are there)"
		} else {
			reason += " (found at event " + strconv.FormatUint(l.position, 10) + " of those that are there, " + row.Name + ")"
		}
		found = append(found, ledgerFault{"ledger-chain", key, reason})
	}
	return found
}

// end is told that there are no more events, and returns what is wrong with the end.
func (l *ledgerCheck) end() (found []ledgerFault) {
	if l == nil {
		return nil
	}
	key := l.headKey
	if key == nil {
		key = l.last
	}
	head, err := policy.ParseHead(l.head)
	if err != nil {
		return []ledgerFault{{"ledger-head", key, l.in.String() + ": the head of the ledger can't be read"}}
	}
	for _, f := range l.chain.End(head) {
		found = append(found, ledgerFault{"ledger-head", key, l.in.String() + ": event " + f.String()})
	}
	return found
}
