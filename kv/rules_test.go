package kv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
)

// ruled is a type that all spaces of a system have together.
var ruled = Type{System: SystemTest, Others: true, Last: true, Indexes: []Index{{Number: 1, Name: "value", Terms: func(_, value []byte) [][]byte { return [][]byte{value} }}}}

// addSpace adds a space with rules to a tenant, which has one already.
func (h *testStore) addSpace(t require.TestingT, tenant, name string, r Rules) *Space {
	var s *Space
	require.NoError(t, h.Update(ctx, engine.WAL, func(w *Work) (err error) {
		s, err = w.AddSpace(tenant, SystemTest, name, Quota{}, r)
		return err
	}))
	return s
}

// naiveRuled is what a key of a space with rules has been, its newest revision last.
type naiveRuled []Record

func TestSpacesWithRulesAgainstANaiveModel(t *testing.T) {
	enginetest.Check(t, 300, func(t *rapid.T) {
		h, end := drawnStore(t, plain, ruled)
		defer end()
		drawnSpace(t, h, "plain")
		rules := Rules{History: rapid.IntRange(1, 4).Draw(t, "history")}
		s := h.addSpace(t, "a", "ruled", rules)
		model, revision := map[string]naiveRuled{}, uint64(0)
		key := rapid.SampledFrom([]string{"a", "b", "a\x00b"})
		now := func() time.Time { return h.Now() }
		live := func(k string) (naiveRuled, bool) {
			list := model[k]
			if n := len(list); n > 0 && (list[n-1].Expires.IsZero() || now().Before(list[n-1].Expires)) {
				return list, true
			}
			return nil, false
		}
		do := func(t *rapid.T, fn func(*Tx) error) error { return s.Update(ctx, engine.WAL, fn) }
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				k, v := key.Draw(t, "key"), rapid.SampledFrom([]string{"", "v", "longer value"}).Draw(t, "value")
				ttl := rapid.SampledFrom([]time.Duration{0, time.Second, 3 * time.Second}).Draw(t, "ttl")
				var r Record
				err := do(t, func(tx *Tx) (err error) {
					r, err = tx.Put([]byte(k), []byte(v), PutOptions{TTL: ttl})
					return err
				})
				if rules.MaxValue > 0 && uint64(len(v)) > rules.MaxValue {
					require.ErrorIs(t, err, ErrValueTooLarge)
					return
				}
				require.NoError(t, err)
				require.Greater(t, r.Revision, revision)
				revision = r.Revision
				list, _ := live(k)
				if ttl == 0 {
					ttl = rules.TTL
				}
				require.Equal(t, ttl == 0, r.Expires.IsZero())
				if ttl > 0 {
					require.Equal(t, now().Add(ttl+time.Millisecond), r.Expires, "nothing expires early")
				}
				r.Key, r.Value = []byte(k), []byte(v)
				list = append(slices.Clone(list), r)
				model[k] = list[max(len(list)-rules.History, 0):]
			},
			"rearm": func(t *rapid.T) {
				k, expires := key.Draw(t, "key"), time.Time{}
				if rapid.Bool().Draw(t, "expires") {
					expires = now().Add(5 * time.Second)
				}
				err := do(t, func(tx *Tx) error { return tx.Rearm([]byte(k), 0, expires) })
				if list, ok := live(k); ok {
					require.NoError(t, err)
					list[len(list)-1].Expires = expires
				} else {
					require.ErrorIs(t, err, ErrNotFound)
				}
			},
			"erase": func(t *rapid.T) {
				k := key.Draw(t, "key")
				err := do(t, func(tx *Tx) error { return tx.Erase([]byte(k)) })
				if _, ok := live(k); ok {
					require.NoError(t, err)
					delete(model, k)
				} else {
					require.ErrorIs(t, err, ErrNotFound)
				}
			},
			"trim": func(t *rapid.T) {
				k, most := key.Draw(t, "key"), rapid.IntRange(1, 3).Draw(t, "most")
				require.NoError(t, do(t, func(tx *Tx) error { return tx.Trim([]byte(k), most) }))
				if list, ok := live(k); ok {
					model[k] = list[max(len(list)-most, 0):]
				}
			},
			"set rules": func(t *rapid.T) {
				rules = Rules{History: rapid.IntRange(1, 4).Draw(t, "history"), TTL: rapid.SampledFrom([]time.Duration{0, 2 * time.Second}).Draw(t, "ttl"),
					MaxValue: rapid.SampledFrom([]uint64{0, 3}).Draw(t, "max value")}
				require.NoError(t, do(t, func(tx *Tx) error { return tx.SetRules(rules) }))
			},
			"time passes": func(t *rapid.T) {
				h.clock.Pass(time.Duration(rapid.IntRange(1, 2000).Draw(t, "ms")) * time.Millisecond)
			},
			"": func(t *rapid.T) {
				for _, k := range []string{"a", "b", "a\x00b"} {
					list, _ := live(k)
					view, err := s.View()
					require.NoError(t, err)
					got, err := view.History([]byte(k))
					require.NoError(t, err)
					want := list[max(len(list)-rules.History, 0):]
					require.Len(t, got, len(want), k)
					for i := range want {
						require.Equal(t, string(want[i].Value), string(got[i].Value))
						require.Equal(t, want[i].Revision, got[i].Revision)
						one, err := view.AtRevision([]byte(k), want[i].Revision)
						require.NoError(t, err)
						require.Equal(t, string(want[i].Value), string(one.Value))
						if i == len(want)-1 {
							require.True(t, want[i].Expires.Equal(got[i].Expires))
						}
					}
					require.NoError(t, view.Close())
				}
			},
		})
	})
}

