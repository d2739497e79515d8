//go:build cgo

package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/stoadb/stoa/rpc"
)

// openServed starts a daemon on a copy of the store.
func openServed(o Options, data *Dataset) ([]*Subject, error) {
	if o.Stoa == "" {
		o.Logger.Warn("no path of a stoa binary: the daemon is not measured")
		return nil, nil
	}
	d, err := serve(o, o.path("served"), cacheBytes)
	if err != nil {
		return nil, err
	}
	return []*Subject{{
		Name: "rpc", Elsewhere: d.process.cpu, Close: d.process.stop,
		Settle: func() error { return d.with((*rpc.Client).Flush) },
		Actor: func() (Actor, error) {
			c, err := rpc.Dial(d.socket, rpc.ClientOptions{})
			if err != nil {
				return nil, err
			}
			return &client{raw{db: c, data: data}, c}, nil
		},
	}}, nil
}

// client is an actor with a connection of its own.
type client struct {
	raw
	conn *rpc.Client
}

func (c *client) Release() error { return c.conn.Close() }

// daemon is a `stoa serve`.
type daemon struct {
	process *process
	socket  string
}

func serve(o Options, dir string, cache int64) (*daemon, error) {
	d := &daemon{socket: dir + ".sock"}
	p, err := start(func(ctx context.Context) error {
		c, err := rpc.Dial(d.socket, rpc.ClientOptions{DialTimeout: time.Second})
		if err != nil {
			return err
		}
		return c.Close()
	}, o.Stoa, "serve", "--dir", dir, "--socket", d.socket, "--cache-size", fmt.Sprint(cache))
	d.process = p
	return d, err
}

// with calls fn with a connection of its own.
func (d *daemon) with(fn func(*rpc.Client) error) error {
	c, err := rpc.Dial(d.socket, rpc.ClientOptions{})
	if err != nil {
		return err
	}
	defer c.Close()
	return fn(c)
}
