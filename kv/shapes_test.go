package kv

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv/kvtest"
)

// drawnStore is a store for one case of a property, which closes it itself.
func drawnStore(t *rapid.T, types ...Type) (*testStore, func()) {
	db := mem.New()
	clock := kvtest.New()
	if len(types) == 0 {
		types = []Type{words, plain}
	}
	s, err := Open(db, Options{Types: types, Clock: clock})
	require.NoError(t, err)
	return &testStore{nil, db, clock, s}, func() {
		for f, err := range s.Check(ctx) {
			require.NoError(t, err)
			require.Fail(t, "the check finds", f.String())
		}
		require.NoError(t, s.Close())
		require.NoError(t, db.Close())
	}
}

func drawnSpace(t *rapid.T, h *testStore, space string) *Space {
	s, err := h.CreateSpace(ctx, "a", SystemTest, space, Quota{})
	require.NoError(t, err)
	return s
}

func TestSortedSetsAgainstANaiveModel(t *testing.T) {
	enginetest.Check(t, 300, func(t *rapid.T) {
		h, end := drawnStore(t)
		defer end()
		s := drawnSpace(t, h, "plain")
		model := map[string]map[string]float64{"a": {}, "a\x00": {}}
		set := rapid.SampledFrom([]string{"a", "a\x00"})
		member := rapid.SampledFrom([]string{"", "m", "m\x00", "n", "\xff", "o", "p"})
		score := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1)}))
		sorted := func(set string) (list []Member) {
			for m, score := range model[set] {
				list = append(list, Member{[]byte(m), score + 0})
			}
			slices.SortFunc(list, func(a, b Member) int { return cmp.Or(cmp.Compare(a.Score, b.Score), bytes.Compare(a.Member, b.Member)) })
			return list
		}
		page := func(t *rapid.T, set string, o MembersOptions) (list []Member) {
			for {
				part, next, err := s.Members(ctx, set, o)
				require.NoError(t, err)
				list = append(list, part...)
				if o.Cursor = next; next == "" {
					return list
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				set, m, score := set.Draw(t, "set"), member.Draw(t, "member"), score.Draw(t, "score")
				_, had := model[set][m]
				model[set][m] = score
				require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
					added, err := tx.Add(set, []byte(m), score)
					require.Equal(t, !had, added)
					return err
				}))
			},
			"remove": func(t *rapid.T) {
				set, m := set.Draw(t, "set"), member.Draw(t, "member")
				_, had := model[set][m]
				delete(model[set], m)
				require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
					removed, err := tx.Remove(set, []byte(m))
					require.Equal(t, had, removed)
					return err
				}))
			},
			"pop": func(t *rapid.T) {
				set, highest := set.Draw(t, "set"), rapid.Bool().Draw(t, "highest")
				list := sorted(set)
				got, err := s.Pop(ctx, engine.WAL, set, highest)
				if len(list) == 0 {
					require.ErrorIs(t, err, ErrNotFound)
					return
				}
				want := list[0]
				if highest {
					want = list[len(list)-1]
				}
				require.NoError(t, err)
				require.Equal(t, want, got)
				delete(model[set], string(got.Member))
			},
			"delete the set": func(t *rapid.T) {
				set := set.Draw(t, "set")
				clear(model[set])
				require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
					if _, err := tx.Add(set, []byte("new"), 1); err != nil {
						return err
					}
					if err := tx.DeleteSet(set); err != nil {
						return err
					}
					_, err := tx.Score(set, []byte("new"))
					require.ErrorIs(t, err, ErrNotFound)
					return nil
				}))
			},
			"": func(t *rapid.T) {
				set := set.Draw(t, "set")
				want := sorted(set)
				require.Equal(t, want, page(t, set, MembersOptions{Limit: rapid.IntRange(1, 4).Draw(t, "limit")}))
				from, to := score.Draw(t, "from"), score.Draw(t, "to")
				var within []Member
				for _, m := range slices.Backward(want) {
					if m.Score >= from && m.Score <= to {
						within = append(within, m)
					}
				}
				require.Equal(t, within, page(t, set, MembersOptions{From: &from, To: &to, Reverse: true, Limit: 2}))
				require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
					info, err := tx.Set(set)
					require.Equal(t, uint64(len(want)), info.Members)
					for _, m := range want {
						score, err := tx.Score(set, m.Member)
						require.NoError(t, err)
						require.Equal(t, m.Score, score)
					}
					return err
				}))
			},
		})
	})
}

