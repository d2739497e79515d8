package bench

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/stoadb/stoa/engine"
)

// OpenRedis starts two servers of Redis on Unix sockets, if it is installed: one
// without persistence, which it fills, and one that is empty and has each write on
// disk before it answers.
func OpenRedis(o Options, data *Dataset) ([]*Subject, error) {
	plain := &Subject{Name: "redis", Lacks: syncedNames()} // nothing is ever on disk
	s, err := plain.serveRedis(o, data, "--appendonly", "no")
	if s == nil || err != nil {
		return nil, err
	}
	plain.Share = func(n int) ([]Actor, error) { return pipelined(s.socket, n, data) }
	o.Logger.Info("filling redis", "rows", data.Rows)
	a, err := plain.Actor()
	if err == nil {
		err = errors.Join(a.(*redisActor).load(), a.Release())
	}
	if err != nil {
		return []*Subject{plain}, err
	}
	always := &Subject{Name: "redis-always", Lacks: slices.DeleteFunc(RowWorkloadNames(), func(name string) bool {
		return slices.Contains(syncedNames(), name)
	})}
	if _, err := always.serveRedis(o, data, "--appendonly", "yes", "--appendfsync", "always"); err != nil {
		return []*Subject{plain}, err
	}
	return []*Subject{plain, always}, nil
}

// serveRedis starts a server for s, or returns nil. Its actors have a connection each.
func (s *Subject) serveRedis(o Options, data *Dataset, args ...string) (*RedisServer, error) {
	server, err := StartRedis(o, args...)
	if server == nil || err != nil {
		return nil, err
	}
	s.Elsewhere, s.Server, s.Close = server.CPU, server.process.pid(), server.Stop
	s.Actor = func() (Actor, error) { return &redisActor{db: server.Dial(), data: data}, nil }
	return server, nil
}

// sorted is the sorted set that stands for the order of keys: each member is a
// key and its value.
const sorted = "stoa:sorted"

// page is how many entries a scan asks for at once.
const page = 512

// redisActor works on Redis through its usual Go client.
type redisActor struct {
	db    *redis.Client
	data  *Dataset
	value [ValueBytes]byte
	names []string
}

var ctx = context.Background()

func (a *redisActor) load() error {
	for first := 0; first < a.data.Rows; first += batchLarge {
		p := a.db.Pipeline()
		for i := first; i < min(first+batchLarge, a.data.Rows); i++ {
			key, value := a.row(i)
			p.Set(ctx, key, value, 0)
			p.ZAdd(ctx, sorted, redis.Z{Member: key + value})
		}
		if _, err := p.Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (a *redisActor) key(row int) string {
	b, _ := a.data.Key(row).AppendBinary(nil)
	return string(b)
}

func (a *redisActor) row(row int) (key, value string) {
	a.data.Fill(a.value[:], row)
	return a.key(row), string(a.value[:])
}

func (a *redisActor) Get(row int) error {
	v, err := a.db.Get(ctx, a.key(row)).Result()
	return expect(len(v) == ValueBytes, err)
}

func (a *redisActor) Miss(row int) error {
	err := a.db.Get(ctx, a.key(row)).Err()
	if errors.Is(err, redis.Nil) {
		err = engine.ErrNotFound
	}
	return expectMissing(err)
}

func (a *redisActor) MultiGet(rows []int) error {
	a.names = a.names[:0]
	for _, row := range rows {
		a.names = append(a.names, a.key(row))
	}
	values, err := a.db.MGet(ctx, a.names...).Result()
	if err != nil {
		return err
	}
	for _, v := range values {
		if s, ok := v.(string); !ok || len(s) != ValueBytes {
			return errors.New("a value of another size")
		}
	}
	return nil
}

func (a *redisActor) Put(row int) error {
	key, value := a.row(row)
	return a.db.Set(ctx, key, value, 0).Err()
}

// PutSynced is durable in a server that is.
func (a *redisActor) PutSynced(row int) error { return a.Put(row) }

func (a *redisActor) Batch(first, n int) error {
	p := a.db.Pipeline()
	for i := range n {
		key, value := a.row(first + i)
		p.Set(ctx, key, value, 0)
	}
	_, err := p.Exec(ctx)
	return err
}

func (a *redisActor) Scan(row, n int) (int, error) {
	key := a.key(row)
	members, err := a.page("["+key, "("+string(engine.Successor([]byte(key[:ContextBytes]))), n)
	return len(members), err
}

func (a *redisActor) Walk() (n int, err error) {
	for from := "-"; ; {
		members, err := a.page(from, "+", page)
		n += len(members)
		if err != nil || len(members) < page {
			return n, err
		}
		from = "(" + members[len(members)-1]
	}
}

func (a *redisActor) page(from, to string, n int) ([]string, error) {
	return a.db.ZRangeArgs(ctx, redis.ZRangeArgs{Key: sorted, Start: from, Stop: to, ByLex: true, Count: int64(n)}).Result()
}

func (a *redisActor) Release() error { return a.db.Close() }
