package inspect

import (
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/kv/limit"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/setting"
)

// capability is a system of spaces with records of its own.
type capability struct {
	plural string // what its records are, for people
	typ    kv.Type
	code   string // of the finding of a record that it does not write so
	// fault says what is wrong with a record, expired or not; "": nothing.
	fault func(*kv.Record) string
}

// capabilities are those whose records are not documents of collections.
var capabilities = map[kv.System]capability{
	kv.SystemLock:    {"locks", lock.Type(), "lock-row", lock.Fault},
	kv.SystemSetting: {"settings", setting.Type(), "setting-row", setting.Fault},
	kv.SystemLimit:   {"limits", limit.Type(), "limit-row", limit.Fault},
	kv.SystemJob:     {"jobs", job.Type(), "job-row", job.Fault},
}

// checkCapabilities finds records that their capability does not write so.
func checkCapabilities(v *verifier) check {
	names := v.source.spaces()
	return rowCheck(func(r row) error {
		in, err := names.of(keys.Scope(r.key))
		if err != nil || in == nil {
			return err
		}
		of, known := capabilities[in.System]
		if !known {
			return nil
		}
		row, err := kv.ParseRow(r.key)
		if err != nil || row.Shape != kv.ShapeRecord || kv.CheckRow(r.key, r.value) != nil {
			return nil // checkKVRows and kvRecount find it
		}
		record, _, err := kv.RecordOf(row, r.value)
		if err != nil || record.Kind != kv.Put {
			return err
		}
		if fault := of.fault(&record); fault != "" {
			return v.found(of.code, column.Generic, r.key, "%s, %q: %s", in, row.Key, fault)
		}
		return nil
	})
}