func TestPopGivesEachMemberToOne(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
		for i := range 100 {
			if _, err := tx.Add("q", fmt.Append(nil, i), float64(i)); err != nil {
				return err
			}
		}
		_, err := tx.Add("q", nil, math.NaN())
		require.ErrorIs(t, err, ErrInvalidArgument)
		return nil
	}))
	var mu sync.Mutex
	var wg sync.WaitGroup
	got := map[string]int{}
	for range 4 {
		wg.Go(func() {
			last := -1.0
			for {
				m, err := s.Pop(ctx, engine.WAL, "q", false)
				if errors.Is(err, ErrBusy) {
					continue
				}
				if err != nil {
					require.ErrorIs(t, err, ErrNotFound)
					return
				}
				require.Greater(t, m.Score, last)
				last = m.Score
				mu.Lock()
				got[string(m.Member)]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.Len(t, got, 100)
}

// modelStream is a stream and its groups, naively.
type modelStream struct {
	last    uint64
	entries []Entry
	limits  StreamLimits
	groups  map[string]*modelGroup
}

type modelGroup struct {
	delivered uint64
	pending   map[uint64]Pending
}

// trim drops what is beyond the limits.
func (m *modelStream) trim(now time.Time) {
	if n := m.limits.Entries; n > 0 && uint64(len(m.entries)) > n {
		m.entries = m.entries[uint64(len(m.entries))-n:]
	}
	for m.limits.Age > 0 && len(m.entries) > 0 && !now.Before(m.entries[0].Time.Add(m.limits.Age)) {
		m.entries = m.entries[1:]
	}
}

// first is the first entry that is kept.
func (m *modelStream) first() uint64 { return m.last + 1 - uint64(len(m.entries)) }

func (m *modelStream) get(n uint64) (Entry, bool) {
	for _, e := range m.entries {
		if e.Number == n {
			return e, true
		}
	}
	return Entry{}, false
}

func TestStreamsAndGroupsAgainstANaiveModel(t *testing.T) {
	enginetest.Check(t, 300, func(t *rapid.T) {
		h, end := drawnStore(t)
		defer end()
		s := drawnSpace(t, h, "plain")
		const stream = "s\x00"
		m := &modelStream{groups: map[string]*modelGroup{}}
		group := rapid.SampledFrom([]string{"g", "g\x00", "h"})
		consumer := rapid.SampledFrom([]string{"c1", "c2"})
		update := func(t *rapid.T, fn func(*Tx) error) { require.NoError(t, s.Update(ctx, engine.WAL, fn)) }
		copied := func(entries []Entry) (list []Entry) {
			for _, e := range entries {
				e.Payload = slices.Clone(e.Payload)
				list = append(list, e)
			}
			return list
		}
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				m.trim(h.clock.Now())
				m.limits = StreamLimits{Entries: rapid.Uint64Range(0, 6).Draw(t, "entries"), Age: time.Duration(rapid.IntRange(0, 5).Draw(t, "age")) * time.Second}
				var payloads [][]byte
				for range rapid.IntRange(1, 3).Draw(t, "batch") {
					m.last++
					payloads = append(payloads, fmt.Append(nil, m.last))
					m.entries = append(m.entries, Entry{m.last, h.clock.Now(), payloads[len(payloads)-1]})
				}
				update(t, func(tx *Tx) error {
					if len(payloads) == 1 {
						n, err := tx.Append(stream, payloads[0], m.limits)
						require.Equal(t, m.last, n)
						return err
					}
					info, err := tx.AppendAll(stream, m.limits, payloads...)
					require.Equal(t, m.last, info.Last)
					require.Equal(t, h.clock.Now(), info.Newest)
					return err
				})
			},
			"pass": func(t *rapid.T) {
				h.clock.Pass(time.Duration(rapid.IntRange(1, 3000).Draw(t, "ms")) * time.Millisecond)
			},
			"create": func(t *rapid.T) {
				g := group.Draw(t, "group")
				m.trim(h.clock.Now())
				after := rapid.Uint64Range(0, m.last+2).Draw(t, "after")
				_, had := m.groups[g]
				if !had {
					m.groups[g] = &modelGroup{min(max(after, m.first()-1), m.last), map[uint64]Pending{}}
				}
				update(t, func(tx *Tx) error {
					made, err := tx.CreateGroup(stream, g, after)
					require.Equal(t, !had, made)
					return err
				})
			},
			"move": func(t *rapid.T) {
				g := group.Draw(t, "group")
				m.trim(h.clock.Now())
				after := rapid.Uint64Range(0, m.last+2).Draw(t, "after")
				err := s.Update(ctx, engine.WAL, func(tx *Tx) error { return tx.MoveGroup(stream, g, after) })
				if mg := m.groups[g]; mg != nil {
					require.NoError(t, err)
					mg.delivered = min(max(after, m.first()-1), m.last)
				} else {
					require.ErrorIs(t, err, ErrNotFound)
				}
			},
			"drop": func(t *rapid.T) {
				g := group.Draw(t, "group")
				_, had := m.groups[g]
				delete(m.groups, g)
				err := s.Update(ctx, engine.WAL, func(tx *Tx) error { return tx.DropGroup(stream, g) })
				require.Equal(t, had, err == nil)
			},
			"deliver": func(t *rapid.T) {
				g, c, limit := group.Draw(t, "group"), consumer.Draw(t, "consumer"), rapid.IntRange(1, 4).Draw(t, "limit")
				m.trim(h.clock.Now())
				var got []Entry
				err := s.Update(ctx, engine.WAL, func(tx *Tx) (err error) {
					got, err = tx.Deliver(stream, g, c, limit)
					got = copied(got)
					return err
				})
				mg := m.groups[g]
				if mg == nil {
					require.ErrorIs(t, err, ErrNotFound)
					return
				}
				if mg.delivered+1 < m.first() {
					var e *Error
					require.ErrorAs(t, err, &e)
					require.Equal(t, []any{CodeTrimmed, mg.delivered + 1, m.first()}, []any{e.Code, e.Have, e.Limit})
					return
				}
				require.NoError(t, err)
				var want []Entry
				for _, e := range m.entries {
					if e.Number > mg.delivered && len(want) < limit {
						want = append(want, e)
						mg.pending[e.Number] = Pending{e.Number, c, h.clock.Now(), mg.pending[e.Number].Deliveries + 1}
					}
				}
				if len(want) > 0 {
					mg.delivered = want[len(want)-1].Number
				}
				require.Equal(t, want, got)
			},
			"acknowledge": func(t *rapid.T) {
				g, n := group.Draw(t, "group"), rapid.Uint64Range(0, m.last+1).Draw(t, "entry")
				mg := m.groups[g]
				if mg == nil {
					return
				}
				_, had := mg.pending[n]
				delete(mg.pending, n)
				update(t, func(tx *Tx) error {
					done, err := tx.Acknowledge(stream, g, n, n)
					require.Equal(t, had, done == 1)
					return err
				})
			},
			"claim": func(t *rapid.T) {
				g, c, idle := group.Draw(t, "group"), consumer.Draw(t, "consumer"), time.Duration(rapid.IntRange(0, 2).Draw(t, "idle"))*time.Second
				m.trim(h.clock.Now())
				mg := m.groups[g]
				if mg == nil {
					return
				}
				got, gone, err := s.ClaimIdle(ctx, engine.WAL, stream, g, c, idle, 100)
				require.NoError(t, err)
				var want []Entry
				var lost []uint64
				for _, n := range slices.Sorted(maps.Keys(mg.pending)) {
					p := mg.pending[n]
					if h.clock.Now().Sub(p.Since) < idle {
						continue
					}
					e, kept := m.get(n)
					if !kept {
						delete(mg.pending, n)
						lost = append(lost, n)
						continue
					}
					want = append(want, e)
					mg.pending[n] = Pending{n, c, h.clock.Now(), p.Deliveries + 1}
				}
				require.Equal(t, want, got)
				require.Equal(t, lost, gone)
			},
			"": func(t *rapid.T) {
				m.trim(h.clock.Now())
				var got []Entry
				for after := uint64(0); ; {
					part, err := s.Entries(ctx, stream, after, 3)
					require.NoError(t, err)
					got = append(got, part...)
					if len(part) == 0 {
						break
					}
					after = part[len(part)-1].Number
				}
				require.Equal(t, len(m.entries), len(got))
				for i, e := range m.entries {
					require.Equal(t, e, got[i])
				}
				from, limit := rapid.Uint64Range(0, m.last+2).Draw(t, "before"), rapid.IntRange(1, 4).Draw(t, "back")
				back, err := s.now().EntriesBack(ctx, stream, from, limit)
				require.NoError(t, err)
				var want []Entry
				for _, e := range slices.Backward(m.entries) {
					if (from == 0 || e.Number < from) && len(want) < limit {
						want = append(want, e)
					}
				}
				require.Equal(t, want, back)
				if len(m.entries) > 0 {
					at := rapid.SampledFrom(m.entries).Draw(t, "at").Time
					n, err := s.now().EntriesSince(stream, at)
					require.NoError(t, err)
					require.Equal(t, at, m.entries[slices.IndexFunc(m.entries, func(e Entry) bool { return e.Number == n })].Time)
					if before, kept := m.get(n - 1); kept {
						require.True(t, before.Time.Before(at))
					}
				}
				groups, err := s.now().Groups(ctx, stream)
				require.NoError(t, err)
				require.Len(t, groups, len(m.groups))
				for _, g := range groups {
					require.Equal(t, m.groups[g.Name].delivered, g.Delivered)
				}
				for g, mg := range m.groups {
					info, err := s.now().Group(stream, g)
					require.NoError(t, err)
					require.Equal(t, uint64(len(mg.pending)), info.Pending)
					list, err := s.now().Pending(ctx, stream, g, 0, 0)
					require.NoError(t, err)
					require.Len(t, list, len(mg.pending))
					for _, p := range list {
						require.Equal(t, mg.pending[p.Number], p)
					}
				}
			},
		})
	})
}

