//go:build cgo

package bench

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/stoadb/stoa/rpc"
)

// stoaPeer is the Kv service of a daemon, each client with a connection and all
// with one tenant.
func stoaPeer(d *daemon) *KVPeer {
	return &KVPeer{
		Name: "kv", Elsewhere: d.process.cpu, Close: func() error { return nil },
		Client: func() (KVClient, error) {
			c, err := rpc.Dial(context.Background(), d.socket)
			if err != nil {
				return nil, err
			}
			return &stoaKV{c, c.KV("peer")}, nil
		},
	}
}

type stoaKV struct {
	conn *rpc.Client
	kv   *rpc.KV
}

func (c *stoaKV) Put(key string, value []byte) error {
	_, err := c.kv.PutJSON(context.Background(), key, json.RawMessage(value))
	return err
}

func (c *stoaKV) PutFor(key string, value []byte, ttl time.Duration) error {
	_, err := c.kv.PutJSON(context.Background(), key, json.RawMessage(value), rpc.TTL(ttl))
	return err
}

func (c *stoaKV) Get(key string) (size int, found bool, err error) {
	i, err := c.kv.Get(context.Background(), key)
	if errors.Is(err, rpc.ErrNotFound) {
		return 0, false, nil
	}
	return len(i.Value), i.Found, err
}

func (c *stoaKV) Watch(ctx context.Context, expired func(key string)) error {
	begun := make(chan error, 1)
	go func() {
		for e, err := range c.kv.Watch(ctx, rpc.Once()) {
			switch {
			case err != nil:
				select {
				case begun <- err:
				default: // nobody waits any more
				}
				return
			case e.Kind == rpc.EventSynced:
				begun <- nil
			case e.Kind == rpc.EventExpire:
				expired(e.Item.Key)
			}
		}
	}()
	select {
	case err := <-begun:
		return err
	case <-time.After(startTimeout):
		return errors.New("bench: a watch that does not begin")
	}
}

func (c *stoaKV) Release() error { return c.conn.Close() }
