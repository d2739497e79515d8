package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoadb/stoa/bench"
)

// natsLazy is the variable that has the server not sync what it stores, but every two minutes.
const natsLazy = "STOA_BENCH_NATS_LAZY"

// openNATSBuckets runs a NATS server in a process of its own, behind a Unix socket.
func openNATSBuckets(o bench.Options, synced bool) ([]*bench.BucketPeer, error) {
	name, lazy := "buckets", ""
	if !synced {
		name, lazy = "buckets-lazy", "1"
	}
	socket := unixDialer(filepath.Join(o.Dir, name+".sock"))
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &bench.BucketPeer{Name: "nats", Client: func() (bench.BucketClient, error) {
		c, err := dialNATS(nats.SetCustomDialer(socket))
		if err != nil {
			return nil, err
		}
		return natsBucket{c}, nil
	}}
	p.Elsewhere, p.Close, err = bench.StartServer(func(context.Context) error {
		c, err := p.Client()
		if err != nil {
			return err
		}
		return c.Release()
	}, "env", natsServes+"="+string(socket), natsLazy+"="+lazy, program)
	if err != nil {
		return nil, fmt.Errorf("starting nats for buckets: %w", err)
	}
	return []*bench.BucketPeer{p}, nil
}

// natsBucket is a bucket as one has it of nats.go.
type natsBucket struct{ *natsKV }

func (c natsBucket) Other(name string) (bench.BucketClient, error) {
	ctx, cancel := context.WithTimeout(context.Background(), natsCall)
	defer cancel()
	js, err := jetstream.New(c.conn)
	if err != nil {
		return nil, err
	}
	kv, err := js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: name, Storage: jetstream.FileStorage})
	return natsBucket{&natsKV{c.conn, kv}}, err
}

// Fill publishes to the subjects of the keys, as Put does, without waiting for each.
func (c natsBucket) Fill(n int, key func(int) string, value func(int) []byte) error {
	js, err := jetstream.New(c.conn, jetstream.WithPublishAsyncMaxPending(4096))
	if err != nil {
		return err
	}
	var last jetstream.PubAckFuture
	for row := range n {
		if last, err = js.PublishAsync("$KV."+c.kv.Bucket()+"."+key(row), value(row), jetstream.WithStallWait(natsCall)); err != nil {
			return err
		}
	}
	<-js.PublishAsyncComplete()
	select {
	case <-last.Ok():
		return nil
	case err := <-last.Err():
		return err
	}
}

func (c natsBucket) Keys(now func() error) (n int, err error) {
	list, err := c.kv.ListKeys(context.Background())
	if err != nil {
		return 0, err
	}
	for range list.Keys() {
		if n++; n%4096 == 0 {
			if err := now(); err != nil {
				return n, errors.Join(err, list.Stop())
			}
		}
	}
	return n, nil
}

func (c natsBucket) Watch(ctx context.Context, told func(value []byte)) error {
	w, err := c.kv.WatchAll(ctx, jetstream.UpdatesOnly())
	if err != nil {
		return err
	}
	go func() {
		for e := range w.Updates() {
			if e != nil && e.Operation() == jetstream.KeyValuePut {
				told(e.Value())
			}
		}
	}()
	return nil
}
