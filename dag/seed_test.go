package dag_test

import (
	"errors"
	"io"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
)

// sent returns the parts of a snapshot, as they arrive: through their bytes.
func sent(t require.TestingT, parts iter.Seq2[*dag.SnapshotPart, error]) iter.Seq2[*dag.SnapshotPart, error] {
	return func(yield func(*dag.SnapshotPart, error) bool) {
		for p, err := range parts {
			if err == nil {
				b, encoding := p.AppendBinary(nil)
				require.NoError(t, encoding)
				p, err = dag.ParseSnapshotPart(b)
				require.NoError(t, err)
				again, _ := p.AppendBinary(nil)
				require.Equal(t, b, again)
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// aged are the options of a node of which every delta may be a base.
func aged(n uint64) dag.Options {
	o := options(n)
	o.BaseAge = -1
	return o
}

func seed(t require.TestingT, to, from *dag.Store, o dag.SeedOptions) dag.Seeded {
	result, err := to.Seed(bg, ctx1, sent(t, from.Snapshot(bg, ctx1, nil)), o)
	require.NoError(t, err)
	return result
}

func TestSeededContextIsTheSendersAndStaysSo(t *testing.T) {
	enginetest.Check(t, 60, func(t *rapid.T) {
		g := newGrove()
		g.draw(t, rapid.IntRange(0, 12).Draw(t, "deltas"))
		if rapid.Bool().Draw(t, "joined") && len(g.all) > 0 {
			var heads []*dag.Delta
			for _, id := range g.heads() {
				heads = append(heads, g.byID[id])
			}
			g.grow(t, 1, heads, put("a", "joined"))
		}
		o := options(1)
		o.BaseAge = rapid.SampledFrom([]time.Duration{-1, 50 * time.Minute, time.Hour - 5*time.Second}).Draw(t, "age")
		a, _, closed := fresh(t, o)
		defer closed()
		give(t, a, g.all...)
		c, db, closed := fresh(t, o)
		defer closed()
		r := seed(t, c, a, dag.SeedOptions{})
		g.whole(t, c, db, g.heads()...)
		require.Empty(t, r.Refused)
		_, ok, err := c.SeedProgress(ctx1)
		require.NoError(t, err)
		require.False(t, ok)

		// What is made on top of all of it goes on being taken, and a third node is
		// seeded by the seeded one.
		var heads []*dag.Delta
		for _, id := range g.heads() {
			heads = append(heads, g.byID[id])
		}
		for range rapid.IntRange(0, 3).Draw(t, "later") {
			d := g.grow(t, 2, heads, put("b", "later"), codec.Delete([]byte("a")))
			give(t, a, d)
			heads = []*dag.Delta{d}
		}
		for e, err := range a.Since(bg, ctx1, mustHeads(t, c), dag.SinceOptions{}) {
			require.NoError(t, err)
			give(t, c, e.Delta)
		}
		g.whole(t, c, db, g.heads()...)
		e, db, closed := fresh(t, o)
		defer closed()
		seed(t, e, c, dag.SeedOptions{})
		g.whole(t, e, db, g.heads()...)
		restarted, err := dag.Open(db, o)
		require.NoError(t, err)
		defer restarted.Close()
		g.whole(t, restarted, db, g.heads()...)
	})
}

func mustHeads(t require.TestingT, s *dag.Store) []codec.DeltaID {
	info, err := s.Context(ctx1)
	require.NoError(t, err)
	return info.Heads
}

// offer adds deltas and returns what became of the last.
func offer(t require.TestingT, s *dag.Store, deltas ...*dag.Delta) (a dag.Answer) {
	var err error
	for _, d := range deltas {
		a, err = s.Add(bg, d, dag.AddOptions{})
		require.NoError(t, err)
	}
	return a
}

// A and B stand at h. B makes d1 on it, offline, A makes d2; C is seeded from A,
// and A joins d1 and d2.
func TestContextSeededBesideAnOfflineBranchEndsRight(t *testing.T) {
	for name, test := range map[string]struct {
		age    time.Duration
		reseed bool // C has begun with d2, beside which d1 is
	}{
		"the base is before the branch": {age: time.Hour},
		"the base is beside the branch": {age: -1, reseed: true},
	} {
		for _, older := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				g := newGrove()
				g.now = begin.Add(-time.Hour - time.Second/2)
				h := g.grow(t, 1, nil, put("k", "h"), put("x", "h"), put("y", "h"))
				var d1, d2 *dag.Delta
				branch := func() { d1 = g.grow(t, 2, []*dag.Delta{h}, put("k", "1"), put("x", "1")) }
				if older {
					branch()
				}
				d2 = g.grow(t, 1, []*dag.Delta{h}, put("k", "2"), put("y", "2"))
				if !older {
					branch()
				}
				o := options(1)
				o.BaseAge = test.age
				a, _, closed := fresh(t, o)
				defer closed()
				c, db, closed := fresh(t, o)
				defer closed()
				give(t, a, h, d2)
				r := seed(t, c, a, dag.SeedOptions{})
				require.True(t, r.Adopted)
				require.Equal(t, map[bool]codec.DeltaID{true: d2.ID(), false: h.ID()}[test.reseed], r.Base)
				g.whole(t, c, db, d2.ID())

				m := g.grow(t, 1, []*dag.Delta{d1, d2}, put("y", "m"))
				give(t, a, d1, m)
				if !test.reseed {
					give(t, c, d1, m)
					g.whole(t, c, db, m.ID())
					return
				}
				offer(t, c, m, d1, h)
				info, err := c.Context(ctx1)
				require.NoError(t, err)
				require.True(t, info.Reseed)
				require.Equal(t, []codec.DeltaID{d2.ID()}, info.Heads)
				r = seed(t, c, a, dag.SeedOptions{})
				require.True(t, r.Adopted)
				require.Equal(t, m.ID(), r.Base)
				g.whole(t, c, db, m.ID())
				info, err = c.Context(ctx1)
				require.NoError(t, err)
				require.False(t, info.Reseed)
				next := g.grow(t, 2, []*dag.Delta{m}, codec.Delete([]byte("k")))
				give(t, c, next)
				g.whole(t, c, db, next.ID())
			})
		}
	}
}

func TestWithoutABaseTheDeltasAreReplayed(t *testing.T) {
	g := newGrove()
	var heads []codec.DeltaID
	for i := range uint64(3) {
		d := g.grow(t, i+1, nil, put("k", "1"), put(string(rune('a'+i)), "1"))
		heads = append(heads, d.ID())
	}
	a, _, closed := fresh(t, aged(1))
	defer closed()
	give(t, a, g.all...)
	c, db, closed := fresh(t, aged(2))
	defer closed()
	mine := g.grow(t, 9, nil, put("mine", "1"))
	give(t, c, mine)
	r := seed(t, c, a, dag.SeedOptions{})
	require.Equal(t, dag.Seeded{Deltas: 3}, r)
	g.whole(t, c, db, append(heads, mine.ID())...)
	// A node that began with a base, which is now beside others, begins at the start.
	e, db, closed := fresh(t, aged(3))
	defer closed()
	b, _, closed := fresh(t, aged(4))
	defer closed()
	give(t, b, g.all[0])
	seed(t, e, b, dag.SeedOptions{})
	require.Equal(t, dag.BeforeSnapshot, offer(t, e, g.all[1]).Kind)
	r = seed(t, e, a, dag.SeedOptions{})
	require.True(t, r.Adopted)
	require.Equal(t, codec.DeltaID{}, r.Base)
	g.whole(t, e, db, heads...)
}

func TestOwnDeltasSurviveAnotherSeeding(t *testing.T) {
	g := newGrove()
	h := g.grow(t, 1, nil, put("k", "h"))
	d1 := g.grow(t, 2, []*dag.Delta{h}, put("k", "1"))
	d2 := g.grow(t, 1, []*dag.Delta{h}, put("k", "2"))
	m := g.grow(t, 1, []*dag.Delta{d1, d2}, put("k", "m"))
	a, _, closed := fresh(t, aged(1))
	defer closed()
	give(t, a, h, d2)
	c, db, closed := fresh(t, aged(3))
	defer closed()
	seed(t, c, a, dag.SeedOptions{})
	beside := g.grow(t, 3, []*dag.Delta{d2}, put("beside", "1"))
	onTop := g.grow(t, 3, []*dag.Delta{m}, put("top", "1"))
	later := g.grow(t, 3, []*dag.Delta{onTop}, put("later", "1"))
	give(t, c, beside)
	require.Equal(t, dag.Pending, offer(t, c, onTop, later).Kind)
	require.NoError(t, c.Ack(ctx1, "app", dag.Position{Seq: 2}, engine.Synced))
	require.Equal(t, dag.BeforeSnapshot, offer(t, c, h).Kind)

	give(t, a, d1, m)
	r, err := c.Seed(bg, ctx1, a.Snapshot(bg, ctx1, nil), dag.SeedOptions{Replace: true})
	require.NoError(t, err)
	require.Equal(t, m.ID(), r.Base)
	require.EqualValues(t, 3, r.Restored)
	g.whole(t, c, db, later.ID())
	info, err := c.Context(ctx1)
	require.NoError(t, err)
	require.Equal(t, 1, info.Pending, "it waits for what is before the base")
	list := all(t, c.Follow(bg, ctx1, dag.FollowOptions{Cursor: "app"}))
	require.True(t, list[0].Base)
	require.Equal(t, []codec.DeltaID{m.ID(), onTop.ID(), later.ID()}, idsOf(list))
}

// large grows deltas whose state takes many parts.
func large(t require.TestingT, g *grove) (base *dag.Delta) {
	value := make([]byte, 100<<10)
	var last []*dag.Delta
	for i := range 12 {
		value[0] = byte(i)
		last = []*dag.Delta{g.grow(t, 1, last, codec.Put([]byte{'l', byte(i)}, slices.Clone(value)), put("k", string(rune('a'+i))))}
	}
	return last[0]
}

func TestSnapshotGoesOnWhereItWasCut(t *testing.T) {
	g := newGrove()
	base := large(t, g)
	top := g.grow(t, 1, []*dag.Delta{base}, put("k", "top"), codec.Delete([]byte{'l', 3}))
	o := options(1)
	o.BaseAge = time.Hour - 11*time.Second - time.Second/2
	a, _, closed := fresh(t, o)
	defer closed()
	give(t, a, g.all...)
	c, db, closed := fresh(t, options(2))
	defer closed()
	cuts := 0
	var resume []byte
	var total int
	for {
		n := 0
		r, err := c.Seed(bg, ctx1, func(yield func(*dag.SnapshotPart, error) bool) {
			for p, err := range a.Snapshot(bg, ctx1, resume) {
				if n++; n == 3 && p.Kind == dag.PartRows {
					return // the connection is lost
				}
				if p != nil && p.Kind == dag.PartRows {
					total += len(p.Rows)
				}
				if !yield(p, err) {
					return
				}
			}
		}, dag.SeedOptions{})
		if err == nil {
			require.Equal(t, base.ID(), r.Base)
			break
		}
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		cuts++
		p, ok, err := c.SeedProgress(ctx1)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, base.ID(), p.Base)
		require.EqualValues(t, total, p.Rows)
		require.Empty(t, stateRows(t, db), "it is kept apart")
		resume = p.Resume
	}
	require.Greater(t, cuts, 2)
	require.Equal(t, 13, total, "nothing came twice")
	g.whole(t, c, db, top.ID())

	// A snapshot that ended is no longer held.
	for _, err := range a.Snapshot(bg, ctx1, resume) {
		require.ErrorIs(t, err, dag.ErrSnapshotGone)
	}
}

