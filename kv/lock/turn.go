package lock

import (
	"errors"
	"slices"

	"github.com/stoadb/stoa/kv"
)

// turn is one change of a tenant's locks, as the committer runs it: one after the other,
// with the tenant's mu held. It may run more than once; what it does to memory, but for
// putting its own request into a queue, waits until it has been written (end).
type turn struct {
	s      *Store
	t      *tenant
	own    *waiter
	config Config

	tx      *kv.Tx
	now     uint64 // ms
	locks   []*looked
	granted []granted
	refused []refused
	scratch []byte
	result  Grant    // of own, if it does not wait
	again   []string // locks to be settled at the end
	hearts  []beat   // when agents are to be looked after
	agents  []known
}

// looked is a lock that a turn has looked at.
type looked struct {
	name string
	state
	emptied EventKind // nobody holds it any more, by this event, which is not written yet; 0: no
	leaver  string    // whom that event is about
	starved bool      // somebody waits that would have it, but for its capacity
}

type granted struct {
	w *waiter
	Grant
}

type refused struct {
	w   *waiter
	err error
}

// reset begins the turn, anew if it has run before.
func (u *turn) reset(tx *kv.Tx) {
	u.tx, u.now = tx, millis(tx.Now())
	u.locks, u.granted, u.refused, u.again, u.hearts, u.agents, u.result = nil, u.granted[:0], u.refused[:0], nil, nil, u.agents[:0], Grant{}
	u.withdraw()
}

// withdraw takes the turn's own request back out of memory.
func (u *turn) withdraw() {
	if w := u.own; w != nil {
		u.t.dequeue(w)
		if w.joined != nil {
			w.joined.callers--
			w.joined = nil
		}
	}
}

// load returns a lock without those whose time is over, of which the log says so.
func (u *turn) load(name string) (*looked, error) {
	for _, l := range u.locks {
		if l.name == name {
			return l, nil
		}
	}
	l := &looked{name: name}
	u.locks = append(u.locks, l)
	key := []byte(name)
	r, err := u.tx.Get(key)
	if errors.Is(err, kv.ErrNotFound) {
		// If it has expired and nobody has said so yet, this does.
		_, err = u.tx.Delete(key)
		if errors.Is(err, kv.ErrNotFound) {
			err = nil
		}
		return l, err
	}
	if err != nil {
		return nil, err
	}
	if l.state, err = parseState(name, r.Value); err != nil {
		return nil, err
	}
	for _, h := range slices.Clone(l.holders) {
		if h.expires <= u.now {
			if err := u.drop(l, h.agent, EventExpired); err != nil {
				return nil, err
			}
		}
	}
	return l, nil
}

// put writes what a lock is now, and what has happened to it.
func (u *turn) put(l *looked, e EventKind, agent string) error {
	l.event, l.agent, l.emptied = e, agent, 0
	var o kv.PutOptions
	if last := l.last(); last > 0 {
		o.Expires = moment(last)
	}
	u.scratch = l.append(u.scratch[:0])
	_, err := u.tx.Put([]byte(l.name), u.scratch, o)
	return err
}

// drop takes a holder out.
func (u *turn) drop(l *looked, agent string, e EventKind) error {
	l.remove(agent)
	if len(l.holders) > 0 {
		return u.put(l, e, agent)
	}
	l.emptied, l.leaver = e, agent
	return nil
}

// settle gives a lock to those that it is due to: own among them if it is not nil, as if
// it stood in the queue.
func (u *turn) settle(l *looked, own *waiter) error {
	for _, w := range u.t.line(l.name, own) {
		if l.mode == Exclusive { // nobody else fits
			return nil
		}
		if u.decided(w) || l.satisfies(w) || w.over(u.now) {
			continue
		}
		may, err := u.may(w)
		if err != nil {
			return err
		}
		fits := l.admits(w)
		switch {
		case !may: // others pass it
			l.starved = l.starved || fits
			continue
		case !fits:
			return nil
		}
		if err := u.grant(l, w); err != nil {
			return err
		}
	}
	return nil
}

// satisfies reports whether the agent has what it waits for: a turn has given it, whose
// end is still to come.
func (l *looked) satisfies(w *waiter) bool {
	h := l.holder(w.Agent)
	return h != nil && (w.Mode == Shared || l.mode == Exclusive)
}

// admits reports whether those who hold a lock leave room for a request.
func (l *looked) admits(w *waiter) bool {
	switch {
	case len(l.holders) == 0:
		return true
	case l.holder(w.Agent) != nil: // unless its time is over by now, who upgrades shares it
		return len(l.holders) == 1
	}
	return w.Mode == Shared && l.mode == Shared && len(l.holders) < MaxHolders
}

// decided reports whether the turn has given w what it waits for, or refused it.
func (u *turn) decided(w *waiter) bool {
	return w.ended || slices.ContainsFunc(u.granted, func(g granted) bool { return g.w == w }) ||
		slices.ContainsFunc(u.refused, func(r refused) bool { return r.w == w })
}

