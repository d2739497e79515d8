package limit

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
)

var ctx = context.Background()

// host is limits on an engine in memory with a clock by hand.
type host struct {
	t     require.TestingT
	db    engine.Engine
	clock *kvtest.Clock
	kv    *kv.Store
	*Store
}

func newHost(t testing.TB) *host {
	db := mem.New()
	t.Cleanup(func() { _ = db.Close() })
	h := &host{t: t, db: db, clock: kvtest.New()}
	h.open()
	t.Cleanup(h.end)
	return h
}

func (h *host) open() {
	var err error
	h.kv, err = kv.Open(h.db, kv.Options{Clock: h.clock, Log: slog.New(slog.DiscardHandler)})
	require.NoError(h.t, err)
	h.Store, err = New(h.kv, Options{})
	require.NoError(h.t, err)
}

// end closes everything but the engine; what there is is as it is to be.
func (h *host) end() {
	for f, err := range h.kv.Check(ctx) {
		require.NoError(h.t, err)
		require.Fail(h.t, "the check finds", f.String())
	}
	if space, err := h.kv.Space("t", kv.SystemLimit, spaceName); err == nil {
		for r, err := range space.All(ctx, nil) {
			require.NoError(h.t, err)
			require.Empty(h.t, Fault(&r))
		}
	}
	require.NoError(h.t, h.kv.Close())
}

func (h *host) check(n Name, max int, window time.Duration) Verdict {
	v, err := h.Check(ctx, "t", n, Rule{max, window}, engine.WAL)
	require.NoError(h.t, err)
	return v
}

func (h *host) key(key string) string {
	found, err := h.Lookup("t", key)
	require.NoError(h.t, err)
	return string(found)
}

func TestEveryRowHasATest(t *testing.T) {
	kvtest.Rows(t, nil, "*_test.go", "../../cmd/stoa/internal/daemon/*_test.go")
}

var create = Name{"tasks:create", "user-123"}

func TestA74TheWindowSlides(t *testing.T) {
	h := newHost(t)
	for n := range 10 {
		require.Equal(t, Verdict{Allowed: true, Count: n + 1, Remaining: 9 - n}, h.check(create, 10, 0))
		h.clock.Pass(time.Second)
	}
	require.Equal(t, Verdict{Count: 10, RetryAfter: 50*time.Second + time.Millisecond}, h.check(create, 10, time.Minute))
	h.clock.Pass(50 * time.Second)
	require.Equal(t, time.Millisecond, h.check(create, 10, time.Minute).RetryAfter)
	h.clock.Pass(time.Millisecond)
	require.True(t, h.check(create, 10, time.Minute).Allowed, "one has left")
	v := h.check(create, 10, time.Minute)
	require.Equal(t, Verdict{Count: 10, RetryAfter: time.Second}, v, "and one only")
	h.end()
	h.open()
	require.Equal(t, v, h.check(create, 10, time.Minute), "another process knows it")
}

// instants is the naive log: every instant that was allowed, for ever, in ms.
type instants []int64

func (log instants) within(now, window int64) (n int) {
	for _, at := range log {
		if at+window >= now {
			n++
		}
	}
	return n
}

// never says that nowhere in the log there are more than max within a window, wherever in its
// ms each instant was.
func (log instants) never(t require.TestingT, max int, window int64) {
	sorted := slices.Sorted(slices.Values(log))
	for i := max; i < len(sorted); i++ {
		require.Greater(t, sorted[i]-sorted[i-max], window)
	}
}