// A part of a snapshot ends once it has 256 KiB: also one of what has changed since the
// base, whose rows are found through the deltas that changed them.
func TestPartsOfASnapshotAreBounded(t *testing.T) {
	const target = 256 << 10
	g := newGrove()
	base := large(t, g)
	var changes []codec.Action
	for i := range byte(12) {
		changes = append(changes, codec.Put([]byte{'l', i}, make([]byte, 60<<10)))
	}
	g.grow(t, 1, []*dag.Delta{g.grow(t, 1, []*dag.Delta{base}, changes[:6]...)}, changes[6:]...)
	o := options(1)
	o.BaseAge = time.Hour - 11*time.Second - time.Second/2
	a, _, closed := fresh(t, o)
	defer closed()
	give(t, a, g.all...)
	rows, parts := 0, 0
	for p, err := range a.Snapshot(bg, ctx1, nil) {
		require.NoError(t, err)
		if p.Kind == dag.PartStart {
			d, err := dag.ParseDelta(p.Base)
			require.NoError(t, err)
			require.Equal(t, base.ID(), d.ID())
		}
		size, last := 0, 0
		for _, r := range p.Rows {
			last = len(r.AppKey) + len(r.Value)
			size += last
		}
		for _, d := range p.Deltas {
			last = len(d)
			size += last
		}
		require.Less(t, size-last, target, "%s", p.Kind)
		if rows += len(p.Rows); len(p.Rows) > 0 {
			parts++
		}
	}
	require.Equal(t, 13, rows)
	require.Equal(t, 4, parts, "three rows of 100 KiB in each")
}

