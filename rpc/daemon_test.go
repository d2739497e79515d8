package rpc_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/stream"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/server"
	"github.com/stoadb/stoa/rpc/server/socket"
)

// nodes counts the daemons of examples.
var nodes atomic.Uint64

// endings give back the daemons of examples, which have no test to end with.
var endings []func()

func TestMain(m *testing.M) {
	code := m.Run()
	for _, end := range endings {
		end()
	}
	os.Exit(code)
}

// daemon returns the socket of a new daemon in memory, for examples.
func daemon() string {
	dir, err := os.MkdirTemp("", "st")
	if err != nil {
		log.Fatal(err)
	}
	db := mem.New()
	store, err := kv.Open(db, kv.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	storage, err := kvstorage.New(store, kvstorage.Options{})
	if err != nil {
		log.Fatal(err)
	}
	policies, err := policy.New(store, policy.Options{})
	if err != nil {
		log.Fatal(err)
	}
	namespaces, err := namespace.Open(db, namespace.Options{})
	if err != nil {
		log.Fatal(err)
	}
	contexts, err := dag.Open(db, dag.Options{Node: codec.NodeID{Lo: nodes.Add(1)}})
	if err != nil {
		log.Fatal(err)
	}
	blobs, err := blob.Open(db, blob.Options{SpoolDir: filepath.Join(dir, "spool")})
	if err != nil {
		log.Fatal(err)
	}
	locks, err := lock.New(store, lock.Options{})
	if err != nil {
		log.Fatal(err)
	}
	streams, err := stream.New(store, stream.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	s, err := server.New(db, server.Options{
		KV: storage, Streams: streams, Records: policies.Records(), Policies: policies, Dag: contexts, Namespaces: namespaces, Blobs: blobs, Locks: locks,
		Info: server.Info{Engine: "mem", SchemaVersion: 1},
	})
	if err != nil {
		log.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	ln, err := socket.Listen(path, socket.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(ctx, ln) })
	endings = append(endings, func() {
		stop()
		serving.Wait()
		_ = contexts.Close()
		locks.Close()
		_ = blobs.Close()
		_ = namespaces.Close()
		_ = store.Close()
		_ = db.Close()
		os.RemoveAll(dir)
	})
	return path
}

// dial connects to a new daemon.
func dial() *rpc.Client {
	c, err := rpc.Dial(context.Background(), daemon(), rpc.WithDialTimeout(time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	endings = append([]func(){func() { c.Close() }}, endings...)
	return c
}

// member is an identity.
func member(name string) codec.Identity {
	seed := sha256.Sum256([]byte(name))
	return codec.Identity(ed25519.NewKeyFromSeed(seed[:]).Public().(ed25519.PublicKey))
}
