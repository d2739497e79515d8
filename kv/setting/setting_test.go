package setting

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/limit"
	"github.com/stoadb/stoa/kv/lock"
)

var ctx = context.Background()

// host is settings on an engine in memory with a clock by hand.
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
	log := slog.New(slog.DiscardHandler)
	var err error
	h.kv, err = kv.Open(h.db, kv.Options{Clock: h.clock, Log: log})
	require.NoError(h.t, err)
	h.Store, err = New(h.kv, Options{Log: log})
	require.NoError(h.t, err)
}

func (h *host) end() {
	for f, err := range h.kv.Check(ctx) {
		require.NoError(h.t, err)
		require.Fail(h.t, "the check finds", f.String())
	}
	require.NoError(h.t, h.kv.Close())
}

// reopen is the next process.
func (h *host) reopen() { h.end(); h.open() }

func (h *host) set(tenant, name, value string) Setting {
	s, err := h.Set(ctx, tenant, name, []byte(value), engine.WAL)
	require.NoError(h.t, err)
	return s
}

func (h *host) delete(tenant, name string) bool {
	was, err := h.Delete(ctx, tenant, name, engine.WAL)
	require.NoError(h.t, err)
	return was
}

func TestEveryRowHasATest(t *testing.T) {
	kvtest.Rows(t, nil, "*_test.go", "../../cmd/stoa/internal/daemon/*_test.go")
}

// Each setting that acceptance names is there, has its default, takes what is of its type,
// and refuses everything else; so is every other.
func TestA88EverySettingIsTyped(t *testing.T) {
	h := newHost(t)
	plain := defaults()
	require.Equal(t, Values{LockDefaultTTL: 30 * time.Second, LockMaxTTL: time.Hour, LockHeartbeat: 10 * time.Second, ApprovalTimeout: 48 * time.Hour,
		ApprovalMaxTimeout: 720 * time.Hour, TaskTimeout: time.Hour, Risk: Thresholds{25, 50, 75}, DeadlockDetection: true}, plain)
	for name, tc := range map[string]struct {
		good, bad []string
		then      func(*Values)
	}{
		"ade:config:lock:default_ttl":        {[]string{"1", "60"}, []string{"0", "604801", "1.5", "-1", `"60"`, "null", "60s", ""}, func(v *Values) { v.LockDefaultTTL = time.Minute }},
		"ade:config:lock:max_ttl":            {[]string{"604800", "7200"}, []string{"0", "604801", "true"}, func(v *Values) { v.LockMaxTTL = 2 * time.Hour }},
		"ade:config:lock:heartbeat_interval": {[]string{"5"}, []string{"0", "[5]"}, func(v *Values) { v.LockHeartbeat = 5 * time.Second }},
		"ade:config:lock:acquire_limit":      {[]string{"0", "10000", "9"}, []string{"10001", "-1"}, func(v *Values) { v.LockAcquireLimit = 9 }},
		"ade:config:approval:default_timeout": {[]string{"2592000", "3600"}, []string{"2592001", "0"},
			func(v *Values) { v.ApprovalTimeout = time.Hour }},
		"ade:config:approval:max_timeout": {[]string{"7200000e-1", "360000"}, []string{"2592001"}, func(v *Values) { v.ApprovalMaxTimeout = 100 * time.Hour }},
		"ade:config:task:default_timeout": {[]string{"7776000", "1"}, []string{"7776001"}, func(v *Values) { v.TaskTimeout = time.Second }},
		"ade:config:risk:thresholds": {[]string{`{"critical": 30, "medium": 10, "high": 20}`},
			[]string{`{"critical":30,"medium":10}`, `{"critical":30,"medium":10,"high":30}`, `{"critical":30,"medium":0,"high":20}`, `{"critical":101,"medium":10,"high":20}`,
				`{"critical":30,"medium":10,"high":20,"low":0}`, `[10,20,30]`, `{"critical":30,"medium":10,"high":"20"}`, "25"},
			func(v *Values) { v.Risk = Thresholds{10, 20, 30} }},
		"ade:feature:auto_approve_low_risk": {[]string{`"disabled"`, `"enabled"`}, []string{"true", `"on"`, `"Enabled"`, "1"}, func(v *Values) { v.AutoApproveLowRisk = true }},
		"ade:feature:deadlock_detection":    {[]string{`"enabled"`, `"disabled"`}, []string{"false"}, func(v *Values) { v.DeadlockDetection = false }},
		"ade:feature:batch_approvals":       {[]string{`"enabled"`}, []string{`{}`}, func(v *Values) { v.BatchApprovals = true }},
	} {
		before, err := h.Get(name, name) // a tenant for each
		require.NoError(t, err)
		require.False(t, before.Set)
		require.Equal(t, before.Default, before.Value)
		var last Setting
		for _, value := range tc.good {
			last = h.set(name, name, value)
			require.Equal(t, name, last.Name)
		}
		for _, value := range tc.bad {
			_, err := h.Set(ctx, name, name, []byte(value), engine.WAL)
			var e *Error
			require.ErrorAs(t, err, &e, "%s = %s", name, value)
			require.Equal(t, []any{CodeValidation, "value", name}, []any{e.Code, e.Field, e.Name})
		}
		then := defaults()
		tc.then(&then)
		require.Equal(t, then, h.Values(name), name)
		after, err := h.Get(name, name)
		require.NoError(t, err)
		require.Equal(t, last, after)
	}
	list, err := h.List(ctx, "nobody")
	require.NoError(t, err)
	require.Len(t, list, 11)
	_, err = h.Set(ctx, "t", "ade:config:lock:default", []byte("1"), engine.WAL)
	require.ErrorIs(t, err, ErrValidation)
	require.ErrorContains(t, err, "ade:config:lock:default_ttl")
	_, err = h.Get("t", "config:lock")
	require.ErrorIs(t, err, ErrValidation)
	_, err = h.Delete(ctx, "t", "x", engine.WAL)
	require.ErrorIs(t, err, ErrValidation)
	_, err = h.Set(ctx, "t", LockMaxTTL, make([]byte, maxValue+1), engine.WAL)
	require.ErrorIs(t, err, ErrValidation)
}