func TestHeldSnapshotsAreBounded(t *testing.T) {
	g := newGrove()
	g.grow(t, 1, nil, put("k", "1"))
	o := aged(1)
	o.MaxSnapshots, o.SnapshotIdle = 2, 50*time.Millisecond
	a, db, closed := fresh(t, o)
	defer closed()
	give(t, a, g.all...)
	first := func() (resume []byte, err error) {
		for p, err := range a.Snapshot(bg, ctx1, nil) {
			if err != nil {
				return nil, err
			}
			return p.Resume, nil
		}
		return nil, errors.New("nothing")
	}
	resume, err := first()
	require.NoError(t, err)
	_, err = first()
	require.NoError(t, err)
	_, err = first()
	require.ErrorIs(t, err, dag.ErrSnapshotsBusy)
	require.Eventually(t, func() bool {
		stats, err := db.Stats()
		return err == nil && stats.Snapshots == 0
	}, within, 10*time.Millisecond)
	for _, err := range a.Snapshot(bg, ctx1, resume) {
		require.ErrorIs(t, err, dag.ErrSnapshotGone)
	}
	for _, err := range a.Snapshot(bg, ctx1, []byte("no place")) {
		require.ErrorIs(t, err, codec.ErrMalformed)
	}
	_, err = first()
	require.NoError(t, err)
	require.NoError(t, a.Close())
	stats, err := db.Stats()
	require.NoError(t, err)
	require.Zero(t, stats.Snapshots)
}

