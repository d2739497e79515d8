package engine_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
)

// look returns a request that reads keys of State, and where it puts them.
func look(keys ...string) (request, *[]string) {
	seen := new([]string)
	return update(func(g engine.Getter, _ *engine.Batch) error {
		*seen = nil
		for _, k := range keys {
			*seen = append(*seen, read(g, column.State, k))
		}
		return nil
	}), seen
}

func TestUpdatesSeeTheChangesOfTheirGroup(t *testing.T) {
	s := newSink()
	s.rows["State/b"], s.rows["State/b2"], s.rows["State/old"] = "1", "2", "3"
	c := engine.NewCommitter(s)
	first, atFirst := look("a", "b", "old")
	second, atSecond := look("a", "b", "b2", "old")
	third, atThird := look("a", "b", "b2", "old")
	fourth, atFourth := look("a", "b", "b2", "old")
	requireAllWell(t, together(t, c,
		first,
		apply(filled(func(b *engine.Batch) {
			b.Put(column.State, []byte("a"), []byte("new"))
			b.Put(column.State, []byte("a"), []byte("newer"))
			b.Delete(column.State, []byte("old"))
			b.DeleteRange(column.Meta, []byte("a"), []byte("z"))
		})),
		second,
		apply(filled(func(b *engine.Batch) {
			b.DeleteRange(column.State, []byte("a"), []byte("b2"))
			b.Put(column.State, []byte("old"), []byte("back"))
		})),
		third,
		apply(filled(func(b *engine.Batch) {
			b.Put(column.State, []byte("b"), []byte("after the range"))
			b.Delete(column.State, []byte("a"))
			b.DeleteRange(column.State, []byte("b2"), []byte("b3"))
		})),
		fourth,
	))
	require.Equal(t, []string{"none", "1", "3"}, *atFirst)
	require.Equal(t, []string{"newer", "1", "2", "none"}, *atSecond)
	require.Equal(t, []string{"none", "none", "2", "back"}, *atThird)
	require.Equal(t, []string{"none", "after the range", "none", "back"}, *atFourth)
	require.Len(t, s.writes, 1)
	require.Equal(t, map[string]string{"State/b": "after the range", "State/old": "back"}, s.rows)
}

func TestUpdatesSeeAllOfManyChanges(t *testing.T) {
	var keys, want []string
	for i := range 3 * engine.FewChanges {
		keys = append(keys, fmt.Sprint(i))
		want = append(want, "v"+keys[i])
	}
	many, all := 2*engine.FewChanges, len(keys)
	between, atBetween := look(keys...)
	last, atLast := look(keys...)
	requireAllWell(t, together(t, engine.NewCommitter(newSink()), apply(puts(engine.Synced, keys[:many]...)),
		apply(puts(engine.Synced, keys[many])), between, apply(puts(engine.Synced, keys[many+1:all]...)), last))
	require.Equal(t, want[:many+1], (*atBetween)[:many+1])
	require.Equal(t, "none", (*atBetween)[many+1])
	require.Equal(t, want, *atLast)
}

func TestExpectationsSeeTheChangesOfTheirGroup(t *testing.T) {
	s := newSink()
	s.rows["State/r"] = "1"
	c := engine.NewCommitter(s)
	swap := func(key, from, to string) request {
		return apply(filled(func(b *engine.Batch) {
			if from == "" {
				b.ExpectAbsent(column.State, []byte(key))
			} else {
				b.Expect(column.State, []byte(key), []byte(from))
			}
			b.Put(column.State, []byte(key), []byte(to))
		}))
	}
	answers := together(t, c,
		swap("k", "", "1"), swap("k", "", "2"), swap("k", "1", "3"), swap("k", "1", "4"), swap("k", "3", "5"),
		apply(filled(func(b *engine.Batch) { b.DeleteRange(column.State, []byte("r"), []byte("s")) })),
		swap("r", "1", "2"), swap("r", "", "3"),
	)
	for i, conflict := range []bool{false, true, false, true, false, false, true, false} {
		if conflict {
			require.ErrorIs(t, answers[i].err, engine.ErrConflict, i)
		} else {
			require.NoError(t, answers[i].err, i)
		}
	}
	require.Equal(t, map[string]string{"State/k": "5", "State/r": "3"}, s.rows)
	require.Len(t, s.writes, 1)
}

