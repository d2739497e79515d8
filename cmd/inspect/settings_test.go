package inspect

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/limit"
	"github.com/stoadb/stoa/kv/setting"
)

// A directory with settings, limits and jobs is clean; a setting that is not of its type is
// found, and bytes of a limit or a job that nobody writes, with the tenant and the name.
func TestVerifyLooksAtSettingsLimitsAndJobs(t *testing.T) {
	e := mem.New()
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	log := slog.New(slog.DiscardHandler)
	store, err := kv.Open(e, kv.Options{Clock: kvtest.New(), Log: log})
	require.NoError(t, err)
	s, err := setting.New(store, setting.Options{Log: log})
	require.NoError(t, err)
	_, err = s.Set(t.Context(), "acme", setting.DeadlockDetection, []byte(`"disabled"`), engine.WAL)
	require.NoError(t, err)
	limits, err := limit.New(store, limit.Options{})
	require.NoError(t, err)
	_, err = limits.Check(t.Context(), "acme", limit.Name{Endpoint: "tasks:create", User: "u"}, limit.Rule{Max: 1}, engine.WAL)
	require.NoError(t, err)
	jobs, err := job.New(store, job.Options{Log: log})
	require.NoError(t, err)
	queues, err := jobs.Open(t.Context(), "acme")
	require.NoError(t, err)
	_, _, err = queues.Add(t.Context(), engine.WAL, job.Job{ID: "x-1", Queue: job.Archive})
	require.NoError(t, err)
	jobs.Close()
	require.NoError(t, store.Close())
	whole := From(e, Facts{})
	require.Empty(t, findingsOf(t, whole))
	for code, tc := range map[string]struct {
		system         kv.System
		key, old, text string
		says           []string
	}{
		"setting-row": {kv.SystemSetting, "feature:deadlock_detection", "disabled", "disable!", []string{`settings of tenant "acme", "feature:deadlock_detection"`, "a feature is"}},
		"limit-row":   {kv.SystemLimit, "tasks:create", "\x01", "\x02", []string{`limits of tenant "acme"`, "version 1"}},
		"job-row":     {kv.SystemJob, "x-1", "\x01", "\x02", []string{`jobs of tenant "acme"`, `"x-1"`}},
	} {
		damaged, to := copyOf(t, whole)
		apply(t, to, func(b *engine.Batch) {
			key, value := rowOf(t, damaged, tc.system, kv.ShapeRecord, tc.key)
			b.Put(column.Generic, key, append(value[:kvRecordHeader:kvRecordHeader], replaced(t, value[kvRecordHeader:], tc.old, tc.text)...))
		})
		reason := ""
		for _, f := range findingsOf(t, damaged) {
			if f.Code == code {
				reason = f.Reason
			}
		}
		for _, says := range tc.says {
			require.Contains(t, reason, says)
		}
	}
}

// kvRecordHeader is how many bytes of a record precede its value (kv/README.md).
const kvRecordHeader = 2 + 4*8