func TestFalseSnapshotsAreRefused(t *testing.T) {
	g := newGrove()
	base := large(t, g)
	a, _, closed := fresh(t, aged(1))
	defer closed()
	give(t, a, g.all...)
	var honest []*dag.SnapshotPart
	for p, err := range a.Snapshot(bg, ctx1, nil) {
		require.NoError(t, err)
		honest = append(honest, p)
	}
	rows := func(parts []*dag.SnapshotPart) *dag.SnapshotPart {
		p := *parts[2]
		p.Rows = slices.Clone(p.Rows)
		parts[2] = &p
		return &p
	}
	for name, change := range map[string]func(parts []*dag.SnapshotPart) []*dag.SnapshotPart{
		"another value": func(parts []*dag.SnapshotPart) []*dag.SnapshotPart {
			rows(parts).Rows[0].Value = []byte("false")
			return parts
		},
		"another key": func(parts []*dag.SnapshotPart) []*dag.SnapshotPart {
			rows(parts).Rows[0].AppKey = []byte("false")
			return parts
		},
		"a row twice": func(parts []*dag.SnapshotPart) []*dag.SnapshotPart {
			p := rows(parts)
			p.Rows = append(p.Rows, p.Rows[0])
			return parts
		},
		"a part missing": func(parts []*dag.SnapshotPart) []*dag.SnapshotPart { return slices.Delete(parts, 2, 3) },
		"no start":       func(parts []*dag.SnapshotPart) []*dag.SnapshotPart { return parts[1:] },
		"two starts":     func(parts []*dag.SnapshotPart) []*dag.SnapshotPart { return slices.Insert(parts, 0, parts[0]) },
		"a delta before the state": func(parts []*dag.SnapshotPart) []*dag.SnapshotPart {
			return slices.Insert(parts, 1, &dag.SnapshotPart{Kind: dag.PartDeltas, Deltas: [][]byte{parts[0].Base}})
		},
		"another context": func(parts []*dag.SnapshotPart) []*dag.SnapshotPart {
			p := *parts[0]
			p.Context = ctx2
			parts[0] = &p
			return parts
		},
		"a row more than it says": func(parts []*dag.SnapshotPart) []*dag.SnapshotPart {
			end := *parts[len(parts)-1]
			end.RowCount--
			parts[len(parts)-1] = &end
			return parts
		},
		"a delta less than it says": func(parts []*dag.SnapshotPart) []*dag.SnapshotPart {
			end := *parts[len(parts)-1]
			end.DeltaCount++
			parts[len(parts)-1] = &end
			return parts
		},
		"a base that is none": func(parts []*dag.SnapshotPart) []*dag.SnapshotPart {
			p := *parts[0]
			p.Base = p.Base[1:]
			parts[0] = &p
			return parts
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, db, closed := fresh(t, aged(2))
			defer closed()
			parts := change(slices.Clone(honest))
			_, err := c.Seed(bg, ctx1, func(yield func(*dag.SnapshotPart, error) bool) {
				for _, p := range parts {
					if !yield(p, nil) {
						return
					}
				}
			}, dag.SeedOptions{})
			require.ErrorIs(t, err, dag.ErrSnapshot)
			g.whole(t, c, db)
			it, err := db.Iterate(column.Generic, engine.Range{})
			require.NoError(t, err)
			defer it.Close()
			for it.Next() {
				require.Equal(t, "dag-clock", string(it.Key()[:9]), "%x", it.Key())
			}
			seed(t, c, a, dag.SeedOptions{})
			g.whole(t, c, db, base.ID())
		})
	}
}

