package agents

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// lockRegistering are the arguments of Register.
type lockRegistering struct {
	lockAgent
	MaxTasks uint32
}

var lockRegister = op.New(op.Method{Number: 1012, Name: "Lock.Register", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *lock.Store, a *lockRegistering) (op.Nothing, error) {
		return op.Nothing{}, s.Register(ctx, a.Tenant, a.Agent, int(a.MaxTasks), a.Durability)
	})

// Register says how many tasks an agent does at once, and that it is there; see
// [lock.Store.Register].
func (l *Locks) Register(ctx context.Context, agent string, maxTasks int, d engine.Durability) error {
	if maxTasks < 0 || maxTasks > lock.MaxTasks { // more may not fit the message
		maxTasks = lock.MaxTasks + 1
	}
	_, err := caller.Call(ctx, l.c, lockRegister, lockRegistering{l.agent(agent, d), uint32(maxTasks)})
	return err
}

func (l *Locks) agent(agent string, d engine.Durability) lockAgent {
	return lockAgent{op.Of(l.tenant), agent, d}
}

var lockHeartbeat = op.New(op.Method{Number: 1013, Name: "Lock.Heartbeat", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *lock.Store, a *lockAgent) (op.Nothing, error) {
		return op.Nothing{}, s.Heartbeat(ctx, a.Tenant, a.Agent, a.Durability)
	})

// Heartbeat says that an agent is there; see [lock.Store.Heartbeat].
func (l *Locks) Heartbeat(ctx context.Context, agent string, d engine.Durability) error {
	_, err := caller.Call(ctx, l.c, lockHeartbeat, l.agent(agent, d))
	return err
}

// lockDraining are the arguments of Drain.
type lockDraining struct {
	lockAgent
	Resume bool
}

var lockDrain = op.New(op.Method{Number: 1014, Name: "Lock.Drain", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *lock.Store, a *lockDraining) (op.Nothing, error) {
		return op.Nothing{}, s.Drain(ctx, a.Tenant, a.Agent, !a.Resume, a.Durability)
	})

// Drain has an agent take no new locks, or take them again; see [lock.Store.Drain].
func (l *Locks) Drain(ctx context.Context, agent string, drain bool, d engine.Durability) error {
	_, err := caller.Call(ctx, l.c, lockDrain, lockDraining{l.agent(agent, d), !drain})
	return err
}

var lockDeregister = op.New(op.Method{Number: 1015, Name: "Lock.Deregister", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *lock.Store, a *lockAgent) (op.Nothing, error) {
		return op.Nothing{}, s.Deregister(ctx, a.Tenant, a.Agent, a.Durability)
	})

// Deregister forgets an agent and releases its locks, in one batch; see
// [lock.Store.Deregister].
func (l *Locks) Deregister(ctx context.Context, agent string, d engine.Durability) error {
	_, err := caller.Call(ctx, l.c, lockDeregister, l.agent(agent, d))
	return err
}

// lockOf are arguments about an agent that nothing is changed of.
type lockOf struct {
	op.OfTenant
	Agent string
}

var lockGetAgent = op.New(op.Method{Number: 1016, Name: "Lock.GetAgent", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *lock.Store, a *lockOf) (lock.Agent, error) {
		return s.Agent(ctx, a.Tenant, a.Agent)
	})

// Agent returns what is known of an agent; see [lock.Store.Agent].
func (l *Locks) Agent(ctx context.Context, agent string) (lock.Agent, error) {
	return caller.Call(ctx, l.c, lockGetAgent, lockOf{op.Of(l.tenant), agent})
}

// lockAgentListing are the arguments of Agents.
type lockAgentListing struct {
	op.OfTenant
	lock.AgentOptions
}

var lockListAgents = op.New(op.Method{Number: 1017, Name: "Lock.ListAgents", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *lock.Store, a *lockAgentListing) (lock.AgentPage, error) {
		return s.Agents(ctx, a.Tenant, a.AgentOptions)
	})

// Agents returns a page of the agents that are registered; see [lock.Store.Agents]. Who reads
// all takes [Locks.AllAgents].
func (l *Locks) Agents(ctx context.Context, o lock.AgentOptions) (lock.AgentPage, error) {
	return caller.Call(ctx, l.c, lockListAgents, lockAgentListing{op.Of(l.tenant), o})
}

// AllAgents yields the agents that are registered, page by page.
func (l *Locks) AllAgents(ctx context.Context) iter.Seq2[lock.Agent, error] {
	return caller.Pagewise(lockListAgents.Name, 0, "", func(cursor string, limit int) ([]lock.Agent, string, error) {
		p, err := l.Agents(ctx, lock.AgentOptions{Cursor: cursor, Limit: limit})
		return p.Agents, p.Next, err
	})
}
