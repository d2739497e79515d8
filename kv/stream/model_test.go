package stream

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket/subject"
	"github.com/stoadb/stoa/kv/kvtest"
)

// modelHeld is an entry that is delivered and not acknowledged, naively.
type modelHeld struct {
	token      uint64 // 0: nobody has it
	due        time.Time
	since      time.Time
	deliveries int
}

// model is a stream with a consumer, naively.
type model struct {
	entries map[uint64]Entry // that are kept
	last    uint64
	limits  kv.StreamLimits

	config Config
	cursor uint64
	tokens uint64
	held   map[uint64]*modelHeld
	dead   map[uint64]DeadLetter
}

// first is the first entry that is kept.
func (m *model) first() uint64 {
	if len(m.entries) == 0 {
		return m.last + 1
	}
	return slices.Min(slices.Collect(maps.Keys(m.entries)))
}

func (m *model) trim(now time.Time) {
	for n, e := range m.entries {
		if m.limits.Entries > 0 && n+m.limits.Entries <= m.last || m.limits.Age > 0 && !now.Before(e.Time.Add(m.limits.Age)) {
			delete(m.entries, n)
		}
	}
}

func (m *model) takes(e Entry) bool {
	f, err := subject.Parse(m.config.Filter)
	return m.config.Filter == "" || err == nil && f.Match([]byte(e.Subject))
}

func (m *model) bury(n uint64, now time.Time, reason string) {
	e, kept := m.entries[n]
	if !kept {
		e = Entry{Number: n}
	}
	m.dead[n] = DeadLetter{e, !kept, now, m.held[n].deliveries, reason}
	delete(m.held, n)
}

// fetch is what is delivered; false: the next entry is trimmed.
func (m *model) fetch(limit int, now time.Time) (list []Delivery, ok bool) {
	give := func(n uint64, deliveries int) {
		m.tokens++
		m.held[n] = &modelHeld{m.tokens, now.Add(m.config.AckWait), now, deliveries}
		list = append(list, Delivery{m.entries[n], m.tokens, deliveries})
	}
	pending, due := len(m.held), 0
	room := limit
	for _, n := range slices.Sorted(maps.Keys(m.held)) {
		if h := m.held[n]; !h.due.After(now) && due < limit {
			due++
		}
	}
	room = min(limit-due, m.config.MaxAckPending-pending)
	if room > 0 && m.cursor < m.last && m.cursor+1 < m.first() {
		return nil, false
	}
	for _, n := range slices.Sorted(maps.Keys(m.held)) {
		h := m.held[n]
		if h.due.After(now) || due == 0 {
			continue
		}
		due--
		_, kept := m.entries[n]
		switch {
		case h.deliveries >= m.config.MaxDeliver:
			m.bury(n, now, reasonUnacked)
		case !kept:
			m.bury(n, now, reasonTrimmed)
		default:
			give(n, h.deliveries+1)
		}
	}
	for fresh := 0; room > 0 && m.cursor < m.last; m.cursor++ {
		n := m.cursor + 1
		if !m.takes(m.entries[n]) {
			continue
		}
		if fresh == room {
			break
		}
		fresh++
		if m.held[n] == nil {
			give(n, 1)
		}
	}
	return list, true
}

// with is the entry that a delivery has; nil: it is over.
func (m *model) with(r Ref) *modelHeld {
	if h := m.held[r.Number]; h != nil && h.token != 0 && h.token == r.Token {
		return h
	}
	return nil
}

