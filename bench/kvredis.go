package bench

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// openRedisKV starts a redis-server that syncs its append-only file before it
// answers, on a Unix socket, if one is installed.
func openRedisKV(o Options) ([]*KVPeer, error) {
	s, err := StartRedis(o, "--appendonly", "yes", "--appendfsync", "always", "--notify-keyspace-events", "Ex")
	if s == nil || err != nil {
		return nil, err
	}
	return []*KVPeer{{Name: "redis", Elsewhere: s.CPU, Close: s.Stop, Client: func() (KVClient, error) { return &redisKV{s.Dial()}, nil }}}, nil
}

// redisKV is a connection of the usual client of Redis.
type redisKV struct{ db *redis.Client }

func (c *redisKV) Put(key string, value []byte) error { return c.db.Set(ctx, key, value, 0).Err() }

func (c *redisKV) PutFor(key string, value []byte, ttl time.Duration) error {
	return c.db.Set(ctx, key, value, ttl).Err()
}

func (c *redisKV) Get(key string) (size int, found bool, err error) {
	v, err := c.db.Get(ctx, key).Result()
	if errors.Is(err, redis.Nil) {
		return 0, false, nil
	}
	return len(v), err == nil, err
}

func (c *redisKV) Watch(ctx context.Context, expired func(key string)) error {
	s := c.db.PSubscribe(ctx, "__keyevent@0__:expired")
	if _, err := s.Receive(ctx); err != nil {
		return errors.Join(err, s.Close())
	}
	go func() {
		defer s.Close()
		for {
			select {
			case <-ctx.Done():
				return
			case m, ok := <-s.Channel():
				if !ok {
					return
				}
				expired(m.Payload)
			}
		}
	}()
	return nil
}

func (c *redisKV) Release() error { return c.db.Close() }
