package kv

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv/kvtest"
)

// move takes one from the number of a key of a space and adds it to that of another.
func move(h *testStore, from, to *Space) error {
	return h.Update(ctx, engine.WAL, func(w *Work) error {
		for space, by := range map[*Space]int{from: -1, to: 1} {
			tx, err := w.In(space)
			if err != nil {
				return err
			}
			r, err := tx.Get([]byte("n"))
			if err != nil {
				return err
			}
			var n int
			if _, err := fmt.Sscan(string(r.Value), &n); err != nil {
				return err
			}
			if _, err := tx.Put([]byte("n"), fmt.Append(nil, n+by), PutOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestAUnitOfWorkOverSeveralSpacesLandsWhole(t *testing.T) {
	h := newTestStore(t)
	a, b := h.space("a", "plain"), h.space("a", "words")
	put(t, a, "n", "500", 0)
	put(t, b, "n", "500", 0)
	done := make(chan error)
	for i := range 4 {
		go func() {
			var err error
			for n := 0; n < 50 && err == nil; n++ {
				if i%2 == 0 {
					err = move(h, a, b)
				} else {
					err = move(h, b, a)
				}
			}
			done <- err
		}()
	}
	for left := 4; left > 0; {
		select {
		case err := <-done:
			require.NoError(t, err)
			left--
		default:
		}
		view, err := h.View()
		require.NoError(t, err)
		sum := 0
		for _, space := range []*Space{a, b} {
			r, err := view.In(space).Get([]byte("n"))
			require.NoError(t, err)
			var n int
			_, err = fmt.Sscan(string(r.Value), &n)
			require.NoError(t, err)
			sum += n
			require.NoError(t, view.In(space).Close(), "which closes nothing")
		}
		require.Equal(t, 1000, sum, "one state of both")
		require.NoError(t, view.Close())
	}
	refused := errors.New("changed my mind")
	before, err := a.Stats()
	require.NoError(t, err)
	require.ErrorIs(t, h.Update(ctx, engine.WAL, func(w *Work) error {
		require.False(t, w.Now().IsZero())
		tx, err := w.In(a)
		require.NoError(t, err)
		_, err = tx.Put([]byte("k"), nil, PutOptions{})
		require.NoError(t, err)
		again, err := w.In(a)
		require.NoError(t, err)
		require.Same(t, tx, again)
		return refused
	}), refused)
	after, err := a.Stats()
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestAQuotaOfOneSpaceRefusesTheUnitOfWork(t *testing.T) {
	h := newTestStore(t)
	a := h.space("a", "plain")
	b, err := h.CreateSpace(ctx, "a", SystemTest, "words", Quota{Keys: 1})
	require.NoError(t, err)
	both := func(key string) error {
		return h.Update(ctx, engine.WAL, func(w *Work) error {
			for _, space := range []*Space{a, b} {
				tx, err := w.In(space)
				if err != nil {
					return err
				}
				if _, err := tx.Put([]byte(key), []byte("v"), PutOptions{}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, both("one"))
	require.ErrorIs(t, both("two"), ErrQuotaExhausted)
	require.Equal(t, "-", value(t, a, "two"))
	require.Equal(t, "v", value(t, a, "one"))
}

func TestAUnitOfWorkIsOfOneTenantAndOneStore(t *testing.T) {
	h, other := newTestStore(t), newTestStore(t)
	a, b, foreign := h.space("a", "plain"), h.space("b", "plain"), other.space("a", "plain")
	for _, second := range []*Space{b, foreign} {
		require.ErrorIs(t, h.Update(ctx, engine.WAL, func(w *Work) error {
			tx, err := w.In(a)
			require.NoError(t, err)
			_, err = tx.Put([]byte("k"), nil, PutOptions{})
			require.NoError(t, err)
			_, err = w.In(second)
			return err
		}), ErrInvalidArgument)
	}
	require.Equal(t, "-", value(t, a, "k"))
	_, err := h.DropTenant(ctx, "b")
	require.NoError(t, err)
	require.ErrorIs(t, h.Update(ctx, engine.WAL, func(w *Work) error { _, err := w.In(b); return err }), ErrSpaceNotFound)
}

// Wherever a call of the engine fails, or the process dies at it, both spaces have the
// change or neither.
func TestAUnitOfWorkIsWholeWhereverTheProcessDies(t *testing.T) {
	for _, o := range []faulty.Options{
		{Fault: faulty.Fail}, {Fault: faulty.CrashBefore}, {Fault: faulty.CrashAfter}, {Calls: faulty.Reads, Fault: faulty.Fail}, {Calls: faulty.Reads, Fault: faulty.CrashBefore},
	} {
		for o.At = 1; ; o.At++ {
			inner := mem.New()
			h := openTestStore(t, inner, kvtest.New())
			put(t, h.space("a", "plain"), "n", "5", 0)
			put(t, h.space("a", "words"), "n", "5", 0)
			require.NoError(t, h.Close())
			f := faulty.New(inner, o)
			if s, err := Open(f, Options{Types: []Type{words, plain}, Clock: h.clock, Log: slog.New(slog.DiscardHandler)}); err == nil {
				a, err := s.Space("a", SystemTest, "plain")
				b, err2 := s.Space("a", SystemTest, "words")
				if err == nil && err2 == nil {
					_ = move(&testStore{t, f, h.clock, s}, a, b)
				}
				require.NoError(t, s.Close())
			}
			h = openTestStore(t, f.Restart(), h.clock)
			require.Contains(t, []string{"55", "46"}, value(t, h.space("a", "plain"), "n")+value(t, h.space("a", "words"), "n"))
			h.sound()
			require.NoError(t, h.Close())
			if !f.Tripped() {
				require.Greater(t, o.At, 1)
				break
			}
		}
	}
}

func TestATransactionReadsAnIndexAsItLeavesIt(t *testing.T) {
	enginetest.Check(t, 200, func(t *rapid.T) {
		h, end := drawnStore(t)
		defer end()
		s := drawnSpace(t, h, "words")
		key := rapid.SampledFrom([]string{"a", "b", "b\x00", "c", ""})
		text := rapid.SampledFrom([]string{"x", "x y", "y", "y z\x00", "z x"})
		term := rapid.SampledFrom([]string{"", "x", "y", "z", "z\x00", "zz"})
		change := func(t *rapid.T, tx *Tx, n int) {
			for range n {
				k := []byte(key.Draw(t, "key"))
				if rapid.Bool().Draw(t, "delete") {
					_, err := tx.Delete(k)
					require.NoError(t, unless(err, ErrNotFound))
					continue
				}
				ttl := time.Duration(rapid.IntRange(0, 1).Draw(t, "ttl")) * time.Second
				_, err := tx.Put(k, []byte(text.Draw(t, "text")), PutOptions{TTL: ttl})
				require.NoError(t, err)
			}
		}
		require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error { change(t, tx, 4); return nil }))
		h.clock.Oversleep(1500 * time.Millisecond)
		require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
			change(t, tx, 3)
			from, to := term.Draw(t, "from"), []byte(term.Draw(t, "to"))
			if rapid.Bool().Draw(t, "to the end") {
				to = nil
			}
			var want []Term
			for _, w := range []string{"x", "y", "z", "z\x00"} {
				for _, k := range []string{"", "a", "b", "b\x00", "c"} {
					r, err := tx.Get([]byte(k))
					if err == nil && strings.Contains(" "+string(r.Value)+" ", " "+w+" ") && w >= from && (to == nil || w < string(to)) {
						want = append(want, Term{[]byte(w), []byte(k)})
					}
				}
			}
			got, more, err := tx.ByTerm(1, []byte(from), to, MaxTxRead)
			require.NoError(t, err)
			require.False(t, more)
			require.Equal(t, want, append([]Term(nil), got...))
			if len(want) > 1 {
				got, more, err := tx.ByTerm(1, []byte(from), to, 1)
				require.NoError(t, err)
				require.True(t, more)
				require.LessOrEqual(t, len(got), 1)
			}
			return nil
		}))
	})
}

func TestReadsOfAnIndexInATransactionAreBounded(t *testing.T) {
	s := newTestStore(t).space("a", "words")
	require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
		for i := range MaxTxRead + 1 {
			_, err := tx.Put(fmt.Appendf(nil, "k%04d", i), []byte("w"), PutOptions{})
			require.NoError(t, err)
		}
		for _, most := range []int{-1, 0, MaxTxRead + 1} {
			_, _, err := tx.ByTerm(1, nil, nil, most)
			require.ErrorIs(t, err, ErrInvalidArgument)
		}
		_, _, err := tx.ByTerm(9, nil, nil, 1)
		require.ErrorIs(t, err, ErrInvalidArgument)
		got, more, err := tx.ByTerm(1, nil, nil, MaxTxRead)
		require.NoError(t, err)
		require.True(t, more)
		require.Len(t, got, MaxTxRead)
		require.Equal(t, "k1023", string(got[MaxTxRead-1].Key))
		return nil
	}))
}

func TestTheLogIsFollowedPageByPage(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "words")
	var want []string
	for i := range 10 {
		r := put(t, s, fmt.Sprint("k", i%3), fmt.Sprint("v", i), 0)
		want = append(want, fmt.Sprint(r.Revision, " put ", "v", i))
	}
	_, err := s.Delete(ctx, []byte("k0"))
	require.NoError(t, err)
	want = append(want, "11 delete ")
	view, err := s.View()
	require.NoError(t, err)
	defer func() { require.NoError(t, view.Close()) }()
	put(t, s, "later", "", 0)
	for limit := 1; limit <= 12; limit++ {
		var got []string
		for after, more := uint64(0), true; more; {
			var list []Change
			list, more, err = view.Changes(ctx, after, limit)
			require.NoError(t, err)
			require.LessOrEqual(t, len(list), limit)
			for _, c := range list {
				got, after = append(got, fmt.Sprint(c.Revision, " ", c.Kind, " ", string(c.Value))), c.Revision
			}
		}
		require.Equal(t, want, got)
	}
	list, more, err := view.Changes(ctx, 11, 1)
	require.NoError(t, err)
	require.False(t, more)
	require.Empty(t, list)
	_, _, err = view.Changes(ctx, 12, 1)
	require.ErrorIs(t, err, ErrTrimmed, "the view has not come to it")
	for _, limit := range []int{-1, 0, MaxPage + 1} {
		_, _, err = view.Changes(ctx, 0, limit)
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	for i := range 100 { // the log of words keeps 64
		put(t, s, "k", fmt.Sprint(i), 0)
	}
	now := s.now()
	_, _, err = now.Changes(ctx, 0, 10)
	require.ErrorIs(t, err, ErrTrimmed)
	stats, err := s.Stats()
	require.NoError(t, err)
	list, _, err = now.Changes(ctx, stats.Floor, 10)
	require.NoError(t, err)
	require.Equal(t, stats.Floor+1, list[0].Revision)
}

func TestPagesOfTheLogAreBoundedInBytesAndTheCallers(t *testing.T) {
	s := newTestStore(t).space("a", "words")
	long := strings.Repeat(" ", 1<<20)
	for i := range 20 {
		put(t, s, fmt.Sprint("k", i), fmt.Sprint(i)+long, 0)
	}
	var all []Change
	var sizes []int
	for more := true; more; {
		list, m, err := s.now().Changes(ctx, uint64(len(all)), MaxPage)
		require.NoError(t, err)
		all, sizes, more = append(all, list...), append(sizes, len(list)), m
	}
	require.Equal(t, []int{8, 8, 4}, sizes)
	for i, c := range all {
		require.Equal(t, fmt.Sprint("k", i), string(c.Key))
		require.Equal(t, fmt.Sprint(i), strings.TrimSpace(string(c.Value)))
	}
	for i := range 5 { // the history of words is of three
		put(t, s, "k0", fmt.Sprint(i)+long, 0)
	}
	list, _, err := s.now().Changes(ctx, 20, MaxPage)
	require.NoError(t, err)
	var overtaken []bool
	for _, c := range list {
		overtaken = append(overtaken, c.Overtaken)
		require.Equal(t, c.Overtaken, c.Value == nil)
	}
	require.Equal(t, []bool{true, true, false, false, false}, overtaken)
}

func TestTheLogSaysWhatIsOvertaken(t *testing.T) {
	s := newTestStore(t).space("a", "plain")
	long := strings.Repeat("x", MaxInline+1)
	put(t, s, "k", long, 0)
	put(t, s, "k", long+"y", 0)
	put(t, s, "gone", long, 0)
	_, err := s.Delete(ctx, []byte("gone"))
	require.NoError(t, err)
	list, more, err := s.now().Changes(ctx, 0, 10)
	require.NoError(t, err)
	require.False(t, more)
	var overtaken []bool
	for _, c := range list {
		overtaken = append(overtaken, c.Overtaken)
	}
	require.Equal(t, []bool{true, false, true, false}, overtaken)
	require.Equal(t, long+"y", string(list[1].Value))
}

func TestPagesOfAnIndexKeepWhatIsAskedFor(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "words")
	for i := range 500 {
		put(t, s, fmt.Sprintf("k%03d", i), fmt.Sprintf("w %d", i), 0)
	}
	third := func(_ []byte, r *Record) bool { return r.Key[3] == '3' }
	o := IndexOptions{From: []byte("w"), To: []byte("w\x00"), Limit: 7, Keep: third, Asked: []byte("3")}
	var got []string
	for {
		found, next, err := s.ByIndex(ctx, 1, o)
		require.NoError(t, err)
		for _, f := range found {
			got = append(got, string(f.Key))
		}
		if o.Cursor = next; next == "" {
			break
		}
		require.Len(t, found, 7)
	}
	require.Len(t, got, 50)
	require.IsIncreasing(t, got)
	o.Cursor = ""
	_, cursor, err := s.ByIndex(ctx, 1, o)
	require.NoError(t, err)
	o.Cursor, o.Asked = cursor, []byte("4")
	_, _, err = s.ByIndex(ctx, 1, o)
	require.ErrorIs(t, err, ErrInvalidCursor)
	o = IndexOptions{From: []byte("w"), To: []byte("w\x00"), Look: 20, Keep: func([]byte, *Record) bool { return false }}
	pages := 1
	for ; ; pages++ {
		found, next, err := s.ByIndex(ctx, 1, o)
		require.NoError(t, err)
		require.Empty(t, found)
		if o.Cursor = next; next == "" {
			break
		}
	}
	require.Greater(t, pages, 5, "none looks at much more than it may")
}

// Each change of a record is told in its batch, expiry by the sweep of several tenants too,
// and what that appends beside is of the record's tenant.
func TestChangesAreToldInTheirBatch(t *testing.T) {
	beside := Type{System: SystemTest, Space: "beside"}
	telling := Type{System: SystemTest, Space: "telling", Changed: func(tx *Tx, old, r Record) error {
		if string(r.Value) == "refused" {
			return errors.New("no")
		}
		_, err := tx.AppendBeside(SystemTest, "beside", "s", StreamLimits{}, fmt.Appendf(nil, "%s %d>%d %d", r.Key, old.Kind, r.Kind, r.Revision))
		return unless(err, ErrSpaceNotFound)
	}}
	h := newTestStore(t, telling, beside)
	told := func(tenant string) (list []string) {
		entries, err := h.space(tenant, "beside").Entries(ctx, "s", 0, 0)
		require.NoError(t, err)
		for _, e := range entries {
			list = append(list, string(e.Payload))
		}
		return list
	}
	put(t, h.space("early", "telling"), "k", "v", 0) // has nothing beside
	for _, tenant := range []string{"a", "b"} {
		h.space(tenant, "beside")
		s := h.space(tenant, "telling")
		put(t, s, tenant, "v", time.Second)
		put(t, s, tenant+"2", "v", 0)
		_, err := s.Put(ctx, []byte("k"), []byte("refused"), PutOptions{})
		require.Error(t, err)
		_, err = s.Delete(ctx, []byte(tenant+"2"))
		require.NoError(t, err)
	}
	h.clock.Pass(2 * time.Second)
	for _, tenant := range []string{"a", "b"} {
		h.later("swept", func() bool { return len(told(tenant)) == 4 })
		require.Equal(t, []string{tenant + " 0>1 1", tenant + "2 0>1 2", tenant + "2 1>2 3", tenant + " 1>3 4"}, told(tenant))
	}
	require.Empty(t, told("early"))
}
