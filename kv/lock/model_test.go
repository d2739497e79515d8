package lock_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	. "github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/lock/locktest"
)

// naive is a lock manager without any cleverness: everything is looked at again after
// everything.
type naive struct {
	now   time.Time
	locks map[string]*naiveLock
	most  map[string]int          // tasks of the agents that are registered
	waits []*naiveWait            // in order of arrival
	done  map[*locktest.Call]Code // what has become of those who waited
	given []string                // grants in order, as AGENT@LOCK
}

type naiveLock struct {
	mode    Mode
	holders []naiveHolder
}

type naiveHolder struct {
	agent          string
	expires, until time.Time
	ttl            time.Duration
}

type naiveWait struct {
	Request
	call    *locktest.Call
	upgrade bool
	until   time.Time
}

func (n *naive) lock(name string) *naiveLock {
	if n.locks[name] == nil {
		n.locks[name] = &naiveLock{}
	}
	return n.locks[name]
}

func (l *naiveLock) holder(agent string) *naiveHolder {
	for i := range l.holders {
		if l.holders[i].agent == agent {
			return &l.holders[i]
		}
	}
	return nil
}

func (l *naiveLock) drop(agent string) {
	l.holders = slices.DeleteFunc(l.holders, func(h naiveHolder) bool { return h.agent == agent })
	if len(l.holders) == 0 {
		l.mode = Free
	}
}

// queue is who waits for a lock, in the order in which they are served.
func (n *naive) queue(name string) (list []*naiveWait) {
	for _, w := range n.waits {
		if w.Name == name {
			list = append(list, w)
		}
	}
	slices.SortStableFunc(list, func(a, b *naiveWait) int {
		if a.upgrade != b.upgrade {
			return map[bool]int{true: -1, false: 1}[a.upgrade]
		}
		return b.Priority - a.Priority
	})
	return list
}

func isTask(name string) bool { return strings.HasPrefix(name, Task("")) }

func (n *naive) tasks(agent string) (count int) {
	for name, l := range n.locks {
		if isTask(name) && l.holder(agent) != nil {
			count++
		}
	}
	return count
}

func (n *naive) mayHave(w *naiveWait) bool {
	most, registered := n.most[w.Agent]
	return !registered || !isTask(w.Name) || n.tasks(w.Agent) < most
}

func (l *naiveLock) room(w *naiveWait) bool {
	if l.holder(w.Agent) != nil {
		return len(l.holders) == 1
	}
	return len(l.holders) == 0 || w.Mode == Shared && l.mode == Shared
}

// settle serves the queues until nobody can be served, those of some locks first.
func (n *naive) settle(first ...string) {
	for _, name := range append(first, slices.Sorted(maps.Keys(n.locks))...) {
		n.settleOne(name)
	}
}

func (n *naive) grant(w *naiveWait) {
	l := n.lock(w.Name)
	h := naiveHolder{w.Agent, n.now.Add(w.TTL), n.now.Add(time.Minute), w.TTL}
	if had := l.holder(w.Agent); had != nil {
		h.until = had.until
		if h.expires.After(h.until) {
			h.expires = h.until
		}
		if had.expires.After(h.expires) {
			h.expires = had.expires
		}
		l.drop(w.Agent)
	}
	l.mode = w.Mode
	l.holders = append(l.holders, h)
	n.given = append(n.given, w.Agent+"@"+w.Name)
	for _, other := range slices.Clone(n.waits) {
		if other.Agent == w.Agent && n.circular(other) {
			n.end(other, CodeDeadlock)
		}
	}
}

// circular reports whether who waits waits for itself by that.
func (n *naive) circular(w *naiveWait) bool {
	g := graph{map[string][]string{}, map[string][]string{}}
	var agents []string
	for name, l := range n.locks {
		for _, h := range l.holders {
			g.holds[name] = append(g.holds[name], h.agent)
			agents = append(agents, h.agent)
		}
	}
	for _, other := range n.waits {
		if other.Agent != w.Agent {
			g.waits[other.Agent] = append(g.waits[other.Agent], other.Name)
		}
	}
	g.waits[w.Agent] = []string{w.Name}
	return g.inCycle(append(agents, w.Agent), w.Agent)
}

func (n *naive) end(w *naiveWait, why Code) {
	n.waits = slices.DeleteFunc(n.waits, func(other *naiveWait) bool { return other == w })
	n.done[w.call] = why
}

// pass moves on to a time: who has waited for too long goes, and those whose time is over.
func (n *naive) pass(d time.Duration) {
	n.now = n.now.Add(d)
	for _, w := range slices.Clone(n.waits) {
		if !w.until.After(n.now) {
			n.end(w, CodeWaitTimeout)
		}
	}
	for _, l := range n.locks {
		for _, h := range slices.Clone(l.holders) {
			if !h.expires.After(n.now) {
				l.drop(h.agent)
			}
		}
	}
	n.settle()
}