// A context that another has copied has the same root: its snapshot holds in all
// but the contexts that it and its base name.
func TestTheSnapshotOfAnotherContextIsRefused(t *testing.T) {
	from, _, closed := fresh(t, aged(1))
	defer closed()
	require.NoError(t, from.CreateContext(ctx2, codec.ApplicationMeta{}))
	for _, id := range []codec.ContextID{ctx1, ctx2} {
		_, err := from.Commit(bg, dag.Commit{Context: id, Actions: []codec.Action{put("x", "1")}, ReadRoot: merkle.EmptyRoot()})
		require.NoError(t, err)
	}
	to, _, closed := fresh(t, aged(2))
	defer closed()
	_, err := to.Seed(bg, ctx1, sent(t, from.Snapshot(bg, ctx2, nil)), dag.SeedOptions{})
	require.ErrorIs(t, err, dag.ErrSnapshot)
	require.ErrorContains(t, err, "it is of context "+ctx2.String())
	renamed := func(yield func(*dag.SnapshotPart, error) bool) {
		for p, err := range from.Snapshot(bg, ctx2, nil) {
			if err == nil && p.Kind == dag.PartStart {
				p.Context = ctx1
			}
			if !yield(p, err) {
				return
			}
		}
	}
	_, err = to.Seed(bg, ctx1, sent(t, renamed), dag.SeedOptions{})
	require.ErrorIs(t, err, dag.ErrSnapshot)
	require.ErrorContains(t, err, "its base is of context "+ctx2.String())
	require.Empty(t, mustHeads(t, to))
	seed(t, to, from, dag.SeedOptions{})
}

