package lock

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// Status is whether an agent takes locks.
type Status uint8

const (
	// Active takes them.
	Active Status = 1 + iota
	// Draining takes no new ones, and keeps those that it has.
	Draining
	// Offline was not heard of for three heartbeats: its locks were released. It takes none
	// until its next heartbeat.
	Offline
)

// String is the status as clients spell it.
func (s Status) String() string {
	names := [...]string{"none", "active", "draining", "offline"}
	if int(s) < len(names) {
		return names[s]
	}
	return names[0]
}

// Agent is an agent that is registered. One that is not takes as many locks as it likes.
type Agent struct {
	Name        string
	Status      Status
	MaxTasks    int       // how many locks of tasks it holds at most
	ActiveTasks int       // how many it holds
	QueuedTasks int       // how many it waits for
	Heard       time.Time // its last heartbeat
}

// registered is what is stored of an agent: version u8 ‖ status u8 ‖ max tasks u32 ‖ heard
// u64 ms, under its name.
type registered struct {
	status Status
	most   uint32
	heard  uint64
}

// agentWord is what the key of an agent's record begins with.
const agentWord = "agent"

func keyOfAgent(agent string) []byte { return []byte(agentWord + ":" + agent) }

const agentBytes = 2 + 4 + 8

func (a *registered) bytes() []byte {
	b := binary.LittleEndian.AppendUint32([]byte{version, byte(a.status)}, a.most)
	return binary.LittleEndian.AppendUint64(b, a.heard)
}

func parseAgent(agent string, src []byte) (a registered, err error) {
	if len(src) != agentBytes || src[0] != version {
		return a, damaged(agent, "not an agent's in version 1")
	}
	a = registered{Status(src[1]), binary.LittleEndian.Uint32(src[2:]), binary.LittleEndian.Uint64(src[6:])}
	if a.status < Active || a.status > Offline || a.most > MaxTasks || a.heard == 0 || a.heard > maxMoment {
		return a, damaged(agent, "an agent of no known status, or whose numbers are out of range")
	}
	return a, nil
}

// heart is an agent that is to be heard of.
type heart struct {
	t     *tenant
	agent string
	alarm alarm
}

// heartOf returns that of an agent, which it makes. The caller holds mu.
func (t *tenant) heartOf(agent string) *heart {
	h := t.hearts[agent]
	if h == nil {
		h = &heart{t: t, agent: agent}
		h.alarm.of = h
		t.hearts[agent] = h
	}
	return h
}

// agent returns what is stored of an agent; nil: it is not registered. It is read once in
// a turn.
func (u *turn) agent(agent string) (*registered, error) {
	for _, k := range u.agents {
		if k.agent == agent {
			return k.registered, nil
		}
	}
	if _, may := u.t.agents[agent]; !may && u.t.agents != nil { // most are not: this saves a look for a row that is not there
		return nil, nil
	}
	k := known{agent: agent}
	r, err := u.tx.Get(keyOfAgent(agent))
	if err == nil {
		var a registered
		a, err = parseAgent(agent, r.Value)
		k.registered = &a
	}
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return nil, err
	}
	u.agents = append(u.agents, k)
	return k.registered, nil
}

// known is what a turn has read of an agent; nil: it is not registered.
type known struct {
	agent string
	*registered
}

// putAgent stores what is known of an agent, and has what it waits for settled: it may
// have room now.
func (u *turn) putAgent(agent string, a *registered) error {
	u.t.mayBe(agent)
	if _, err := u.tx.Put(keyOfAgent(agent), a.bytes(), kv.PutOptions{}); err != nil {
		return err
	}
	u.agents = append(slices.DeleteFunc(u.agents, func(k known) bool { return k.agent == agent }), known{agent, a})
	u.hearts = append(u.hearts, beat{agent, u.silent(a)})
	for _, w := range u.t.waits[agent] {
		u.settleLater(w.Name)
	}
	return nil
}

// beat is when an agent is to be looked after.
type beat struct {
	agent string
	at    uint64
}

// silent is when an agent is offline if nothing is heard of it; never: it is.
func (u *turn) silent(a *registered) uint64 {
	if a.status == Offline {
		return never
	}
	return a.heard + 3*millisOf(u.config.Heartbeat)
}

// full reports whether an agent holds the locks of most tasks, or more. Rows of the index
// that lead to what has expired just now count for nothing, but are looked at too: where
// they are too many, the agent is taken to be full until they are gone.
func (u *turn) full(agent string, most int) (bool, error) {
	from, to := append([]byte(agent), 0, ofTask), append([]byte(agent), 0, ofTask+1)
	for _, look := range [...]int{most + 16, kv.MaxTxRead} {
		found, more, err := u.tx.ByTerm(indexAgent, from, to, look)
		if err != nil || len(found) >= most || !more {
			return len(found) >= most, err
		}
	}
	return true, nil
}

// may reports whether an agent takes what a request asks for.
func (u *turn) may(w *waiter) (bool, error) {
	a, err := u.agent(w.Agent)
	if a == nil || err != nil {
		return err == nil, err
	}
	if a.status != Active || !exclusiveOnly(w.Name) {
		return a.status == Active, nil
	}
	full, err := u.full(w.Agent, int(a.most))
	return !full, err
}

// noCapacity is the refusal of who takes no more.
func (u *turn) noCapacity(agent string) error {
	a, err := u.agent(agent)
	if err != nil {
		return err
	}
	if a.status != Active {
		return refuse(CodeCapacity, "agent", "%s is %s and takes no locks", agent, a.status)
	}
	e := refuse(CodeCapacity, "agent", "%s holds the locks of as many tasks as it does at once: release one, or wait", agent)
	e.Limit, e.Have = uint64(a.most), uint64(a.most)
	return e
}

