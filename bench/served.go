//go:build cgo

package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stoadb/stoa/engine"
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
	framed := d.subject("rpc", data, rpc.WithoutSharedRows())
	framed.Close, framed.Dir = d.process.stop, o.path("served")
	shared := d.subject("rpc-rows", data)
	shared.Lacks = unshared()
	return []*Subject{framed, d.subject("rpc-grpc", data, rpc.WithFraming(rpc.FramingGRPC)), shared}, nil
}

// openServedMemory starts a daemon on the engine in memory, and fills it.
func openServedMemory(o Options, data *Dataset) ([]*Subject, error) {
	if o.Stoa == "" {
		return nil, nil // openServed says so
	}
	d, err := serve(o, o.path("served-mem"), cacheBytes, "--engine", "mem")
	if err != nil {
		return nil, err
	}
	s := d.subject("rpc-mem", data, rpc.WithoutSharedRows())
	s.Close = d.process.stop
	s.Lacks = syncedNames() // nothing is ever on disk
	o.Logger.Info("filling rpc-mem", "rows", data.Rows)
	return []*Subject{s}, d.with(func(c *rpc.Client) error { return data.load(c.Store(context.Background())) })
}

// unshared are the names of the workloads that have nothing to do with shared memory.
func unshared() (names []string) {
	for _, name := range RowWorkloadNames() {
		if first, _, _ := strings.Cut(name, "-"); name == "scan-100" || first == "batch" || strings.HasPrefix(name, "put-synced") {
			names = append(names, name)
		}
	}
	return names
}

// subject is the daemon by way of clients with some options.
func (d *daemon) subject(name string, data *Dataset, with ...rpc.Option) *Subject {
	share := func(n int) ([]Actor, error) {
		c, err := rpc.Dial(context.Background(), d.socket, with...)
		if err != nil {
			return nil, err
		}
		actors := make([]Actor, n)
		for i := range actors {
			actors[i] = &client{raw{db: c.Store(context.Background()), data: data}, c}
		}
		return actors, nil
	}
	return &Subject{
		Name: name, Elsewhere: d.process.cpu, Server: d.process.pid(), Share: share,
		Settle: func() error { return d.with(flush) },
		Close:  func() error { return nil },
		Actor: func() (Actor, error) {
			one, err := share(1)
			if err != nil {
				return nil, err
			}
			return one[0], nil
		},
	}
}

// client is an actor over a connection, which others may share: who releases it
// first closes it.
type client struct {
	raw
	conn *rpc.Client
}

func (c *client) Release() error {
	if err := c.conn.Close(); !errors.Is(err, engine.ErrClosed) {
		return err
	}
	return nil
}

// daemon is a `stoa serve`.
type daemon struct {
	process *process
	socket  string
}

func serve(o Options, dir string, cache int64, more ...string) (*daemon, error) {
	d := &daemon{socket: dir + ".sock"}
	p, err := start(func(ctx context.Context) error {
		c, err := rpc.Dial(ctx, d.socket, rpc.WithDialTimeout(time.Second))
		if err != nil {
			return err
		}
		return c.Close()
	}, o.Stoa, append([]string{"serve", "--raw", "--dir", dir, "--socket", d.socket,
		"--cache-size", fmt.Sprint(cache), "--row-cache-size", fmt.Sprint(cache / 4), "--shared-rows", fmt.Sprint(cache / 4)}, more...)...)
	d.process = p
	return d, err
}

// flush has the daemon write what its memory holds into tables.
func flush(c *rpc.Client) error { return c.Flush(context.Background()) }

// with calls fn with a connection of its own. Of an internal error it says what the daemon's log has.
func (d *daemon) with(fn func(*rpc.Client) error) error {
	c, err := rpc.Dial(context.Background(), d.socket)
	if err != nil {
		return err
	}
	defer c.Close()
	err = fn(c)
	var failed *rpc.Error
	if errors.As(err, &failed) && failed.Fields["incident"] != "" {
		err = fmt.Errorf("%w: %s", err, d.process.out.of(failed.Fields["incident"]))
	}
	return err
}
