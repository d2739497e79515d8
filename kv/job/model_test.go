package job

import (
	"cmp"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv/kvtest"
)

// modelJob is a job, naively.
type modelJob struct {
	id             string
	state          State
	place          int // of arrival
	due, until     time.Time
	token          uint64
	attempts, most int
}

// model is a queue, naively.
type model struct {
	jobs    map[string]*modelJob
	arrived int
}

// in are the jobs of a state in their order.
func (m *model) in(state State) (list []*modelJob) {
	for _, j := range m.jobs {
		if j.state == state {
			list = append(list, j)
		}
	}
	slices.SortFunc(list, func(a, b *modelJob) int {
		if state == Ready {
			return cmp.Compare(a.place, b.place)
		}
		by := func(j *modelJob) time.Time {
			if state == Scheduled {
				return j.due
			}
			return j.until
		}
		return cmp.Or(by(a).Compare(by(b)), cmp.Compare(a.id, b.id))
	})
	return list
}

func (m *model) arrive(j *modelJob) {
	m.arrived++
	j.state, j.place = Ready, m.arrived
}

func (m *model) back(j *modelJob, now time.Time) {
	j.state = Ready
	if j.attempts == j.most {
		j.state, j.until = Dead, now
	}
}

// pass does what timers do at a time.
func (m *model) pass(now time.Time) {
	due := append(m.in(Scheduled), m.in(Leased)...)
	at := func(j *modelJob) time.Time {
		if j.state == Scheduled {
			return j.due
		}
		return j.until
	}
	slices.SortFunc(due, func(a, b *modelJob) int { return cmp.Or(at(a).Compare(at(b)), cmp.Compare(a.id, b.id)) })
	for _, j := range due {
		switch {
		case at(j).After(now):
		case j.state == Scheduled:
			m.arrive(j)
		default:
			m.back(j, now)
		}
	}
}

func TestJobsAgainstANaiveModel(t *testing.T) {
	enginetest.Check(t, 150, func(t *rapid.T) {
		db := mem.New()
		h := openHost(t, db, kvtest.New(), Options{})
		defer func() {
			h.end()
			require.NoError(t, db.Close())
		}()
		m := &model{jobs: map[string]*modelJob{}}
		id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		tokens := []uint64{1}
		ended := func(t *rapid.T, id string, token uint64, err error) *modelJob {
			j := m.jobs[id]
			if j != nil && j.state == Leased && j.token == token {
				require.NoError(t, err)
				return j
			}
			require.ErrorIs(t, err, ErrFenced)
			return nil
		}
		t.Repeat(map[string]func(*rapid.T){
			"schedule": func(t *rapid.T) {
				j := &modelJob{id: id.Draw(t, "id"), state: Scheduled, most: rapid.IntRange(1, 3).Draw(t, "most")}
				j.due = h.clock.Now().Add(time.Duration(rapid.IntRange(-1, 3).Draw(t, "due")) * time.Second)
				if !j.due.After(h.clock.Now()) {
					m.arrive(j)
				}
				m.jobs[j.id] = j
				require.NoError(t, h.Put(ctx, engine.WAL, Job{ID: j.id, Queue: Archive, Due: j.due, MaxAttempts: j.most}))
			},
			"enqueue": func(t *rapid.T) {
				j := &modelJob{id: id.Draw(t, "id"), most: 2}
				had := m.jobs[j.id] != nil
				if !had {
					m.arrive(j)
					m.jobs[j.id] = j
				}
				_, made, err := h.Add(ctx, engine.WAL, Job{ID: j.id, Queue: Archive, MaxAttempts: j.most})
				require.NoError(t, err)
				require.Equal(t, !had, made)
			},
			"cancel": func(t *rapid.T) {
				id := id.Draw(t, "id")
				_, had := m.jobs[id]
				delete(m.jobs, id)
				existed, err := h.Remove(ctx, engine.WAL, id)
				require.NoError(t, err)
				require.Equal(t, had, existed)
			},
			"lease": func(t *rapid.T) {
				o := LeaseOptions{Queue: Archive, Worker: "w", For: time.Duration(rapid.IntRange(1, 3).Draw(t, "for")) * time.Second, Limit: rapid.IntRange(1, 3).Draw(t, "limit"), Durability: engine.WAL}
				want := m.in(Ready)
				if rapid.IntRange(0, 3).Draw(t, "one") == 0 {
					o.ID, o.Limit = id.Draw(t, "id"), 1
					want = slices.DeleteFunc(want, func(j *modelJob) bool { return j.id != o.ID })
				}
				got, err := h.Lease(ctx, o)
				require.NoError(t, err)
				require.Len(t, got, min(len(want), o.Limit))
				for i, g := range got {
					j := want[i]
					require.Equal(t, j.id, g.ID)
					require.Greater(t, g.Token, slices.Max(tokens))
					tokens = append(tokens, g.Token)
					j.state, j.token, j.until, j.attempts = Leased, g.Token, h.clock.Now().Add(o.For), j.attempts+1
					require.Equal(t, []any{j.attempts, j.until}, []any{g.Attempts, g.Until})
				}
			},
			"done": func(t *rapid.T) {
				id, token := id.Draw(t, "id"), rapid.SampledFrom(tokens).Draw(t, "token")
				if ended(t, id, token, h.Done(ctx, engine.WAL, id, token)) != nil {
					delete(m.jobs, id)
				}
			},
			"extend": func(t *rapid.T) {
				id, token := id.Draw(t, "id"), rapid.SampledFrom(tokens).Draw(t, "token")
				until, err := h.Extend(ctx, engine.WAL, id, token, 2*time.Second)
				if j := ended(t, id, token, err); j != nil {
					j.until = h.clock.Now().Add(2 * time.Second)
					require.Equal(t, j.until, until)
				}
			},
			"fail": func(t *rapid.T) {
				id, token := id.Draw(t, "id"), rapid.SampledFrom(tokens).Draw(t, "token")
				delay := time.Duration(rapid.IntRange(0, 2).Draw(t, "delay")) * time.Second
				dead, err := h.Fail(ctx, engine.WAL, id, token, "x", delay)
				if j := ended(t, id, token, err); j != nil {
					m.back(j, h.clock.Now())
					require.Equal(t, j.state == Dead, dead)
					if !dead && delay > 0 {
						j.state, j.due = Scheduled, h.clock.Now().Add(delay)
					}
				}
			},
			"retry": func(t *rapid.T) {
				id := id.Draw(t, "id")
				j := m.jobs[id]
				dead, err := h.Retry(ctx, engine.WAL, id)
				if j == nil {
					require.ErrorIs(t, err, ErrNotFound)
					return
				}
				require.NoError(t, err)
				require.Equal(t, j.state == Dead, dead)
				if dead {
					j.attempts = 0
					m.arrive(j)
				}
			},
			"pass": func(t *rapid.T) {
				// No less: after a sweep, the next one comes 5 ms later, and nobody else lets time pass.
				h.clock.Pass(time.Duration(rapid.IntRange(5, 1500).Draw(t, "ms")) * time.Millisecond)
				m.pass(h.clock.Now())
				require.Eventually(t, func() bool {
					return len(mustList(t, h, Leased)) == len(m.in(Leased)) && len(mustList(t, h, Scheduled)) == len(m.in(Scheduled))
				}, time.Minute, 50*time.Microsecond)
			},
			"": func(t *rapid.T) {
				for _, state := range []State{Scheduled, Ready, Leased} {
					var want []string
					for _, j := range m.in(state) {
						want = append(want, j.id)
					}
					require.Equal(t, want, mustList(t, h, state), "%s", state)
				}
				require.Len(t, mustList(t, h, Dead), len(m.in(Dead)))
			},
		})
	})
}