// ask is Acquire; it returns the code that it is refused with, and whether it waits.
func (n *naive) ask(r Request, c *locktest.Call) (code Code, waits bool) {
	l := n.lock(r.Name)
	w := &naiveWait{Request: r, call: c, until: n.now.Add(r.MaxWait)}
	if h := l.holder(r.Agent); h != nil {
		if l.mode == Exclusive || r.Mode == Shared {
			h.ttl = r.TTL
			h.extend(n.now)
			return "", false
		}
		w.upgrade = true
	}
	for _, other := range n.waits {
		if other.Name == r.Name && other.Agent == r.Agent {
			return "joined", false // the test asks for no such thing
		}
	}
	before := len(n.given)
	n.waits = append(n.waits, w)
	n.settle(r.Name)
	if slices.Contains(n.given[before:], r.Agent+"@"+r.Name) {
		delete(n.done, c)
		return "", false
	}
	switch {
	case !r.Wait && !n.mayHave(w) && l.room(w):
		code = CodeCapacity
	case !r.Wait:
		code = CodeHeld
	case n.circular(w):
		code = CodeDeadlock
	default:
		return "", true
	}
	n.end(w, code)
	delete(n.done, c)
	return code, false
}

func (h *naiveHolder) extend(now time.Time) {
	to := now.Add(h.ttl)
	if to.After(h.until) {
		to = h.until
	}
	if to.After(h.expires) {
		h.expires = to
	}
}

// modelled is the store beside the naive manager.
type modelled struct {
	*naive
	h     *locktest.Host
	rt    *rapid.T
	calls map[*locktest.Call]Request // that wait
}

var modelLocks = []string{Task("1"), Task("2"), Task("3"), Resource("r", "1"), Resource("r", "2")}

func (m *modelled) agent() string { return fmt.Sprint("a", rapid.IntRange(1, 5).Draw(m.rt, "agent")) }
func (m *modelled) name() string  { return rapid.SampledFrom(modelLocks).Draw(m.rt, "lock") }

func (m *modelled) acquire() {
	r := Request{Name: m.name(), Agent: m.agent(), Mode: Exclusive, Wait: rapid.Bool().Draw(m.rt, "wait"), Priority: rapid.IntRange(0, 1).Draw(m.rt, "priority"),
		TTL: time.Duration(rapid.IntRange(1, 50).Draw(m.rt, "ttl")) * time.Second}
	if !isTask(r.Name) {
		r.Mode = rapid.SampledFrom([]Mode{Exclusive, Shared}).Draw(m.rt, "mode")
	}
	if r.Wait {
		r.MaxWait = time.Duration(rapid.IntRange(1, 50).Draw(m.rt, "max wait")) * time.Second
	}
	if slices.ContainsFunc(m.waits, func(w *naiveWait) bool { return w.Name == r.Name && w.Agent == r.Agent }) || r.Wait && m.queued(r.Agent) > 0 {
		return
	}
	c := &locktest.Call{}
	if r.Wait {
		c = m.h.Wait(r)
	} else {
		c.Grant, c.Err = m.h.Acquire(ctx, "t", r)
	}
	code, waits := m.ask(r, c)
	if waits {
		m.h.Waits(c)
		m.calls[c] = r
		return
	}
	if r.Wait {
		m.h.Answered(c)
	}
	require.Equal(m.h.T, code, codeOf(c.Err), "%+v: %v", r, c.Err)
}

func codeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	if err != nil {
		return Code(err.Error())
	}
	return ""
}

func (m *modelled) release() {
	name, agent := m.name(), m.agent()
	held := m.h.Free(agent, name)
	require.Equal(m.h.T, m.lock(name).holder(agent) != nil, held)
	m.lock(name).drop(agent)
	m.settle(name)
}

func (m *modelled) renew() {
	name, agent := m.name(), m.agent()
	_, err := m.h.Renew(ctx, "t", Holding{Name: name, Agent: agent}, 0, engine.WAL)
	held := m.lock(name).holder(agent)
	switch {
	case held == nil:
		require.ErrorIs(m.h.T, err, ErrNotHolder)
	case !held.until.After(held.expires):
		require.ErrorIs(m.h.T, err, ErrMaxTTL)
	default:
		require.NoError(m.h.T, err)
		held.extend(m.now)
	}
}

func (m *modelled) downgrade() {
	name, agent := Resource("r", fmt.Sprint(rapid.IntRange(1, 2).Draw(m.rt, "n"))), m.agent()
	_, err := m.h.Downgrade(ctx, "t", Holding{Name: name, Agent: agent}, engine.WAL)
	l := m.lock(name)
	if l.holder(agent) == nil {
		require.ErrorIs(m.h.T, err, ErrNotHolder)
		return
	}
	require.NoError(m.h.T, err)
	l.mode = Shared
	m.settle(name)
}

func (m *modelled) releaseAll() {
	agent := m.agent()
	n, err := m.h.ReleaseAll(ctx, "t", agent, engine.WAL)
	require.NoError(m.h.T, err)
	for _, name := range []string{modelLocks[3], modelLocks[4], modelLocks[0], modelLocks[1], modelLocks[2]} { // in order of the index
		l := m.lock(name)
		if l.holder(agent) == nil {
			continue
		}
		n--
		l.drop(agent)
		m.settleOne(name)
	}
	m.settle()
	require.Zero(m.h.T, n)
}

