package enginetest

import (
	"errors"
	"path/filepath"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

var maintenance = []promise{
	{"an engine that is well says so and stays as it is when reopened", func(t *trial) {
		m := t.db.(engine.Maintenance)
		require.Equal(t, engine.Health{Writable: true}, m.Health())
		t.put(t.col, "k", "v")
		s := t.snapshot()
		require.NoError(t, m.Reopen())
		t.requireValue(s, t.col, "k", "v")
		t.requireValue(t.db, t.col, "k", "v")
		require.Equal(t, engine.Health{Writable: true}, m.Health())
	}},
	{"flushing and compacting change nothing that can be read", func(t *trial) {
		m := t.db.(engine.Maintenance)
		t.fill(t.col, "k", 1000, 200)
		b := batch()
		b.DeleteRange(t.col, t.key("k0001"), t.key("k0002"))
		b.Delete(t.col, t.key("k000500"))
		require.NoError(t, t.db.Apply(b))
		s := t.snapshot()
		want := t.all(t.db)
		for range 2 {
			require.NoError(t, m.Flush())
			require.Equal(t, want, t.all(t.db))
			require.NoError(t, m.Compact(t.col, t.bounds("", "")))
			require.NoError(t, m.Compact(t.col, t.bounds("k0003", "k0004")))
			require.Equal(t, want, t.all(t.db))
		}
		require.Equal(t, want, t.all(s))
		require.Error(t, m.Compact(0, engine.Range{}))
	}},
	{"stats count", func(t *trial) {
		m := t.db.(engine.Maintenance)
		before, err := m.Stats()
		require.NoError(t, err)
		var cols []column.Column
		for _, c := range before.Columns {
			cols = append(cols, c.Column)
		}
		for _, col := range t.cfg.Space.Columns {
			require.Contains(t, cols, col)
		}
		t.fill(t.col, "k", 100, 10)
		s := t.snapshot()
		after, err := m.Stats()
		require.NoError(t, err)
		require.GreaterOrEqual(t, after.Sequence, before.Sequence+100)
		require.Equal(t, before.Snapshots+1, after.Snapshots)
		require.False(t, after.Stopped)
		require.NoError(t, s.Close())
		after, err = m.Stats()
		require.NoError(t, err)
		require.Equal(t, before.Snapshots, after.Snapshots)
	}},
	{"sizes grow with what is stored", func(t *trial) {
		m := t.db.(engine.Maintenance)
		empty, err := m.ApproximateSize(t.col, t.bounds("", ""))
		require.NoError(t, err)
		t.fill(t.col, "k", 2000, 500)
		require.NoError(t, m.Flush())
		all, err := m.ApproximateSize(t.col, t.bounds("", ""))
		require.NoError(t, err)
		require.Greater(t, all, empty)
		none, err := m.ApproximateSize(t.col, t.bounds("x", "y"))
		require.NoError(t, err)
		require.Less(t, none, all)
		_, err = m.ApproximateSize(0, engine.Range{})
		require.Error(t, err)
	}},
	{"a checkpoint is made where nothing is, or is not supported", func(t *trial) {
		m := t.db.(engine.Maintenance)
		t.put(t.col, "k", "v")
		dir := filepath.Join(t.TempDir(), "checkpoint")
		err := m.Checkpoint(dir)
		if errors.Is(err, engine.ErrUnsupported) {
			require.NoDirExists(t, dir)
			return
		}
		require.NoError(t, err)
		require.DirExists(t, dir)
		require.Error(t, m.Checkpoint(dir))
		t.requireValue(t.db, t.col, "k", "v")
	}},
}