func TestAStreamIsFollowedAndTrimmedByTheSweep(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	add := func(text string) {
		require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
			_, err := tx.Append("s", []byte(text), StreamLimits{Age: time.Second})
			return err
		}))
	}
	add("1")
	got := make(chan string, 10)
	go func() {
		defer close(got)
		for e, err := range s.Follow(ctx, "s", 0) {
			if err != nil {
				return
			}
			got <- string(e.Payload)
		}
	}()
	require.Equal(t, "1", <-got)
	add("2")
	require.Equal(t, "2", <-got)
	h.clock.Pass(time.Second)
	h.later("trimmed", func() bool { return h.count(ShapeEntry) == 0 })
	require.Zero(t, h.count(ShapeDue))
	add("3")
	require.Equal(t, "3", <-got)
	add("4")
	for _, err := range s.Follow(ctx, "s", 0) {
		require.ErrorIs(t, err, ErrTrimmed)
	}
	require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
		_, err := tx.CreateGroup("s", "g", 0)
		require.NoError(t, err)
		_, err = tx.Deliver("s", "g", "c", 10)
		require.NoError(t, err)
		return tx.DeleteStream("s")
	}))
	require.Zero(t, h.count(ShapeEntry)+h.count(ShapeHead)+h.count(ShapeGroup)+h.count(ShapePending)+h.count(ShapeDue))
	h.sound()
	require.NoError(t, h.Close())
	for range got {
	}
}

