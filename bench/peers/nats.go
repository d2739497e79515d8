package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoadb/stoa/bench"
)

const (
	natsStart = 10 * time.Second
	natsCall  = 30 * time.Second
	// natsMarkers is how long markers of keys whose time is over stay. Without
	// markers nobody is told, and keys have no time to live.
	natsMarkers = time.Hour
)

// openNATS runs a NATS server in this process, without a socket, and one in a process
// of its own, behind a Unix socket.
func openNATS(o bench.Options) ([]*bench.KVPeer, error) {
	s, err := startNATS(filepath.Join(o.Dir, "nats"))
	if err != nil {
		return nil, err
	}
	peers := []*bench.KVPeer{{
		Name:   "nats",
		Client: func() (bench.KVClient, error) { return dialNATS(nats.InProcessServer(s)) },
		Close: func() error {
			s.Shutdown()
			s.WaitForShutdown()
			return nil
		},
	}}
	socket, program := unixDialer(filepath.Join(o.Dir, "nats.sock")), ""
	served := &bench.KVPeer{
		Name:   "nats-socket",
		Client: func() (bench.KVClient, error) { return dialNATS(nats.SetCustomDialer(socket)) },
	}
	if program, err = os.Executable(); err == nil {
		served.Elsewhere, served.Close, err = bench.StartServer(func(context.Context) error {
			c, err := served.Client()
			if err != nil {
				return err
			}
			return c.Release()
		}, "env", natsServes+"="+string(socket), program)
	}
	if err != nil {
		return peers, fmt.Errorf("starting nats in a process of its own: %w", err)
	}
	return append(peers, served), nil
}

// startNATS starts a server that listens nowhere, whose JetStream syncs each message
// before it answers (unless natsLazy says otherwise), with its buckets in files below dir.
func startNATS(dir string) (*server.Server, error) {
	s, err := server.NewServer(&server.Options{
		ServerName: "peer", DontListen: true, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: dir, SyncAlways: os.Getenv(natsLazy) == "",
	})
	if err != nil {
		return nil, fmt.Errorf("starting nats: %w", err)
	}
	if s.Start(); !s.ReadyForConnections(natsStart) {
		return nil, errors.New("nats is not ready")
	}
	return s, nil
}

// natsServes is the variable that makes this program a NATS server: the path of its
// Unix socket, which has its files beside it.
const natsServes = "STOA_BENCH_NATS"

// serveNATS is a NATS server behind a Unix socket, until it is killed. NATS listens on
// TCP alone: what comes over the socket is handed to a connection within the process.
func serveNATS(socket string) error {
	s, err := startNATS(socket + ".files")
	if err != nil {
		return err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	for {
		out, err := l.Accept()
		if err != nil {
			return err
		}
		in, err := s.InProcessConn()
		if err != nil {
			return err
		}
		for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
			go func() {
				_, _ = io.Copy(way[0], way[1]) // one side is gone
				way[0].Close()
			}()
		}
	}
}

// unixDialer connects to a Unix socket, whatever is asked for.
type unixDialer string

// Dial is nats.CustomDialer's.
func (d unixDialer) Dial(string, string) (net.Conn, error) { return net.Dial("unix", string(d)) }

// natsKV is a connection of its usual client.
type natsKV struct {
	conn *nats.Conn
	kv   jetstream.KeyValue
}

// dialNATS makes the bucket if there is none.
func dialNATS(way nats.Option) (*natsKV, error) {
	conn, err := nats.Connect("nats://127.0.0.1", way) // the way is another
	if err != nil {
		return nil, fmt.Errorf("connecting to nats: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), natsCall)
	defer cancel()
	js, err := jetstream.New(conn)
	if err == nil {
		var kv jetstream.KeyValue
		kv, err = js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: "bench", Storage: jetstream.FileStorage, LimitMarkerTTL: natsMarkers,
		})
		if err == nil {
			return &natsKV{conn, kv}, nil
		}
	}
	conn.Close()
	return nil, fmt.Errorf("making the bucket of nats: %w", err)
}

func (c *natsKV) Put(key string, value []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), natsCall)
	defer cancel()
	_, err := c.kv.Put(ctx, key, value)
	return err
}

func (c *natsKV) PutFor(key string, value []byte, ttl time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), natsCall)
	defer cancel()
	_, err := c.kv.Create(ctx, key, value, jetstream.KeyTTL(ttl))
	return err
}

func (c *natsKV) Get(key string) (size int, found bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), natsCall)
	defer cancel()
	e, err := c.kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return len(e.Value()), true, nil
}

func (c *natsKV) Watch(ctx context.Context, expired func(key string)) error {
	w, err := c.kv.WatchAll(ctx, jetstream.UpdatesOnly())
	if err != nil {
		return err
	}
	go func() {
		defer func() { _ = w.Stop() }()
		for {
			select {
			case <-ctx.Done():
				return
			case e, ok := <-w.Updates():
				if !ok {
					return
				}
				if e != nil && e.Operation() != jetstream.KeyValuePut {
					expired(e.Key())
				}
			}
		}
	}()
	return nil
}

func (c *natsKV) Release() error {
	c.conn.Close()
	return nil
}