// grant gives a lock to who waits for it, or does not have to.
func (u *turn) grant(l *looked, w *waiter) error {
	if l.emptied != 0 {
		if err := u.put(l, l.emptied, l.leaver); err != nil {
			return err
		}
	}
	event := EventAcquired
	ttl := millisOf(w.TTL)
	if w.queued {
		event = EventPromoted
		if w.Claim > 0 {
			ttl = min(ttl, millisOf(w.Claim))
		}
	}
	h := holder{acquired: u.now, expires: u.now + ttl, until: u.now + max(millisOf(u.config.MaxTTL), ttl),
		ttl: uint32(millisOf(w.TTL)), agent: w.Agent, purpose: w.Purpose, token: u.tx.Revision() + 1}
	if had := l.holder(w.Agent); had != nil { // who upgrades holds it no longer for that
		h.acquired, h.until, h.heartbeats = had.acquired, had.until, had.heartbeats
		h.expires = max(min(h.expires, h.until), had.expires)
		l.remove(w.Agent)
	}
	l.mode = w.Mode
	l.holders = append(l.holders, h)
	if err := u.put(l, event, w.Agent); err != nil {
		return err
	}
	u.granted = append(u.granted, granted{w, l.grant(l.name, &l.holders[len(l.holders)-1])})
	if u.config.IgnoreDeadlocks || len(u.t.line(l.name, nil)) == 0 {
		return nil
	}
	return u.breakCycles(w.Agent) // those who wait for the lock wait for it from now on
}

// finish writes what the turn has left to write.
func (u *turn) finish() error {
	for i := 0; i < len(u.again); i++ {
		l, err := u.load(u.again[i])
		if err == nil {
			err = u.settle(l, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// vacate removes the record of a lock that nobody holds any more.
func (u *turn) vacate(l *looked) error {
	if l.emptied == 0 {
		return nil
	}
	l.emptied = 0
	_, err := u.tx.Delete([]byte(l.name))
	return err
}

// settleLater has a lock settled at the end of the turn.
func (u *turn) settleLater(name string) {
	if !slices.Contains(u.again, name) {
		u.again = append(u.again, name)
	}
}

// end does to memory what the turn has done, if it was written, and wakes those that it is
// about. It returns what was given to those who are gone.
func (u *turn) end(err error) (orphans []Grant) {
	u.t.mu.Lock()
	defer u.t.mu.Unlock()
	if err != nil {
		if u.own != nil && !u.own.ended {
			u.withdraw()
		}
		return nil
	}
	for _, g := range u.granted {
		switch {
		case g.w == u.own && !g.w.queued && !g.w.ended:
			u.result, g.w.grant = g.Grant, g.Grant
		case g.w.ended:
			if g.w.err != nil || g.w.grant.Token != g.Token {
				orphans = append(orphans, g.Grant)
			}
		default:
			u.finished(g.w, g.Grant, nil)
		}
	}
	for _, r := range u.refused {
		if !r.w.ended {
			u.finished(r.w, Grant{}, r.err)
		}
	}
	for _, l := range u.locks {
		u.attend(l)
	}
	for _, b := range u.hearts {
		h := u.t.heartOf(b.agent)
		if u.s.alarms.sooner(&h.alarm, b.at); b.at == never {
			u.s.alarms.stop(&h.alarm)
			delete(u.t.hearts, b.agent)
		}
	}
	if w := u.own; w != nil && w.queued {
		u.s.alarms.sooner(&w.until, w.last())
		if !u.s.o.NoSweep {
			u.s.alarms.sooner(&u.t.sweep, u.now+millisOf(sweepEvery))
		}
	}
	return orphans
}

// finished ends a request that waits.
func (u *turn) finished(w *waiter, g Grant, err error) {
	u.t.dequeue(w)
	u.s.alarms.stop(&w.until)
	w.end(g, err)
}

// attend sets the alarm of a lock that the turn has looked at, and tells those who wait
// for it their places.
func (u *turn) attend(l *looked) {
	q := u.t.queues[l.name]
	if len(l.holders) > 1 && q == nil {
		q = u.t.attended(l.name)
	}
	if q == nil {
		return
	}
	if len(l.holders) > 1 || len(q.waiters) > 0 {
		u.s.alarms.sooner(&q.alarm, l.first())
		if l.starved { // its agent may get room by what nobody tells
			u.s.alarms.sooner(&q.alarm, u.now+starvedLook)
		}
	}
	if len(q.waiters) == 0 && !u.s.alarms.isSet(&q.alarm) {
		delete(u.t.queues, l.name)
		return
	}
	q.tellPlaces()
}

// starvedLook is how often a lock is looked at, in ms, that somebody waits for who has no
// room for it.
const starvedLook = 500
