package dag_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
)

// rows returns all rows but the clock's, which only says what is not to come.
func rows(t testing.TB, db engine.Reader) map[string]string {
	t.Helper()
	db, err := dag.WithoutTails(db)
	require.NoError(t, err)
	all := make(map[string]string)
	for col := range column.All {
		it, err := db.Iterate(col, engine.Range{})
		require.NoError(t, err)
		for it.Next() {
			if key := fmt.Sprintf("%s %q", col, it.Key()); string(it.Key()[:min(9, len(it.Key()))]) != "dag-clock" {
				all[key] = string(it.Value())
			}
		}
		require.NoError(t, it.Err())
		require.NoError(t, it.Close())
	}
	return all
}

// act is something done to a store that has been prepared.
type act struct {
	name    string
	prepare []*dag.Delta
	do      func(s *dag.Store) error
}

func acts(t testing.TB) []act {
	a, b := node(t, 1), node(t, 2)
	base := commit(t, a, put("x", "0"), put("y", "0"))
	add(t, b, base)
	d1, d2, d3 := commit(t, a, put("x", "a")), commit(t, a, del("y")), commit(t, a, put("z", "a"))
	e := commit(t, b, put("x", "b"))
	bad := *d1
	bad.ExpectedRoot = codec.Hash{1}
	child := *d2
	child.Parents = ids(&bad)
	adding := func(d *dag.Delta) func(*dag.Store) error {
		return func(s *dag.Store) error { _, err := s.Add(bg, d, dag.AddOptions{}); return err }
	}
	return []act{
		{"linear", []*dag.Delta{base}, adding(d1)},
		{"concurrent", []*dag.Delta{base, d1, d2}, adding(e)},
		{"pending", []*dag.Delta{base}, adding(d2)},
		{"cascade", []*dag.Delta{base, d3, d2, e}, adding(d1)},
		{"refused with a child", []*dag.Delta{base, &child}, adding(&bad)},
		{"commit", []*dag.Delta{base, d1, e}, func(s *dag.Store) error {
			_, root, err := s.Heads(ctx1)
			if err != nil {
				return err
			}
			_, err = s.Commit(bg, dag.Commit{Context: ctx1, ReadRoot: root, Actions: []codec.Action{put("c", "c")}, Private: []codec.Action{put("p", "p")}})
			return err
		}},
	}
}

// prepared returns an engine with a context that deltas have been added to.
func prepared(t testing.TB, deltas []*dag.Delta) *mem.Engine {
	db := mem.New()
	t.Cleanup(func() { _ = db.Close() })
	s, err := dag.Open(db, options(7))
	require.NoError(t, err)
	require.NoError(t, s.CreateContext(ctx1, codec.ApplicationMeta{}))
	for _, d := range deltas {
		add(t, s, d)
	}
	require.NoError(t, s.Close())
	return db
}

func TestAnActIsDoneOrNotWhereverTheProcessEnds(t *testing.T) {
	for _, a := range acts(t) {
		t.Run(a.name, func(t *testing.T) {
			db := prepared(t, a.prepare)
			before := rows(t, db)
			s := open(t, db, options(7))
			require.NoError(t, a.do(s))
			after := rows(t, db)
			require.NotEqual(t, before, after)
			for _, fault := range []faulty.Fault{faulty.CrashBefore, faulty.CrashAfter, faulty.Fail} {
				for _, calls := range []faulty.Calls{faulty.Writes, faulty.Reads} {
					for n := 1; ; n++ {
						if !killAt(t, a, faulty.Options{At: n, Calls: calls, Fault: fault}, before, after) {
							require.Greater(t, n, 1)
							break
						}
					}
				}
			}
		})
	}
}

// killAt does the act on an engine with a fault, and reports whether the fault
// came.
func killAt(t *testing.T, a act, fault faulty.Options, before, after map[string]string) bool {
	f := faulty.New(prepared(t, a.prepare), fault)
	s, err := dag.Open(f, options(7))
	if err == nil {
		err = a.do(s)
		_ = s.Close()
	}
	tripped := f.Tripped()
	again := f.Restart()
	now := rows(t, again)
	switch {
	case err == nil:
		require.Equal(t, after, now, "%+v", fault)
	case len(now) == len(before) && fault.Fault != faulty.CrashAfter:
		require.Equal(t, before, now, "%+v", fault)
	default:
		require.Contains(t, []any{fmt.Sprint(before), fmt.Sprint(after)}, fmt.Sprint(now), "%+v", fault)
	}
	if tripped && err != nil {
		s, err := dag.Open(again, options(7))
		require.NoError(t, err)
		if fmt.Sprint(now) == fmt.Sprint(before) {
			require.NoError(t, a.do(s), "it can be done again")
		}
		require.NoError(t, s.Close())
		if a.name != "commit" { // which has another stamp then
			require.Equal(t, after, rows(t, again))
		}
	}
	return tripped
}