func TestT68ConsumersAgainstANaiveModel(t *testing.T) {
	enginetest.Check(t, 150, func(t *rapid.T) {
		db := mem.New()
		h := openHost(t, db, kvtest.New())
		defer func() {
			h.end()
			require.NoError(t, db.Close())
		}()
		m := &model{entries: map[uint64]Entry{}, held: map[uint64]*modelHeld{}, dead: map[uint64]DeadLetter{}}
		draw := func(t *rapid.T, what string, to int) int { return rapid.IntRange(0, to).Draw(t, what) }
		limits := func(t *rapid.T) kv.StreamLimits {
			return kv.StreamLimits{Entries: []uint64{0, 3, 10}[draw(t, "entries", 2)], Age: []time.Duration{0, 0, 5 * time.Second}[draw(t, "age", 2)]}
		}
		config := func(t *rapid.T) Config {
			return Config{
				Name: "c", Filter: rapid.SampledFrom([]string{"", "a.*", "*.1", "b"}).Draw(t, "filter"), AckWait: time.Duration(1+draw(t, "wait", 3)) * time.Second,
				MaxDeliver: 1 + draw(t, "deliver", 2), MaxAckPending: 1 + draw(t, "pending", 5),
			}
		}
		m.limits, m.config = limits(t), config(t)
		h.create(m.limits)
		h.consumer(m.config)
		refs := []Ref{{1, 0}}
		ref := rapid.Custom(func(t *rapid.T) Ref { return refs[len(refs)-1-rapid.IntRange(0, min(len(refs)-1, 6)).Draw(t, "ref")] })
		numbers := rapid.SliceOfN(rapid.Uint64Range(1, 20), 0, 4)
		// over demands of a call that it succeeds or is fenced, as the delivery is over.
		over := func(t *rapid.T, r Ref, err error) *modelHeld {
			held := m.with(r)
			if held == nil {
				require.ErrorIs(t, err, ErrFenced)
				return nil
			}
			require.NoError(t, err)
			return held
		}
		t.Repeat(map[string]func(*rapid.T){
			"publish": func(t *rapid.T) {
				var list []Message
				for range 1 + draw(t, "more", 3) {
					list = append(list, Message{rapid.SampledFrom([]string{"a.1", "a.2", "b", "b.1"}).Draw(t, "subject"), []byte(fmt.Sprint(m.last))})
				}
				expected := m.last - min(m.last, uint64(draw(t, "behind", 1)))
				last, err := h.Publish(ctx, engine.WAL, "s", AppendOptions{ExpectedLast: &expected}, list...)
				if expected != m.last {
					require.ErrorIs(t, err, ErrMismatch)
					return
				}
				require.NoError(t, err)
				for i := range list {
					m.last++
					m.entries[m.last] = Entry{m.last, h.clock.Now(), list[i]}
				}
				require.Equal(t, m.last, last)
			},
			"fetch": func(t *rapid.T) {
				limit := 1 + draw(t, "limit", 3)
				list, err := h.find("c").Fetch(ctx, engine.WAL, FetchOptions{Limit: limit})
				want, ok := m.fetch(limit, h.clock.Now())
				if !ok {
					require.ErrorIs(t, err, ErrTrimmed)
					return
				}
				require.NoError(t, err)
				require.Equal(t, want, list)
				for i := range list {
					refs = append(refs, list[i].Ref())
				}
			},
			"ack": func(t *rapid.T) {
				r := ref.Draw(t, "delivery")
				done, err := h.find("c").Ack(ctx, engine.WAL, r)
				require.NoError(t, err)
				require.Equal(t, m.with(r) != nil, done == 1)
				if done == 1 {
					delete(m.held, r.Number)
				}
			},
			"ack within": func(t *rapid.T) {
				r := ref.Draw(t, "delivery")
				err := h.kv.Update(ctx, engine.WAL, func(w *kv.Work) error { return h.find("c").AckWithin(w, r) })
				if over(t, r, err) != nil {
					delete(m.held, r.Number)
				}
			},
			"nak": func(t *rapid.T) {
				r, delay := ref.Draw(t, "delivery"), time.Duration(draw(t, "delay", 3))*time.Second
				dead, err := h.find("c").Nak(ctx, engine.WAL, r, delay, "no")
				if held := over(t, r, err); held != nil {
					require.Equal(t, held.deliveries >= m.config.MaxDeliver, dead)
					if dead {
						m.bury(r.Number, h.clock.Now(), "no")
						return
					}
					held.token, held.due = 0, h.clock.Now().Add(delay)
				}
			},
			"in progress": func(t *rapid.T) {
				r := ref.Draw(t, "delivery")
				if held := over(t, r, h.find("c").InProgress(ctx, engine.WAL, r)); held != nil {
					held.since, held.due = h.clock.Now(), h.clock.Now().Add(m.config.AckWait)
				}
			},
			"terminate": func(t *rapid.T) {
				r := ref.Draw(t, "delivery")
				if over(t, r, h.find("c").Terminate(ctx, engine.WAL, r, "never")) != nil {
					m.bury(r.Number, h.clock.Now(), "never")
				}
			},
			"retry the dead": func(t *rapid.T) {
				list := numbers.Draw(t, "numbers")
				done, err := h.find("c").RetryDead(ctx, engine.WAL, list...)
				had, lost := map[uint64]bool{}, false
				for _, n := range list {
					if _, dead := m.dead[n]; dead {
						_, kept := m.entries[n]
						had[n], lost = true, lost || !kept
					}
				}
				if lost {
					require.ErrorIs(t, err, ErrTrimmed)
					return
				}
				require.NoError(t, err)
				require.Len(t, had, done)
				for n := range had {
					delete(m.dead, n)
					m.held[n] = &modelHeld{due: h.clock.Now()}
				}
			},
			"drop the dead": func(t *rapid.T) {
				list, had := numbers.Draw(t, "numbers"), len(m.dead)
				done, err := h.find("c").DropDead(ctx, engine.WAL, list...)
				require.NoError(t, err)
				for _, n := range list {
					delete(m.dead, n)
				}
				require.Equal(t, had-len(m.dead), done)
			},
			"replay": func(t *rapid.T) {
				at := []Start{{}, {Policy: DeliverNew}, {DeliverFrom, 1 + uint64(draw(t, "from", 20))}}[draw(t, "policy", 2)]
				require.NoError(t, h.find("c").Replay(ctx, engine.WAL, at))
				clear(m.held)
				m.cursor = map[DeliverPolicy]uint64{DeliverAll: 0, DeliverNew: m.last, DeliverFrom: at.From - 1}[at.Policy]
				m.cursor = min(max(m.cursor, m.first()-1), m.last)
			},
			"configure": func(t *rapid.T) {
				next := config(t)
				require.NoError(t, h.UpdateConsumer(ctx, engine.WAL, "s", next))
				for _, held := range m.held {
					if held.token != 0 {
						held.due = held.since.Add(next.AckWait)
					}
				}
				m.config = next
			},
			"limit": func(t *rapid.T) {
				m.limits = limits(t)
				require.NoError(t, h.Limit(ctx, engine.WAL, "s", m.limits))
			},
			"pass": func(t *rapid.T) { h.clock.Oversleep(time.Duration(draw(t, "time", 3000)) * time.Millisecond) },
			"restart": func(t *rapid.T) {
				if draw(t, "whether", 9) == 0 {
					h.reopen()
				}
			},
			"": func(t *rapid.T) {
				m.trim(h.clock.Now())
				info, err := h.find("c").Info(ctx)
				require.NoError(t, err)
				require.Equal(t, []uint64{m.cursor, m.tokens, uint64(len(m.held)), uint64(len(m.dead)), m.last - m.cursor},
					[]uint64{info.Delivered, info.Deliveries, info.AckPending, info.Dead, info.Pending})
				dead, err := h.find("c").DeadLetters(ctx, 0, 0)
				require.NoError(t, err)
				var want []DeadLetter
				for _, n := range slices.Sorted(maps.Keys(m.dead)) {
					want = append(want, m.dead[n])
				}
				require.Equal(t, want, dead)
				kept, _, err := h.Range(ctx, "s", RangeOptions{})
				require.NoError(t, err)
				require.Len(t, kept, len(m.entries))
				for _, e := range kept {
					require.Equal(t, m.entries[e.Number], e)
				}
			},
		})
	})
}