func TestSeedReplacesNothingUnasked(t *testing.T) {
	g := newGrove()
	h := g.grow(t, 1, nil, put("k", "h"))
	a, _, closed := fresh(t, aged(1))
	defer closed()
	give(t, a, h)
	c, db, closed := fresh(t, aged(2))
	defer closed()
	mine := g.grow(t, 2, nil, put("k", "mine"))
	give(t, c, mine)
	_, err := c.Seed(bg, ctx1, a.Snapshot(bg, ctx1, nil), dag.SeedOptions{})
	require.ErrorIs(t, err, dag.ErrNotEmpty)
	g.whole(t, c, db, mine.ID())
	r := seed(t, c, a, dag.SeedOptions{Replace: true})
	require.True(t, r.Adopted)
	g.whole(t, c, db, h.ID())
	_, err = c.Seed(bg, ctx2, a.Snapshot(bg, ctx1, nil), dag.SeedOptions{})
	require.ErrorIs(t, err, dag.ErrSnapshot)
	for _, err := range a.Snapshot(bg, ctx2, nil) {
		require.ErrorIs(t, err, dag.ErrNoContext)
	}
	// The same base again is no reason to do anything.
	require.Equal(t, dag.Seeded{}, seed(t, c, a, dag.SeedOptions{}))
	g.whole(t, c, db, h.ID())
}