func TestAnExpectedEmptyValueIsNotAnAbsentOne(t *testing.T) {
	s := newSink()
	c := engine.NewCommitter(s)
	empty := filled(func(b *engine.Batch) { b.Expect(column.State, []byte("k"), nil) })
	require.ErrorIs(t, c.Apply(empty), engine.ErrConflict)
	require.NoError(t, c.Apply(filled(func(b *engine.Batch) { b.Put(column.State, []byte("k"), nil) })))
	require.NoError(t, c.Apply(empty))
	require.ErrorIs(t, c.Apply(filled(func(b *engine.Batch) { b.ExpectAbsent(column.State, []byte("k")) })), engine.ErrConflict)
}

func TestReadersAfterAFullOverlaySeeEverything(t *testing.T) {
	many := filled(func(b *engine.Batch) {
		for i := range engine.MaxViewRows + 10 {
			b.Put(column.State, fmt.Appendf(nil, "%d", i), []byte("new"))
		}
	})
	ranges := filled(func(b *engine.Batch) {
		for i := range engine.MaxViewRanges + 10 {
			b.DeleteRange(column.State, fmt.Appendf(nil, "%d", i), fmt.Appendf(nil, "%d ", i))
		}
	})
	last := fmt.Sprint(engine.MaxViewRows + 9)
	s := newSink()
	c := engine.NewCommitter(s)
	s.fail = func(write) error {
		require.LessOrEqual(t, c.ViewRows(), engine.MaxViewRows)
		return nil
	}
	afterPuts, seen := look("0", last)
	afterRanges, seenThen := look("0", fmt.Sprint(engine.MaxViewRanges+9), last)
	requireAllWell(t, together(t, c, apply(many), apply(puts(engine.Synced, "plain")), afterPuts, apply(ranges), afterRanges, apply(puts(engine.Synced, "end"))))
	require.Equal(t, []string{"new", "new"}, *seen)
	require.Equal(t, []string{"none", "none", "new"}, *seenThen)
	require.Len(t, s.writes, 3)

	again, seenAgain := look("0", last)
	requireAllWell(t, together(t, c, apply(puts(engine.Synced, "0")), again))
	require.Equal(t, []string{"v0", "new"}, *seenAgain)
}

func TestWhatALargeGroupNeededIsNotKept(t *testing.T) {
	s := newSink()
	c := engine.NewCommitter(s)
	group := func(rows int, value string) {
		many := filled(func(b *engine.Batch) {
			for i := range rows {
				b.Put(column.State, fmt.Appendf(nil, "%d", i), nil)
			}
			b.Put(column.Meta, []byte("large"), []byte(value))
		})
		expecting := filled(func(b *engine.Batch) { b.Expect(column.Meta, []byte("large"), []byte(value)) })
		requireAllWell(t, together(t, c, apply(many), apply(expecting)))
	}
	group(engine.KeepChanges-1, "small")
	values, rows := c.Kept()
	require.NotZero(t, values)
	require.NotZero(t, rows)

	group(engine.KeepChanges, strings.Repeat("x", engine.KeepBytes+1))
	values, rows = c.Kept()
	require.Zero(t, values)
	require.Zero(t, rows)
}

func TestTheGetterOfAnUpdateServesManyGoroutines(t *testing.T) {
	c := engine.NewCommitter(newSink())
	many := update(func(g engine.Getter, _ *engine.Batch) error {
		var done sync.WaitGroup
		for range 8 {
			done.Go(func() {
				for _, key := range []string{"a", "b", "none"} {
					if got := read(g, column.State, key); got != "v"+key && got != "none" {
						t.Errorf("%s: %s", key, got)
					}
				}
			})
		}
		done.Wait()
		return nil
	})
	requireAllWell(t, together(t, c, apply(puts(engine.Synced, "a", "b")), many))
	requireAllWell(t, together(t, c, apply(puts(engine.Synced, strings.Split("abcdefghijklmnopqrstuvwxyz", "")...)), many))
}

func TestTheGetterOfAnUpdateRefusesWhatIsNoColumn(t *testing.T) {
	s := newSink()
	var got error
	requireAllWell(t, together(t, engine.NewCommitter(s), apply(puts(engine.Synced, "a")),
		update(func(g engine.Getter, _ *engine.Batch) error {
			_, got = g.Get(nil, 200, nil)
			return nil
		})))
	require.ErrorIs(t, got, engine.ErrNotFound, "it is the store's to answer")
}

// script is what one request of a property does.
type script struct {
	update  bool
	batch   *engine.Batch
	reads   []string
	refuses bool
	seen    []string
}