// Bursts over borders, steps of the clock both ways, restarts and several rules: each
// verdict is that of a naive log of all instants, and no window has more than its rule lets pass.
func TestA74NoWindowHasMoreThanItsRule(t *testing.T) {
	enginetest.Check(t, 100, func(rt *rapid.T) {
		h := newHost(t)
		h.t = rt
		window := time.Duration(rapid.SampledFrom([]int{1, 7, 1000, 60_000}).Draw(rt, "window")) * time.Millisecond
		max := rapid.IntRange(1, 6).Draw(rt, "max")
		narrow, wide := Rule{max, window}, Rule{3 * max, 4 * window}
		mixed := rapid.Bool().Draw(rt, "mixed")
		var all instants
		ask := func(rule Rule) {
			now := h.kv.Now().UnixMilli()
			n := all.within(now, rule.Window.Milliseconds())
			v := h.check(create, rule.Max, rule.Window)
			require.Equal(rt, n < rule.Max, v.Allowed, "%d of %d", n, rule.Max)
			if v.Allowed {
				all = append(all, now)
				n++
			} else {
				later := now + v.RetryAfter.Milliseconds()
				require.Less(rt, all.within(later, rule.Window.Milliseconds()), rule.Max)
				require.GreaterOrEqual(rt, all.within(later-1, rule.Window.Milliseconds()), rule.Max)
			}
			require.Equal(rt, min(n, rule.Max), v.Count)
		}
		for range rapid.IntRange(1, 80).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"burst", "burst", "border", "pass", "set", "reopen", "reset"}).Draw(rt, "step") {
			case "burst":
				if mixed { // so that the widest is asked within its window
					ask(wide)
				}
				for range rapid.IntRange(1, 2*max).Draw(rt, "times") {
					if mixed && rapid.Bool().Draw(rt, "wide") {
						ask(wide)
					} else {
						ask(narrow)
					}
				}
			case "border": // of what a fixed window would count by
				now := h.kv.Now()
				h.clock.Pass(now.Truncate(window).Add(window).Sub(now) - time.Millisecond)
			case "pass":
				h.clock.Pass(time.Duration(rapid.Int64Range(1, 2*window.Milliseconds()).Draw(rt, "ms")) * time.Millisecond)
			case "set":
				h.clock.Set(time.Duration(rapid.Int64Range(-3*window.Milliseconds(), window.Milliseconds()).Draw(rt, "by")) * time.Millisecond)
			case "reopen": // by a clock that has not been set back: the next test is about that
				at := h.kv.Now()
				h.end()
				h.clock.Set(at.Sub(h.clock.Now()))
				h.open()
				h.kv.Now() // from then on it doesn't go back
			case "reset":
				if rapid.IntRange(0, 9).Draw(rt, "reset") == 0 {
					_, err := h.Reset(ctx, "t", create, engine.WAL)
					require.NoError(rt, err)
					all = nil
				}
			}
			if !mixed {
				all.never(rt, max, window.Milliseconds())
			}
		}
	})
}

// After a restart by a clock that was set back what counted counts still, until the clock
// has come to where it was.
func TestA74AClockThatIsSetBackLetsNobodyPass(t *testing.T) {
	h := newHost(t)
	for range 3 {
		require.True(t, h.check(create, 5, time.Second).Allowed)
	}
	h.end()
	h.clock.Set(-time.Hour)
	h.open()
	require.True(t, h.check(create, 5, time.Second).Allowed)
	require.True(t, h.check(create, 5, time.Second).Allowed)
	require.False(t, h.check(create, 5, time.Second).Allowed)
	h.clock.Pass(time.Minute)
	require.Equal(t, time.Hour-time.Minute+time.Second+time.Millisecond, h.check(create, 5, time.Second).RetryAfter)
	h.clock.Pass(time.Hour)
	require.True(t, h.check(create, 5, time.Second).Allowed)
}

// However many ask at once, as many pass as may.
func TestA74AsManyPassAsMay(t *testing.T) {
	h := newHost(t)
	var passed [8]int
	var all sync.WaitGroup
	for i := range passed {
		all.Go(func() {
			for range 50 {
				if h.check(create, 100, time.Minute).Allowed {
					passed[i]++
				}
			}
		})
	}
	all.Wait()
	total := 0
	for _, n := range passed {
		total += n
	}
	require.Equal(t, 100, total)
}

func TestA75AnEndpointMayHaveAColon(t *testing.T) {
	h := newHost(t)
	tasks := Name{"tasks", "create:user-123"}
	require.Equal(t, create.Key(), tasks.Key(), "the literal keys are alike")
	require.True(t, h.check(tasks, 1, 0).Allowed)
	require.True(t, h.check(create, 2, 0).Allowed)
	require.True(t, h.check(create, 2, 0).Allowed)
	require.False(t, h.check(tasks, 1, 0).Allowed)
	require.False(t, h.check(create, 2, 0).Allowed)
	require.Equal(t, "2", h.key("ade:ratelimit:tasks:create:user-123"), "that of the user without a colon")
	require.Equal(t, "2", h.key("ade:ratelimit:{tasks:create:user-123}"))
	was, err := h.Reset(ctx, "t", create, engine.WAL)
	require.NoError(t, err)
	require.True(t, was)
	require.Equal(t, "1", h.key("ade:ratelimit:tasks:create:user-123"))
	for key, is := range map[string]error{"ade:ratelimit:tasks:create": ErrNotFound, "ade:ratelimit:": ErrInvalidArgument, "ade:ratelimit:x": ErrInvalidArgument, "tasks:create:user-123": ErrInvalidArgument} {
		_, err := h.Lookup("t", key)
		require.ErrorIs(t, err, is, key)
	}
}