func TestIndexesAndHistoryAgainstANaiveModel(t *testing.T) {
	enginetest.Check(t, 200, func(t *rapid.T) {
		h, end := drawnStore(t)
		defer end()
		s := drawnSpace(t, h, "words")
		model, history, revision := map[string]Record{}, map[string][]Record{}, uint64(0)
		change := func(r Record) {
			revision++
			r.Revision = revision
			history[string(r.Key)] = append(history[string(r.Key)], r)
			if r.Kind == Put {
				model[string(r.Key)] = r
			} else {
				delete(model, string(r.Key))
			}
		}
		key := rapid.SampledFrom([]string{"", "a", "a\x00", "b", "\xff"})
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				k, v := key.Draw(t, "key"), rapid.SampledFrom([]string{"", "x", "x y", "y\x00 x", "z z", "xx \xff"}).Draw(t, "value")
				r, err := s.Put(ctx, []byte(k), []byte(v), PutOptions{})
				require.NoError(t, err)
				change(Record{Key: []byte(k), Value: []byte(v), Kind: Put})
				require.Equal(t, revision, r.Revision)
			},
			"delete": func(t *rapid.T) {
				k := key.Draw(t, "key")
				_, had := model[k]
				existed, err := s.Delete(ctx, []byte(k))
				require.NoError(t, err)
				require.Equal(t, had, existed)
				if had {
					change(Record{Key: []byte(k), Kind: Deleted})
				}
			},
			"": func(t *rapid.T) {
				var want []string
				for k, r := range model {
					terms := map[string]bool{}
					for _, term := range bytes.Fields(r.Value) {
						terms[string(term)] = true
					}
					for term := range terms {
						if term >= "x" && term < "y\x00" {
							want = append(want, fmt.Sprintf("%q %q", term, k))
						}
					}
				}
				slices.Sort(want)
				reverse := rapid.Bool().Draw(t, "reverse")
				o := IndexOptions{From: []byte("x"), To: []byte("y\x00"), Reverse: reverse, Limit: rapid.IntRange(1, 3).Draw(t, "limit")}
				var got []string
				for {
					part, next, err := s.ByIndex(ctx, 1, o)
					require.NoError(t, err)
					for _, f := range part {
						got = append(got, fmt.Sprintf("%q %q", f.Term, f.Key))
						require.Equal(t, model[string(f.Key)].Revision, f.Revision)
					}
					if o.Cursor = next; next == "" {
						break
					}
				}
				if reverse {
					slices.Reverse(got)
				}
				slices.Sort(want) // by the quoted forms, whose order is that of these texts but for bytes below the quote
				slices.Sort(got)
				require.Equal(t, want, got)
				k := key.Draw(t, "key")
				kept := history[k]
				kept = kept[max(0, len(kept)-words.History):]
				list, err := s.now().History([]byte(k))
				require.NoError(t, err)
				require.Len(t, list, len(kept))
				for i, r := range list {
					require.Equal(t, []any{kept[i].Kind, kept[i].Revision, string(kept[i].Value)}, []any{r.Kind, r.Revision, string(r.Value)})
				}
				if n := len(history[k]); n > words.History {
					_, err := s.now().AtRevision([]byte(k), history[k][n-words.History-1].Revision)
					require.ErrorIs(t, err, ErrTrimmed)
				}
			},
		})
		_, _, err := s.ByIndex(ctx, 9, IndexOptions{})
		require.ErrorIs(t, err, ErrInvalidArgument)
	})
}