// A name may be written as the literal key, without what those begin with, and with the
// braces of a hash tag.
func TestNamesHaveAliases(t *testing.T) {
	h := newHost(t)
	h.set("t", "ade:config:{lock}:max_ttl", "60")
	for _, name := range []string{"ade:config:lock:max_ttl", "config:lock:max_ttl", "{ade:config:lock:max_ttl}"} {
		s, err := h.Get("t", name)
		require.NoError(t, err)
		require.Equal(t, json.RawMessage("60"), s.Value)
	}
}

// What is set stays, and is a default again once it is deleted. The same value is no
// change.
func TestA88ValuesSurviveARestart(t *testing.T) {
	h := newHost(t)
	first := h.set("t", TaskTimeout, "5")
	require.Equal(t, first, h.set("t", TaskTimeout, " 5 "))
	h.reopen()
	require.Equal(t, 5*time.Second, h.Values("t").TaskTimeout)
	require.Equal(t, time.Hour, h.Values("u").TaskTimeout)
	require.True(t, h.delete("t", TaskTimeout))
	require.False(t, h.delete("t", TaskTimeout))
	require.False(t, h.delete("nobody", TaskTimeout))
	require.Equal(t, defaults(), h.Values("t"))
	_, err := h.kv.Space("nobody", kv.SystemSetting, spaceName)
	require.ErrorIs(t, err, kv.ErrSpaceNotFound)
}