func TestRulesAreRefusedBeyondTheirBounds(t *testing.T) {
	h := newTestStore(t, plain, ruled)
	h.space("a", "plain")
	for _, r := range []Rules{{}, {History: 65}, {History: 1, TTL: -1}, {History: 1, TTL: time.Microsecond}, {History: 1, MaxValue: MaxValue + 1}} {
		err := h.Update(ctx, engine.WAL, func(w *Work) error {
			_, err := w.AddSpace("a", SystemTest, "ruled", Quota{}, r)
			return err
		})
		require.ErrorIs(t, err, ErrInvalidArgument, "%+v", r)
	}
	require.ErrorIs(t, h.space("a", "plain").Update(ctx, engine.WAL, func(tx *Tx) error { return tx.SetRules(Rules{History: 1}) }), ErrInvalidArgument)
	_, err := h.Space("a", SystemTest, "ruled")
	require.ErrorIs(t, err, ErrSpaceNotFound)
}

// A space that is dropped leaves nothing, and one that is added in the same batch is another.
func TestSpacesAreAddedAndDroppedInAUnitOfWork(t *testing.T) {
	h := newTestStore(t, plain, ruled)
	h.space("a", "plain")
	first := h.addSpace(t, "a", "b1", Rules{History: 2})
	for i := range 10 {
		put(t, first, fmt.Sprint(i%3), fmt.Sprint(rand.Uint64()), time.Minute)
	}
	refused := errors.New("refused")
	require.ErrorIs(t, h.Update(ctx, engine.WAL, func(w *Work) error {
		require.NoError(t, w.DropSpace(first))
		return refused
	}), refused)
	stats, err := first.Stats()
	require.NoError(t, err)
	require.EqualValues(t, 3, stats.Keys)
	require.EqualValues(t, 3, stats.Older)
	rows := h.count(ShapeTenantSpaces)
	require.NoError(t, h.Update(ctx, engine.WAL, func(w *Work) error {
		require.NoError(t, w.DropSpace(first))
		_, err := w.AddSpace("a", SystemTest, "b2", Quota{}, Rules{History: 1})
		return err
	}))
	_, err = first.Get([]byte("1"))
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorIs(t, first.Update(ctx, engine.WAL, func(tx *Tx) error { return nil }), ErrSpaceNotFound)
	require.Equal(t, rows, h.count(ShapeTenantSpaces))
	require.ErrorIs(t, h.Update(ctx, engine.WAL, func(w *Work) error {
		_, err := w.AddSpace("a", SystemTest, "b2", Quota{}, Rules{History: 1})
		return err
	}), ErrInvalidArgument)
	h.clock.Pass(2 * time.Minute)
	h.later("what was due is forgotten", func() bool { return h.count(ShapeDue) == 0 })
	h.sound()
	_, err = h.DropTenant(ctx, "a")
	require.NoError(t, err)
	h.sound()
}