// during yields the parts of a snapshot, and calls fn before the last.
func during(parts iter.Seq2[*dag.SnapshotPart, error], fn func()) iter.Seq2[*dag.SnapshotPart, error] {
	return func(yield func(*dag.SnapshotPart, error) bool) {
		for p, err := range parts {
			if p != nil && p.Kind == dag.PartEnd {
				fn()
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

func TestADeltaThatComesDuringASeedingIsNotLost(t *testing.T) {
	g := newGrove()
	h := g.grow(t, 1, nil, put("k", "h"))
	mine := g.grow(t, 2, nil, put("k", "mine"))
	a, _, closed := fresh(t, aged(1))
	defer closed()
	give(t, a, h)
	c, db, closed := fresh(t, aged(2))
	defer closed()
	_, err := c.Seed(bg, ctx1, during(a.Snapshot(bg, ctx1, nil), func() { give(t, c, mine) }), dag.SeedOptions{})
	require.ErrorIs(t, err, dag.ErrNotEmpty)
	g.whole(t, c, db, mine.ID())
}

func TestAContextThatIsBeingSeededIsNotDeleted(t *testing.T) {
	g := newGrove()
	h := g.grow(t, 1, nil, put("k", "h"))
	a, _, closed := fresh(t, aged(1))
	defer closed()
	give(t, a, h)
	c, db, closed := fresh(t, aged(2))
	defer closed()
	_, err := c.Seed(bg, ctx1, during(a.Snapshot(bg, ctx1, nil), func() {
		require.ErrorIs(t, c.DeleteContext(ctx1), dag.ErrSeeding)
	}), dag.SeedOptions{})
	require.NoError(t, err)
	g.whole(t, c, db, h.ID())
	require.NoError(t, c.DeleteContext(ctx1))
}

// A sender with the same base has nothing beside it: what was turned away is no
// reason any more to seed again, until something is turned away again.
func TestSeedingWithTheSameBaseAnswersTheCallForAnother(t *testing.T) {
	g := newGrove()
	h := g.grow(t, 1, nil, put("k", "h"))
	base := g.grow(t, 1, []*dag.Delta{h}, put("k", "base"))
	top := g.grow(t, 1, []*dag.Delta{base}, put("k", "top"))
	a, _, closed := fresh(t, aged(1))
	defer closed()
	give(t, a, h, base)
	c, db, closed := fresh(t, aged(2))
	defer closed()
	seed(t, c, a, dag.SeedOptions{})
	flagged := func() bool {
		info, err := c.Context(ctx1)
		require.NoError(t, err)
		return info.Reseed
	}
	require.Equal(t, dag.BeforeSnapshot, offer(t, c, h).Kind)
	require.True(t, flagged())
	require.False(t, seed(t, c, a, dag.SeedOptions{}).Adopted)
	require.False(t, flagged())
	give(t, c, top)
	g.whole(t, c, db, top.ID())
	require.Equal(t, dag.BeforeSnapshot, offer(t, c, h).Kind)
	require.True(t, flagged())
}

// What is turned away from the snapshot itself calls for another seeding, even if its
// base is the one that is here.
func TestASeedingThatTurnsADeltaAwayDoesNotAnswerTheCallForAnother(t *testing.T) {
	g := newGrove()
	h := g.grow(t, 1, nil, put("k", "h"))
	base := g.grow(t, 1, []*dag.Delta{h}, put("k", "base"))
	a, _, closed := fresh(t, aged(1))
	defer closed()
	give(t, a, h, base)
	c, _, closed := fresh(t, aged(2))
	defer closed()
	seed(t, c, a, dag.SeedOptions{})
	early, err := h.AppendBinary(nil)
	require.NoError(t, err)
	_, err = c.Seed(bg, ctx1, func(yield func(*dag.SnapshotPart, error) bool) {
		for p, err := range a.Snapshot(bg, ctx1, nil) {
			if err == nil && p.Kind == dag.PartEnd {
				if !yield(&dag.SnapshotPart{Kind: dag.PartDeltas, Deltas: [][]byte{early}}, nil) {
					return
				}
				p.DeltaCount++
			}
			if !yield(p, err) {
				return
			}
		}
	}, dag.SeedOptions{})
	require.NoError(t, err)
	info, err := c.Context(ctx1)
	require.NoError(t, err)
	require.True(t, info.Reseed)
}

// The process dies at every write, and at every read, of a second seeding:
// afterwards there is the context as it was, or the new one.
func TestSeedingIsAllOrNothing(t *testing.T) {
	g := newGrove()
	h := g.grow(t, 1, nil, put("k", "h"), put("h", "h"))
	d1 := g.grow(t, 2, []*dag.Delta{h}, put("k", "1"))
	d2 := g.grow(t, 1, []*dag.Delta{h}, put("k", "2"), codec.Delete([]byte("h")))
	m := g.grow(t, 1, []*dag.Delta{d1, d2}, put("m", "m"))
	onTop := g.grow(t, 3, []*dag.Delta{m}, put("top", "1"))
	a, _, closed := fresh(t, aged(1))
	defer closed()
	give(t, a, h, d2)
	prepare := func() *mem.Engine {
		db := mem.New()
		c, err := dag.Open(db, aged(3))
		require.NoError(t, err)
		require.NoError(t, c.CreateContext(ctx1, codec.ApplicationMeta{Package: "p"}))
		seed(t, c, a, dag.SeedOptions{})
		require.Equal(t, dag.Pending, offer(t, c, onTop).Kind)
		require.NoError(t, c.Close())
		return db
	}
	o := aged(4)
	o.MaxSnapshots = 1 << 20 // those that are cut off stay for a while
	full, _, closed := fresh(t, o)
	defer closed()
	give(t, full, h, d1, d2, m)
	outcomes := map[string]int{}
	for _, calls := range []faulty.Calls{faulty.Writes, faulty.Reads} {
		for _, fault := range []faulty.Fault{faulty.Fail, faulty.CrashBefore, faulty.CrashAfter} {
			for n := 1; ; n++ {
				db := prepare()
				f := faulty.New(db, faulty.Options{At: n, Calls: calls, Fault: fault})
				c, err := dag.Open(f, aged(3))
				if err == nil {
					_, err = c.Seed(bg, ctx1, full.Snapshot(bg, ctx1, nil), dag.SeedOptions{Replace: true})
					if err != nil && fault == faulty.Fail {
						if info, err := c.Context(ctx1); err == nil && info.Adopting {
							outcomes["adopting"]++
							unreadable(t, c, onTop)
						}
						// It need not be opened again for another seeding to end it.
						seed(t, c, full, dag.SeedOptions{Replace: true})
						g.whole(t, c, db, onTop.ID())
					}
					_ = c.Close()
				}
				tripped := f.Tripped()
				if !tripped {
					require.NoError(t, err)
				}
				c, err = dag.Open(f.Restart(), aged(3))
				require.NoError(t, err)
				switch info, err := c.Context(ctx1); {
				case err != nil:
					require.NoError(t, err)
				case info.Base == d2.ID():
					outcomes["old"]++
					g.whole(t, c, db, d2.ID())
					require.Equal(t, 1, info.Pending)
				default:
					outcomes["new"]++
					require.Equal(t, m.ID(), info.Base)
					g.whole(t, c, db, onTop.ID())
				}
				seed(t, c, full, dag.SeedOptions{Replace: true})
				g.whole(t, c, db, onTop.ID())
				require.NoError(t, c.Close())
				require.NoError(t, db.Close())
				if !tripped {
					break
				}
			}
		}
	}
	require.Greater(t, outcomes["old"], 10)
	require.Greater(t, outcomes["new"], 10)
	require.Greater(t, outcomes["adopting"], 3)
}

// unreadable checks that nobody sees a context half replaced, or writes it.
func unreadable(t *testing.T, s *dag.Store, d *dag.Delta) {
	_, _, err := s.Heads(ctx1)
	require.ErrorIs(t, err, dag.ErrAdopting)
	_, err = s.State(ctx1, []byte("k"))
	require.ErrorIs(t, err, dag.ErrAdopting)
	_, _, err = s.Get(ctx1, codec.DeltaID{1})
	require.ErrorIs(t, err, dag.ErrAdopting)
	_, err = s.Missing(ctx1, codec.DeltaID{}, 0)
	require.ErrorIs(t, err, dag.ErrAdopting)
	_, err = s.Prove(ctx1, []byte("k"))
	require.ErrorIs(t, err, dag.ErrAdopting)
	_, err = s.Add(bg, d, dag.AddOptions{})
	require.ErrorIs(t, err, dag.ErrAdopting)
	for _, err := range s.Since(bg, ctx1, nil, dag.SinceOptions{}) {
		require.ErrorIs(t, err, dag.ErrAdopting)
	}
}

func FuzzSnapshotPart(f *testing.F) {
	for _, p := range []dag.SnapshotPart{
		{Kind: dag.PartStart, Context: ctx1, Base: []byte("base"), Resume: []byte("here")},
		{Kind: dag.PartRows, Rows: []dag.StateRow{{AppKey: []byte("k"), Value: []byte("v")}, {}}},
		{Kind: dag.PartDeltas, Deltas: [][]byte{[]byte("d"), nil}, Resume: []byte("here")},
		{Kind: dag.PartEnd, RowCount: 2, DeltaCount: 1},
	} {
		b, err := p.AppendBinary(nil)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := dag.ParseSnapshotPart(b)
		if err != nil {
			require.ErrorIs(t, err, codec.ErrMalformed)
			return
		}
		again, err := p.AppendBinary(nil)
		require.NoError(t, err)
		require.Equal(t, b, again)
	})
}