func mustList(t *rapid.T, h *host, state State) (ids []string) {
	list, _, err := h.List(ctx, ListOptions{Queue: Archive, State: state})
	require.NoError(t, err)
	for _, i := range list {
		ids = append(ids, i.ID)
	}
	return ids
}

// lossy is an engine whose next batch is made, and then not written.
type lossy struct {
	engine.Engine
	lose bool
}

var errLost = errors.New("no space left")

func (l *lossy) Update(fn func(engine.Getter, *engine.Batch) error) error {
	return l.Engine.Update(func(g engine.Getter, b *engine.Batch) error {
		if err := fn(g, b); err != nil || !l.lose {
			return err
		}
		l.lose = false
		return errLost
	})
}

// What a batch found that was not written is found by the next: no job is hidden by it.
func TestALeaseThatIsNotWrittenHidesNothing(t *testing.T) {
	l := &lossy{Engine: mem.New()}
	h := openHost(t, l, kvtest.New(), Options{})
	h.add("a")
	first := h.lease("w", 1)[0]
	require.NoError(t, h.Done(ctx, engine.WAL, "a", first.Token))
	h.add("b", "c")
	l.lose = true
	_, err := h.Lease(ctx, LeaseOptions{Queue: Archive, Worker: "w", Limit: 2, Durability: engine.WAL})
	require.ErrorIs(t, err, errLost)
	require.Equal(t, "b c", ids(h.lease("w", MaxBatch)))
	h.end()
	require.NoError(t, l.Close())
}

// retried is an engine whose next batch is made for a state first that comes to nothing, and
// then again: so is one whose group could not be written, in which others were before it.
type retried struct {
	engine.Engine
	vain engine.Snapshot
	then func() // is called once the next batch is written, before that is answered
}

func (r *retried) Update(fn func(engine.Getter, *engine.Batch) error) error {
	if vain := r.vain; vain != nil {
		r.vain = nil
		if err := fn(vain, new(engine.Batch)); err != nil {
			return err
		}
	}
	err := r.Engine.Update(fn)
	if then := r.then; then != nil {
		r.then = nil
		then()
	}
	return err
}

// What a batch found after others in its group, which was not written, hides nothing from it
// when it is tried by itself, nor from the next. A job that returns to its place while one
// that has found nothing is being written is not hidden either.
func TestALeaseThatIsTriedAgainFindsWhatOthersHaveNotTaken(t *testing.T) {
	r := &retried{Engine: mem.New()}
	h := openHost(t, r, kvtest.New(), Options{})
	h.add("a")
	taken := h.lease("other", 1)[0]
	vain, err := r.Snapshot()
	require.NoError(t, err)
	_, err = h.Fail(ctx, engine.WAL, "a", taken.Token, "", 0)
	require.NoError(t, err)
	r.vain = vain
	taken = h.lease("w", 1)[0]
	require.Equal(t, "a", taken.ID)
	require.NoError(t, vain.Close())

	r.then = func() {
		_, err := h.Fail(ctx, engine.WAL, "a", taken.Token, "", 0)
		require.NoError(t, err)
	}
	require.Empty(t, h.lease("w", 1))
	require.Equal(t, "a", ids(h.lease("w", 1)))
	h.end()
	require.NoError(t, r.Close())
}
