package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/stoadb/stoa/bench"
)

// The programs here do what Example of package rpc does with Stoa: a lease, a setting that
// is raised by one, and a watch. They are there to read the three side by side.

func Example_etcd() {
	socket, stop := etcdServer()
	defer stop()
	ctx := context.Background()

	c, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + socket}, DialTimeout: 5 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	// A lease that goes after ten seconds, unless somebody has it.
	grant, err := c.Grant(ctx, 10)
	if err != nil {
		log.Fatal(err)
	}
	lease, err := c.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision("acme/leader"), "=", 0)).
		Then(clientv3.OpPut("acme/leader", "worker 1", clientv3.WithLease(grant.ID))).Commit()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("leader:", lease.Succeeded)

	// A setting is raised by one, whoever else changes it.
	limit := func() (n int, revision int64) {
		r, err := c.Get(ctx, "acme/config/limit")
		if err == nil && len(r.Kvs) == 0 {
			return 10, 0
		}
		if err == nil {
			n, err = strconv.Atoi(string(r.Kvs[0].Value))
		}
		if err != nil {
			log.Fatal(err)
		}
		return n, r.Kvs[0].ModRevision
	}

	for done := false; !done; {
		n, revision := limit()
		r, err := c.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision("acme/config/limit"), "=", revision)).
			Then(clientv3.OpPut("acme/config/limit", strconv.Itoa(n+1))).Commit()
		if err != nil {
			log.Fatal(err)
		}
		done = r.Succeeded
	}

	// What there is, and then every change: a read, and a watch from its revision on.
	r, err := c.Get(ctx, "acme/config/", clientv3.WithPrefix())
	if err != nil {
		log.Fatal(err)
	}
	for _, kv := range r.Kvs {
		fmt.Println("put", string(kv.Key), string(kv.Value))
	}

	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	for w := range c.Watch(ctx, "acme/config/", clientv3.WithPrefix(), clientv3.WithRev(r.Header.Revision+1), clientv3.WithCreatedNotify()) {
		if err := w.Err(); err != nil {
			log.Fatal(err) // also where what follows the revision was compacted: read again
		}
		for _, e := range w.Events {
			fmt.Println(e.Type, string(e.Kv.Key), string(e.Kv.Value))
		}
		if w.Created {
			fmt.Println("synced")
			break
		}
	}
	// Output:
	// leader: true
	// put acme/config/limit 11
	// synced
}

func Example_nats() {
	way, stop := natsServer()
	defer stop()
	ctx := context.Background()

	conn, err := nats.Connect("nats://127.0.0.1", way)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		log.Fatal(err)
	}
	kv, err := js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "acme", LimitMarkerTTL: time.Hour})
	if err != nil {
		log.Fatal(err)
	}

	// A lease that goes after ten seconds, unless somebody has it.
	_, err = kv.Create(ctx, "leader", []byte("worker 1"), jetstream.KeyTTL(10*time.Second))
	if err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
		log.Fatal(err)
	}
	fmt.Println("leader:", err == nil)

	// A setting is raised by one, whoever else changes it.
	limit := func() (n int, revision uint64) {
		e, err := kv.Get(ctx, "config.limit")
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return 10, 0
		}
		if err == nil {
			err = json.Unmarshal(e.Value(), &n)
		}
		if err != nil {
			log.Fatal(err)
		}
		return n, e.Revision()
	}
	for done := false; !done; {
		n, revision := limit()
		_, err := kv.Update(ctx, "config.limit", []byte(strconv.Itoa(n+1)), revision)
		var wrong *jetstream.APIError
		if err != nil && !(errors.As(err, &wrong) && wrong.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence) {
			log.Fatal(err)
		}
		done = err == nil
	}

	// What there is, and then every change.
	w, err := kv.Watch(ctx, "config.>")
	if err != nil {
		log.Fatal(err)
	}
	defer w.Stop()
	for e := range w.Updates() {
		if e == nil { // a nil says that what there was has been told
			fmt.Println("synced")
			break
		}
		fmt.Println(e.Operation(), e.Key(), string(e.Value()))
	}
	// Output:
	// leader: true
	// KeyValuePutOp config.limit 11
	// synced
}

// etcdServer starts etcd behind a Unix socket.
func etcdServer() (socket string, stop func()) {
	dir := peerDir()
	subjects, err := openEtcd(bench.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)}, new(bench.Dataset))
	if err != nil {
		log.Fatal(err)
	}
	return filepath.Join(dir, "etcd.sock"), func() { subjects[0].Close(); os.RemoveAll(dir) }
}

// natsServer starts NATS in this process.
func natsServer() (way nats.Option, stop func()) {
	dir := peerDir()
	s, err := startNATS(dir)
	if err != nil {
		log.Fatal(err)
	}
	return nats.InProcessServer(s), func() { s.Shutdown(); s.WaitForShutdown(); os.RemoveAll(dir) }
}

func peerDir() string {
	dir, err := os.MkdirTemp("", "st")
	if err != nil {
		log.Fatal(err)
	}
	return dir
}