// TestAGroupIsAsIfItsRequestsCameOneAfterTheOther compares the committer with a
// map on random groups, of which random writes fail.
func TestAGroupIsAsIfItsRequestsCameOneAfterTheOther(t *testing.T) {
	enginetest.Check(t, 300, func(t *rapid.T) {
		s, model := newSink(), map[string]string{}
		poison := fmt.Sprint("+", drawKey(t))
		s.fail = func(w write) error {
			for _, op := range w.ops {
				if op == poison {
					return errDisk
				}
			}
			return nil
		}
		c := engine.NewCommitter(s)
		for range rapid.IntRange(1, 3).Draw(t, "groups") {
			scripts := rapid.SliceOfN(rapid.Custom(drawScript), 1, 8).Draw(t, "scripts")
			requests := make([]request, len(scripts))
			for i := range scripts {
				requests[i] = scripts[i].request()
			}
			for i, a := range together(t, c, requests...) {
				seen, want := scripts[i].play(model, poison)
				require.Equal(t, want, kind(a.err), "request %d: %v", i, a.err)
				require.Equal(t, seen, scripts[i].seen, "request %d", i)
			}
			require.Equal(t, model, s.rows)
		}
	})
}

func drawKey(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "key")
}

func drawScript(t *rapid.T) *script {
	sc := &script{update: rapid.Bool().Draw(t, "update"), batch: new(engine.Batch)}
	col := func() column.Column {
		return rapid.SampledFrom([]column.Column{column.State, column.Group}).Draw(t, "column")
	}
	value := func() []byte { return rapid.SampledFrom([][]byte{{}, []byte("1"), []byte("2")}).Draw(t, "value") }
	fewest := 1 // an empty batch is answered at once
	if sc.update {
		fewest = 0
	}
	for range rapid.IntRange(fewest, 4).Draw(t, "changes") {
		switch k := drawKey(t); rapid.IntRange(0, 5).Draw(t, "change") {
		case 0:
			sc.batch.Delete(col(), []byte(k))
		case 1:
			sc.batch.DeleteRange(col(), []byte(k), []byte{k[0] + 2})
		default:
			sc.batch.Put(col(), []byte(k), value())
		}
	}
	switch rapid.IntRange(0, 5).Draw(t, "expect") {
	case 0:
		sc.batch.ExpectAbsent(col(), []byte(drawKey(t)))
	case 1:
		sc.batch.Expect(col(), []byte(drawKey(t)), value())
	}
	if sc.update {
		sc.reads = rapid.SliceOfN(rapid.Custom(drawKey), 0, 3).Draw(t, "reads")
		sc.refuses = rapid.IntRange(0, 5).Draw(t, "refuses") == 0
	}
	return sc
}

func (sc *script) request() request {
	if !sc.update {
		return apply(sc.batch)
	}
	return update(func(g engine.Getter, b *engine.Batch) error {
		sc.seen = nil
		for _, k := range sc.reads {
			sc.seen = append(sc.seen, read(g, column.State, k))
		}
		for op := range sc.batch.Ops {
			repeat(b, op)
		}
		for e := range sc.batch.Expected {
			if e.Absent {
				b.ExpectAbsent(e.Column, e.Key)
			} else {
				b.Expect(e.Column, e.Key, e.Want)
			}
		}
		if sc.refuses {
			return errRefused
		}
		return nil
	})
}

var errRefused = fmt.Errorf("refused")

func repeat(b *engine.Batch, op engine.Op) {
	switch op.Kind {
	case engine.KindPut:
		b.Put(op.Column, op.Key, op.Value)
	case engine.KindDelete:
		b.Delete(op.Column, op.Key)
	case engine.KindDeleteRange:
		b.DeleteRange(op.Column, op.Key, op.Value)
	}
}

// play does in model what sc is to do in the store, and returns the error and
// the reads that it is to have.
func (sc *script) play(model map[string]string, poison string) (seen []string, err error) {
	for _, k := range sc.reads {
		v, ok := model[at(column.State, []byte(k))]
		if !ok {
			v = "none"
		}
		seen = append(seen, v)
	}
	if sc.refuses {
		return seen, errRefused
	}
	for e := range sc.batch.Expected {
		v, ok := model[at(e.Column, e.Key)]
		if ok == e.Absent || v != string(e.Want) {
			return seen, engine.ErrConflict
		}
	}
	for op := range sc.batch.Ops {
		if describe(op) == poison {
			return seen, errDisk
		}
	}
	for op := range sc.batch.Ops {
		change(model, op)
	}
	return seen, nil
}

// kind returns the sentinel of err.
func kind(err error) error {
	if _, ok := err.(*engine.Conflict); ok {
		return engine.ErrConflict
	}
	return err
}