// What is over is shown nowhere, and its row is gone within a second.
func TestA76CountersAreGoneAfterTheirWindow(t *testing.T) {
	h := newHost(t)
	agent := Name{"lock:acquire", "agent-1"}
	h.check(agent, 5, 0)
	h.clock.Pass(10*time.Second + 300*time.Millisecond)
	h.check(agent, 5, 0)
	l, err := h.Show("t", agent)
	require.NoError(t, err)
	require.Equal(t, Limit{Name: agent, Rule: Rule{5, time.Minute}, Count: 2, Oldest: l.Newest.Add(-10*time.Second - 300*time.Millisecond), Newest: h.kv.Now()}, l)
	require.Equal(t, "2", h.key("ade:ratelimit:lock:acquire:agent-1"))
	h.clock.Pass(time.Minute - time.Second)
	require.Equal(t, "1", h.key("ade:ratelimit:lock:acquire:agent-1"))
	h.clock.Pass(time.Second + time.Millisecond)
	_, err = h.Show("t", agent)
	require.ErrorIs(t, err, ErrNotFound)
	list, _, err := h.List(ctx, "t", ListOptions{})
	require.NoError(t, err)
	require.Empty(t, list)
	h.clock.Pass(time.Second)
	space, err := h.kv.Space("t", kv.SystemLimit, spaceName)
	require.NoError(t, err)
	require.True(t, h.clock.Until(func() bool { stats, err := space.Stats(); return err == nil && stats.Keys == 0 }))
}

// As many instants as there may be take as many bytes as the README says.
func TestARecordIsAsLongAsTheREADMESays(t *testing.T) {
	h := newHost(t)
	space := func() int {
		s, err := h.kv.Space("t", kv.SystemLimit, spaceName)
		require.NoError(t, err)
		r, err := s.Get(create.key())
		require.NoError(t, err)
		return len(r.Value)
	}
	for range 20 {
		require.True(t, h.check(create, 1000, 0).Allowed)
	}
	require.Equal(t, headBytes+1, space(), "those of one ms are one number")
	for n := range 300 {
		h.clock.Pass(time.Minute)
		require.True(t, h.check(create, 100, 100*time.Hour).Allowed == (n < 80))
	}
	require.LessOrEqual(t, space(), headBytes+5*100)
	_, err := h.Reset(ctx, "t", create, engine.WAL)
	require.NoError(t, err)
	for range 100 {
		h.clock.Pass(500 * time.Millisecond)
		require.True(t, h.check(create, 100, 0).Allowed)
	}
	require.Equal(t, headBytes+100+2*99, space())
}

func TestLimitsAreListed(t *testing.T) {
	h := newHost(t)
	for _, endpoint := range []string{"a", "b", "ab"} {
		for user := range 5 {
			h.check(Name{endpoint, fmt.Sprint(user)}, 3, 0)
		}
	}
	var got []string
	for o := (ListOptions{Limit: 4}); ; {
		list, next, err := h.List(ctx, "t", o)
		require.NoError(t, err)
		for _, l := range list {
			got = append(got, l.Key())
		}
		if o.Cursor = next; next == "" {
			break
		}
	}
	require.Len(t, got, 15)
	list, _, err := h.List(ctx, "t", ListOptions{Endpoint: "a"})
	require.NoError(t, err)
	require.Len(t, list, 5)
	require.Equal(t, Name{"a", "4"}, list[4].Name)
}