// What this store changes is gone by at once, what another handle changes, or drops,
// within half a second.
func TestA88ChangesTakeEffectWithinASecond(t *testing.T) {
	h := newHost(t)
	h.set("t", LockMaxTTL, "60")
	require.Equal(t, time.Minute, h.Values("t").LockMaxTTL)
	h.set("t", LockMaxTTL, "70")
	require.Equal(t, 70*time.Second, h.Values("t").LockMaxTTL)
	other, err := New(h.kv, Options{})
	require.NoError(t, err)
	_, err = other.Set(ctx, "t", LockMaxTTL, []byte("80"), engine.WAL)
	require.NoError(t, err)
	require.Equal(t, 70*time.Second, h.Values("t").LockMaxTTL, "nothing is read in between")
	h.clock.Pass(fresh)
	require.Equal(t, 80*time.Second, h.Values("t").LockMaxTTL)
	_, err = h.kv.DropTenant(ctx, "t")
	require.NoError(t, err)
	h.clock.Pass(fresh)
	require.Equal(t, time.Hour, h.Values("t").LockMaxTTL)
	_, err = other.Set(ctx, "t", LockMaxTTL, []byte("90"), engine.WAL) // of the same revision as that of the tenant that was dropped
	require.NoError(t, err)
	h.clock.Pass(fresh)
	require.Equal(t, 90*time.Second, h.Values("t").LockMaxTTL)
}

// A watch tells what is set, and each change.
func TestA88ChangesAreWatched(t *testing.T) {
	h := newHost(t)
	h.set("t", LockMaxTTL, "60")
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	var told []string
	for e, err := range h.Watch(watching, "t", kv.FromState, 0) {
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
			break
		}
		switch told = append(told, fmt.Sprintf("%s %s %s", e.Kind, e.Setting.Name, e.Setting.Value)); len(told) {
		case 2:
			h.set("t", BatchApprovals, enabled)
			h.delete("t", LockMaxTTL)
		case 4:
			cancel()
		}
	}
	require.Equal(t, []string{"put ade:config:lock:max_ttl 60", "synced  ", `put ade:feature:batch_approvals "enabled"`, "delete ade:config:lock:max_ttl 3600"}, told)
}

// A flag that is absent is disabled where it would permit something. Deadlocks are detected
// unless that is disabled: the safe side of each.
func TestA89FlagsThatAreAbsentAreOnTheSafeSide(t *testing.T) {
	h := newHost(t)
	v := h.Values("t")
	require.Equal(t, [3]bool{false, false, true}, [3]bool{v.AutoApproveLowRisk, v.BatchApprovals, v.DeadlockDetection})
	for _, name := range []string{AutoApproveLowRisk, BatchApprovals, DeadlockDetection} {
		h.set("t", name, enabled)
	}
	v = h.Values("t")
	require.Equal(t, [3]bool{true, true, true}, [3]bool{v.AutoApproveLowRisk, v.BatchApprovals, v.DeadlockDetection})
	for _, name := range []string{AutoApproveLowRisk, BatchApprovals, DeadlockDetection} {
		h.set("t", name, disabled)
	}
	v = h.Values("t")
	require.Equal(t, [3]bool{}, [3]bool{v.AutoApproveLowRisk, v.BatchApprovals, v.DeadlockDetection})
}

