package kv

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv/kvtest"
)

// disturb does something random to a space, over every shape.
func disturb(r *rand.Rand, s *Space) error {
	key := fmt.Append(nil, "k", r.IntN(30))
	return s.Update(ctx, engine.Durability(r.IntN(2)), func(tx *Tx) error {
		var err error
		switch r.IntN(9) {
		case 0, 1:
			_, err = tx.Put(key, fmt.Append(nil, "w", r.IntN(5), " w", r.IntN(5)), PutOptions{})
		case 2, 3:
			_, err = tx.Put(key, fmt.Append(nil, "w", r.IntN(5)), PutOptions{TTL: time.Duration(1+r.IntN(3000)) * time.Millisecond})
		case 4:
			_, err = tx.Delete(key)
		case 5:
			_, err = tx.Add("set", key, float64(r.IntN(10)))
		case 6:
			_, err = tx.Remove("set", key)
		case 7:
			_, err = tx.Append("stream", key, StreamLimits{Entries: 5, Age: time.Second})
		case 8:
			if _, err = tx.CreateGroup("stream", "g", 0); err == nil {
				if _, err = tx.Deliver("stream", "g", "c", 2); errors.Is(err, ErrTrimmed) {
					err = tx.MoveGroup("stream", "g", 0)
				}
			}
		}
		return unless(err, ErrNotFound)
	})
}

// The process dies at a random call of the engine, under load of four writers,
// the sweep and a tenant that is dropped: what the next one finds is in order.
func TestX05NothingIsHalfDoneWhereverTheProcessDies(t *testing.T) {
	seed := rand.New(rand.NewPCG(11, 12))
	for range enginetest.Scale(200) {
		db := mem.New()
		clock := kvtest.New()
		fault := faulty.Options{At: 1 + seed.IntN(150), Fault: faulty.CrashBefore + faulty.Fault(seed.IntN(2)), Calls: faulty.Calls(seed.IntN(4) / 3)}
		if fault.Calls == faulty.Reads {
			fault.At *= 10
		}
		f := faulty.New(db, fault)
		o := Options{Types: []Type{words, plain}, Clock: clock, Log: slog.New(slog.DiscardHandler)}
		if s, err := Open(f, o); err == nil {
			var wg sync.WaitGroup
			for w := range 4 {
				r := rand.New(rand.NewPCG(seed.Uint64(), uint64(w)))
				wg.Go(func() {
					for range 60 {
						tenant := fmt.Sprint("t", r.IntN(2))
						if r.IntN(40) == 0 {
							_, _ = s.DropTenant(ctx, tenant)
						}
						if space, err := s.CreateSpace(ctx, tenant, SystemTest, "words", Quota{}); err == nil {
							_ = disturb(r, space)
						}
						clock.Pass(20 * time.Millisecond)
					}
				})
			}
			wg.Wait()
			require.NoError(t, s.Close())
		}
		h := openTestStore(t, f.Restart(), clock)
		h.sound()
		clock.Pass(time.Minute)
		h.later("all that was due is done", func() bool { return h.count(ShapeDue) == 0 })
		h.sound()
		require.NoError(t, h.Close())
		require.NoError(t, db.Close())
	}
}

// Of a synced put that was answered, and of one that was not.
func TestX06AnAnsweredWriteIsThere(t *testing.T) {
	for at := 1; ; at++ {
		for _, fault := range []faulty.Fault{faulty.CrashBefore, faulty.CrashAfter} {
			db := mem.New()
			f := faulty.New(db, faulty.Options{At: at, Fault: fault})
			answered := 0
			if s, err := Open(f, Options{Types: []Type{plain}, Clock: kvtest.New(), Log: slog.New(slog.DiscardHandler)}); err == nil {
				if space, err := s.CreateSpace(ctx, "a", SystemTest, "plain", Quota{}); err == nil {
					for answered < 5 {
						if _, err := space.Put(ctx, fmt.Append(nil, answered), []byte("v"), PutOptions{TTL: time.Hour}); err != nil {
							break
						}
						answered++
					}
				}
				require.NoError(t, s.Close())
			}
			if !f.Tripped() {
				require.NoError(t, db.Close())
				return
			}
			h := openTestStore(t, f.Restart(), kvtest.New(), plain)
			space := h.space("a", "plain")
			for n := range 5 {
				if n < answered {
					require.Equal(t, "v", value(t, space, fmt.Sprint(n)))
				}
			}
			stats, err := space.Stats()
			require.NoError(t, err)
			require.Contains(t, []uint64{uint64(answered), uint64(answered) + 1}, stats.Keys)
			h.sound()
			require.NoError(t, h.Close())
			require.NoError(t, db.Close())
		}
	}
}

