//go:build cgo

package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc"
)

// stoaLocks is the Lock service of a daemon, each client with a connection of its own.
func stoaLocks(d *daemon) *LockPeer {
	agents := 0
	return &LockPeer{
		Name: "lock", Elsewhere: d.process.cpu, Close: func() error { return nil },
		Client: func() (LockClient, error) {
			c, err := rpc.Dial(context.Background(), d.socket)
			if err != nil {
				return nil, err
			}
			agents++
			return &lockAgent{conn: c, locks: c.Locks(lockTenant), name: fmt.Sprintf("agent-%d", agents)}, nil
		},
	}
}

const lockTenant = "locks"

// lockAgent is an agent with a connection.
type lockAgent struct {
	conn  *rpc.Client
	locks *rpc.Locks
	name  string
	has   lock.Grant
}

// request is one for a lock of a task. Its time to live is less than the time within which
// a client is to be heard of that has waited, so that nothing follows its grant.
func (a *lockAgent) request(name string, wait bool) lock.Request {
	return lock.Request{Name: lock.Task(name), Agent: a.name, Wait: wait, TTL: 4 * time.Second, Durability: engine.WAL}
}

func (a *lockAgent) Lock(name string, contended bool) (err error) {
	a.has, err = a.locks.Acquire(context.Background(), a.request(name, contended))
	return err
}

func (a *lockAgent) Unlock() error {
	held, err := a.locks.Release(context.Background(), lock.Holding{Name: a.has.Name, Agent: a.name, Token: a.has.Token}, engine.WAL)
	if err == nil && !held {
		err = errors.New("a lock that its holder has lost")
	}
	return err
}

func (a *lockAgent) Release() error { return a.conn.Close() }