// locks are locks that go by the settings of h.
func (h *host) locks(t *testing.T) *lock.Store {
	limits, err := limit.New(h.kv, limit.Options{})
	require.NoError(t, err)
	s, err := lock.New(h.kv, lock.Options{Config: h.Locks, Limits: limits, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func TestA10LocksGoByTheConfiguration(t *testing.T) {
	h := newHost(t)
	locks := h.locks(t)
	acquire := func(id string, ttl time.Duration) (lock.Grant, error) {
		return locks.Acquire(ctx, "t", lock.Request{Name: lock.Task(id), Agent: "a", TTL: ttl, Durability: engine.WAL})
	}
	first, err := acquire("1", 0)
	require.NoError(t, err)
	h.set("t", LockDefaultTTL, "60")
	h.set("t", LockMaxTTL, "90")
	second, err := acquire("2", 0)
	require.NoError(t, err)
	for _, g := range []lock.Grant{first, second} {
		now, err := locks.Get("t", g.Name)
		require.NoError(t, err)
		require.Equal(t, g, now.Holders[0], "a change is of later grants")
	}
	require.Equal(t, []time.Duration{30 * time.Second, time.Hour, time.Minute, 90 * time.Second},
		[]time.Duration{first.Expires.Sub(first.Acquired), first.Until.Sub(first.Acquired), second.Expires.Sub(second.Acquired), second.Until.Sub(second.Acquired)})
	_, err = acquire("3", 91*time.Second)
	require.ErrorIs(t, err, lock.ErrMaxTTL)
	h.set("t", LockMaxTTL, "20")
	third, err := acquire("4", 0)
	require.NoError(t, err)
	require.Equal(t, 20*time.Second, third.Expires.Sub(third.Acquired), "a default is no longer than the maximum")
}

func TestA41DeadlocksStandWhereDetectionIsDisabled(t *testing.T) {
	h := newHost(t)
	locks := h.locks(t)
	request := func(id, agent string) error {
		_, err := locks.Acquire(ctx, "t", lock.Request{Name: lock.Task(id), Agent: agent, TTL: time.Hour, Wait: true, MaxWait: time.Minute, Durability: engine.WAL})
		return err
	}
	require.NoError(t, request("1", "a"))
	require.NoError(t, request("2", "b"))
	waits := make(chan error, 2)
	go func() { waits <- request("2", "a") }()
	require.Eventually(t, func() bool { return len(locks.Queue("t", lock.Task("2"))) == 1 }, time.Minute, time.Millisecond)
	require.ErrorIs(t, request("1", "b"), lock.ErrDeadlock)
	h.set("t", DeadlockDetection, disabled)
	go func() { waits <- request("1", "b") }()
	require.Eventually(t, func() bool { return len(locks.Queue("t", lock.Task("1"))) == 1 }, time.Minute, time.Millisecond)
	h.clock.Pass(time.Minute)
	for range 2 {
		require.ErrorIs(t, <-waits, lock.ErrWaitTimeout)
	}
}

// Who asks for more locks than the configuration says is refused, granted before or not, and
// does not wait; others go on, and so does it once the first minute is over.
func TestA76AnAgentThatAsksTooOftenIsNotQueued(t *testing.T) {
	h := newHost(t)
	locks := h.locks(t)
	request := func(agent string) error {
		_, err := locks.Acquire(ctx, "t", lock.Request{Name: lock.Task("1"), Agent: agent, TTL: time.Hour, Durability: engine.WAL})
		return err
	}
	require.NoError(t, request("holder"))
	h.set("t", LockAcquireLimit, "3")
	for range 3 {
		require.ErrorIs(t, request("a"), lock.ErrHeld)
		h.clock.Pass(time.Second)
	}
	_, err := locks.Acquire(ctx, "t", lock.Request{Name: lock.Task("1"), Agent: "a", Wait: true, Durability: engine.WAL})
	var e *lock.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, []any{lock.CodeRateLimited, "agent", uint64(3), 57*time.Second + time.Millisecond, lock.Task("1")}, []any{e.Code, e.Field, e.Limit, e.Remaining, e.Lock})
	require.Empty(t, locks.Queue("t", lock.Task("1")))
	require.ErrorIs(t, request("b"), lock.ErrHeld)
	h.clock.Pass(e.Remaining)
	require.ErrorIs(t, request("a"), lock.ErrHeld)
	require.ErrorIs(t, request("a"), lock.ErrRateLimited)
	h.set("t", LockAcquireLimit, "0")
	require.ErrorIs(t, request("a"), lock.ErrHeld)
}

// Whatever is set and deleted, by two handles and over restarts, is what is got, listed and
// gone by.
func TestSettingsAgreeWithAMap(t *testing.T) {
	values := map[string][]string{
		LockDefaultTTL: {"30", "1", "604800"}, LockMaxTTL: {"1", "3600"}, ApprovalTimeout: {"60"}, ApprovalMaxTimeout: {"59", "100"},
		DeadlockDetection: {enabled, disabled}, RiskThresholds: {`{"critical":3,"high":2,"medium":1}`},
	}
	enginetest.Check(t, 100, func(rt *rapid.T) {
		h := newHost(t)
		h.t = rt
		model := map[string]map[string]string{"t": {}, "u": {}}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			tenant := rapid.SampledFrom([]string{"t", "u"}).Draw(rt, "tenant")
			name := rapid.SampledFrom([]string{LockDefaultTTL, LockMaxTTL, ApprovalTimeout, ApprovalMaxTimeout, DeadlockDetection, RiskThresholds}).Draw(rt, "name")
			switch rapid.SampledFrom([]string{"set", "set", "delete", "reopen", "pass", "drop"}).Draw(rt, "step") {
			case "set":
				value := rapid.SampledFrom(values[name]).Draw(rt, "value")
				h.set(tenant, name, value)
				model[tenant][name] = value
			case "delete":
				_, was := model[tenant][name]
				require.Equal(rt, was, h.delete(tenant, name))
				delete(model[tenant], name)
			case "reopen":
				h.reopen()
			case "pass":
				h.clock.Pass(time.Second)
			case "drop":
				if _, err := h.kv.DropTenant(ctx, tenant); err != nil {
					require.ErrorIs(rt, err, kv.ErrSpaceNotFound)
				}
				h.clock.Pass(fresh)
				clear(model[tenant])
			}
			for tenant, set := range model {
				then := defaults()
				list, err := h.List(ctx, tenant)
				require.NoError(rt, err)
				for i, d := range definitions {
					value, is := set[d.name]
					if !is {
						value = d.plain
					}
					require.Nil(rt, d.read(&then, []byte(value)))
					require.Equal(rt, Prefix+d.name, list[i].Name)
					require.Equal(rt, []any{is, value}, []any{list[i].Set, string(list[i].Value)})
				}
				require.Equal(rt, then.bounded(), h.Values(tenant))
			}
		}
	})
}

// What is stored and makes no sense counts as not set, and is found.
func TestFaultsAreFound(t *testing.T) {
	h := newHost(t)
	h.set("t", LockMaxTTL, "60")
	space, err := h.kv.Space("t", kv.SystemSetting, spaceName)
	require.NoError(t, err)
	for key, tc := range map[string]struct{ value, says string }{
		LockMaxTTL:                   {"60", ""},
		LockDefaultTTL:               {`"x"`, "whole number"},
		RiskThresholds:               {`{"medium":1,"high":2,"critical":3}`, "canonical"},
		"ade:" + LockHeartbeat:       {"1", "no setting"},
		"config:lock:something_else": {"1", "no setting"},
	} {
		r, err := space.Put(ctx, []byte(key), []byte(tc.value), kv.PutOptions{})
		require.NoError(t, err)
		if fault := Fault(&r); tc.says == "" {
			require.Empty(t, fault)
		} else {
			require.Contains(t, fault, tc.says)
		}
	}
	r, err := space.Put(ctx, []byte(TaskTimeout), []byte("1"), kv.PutOptions{TTL: time.Hour})
	require.NoError(t, err)
	require.Contains(t, Fault(&r), "expires")
	h.clock.Pass(fresh)
	require.Equal(t, 30*time.Second, h.Values("t").LockDefaultTTL)
}

// Errors say what to do, in the words of this package.
func TestRefusals(t *testing.T) {
	h := newHost(t)
	_, err := h.List(ctx, "")
	require.ErrorIs(t, err, ErrValidation)
	_, err = h.Set(ctx, "", LockMaxTTL, []byte("1"), engine.WAL)
	require.ErrorIs(t, err, ErrValidation)
	for _, err := range h.Watch(ctx, "", kv.FromNow, 0) {
		require.ErrorIs(t, err, ErrValidation)
	}
	_, err = h.Set(ctx, string(make([]byte, kv.MaxTenant+1)), LockMaxTTL, []byte("1"), engine.WAL)
	require.ErrorIs(t, err, ErrValidation)
	h.set("full", LockMaxTTL, "1")
	space, err := h.kv.Space("full", kv.SystemSetting, spaceName)
	require.NoError(t, err)
	require.NoError(t, space.SetQuota(ctx, kv.Quota{Keys: 1}))
	_, err = h.Set(ctx, "full", TaskTimeout, []byte("1"), engine.WAL)
	require.ErrorIs(t, err, ErrTooMany)
	require.NoError(t, h.kv.Close())
	_, err = h.Get("t", LockMaxTTL)
	require.ErrorIs(t, err, kv.ErrClosed)
	require.Equal(t, defaults(), h.Values("t"), "what can't be read counts as it was")
	h.open()
}
