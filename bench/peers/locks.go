package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
	"go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/stoadb/stoa/bench"
)

// openLocks runs etcd in this process, twice, and redis-server, if that is installed.
func openLocks(o bench.Options) (peers []*bench.LockPeer, err error) {
	for _, open := range []func(bench.Options) (*bench.LockPeer, error){
		func(o bench.Options) (*bench.LockPeer, error) { return openMutexes(o, "etcd", false) },
		func(o bench.Options) (*bench.LockPeer, error) { return openMutexes(o, "etcd-unsynced", true) },
		openRedislock,
	} {
		p, err := open(o)
		if p != nil {
			peers = append(peers, p)
		}
		if err != nil {
			return peers, err
		}
	}
	return peers, nil
}

// openMutexes is etcd's concurrency.Mutex. An unsafe server doesn't sync what it writes.
func openMutexes(o bench.Options, name string, unsafe bool) (*bench.LockPeer, error) {
	server, socket, err := startEtcd(o, name+"-locks", unsafe)
	if err != nil {
		return nil, err
	}
	return &bench.LockPeer{
		Name:   name,
		Close:  func() error { server.Close(); return nil },
		Client: func() (bench.LockClient, error) { return dialMutexes(socket) },
	}, nil
}

// mutexes are the locks of a session, whose lease ends them.
type mutexes struct {
	db      *clientv3.Client
	session *concurrency.Session
	has     *concurrency.Mutex
}

func dialMutexes(socket string) (*mutexes, error) {
	db, err := connectEtcd(socket)
	if err != nil {
		return nil, err
	}
	session, err := concurrency.NewSession(db)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("beginning a session of etcd: %w", err), db.Close())
	}
	return &mutexes{db: db, session: session}, nil
}

func (m *mutexes) Lock(name string, _ bool) error {
	m.has = concurrency.NewMutex(m.session, "/locks/"+name)
	return m.has.Lock(ctx)
}

func (m *mutexes) Unlock() error { return m.has.Unlock(ctx) }

func (m *mutexes) Release() error { return errors.Join(m.session.Close(), m.db.Close()) }

// openRedislock is redislock on a redis-server whose writes are with the kernel when they are
// answered, as those of a daemon are that it doesn't sync: a killed process loses none of
// them, a power cut some.
func openRedislock(o bench.Options) (*bench.LockPeer, error) {
	s, err := bench.StartRedis(o, "--appendonly", "yes", "--appendfsync", "no")
	if s == nil || err != nil {
		return nil, err
	}
	return &bench.LockPeer{Name: "redis", Elsewhere: s.CPU, Close: s.Stop, Client: func() (bench.LockClient, error) {
		db := s.Dial()
		return &redisLocks{db: db, locks: redislock.New(db)}, nil
	}}, nil
}

// redisLocks are the locks of an agent with a connection.
type redisLocks struct {
	db    *redis.Client
	locks *redislock.Client
	has   *redislock.Lock
}

// What a lock of redislock is asked for with.
const (
	redisTTL  = 30 * time.Second
	redisLook = time.Millisecond // how often who waits asks again: it has no queue
)

func (l *redisLocks) Lock(name string, contended bool) (err error) {
	var o *redislock.Options
	if contended {
		o = &redislock.Options{RetryStrategy: redislock.LinearBackoff(redisLook)}
	}
	l.has, err = l.locks.Obtain(ctx, "locks:"+name, redisTTL, o)
	return err
}

func (l *redisLocks) Unlock() error { return l.has.Release(ctx) }

func (l *redisLocks) Release() error { return l.db.Close() }