func TestRefusals(t *testing.T) {
	h := newHost(t)
	for name, tc := range map[string]struct {
		Name
		Rule
		tenant, field string
	}{
		"no tenant":        {create, Rule{Max: 1}, "", "tenant"},
		"no endpoint":      {Name{"", "u"}, Rule{Max: 1}, "t", "endpoint"},
		"no user":          {Name{"e", ""}, Rule{Max: 1}, "t", "user"},
		"a long endpoint":  {Name{string(make([]byte, MaxEndpoint+1)), "u"}, Rule{Max: 1}, "t", "endpoint"},
		"a long user":      {Name{"e", string(make([]byte, MaxUser+1))}, Rule{Max: 1}, "t", "user"},
		"a brace":          {Name{"e{", "u"}, Rule{Max: 1}, "t", "endpoint"},
		"a separator":      {Name{"e", "u\x00v"}, Rule{Max: 1}, "t", "user"},
		"no UTF-8":         {Name{"e", "\xff"}, Rule{Max: 1}, "t", "user"},
		"nothing may pass": {create, Rule{}, "t", "max"},
		"too many":         {create, Rule{Max: MaxMax + 1}, "t", "max"},
		"a negative time":  {create, Rule{1, -1}, "t", "window"},
		"a long time":      {create, Rule{1, MaxWindow + 1}, "t", "window"},
	} {
		_, err := h.Check(ctx, tc.tenant, tc.Name, tc.Rule, engine.WAL)
		var e *Error
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, []any{CodeInvalidArgument, tc.field}, []any{e.Code, e.Field}, name)
	}
	_, err := h.kv.Space("t", kv.SystemLimit, spaceName)
	require.ErrorIs(t, err, kv.ErrSpaceNotFound, "nothing is made by what is refused")
	h.check(create, 1, 0)
	space, err := h.kv.Space("t", kv.SystemLimit, spaceName)
	require.NoError(t, err)
	require.NoError(t, space.SetQuota(ctx, kv.Quota{Keys: 1}))
	_, err = h.Check(ctx, "t", Name{"e", "u"}, Rule{Max: 1}, engine.WAL)
	require.ErrorIs(t, err, ErrTooMany)
	_, _, err = h.List(ctx, "t", ListOptions{Cursor: "x"})
	require.ErrorIs(t, err, ErrInvalidCursor)
	_, err = h.kv.DropTenant(ctx, "t")
	require.NoError(t, err)
	require.True(t, h.check(create, 1, 0).Allowed)
}

// What is parsed makes the same bytes, and what is damaged is refused, or is another history.
func TestBytesComeBack(t *testing.T) {
	enginetest.Check(t, 100, func(rt *rapid.T) {
		h := history{rule: rule{uint32(rapid.IntRange(1, MaxMax).Draw(rt, "max")), rapid.Uint64Range(1, 604_800_000).Draw(rt, "window")}}
		now := rapid.Uint64Range(1, maxMoment/2).Draw(rt, "begin")
		for range rapid.IntRange(1, 20).Draw(rt, "moments") {
			h.add(h.rule, now)
			now += rapid.Uint64Range(0, h.window).Draw(rt, "later")
		}
		src := h.append(nil)
		back, err := parse(src)
		require.NoError(rt, err)
		require.Equal(rt, src, back.append(nil))
		_, err = parse(src[:rapid.IntRange(0, len(src)-1).Draw(rt, "cut")])
		if err != nil {
			require.ErrorIs(rt, err, engine.ErrCorrupt)
		}
		src[rapid.IntRange(0, len(src)-1).Draw(rt, "at")] ^= byte(rapid.IntRange(1, 255).Draw(rt, "flip"))
		if other, err := parse(src); err == nil {
			require.NotEqual(rt, h, other)
		} else {
			require.ErrorIs(rt, err, engine.ErrCorrupt)
		}
	})
}

func TestFaultsAreFound(t *testing.T) {
	h := newHost(t)
	h.check(create, 1, 0)
	space, err := h.kv.Space("t", kv.SystemLimit, spaceName)
	require.NoError(t, err)
	r, err := space.Get(create.key())
	require.NoError(t, err)
	require.Empty(t, Fault(&r))
	late := r
	late.Expires = r.Expires.Add(time.Second)
	require.Contains(t, Fault(&late), "expire")
	named := r
	named.Key = []byte("tasks:create")
	require.Contains(t, Fault(&named), "endpoint")
	short := r
	short.Value = r.Value[:headBytes]
	require.Contains(t, Fault(&short), "cut short")
}
