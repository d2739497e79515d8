package inspect

import (
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/lock"
)

// checkLocks finds locks, and agents that take them, that package lock does not write so.
func checkLocks(v *verifier) check {
	names := v.source.spaces()
	return rowCheck(func(r row) error {
		in, err := names.of(keys.Scope(r.key))
		if err != nil || in == nil || in.System != kv.SystemLock {
			return err
		}
		row, err := kv.ParseRow(r.key)
		if err != nil || row.Shape != kv.ShapeRecord || kv.CheckRow(r.key, r.value) != nil {
			return nil // checkKVRows and kvRecount find it
		}
		record, _, err := kv.RecordOf(row, r.value)
		if err != nil || record.Kind != kv.Put {
			return err
		}
		if fault := lock.Fault(&record); fault != "" {
			return v.found("lock-row", column.Generic, r.key, "%s, %q: %s", in, row.Key, fault)
		}
		return nil
	})
}