// Register says how many tasks an agent does at once, 0 to MaxTasks, and that it is there:
// it is active, and heard of now. From then on it is to be heard of; see [Store.Heartbeat].
func (s *Store) Register(ctx context.Context, tenant, agent string, maxTasks int, d engine.Durability) error {
	if maxTasks < 0 || maxTasks > MaxTasks {
		return invalid("max_tasks", "an agent does 0 to %d tasks at once", MaxTasks)
	}
	return s.agentTurn(ctx, tenant, agent, d, func(u *turn) error {
		return u.putAgent(agent, &registered{Active, uint32(maxTasks), u.now})
	})
}

// Heartbeat says that an agent is there; renewals of locks don't. One that was offline is
// active again. It returns ErrNotFound for an agent that is not registered.
func (s *Store) Heartbeat(ctx context.Context, tenant, agent string, d engine.Durability) error {
	return s.changeAgent(ctx, tenant, agent, d, func(u *turn, a *registered) error {
		a.heard = max(a.heard, u.now)
		if a.status == Offline {
			a.status = Active
		}
		return nil
	})
}

// Drain has an agent take no new locks, or take them again. It returns ErrNotFound for an
// agent that is not registered.
func (s *Store) Drain(ctx context.Context, tenant, agent string, drain bool, d engine.Durability) error {
	return s.changeAgent(ctx, tenant, agent, d, func(_ *turn, a *registered) error {
		if a.status = Active; drain {
			a.status = Draining
		}
		return nil
	})
}

// Deregister forgets an agent and releases its locks, in one batch. It returns ErrNotFound
// for one that is not registered, and ErrTooMany for one that holds more than MaxAll
// locks, which are to be released before.
func (s *Store) Deregister(ctx context.Context, tenant, agent string, d engine.Durability) error {
	return s.agentTurn(ctx, tenant, agent, d, func(u *turn) error {
		if _, more, err := u.releaseAll(agent); err != nil || more {
			if err == nil {
				err = tooMany("agent", MaxAll, "the agent holds more locks than are released at once: release all of them first")
			}
			return err
		}
		_, err := u.tx.Delete(keyOfAgent(agent))
		if errors.Is(err, kv.ErrNotFound) {
			return notRegistered(agent)
		}
		u.agents = nil
		u.hearts = append(u.hearts, beat{agent, never})
		return err
	})
}

func notRegistered(agent string) error {
	return refuse(CodeNotFound, "agent", "%s is not registered", agent)
}

func (s *Store) agentTurn(ctx context.Context, tenant, agent string, d engine.Durability, fn func(*turn) error) error {
	if err := checkAgent(agent); err != nil {
		return err
	}
	_, err := s.do(ctx, tenant, d, nil, fn)
	return err
}

func (s *Store) changeAgent(ctx context.Context, tenant, agent string, d engine.Durability, fn func(*turn, *registered) error) error {
	return s.agentTurn(ctx, tenant, agent, d, func(u *turn) error {
		a, err := u.agent(agent)
		if err != nil {
			return err
		}
		if a == nil {
			return notRegistered(agent)
		}
		if err := fn(u, a); err != nil {
			return err
		}
		return u.putAgent(agent, a)
	})
}

// listen looks after an agent whose time to be heard of is over.
func (u *turn) listen(agent string) error {
	a, err := u.agent(agent)
	if err != nil {
		return err
	}
	switch {
	case a == nil:
		u.hearts = append(u.hearts, beat{agent, never})
		return nil
	case u.silent(a) > u.now:
		u.hearts = append(u.hearts, beat{agent, u.silent(a)})
		return nil
	}
	a.status = Offline
	if err := u.putAgent(agent, a); err != nil {
		return err
	}
	_, _, err = u.releaseAll(agent)
	return err
}

// Agent returns what is known of an agent, or ErrNotFound if it is not registered.
func (s *Store) Agent(ctx context.Context, tenant, agent string) (Agent, error) {
	if err := checkAgent(agent); err != nil {
		return Agent{}, err
	}
	space, err := s.space(tenant)
	if err != nil {
		return Agent{}, err
	}
	if space == nil {
		return Agent{}, notRegistered(agent)
	}
	view, err := space.View()
	if err != nil {
		return Agent{}, told(err)
	}
	defer func() { _ = view.Close() }()
	found, err := agentIn(ctx, view, agent)
	if err != nil {
		return Agent{}, err
	}
	return s.withQueued(tenant, found), nil
}

// agentIn is what a view has of an agent, without what it waits for.
func agentIn(ctx context.Context, view *kv.View, agent string) (Agent, error) {
	r, err := view.Get(keyOfAgent(agent))
	if errors.Is(err, kv.ErrNotFound) {
		return Agent{}, notRegistered(agent)
	}
	if err != nil {
		return Agent{}, told(err)
	}
	a, err := parseAgent(agent, r.Value)
	if err != nil {
		return Agent{}, err
	}
	held, err := heldIn(ctx, view, agent)
	if err != nil {
		return Agent{}, err
	}
	out := Agent{Name: agent, Status: a.status, MaxTasks: int(a.most), Heard: moment(a.heard)}
	for _, g := range held {
		if exclusiveOnly(g.Name) {
			out.ActiveTasks++
		}
	}
	return out, nil
}