// stubborn takes no writes for a while.
type stubborn struct {
	engine.Engine
	clock   *kvtest.Clock
	refuses atomic.Bool
	asked   func() // if set, called when it is asked in vain
	mu      sync.Mutex
	tries   []time.Duration // when it was asked in vain
}

func (s *stubborn) tried() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tries)
}

func (s *stubborn) Update(fn func(engine.Getter, *engine.Batch) error) error {
	if s.refuses.Load() {
		if s.asked != nil {
			s.asked()
		}
		s.mu.Lock()
		s.tries = append(s.tries, s.clock.Elapsed())
		s.mu.Unlock()
		return engine.ErrNoSpace
	}
	return s.Engine.Update(fn)
}

func TestASweepThatFailsIsTriedAgainAfterAWhile(t *testing.T) {
	db := &stubborn{Engine: mem.New(), clock: kvtest.New()}
	t.Cleanup(func() { _ = db.Close() })
	h := openTestStore(t, db, db.clock)
	s := h.space("a", "plain")
	put(t, s, "k", "v", time.Second)
	db.asked = func() { h.dues.arm(0) } // as a write does that ends meanwhile
	db.refuses.Store(true)
	h.clock.Pass(2 * time.Second)
	h.later("tried", func() bool { return len(db.tried()) > 0 })
	require.Equal(t, "-", value(t, s, "k"), "absent all the same")
	h.later("tried again", func() bool { return len(db.tried()) > 1 })
	tries := db.tried()
	require.GreaterOrEqual(t, tries[1]-tries[0], sweepRetry, "not before its time")
	db.refuses.Store(false)
	h.later("swept", func() bool { return h.count(ShapeRecord) == 0 })
}

// levels notes how durable the batches are that an engine is asked for.
type levels struct {
	engine.Engine
	mu   sync.Mutex
	last engine.Durability
}

// asked returns how durable the last batch was.
func (l *levels) asked() engine.Durability {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

func (l *levels) Update(fn func(engine.Getter, *engine.Batch) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Engine.Update(func(r engine.Getter, b *engine.Batch) error {
		err := fn(r, b)
		l.last = b.Durability
		return err
	})
}

func TestWhatASweepDidIsSyncedAtItsEnd(t *testing.T) {
	for _, n := range []int{1, sweepRows, sweepRows + 1, 2*sweepRows + 7} {
		db := &levels{Engine: mem.New()}
		t.Cleanup(func() { _ = db.Close() })
		h := openTestStore(t, db, kvtest.New())
		s := h.space("a", "plain")
		require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
			for i := range n {
				_, err := tx.Put(fmt.Append(nil, i), []byte("v"), PutOptions{TTL: time.Second})
				require.NoError(t, err)
			}
			return nil
		}))
		require.Equal(t, engine.WAL, db.asked())
		h.clock.Pass(2 * time.Second)
		h.later(fmt.Sprintf("%d swept, and then synced", n), func() bool {
			return h.count(ShapeRecord) == 0 && db.asked() == engine.Synced
		})
	}
}

// Many that expire at once: none is seen from then on, reads go on while they
// are swept, and each is one event.
func TestX11ManyKeysExpireInTheSameSecond(t *testing.T) {
	h := newTestStore(t, Type{System: SystemTest, Space: "plain", Log: 1 << 20})
	s := h.space("a", "plain")
	n := enginetest.Scale(100_000)
	for from := 0; from < n; from += 1000 {
		require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
			for i := from; i < min(from+1000, n); i++ {
				if _, err := tx.Put(fmt.Append(nil, i), []byte("v"), PutOptions{TTL: time.Minute + time.Duration(i%1000)*time.Millisecond}); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	put(t, s, "stays", "v", 0)
	h.clock.Pass(time.Minute + time.Second)
	page, err := s.List(ctx, ListOptions{})
	require.NoError(t, err)
	require.Len(t, page.Records, 1)
	reads := 0
	h.later("swept", func() bool {
		for i := range 20 {
			require.Equal(t, "-", value(t, s, fmt.Sprint(i*n/20)))
			require.Equal(t, "v", value(t, s, "stays"))
			reads++
		}
		stats, err := s.Stats()
		require.NoError(t, err)
		return stats.Keys == 1
	})
	require.NotZero(t, reads)
	stats, err := s.Stats()
	require.NoError(t, err)
	require.Equal(t, uint64(2*n+1), stats.Revision)
	require.Zero(t, h.count(ShapeDue))
}