// settleOne serves the queue of a lock.
func (n *naive) settleOne(name string) {
	l := n.lock(name)
	for _, w := range n.queue(name) {
		if !slices.Contains(n.waits, w) || !n.mayHave(w) {
			continue
		}
		if !l.room(w) {
			return
		}
		n.end(w, "")
		n.grant(w)
	}
}

func (m *modelled) cancel() {
	if len(m.waits) == 0 {
		return
	}
	w := rapid.SampledFrom(m.waits).Draw(m.rt, "request")
	w.call.Cancel()
	m.h.Answered(w.call)
	m.end(w, "context canceled")
	m.settle(w.Name)
}

// queued is how many tasks an agent waits for whose room is bounded: where that is one at
// most, it does not matter in which order locks are looked after.
func (m *modelled) queued(agent string) (n int) {
	if _, registered := m.most[agent]; registered {
		n = m.waiting(agent)
	}
	return n
}

func (m *modelled) waiting(agent string) (n int) {
	for _, w := range m.waits {
		if w.Agent == agent && isTask(w.Name) {
			n++
		}
	}
	return n
}

func (m *modelled) register() {
	agent, most := m.agent(), rapid.IntRange(0, 2).Draw(m.rt, "tasks")
	if m.waiting(agent) > 1 {
		return
	}
	require.NoError(m.h.T, m.h.Register(ctx, "t", agent, most, engine.WAL))
	m.most[agent] = most
	m.settle()
}

func (m *modelled) letPass() {
	d := time.Duration(rapid.IntRange(1, 20).Draw(m.rt, "seconds")) * time.Second
	m.h.Clock.Pass(d)
	m.pass(d)
}

// same compares all that there is.
func (m *modelled) same(*rapid.T) {
	state := func() string {
		out := ""
		for _, name := range modelLocks {
			l, err := m.h.Get("t", name)
			require.NoError(m.h.T, err)
			out += fmt.Sprintf("%s %s:", name, l.Mode)
			slices.SortFunc(l.Holders, func(a, b Grant) int { return cmp.Compare(a.Agent, b.Agent) })
			for _, g := range l.Holders {
				out += fmt.Sprintf(" %s until %s", g.Agent, g.Expires.Format(time.TimeOnly))
			}
			for _, w := range m.h.Store.Queue("t", name) {
				out += " <" + w.Agent
			}
			out += "\n"
		}
		return out
	}
	want := ""
	for _, name := range modelLocks {
		l := m.lock(name)
		want += fmt.Sprintf("%s %s:", name, l.mode)
		holders := slices.SortedFunc(slices.Values(l.holders), func(a, b naiveHolder) int { return cmp.Compare(a.agent, b.agent) })
		for _, g := range holders {
			want += fmt.Sprintf(" %s until %s", g.agent, g.expires.Format(time.TimeOnly))
		}
		for _, w := range m.queue(name) {
			want += " <" + w.Agent
		}
		want += "\n"
	}
	got := ""
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(time.Millisecond) {
		if got = state(); got == want {
			break
		}
	}
	require.Equal(m.h.T, want, got)
	for c := range m.calls {
		code, ended := m.done[c]
		if !ended {
			select {
			case <-c.Done:
				require.Fail(m.h.T, "it is to wait", "%+v: %v", m.calls[c], c.Err)
			default:
			}
			continue
		}
		m.h.Answered(c)
		require.Equal(m.h.T, code, codeOf(c.Err), "%+v: %v", m.calls[c], c.Err)
		delete(m.calls, c)
		delete(m.done, c)
	}
}

// Drawn sequences of everything come to what a naive lock manager comes to.
func TestA6A18A19A26LocksAgainstANaiveManager(t *testing.T) {
	enginetest.Check(t, 1000, func(rt *rapid.T) {
		h := locktest.Open(t, locktest.Setup{})
		defer h.End()
		h.T = rt
		h.Set(Config{MaxTTL: time.Minute, Heartbeat: MaxTTL})
		m := &modelled{naive: &naive{now: h.KV.Now(), locks: map[string]*naiveLock{}, most: map[string]int{}, done: map[*locktest.Call]Code{}}, h: h, rt: rt, calls: map[*locktest.Call]Request{}}
		do := func(fn func()) func(*rapid.T) { return func(*rapid.T) { fn() } }
		rt.Repeat(map[string]func(*rapid.T){
			"acquire": do(m.acquire), "acquire too": do(m.acquire), "acquire more": do(m.acquire), "release": do(m.release), "release too": do(m.release), "renew": do(m.renew),
			"downgrade": do(m.downgrade), "release all": do(m.releaseAll), "cancel": do(m.cancel), "register": do(m.register), "pass": do(m.letPass), "": m.same,
		})
		for _, w := range m.waits {
			w.call.Cancel()
			h.Answered(w.call)
		}
	})
}
