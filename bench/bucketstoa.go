//go:build cgo

package bench

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/rpc"
)

// stoaBuckets is the Bucket service of a daemon, each client with a connection and all with one
// bucket.
func stoaBuckets(d *daemon) *BucketPeer {
	return &BucketPeer{
		Name: "bucket", Elsewhere: d.process.cpu, Close: func() error { return nil },
		Client: func() (BucketClient, error) {
			c, err := rpc.Dial(context.Background(), d.socket)
			if err != nil {
				return nil, err
			}
			b, err := stoaBucket(c, "bench", 1)
			if err != nil {
				return nil, errors.Join(err, c.Close())
			}
			return &stoaBucketClient{c, b}, nil
		},
	}
}

// stoaBucket makes a bucket if there is none.
func stoaBucket(c *rpc.Client, name string, history int) (*rpc.Bucket, error) {
	all := c.Buckets("bench")
	if _, err := all.Create(context.Background(), rpc.BucketConfig{Name: name, History: history}); err != nil && !errors.Is(err, bucket.ErrExists) {
		return nil, err
	}
	return all.Bucket(name), nil
}

type stoaBucketClient struct {
	conn   *rpc.Client
	bucket *rpc.Bucket
}

func (c *stoaBucketClient) Other(name string) (BucketClient, error) {
	b, err := stoaBucket(c.conn, name, 1)
	return &stoaBucketClient{c.conn, b}, err
}

func (c *stoaBucketClient) Fill(n int, key func(int) string, value func(int) []byte) error {
	const callers = 64
	errs := make([]error, callers)
	var group sync.WaitGroup
	for first := range callers {
		group.Go(func() {
			for row := first; row < n && errs[first] == nil; row += callers {
				_, errs[first] = c.bucket.Put(context.Background(), key(row), value(row), rpc.BucketPutOptions{Durability: rpc.WAL})
			}
		})
	}
	group.Wait()
	return errors.Join(errors.Join(errs...), c.conn.Flush(context.Background()))
}

func (c *stoaBucketClient) Put(key string, value []byte) error {
	_, err := c.bucket.Put(context.Background(), key, value, rpc.BucketPutOptions{})
	return err
}

func (c *stoaBucketClient) Get(key string) (size int, found bool, err error) {
	e, err := c.bucket.Get(context.Background(), key)
	if errors.Is(err, bucket.ErrNotFound) {
		return 0, false, nil
	}
	return len(e.Value), err == nil, err
}

func (c *stoaBucketClient) Keys(now func() error) (n int, err error) {
	for _, err := range c.bucket.Keys(context.Background()) {
		if err != nil {
			return n, err
		}
		if n++; n%lookEvery == 0 {
			if err := now(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

func (c *stoaBucketClient) Watch(ctx context.Context, told func(value []byte)) error {
	begun := make(chan error, 1)
	go func() {
		for e, err := range c.bucket.Watch(ctx, rpc.BucketWatchOptions{UpdatesOnly: true}) {
			switch {
			case err != nil:
				select {
				case begun <- err:
				default: // nobody waits any more
				}
				return
			case e.Kind == bucket.EventInitDone:
				select {
				case begun <- nil:
				default:
				}
			case e.Kind == bucket.EventEntry:
				told(e.Entry.Value)
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

func (c *stoaBucketClient) Release() error { return c.conn.Close() }
