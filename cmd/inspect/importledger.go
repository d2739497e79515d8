package inspect

import (
	"fmt"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
)

// importedLedgers follows the ledgers of a dump, whose rows come in the order of their
// keys. It holds one row.
type importedLedgers struct {
	spaces *spaces // of the store that is written to: names come before what they name
	scope  keys.Scope
	chain  *ledgerCheck // nil: the rows are of no ledger
}

// row is told a row of the dump before it is written.
func (l *importedLedgers) row(im *importer, col column.Column, key, value []byte) error {
	if col != column.Generic {
		return nil
	}
	if scope := keys.Scope(key); scope != l.scope {
		if err := l.begin(im, scope); err != nil {
			return err
		}
	}
	if l.chain == nil {
		return nil
	}
	row, err := kv.ParseRow(key)
	if err != nil {
		return nil // keys.Check has let it pass: verify finds it
	}
	stored, err := l.chain.in.Collection.ParseRow(row, value)
	if err != nil {
		return l.faulty(im, []ledgerFault{{"ledger-chain", key, l.chain.in.String() + ": " + err.Error()}})
	}
	switch stored.Kind {
	case record.RowKept:
		l.chain.kept(stored, key)
	case record.RowRecord:
		return l.faulty(im, l.chain.next(stored, key))
	}
	return nil
}

// begin ends a ledger, and comes to another scope.
func (l *importedLedgers) begin(im *importer, scope keys.Scope) error {
	chain := l.chain
	l.scope, l.chain = scope, nil
	if err := l.faulty(im, chain.end()); err != nil {
		return err
	}
	if !scope.IsKV() || kv.System(scope.System()) != kv.SystemRecord {
		return nil
	}
	if err := im.flush(); err != nil { // its name may be among what waits
		return err
	}
	in, err := l.spaces.of(scope)
	if err == nil && in.Name == policy.Ledger && in.Collection != nil {
		l.chain = &ledgerCheck{in: in}
	}
	return err
}

// faulty reports what is wrong with a ledger, or refuses it.
func (l *importedLedgers) faulty(im *importer, found []ledgerFault) error {
	for _, f := range found {
		if im.o.Damaged == nil {
			return fmt.Errorf("%w: %s", ErrLedger, f.reason)
		}
		im.out.Ledgers++
		if err := im.o.Damaged(NewFinding(f.code, column.Generic, f.key, f.reason)); err != nil {
			return err
		}
	}
	return nil
}
