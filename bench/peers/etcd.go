package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/stoadb/stoa/bench"
	"github.com/stoadb/stoa/engine"
)

const (
	etcdQuota = 8 << 30
	etcdOps   = 1000 // of one transaction: 128 is the default
	etcdPage  = 512  // entries of a page of a scan
)

// openEtcd starts a server of one member in this process, and fills it over its
// Unix socket.
func openEtcd(o bench.Options, data *bench.Dataset) ([]*bench.Subject, error) {
	server, socket, err := startEtcd(o, "etcd", false)
	if err != nil {
		return nil, err
	}
	s := &bench.Subject{
		Name:  "etcd",
		Dir:   filepath.Join(o.Dir, "etcd"),
		Lacks: []string{"mixed-90", "put", "batch-10", "batch-100", "batch-1000"}, // it syncs every write
		Close: func() error { server.Close(); return nil },
		// All of it is in this process, and not on the thread that calls.
		Elsewhere: func() (time.Duration, error) { return 0, nil },
		Actor:     func() (bench.Actor, error) { return dialEtcd(socket, data) },
	}
	o.Logger.Info("filling etcd", "rows", data.Rows)
	a, err := dialEtcd(socket, data)
	if err != nil {
		return []*bench.Subject{s}, err
	}
	return []*bench.Subject{s}, errors.Join(a.load(), a.Release())
}

// startEtcd starts a server of one member in this process, on a Unix socket. It syncs every
// write, unless it is unsafe.
func startEtcd(o bench.Options, name string, unsafe bool) (*embed.Etcd, string, error) {
	c := embed.NewConfig()
	c.Dir, c.Name, c.UnsafeNoFsync = filepath.Join(o.Dir, name), "one", unsafe
	c.Logger, c.LogLevel, c.LogOutputs = "zap", "fatal", []string{"/dev/null"}
	c.QuotaBackendBytes, c.MaxTxnOps = etcdQuota, etcdOps
	socket := filepath.Join(o.Dir, name+".sock")
	clients, peers := url.URL{Scheme: "unix", Path: socket}, url.URL{Scheme: "unix", Path: socket + ".peers"}
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{clients}, []url.URL{clients}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peers}, []url.URL{peers}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	server, err := embed.StartEtcd(c)
	if err != nil {
		return nil, "", fmt.Errorf("starting etcd: %w", err)
	}
	select {
	case <-server.Server.ReadyNotify():
		return server, socket, nil
	case err := <-server.Err():
		server.Close()
		return nil, "", fmt.Errorf("starting etcd: %w", err)
	case <-time.After(time.Minute):
		server.Close()
		return nil, "", errors.New("starting etcd: it is not ready after a minute")
	}
}

func connectEtcd(socket string) (*clientv3.Client, error) {
	db, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + socket}, DialTimeout: 10 * time.Second})
	if err != nil {
		return nil, fmt.Errorf("connecting to etcd: %w", err)
	}
	return db, nil
}

// etcdActor works on etcd through its client. Reads are serializable: they are of
// the member that answers, without asking the others first.
type etcdActor struct {
	rows
	db *clientv3.Client
}

func dialEtcd(socket string, data *bench.Dataset) (*etcdActor, error) {
	db, err := connectEtcd(socket)
	if err != nil {
		return nil, err
	}
	return &etcdActor{rows: rows{data: data}, db: db}, nil
}

var ctx = context.Background()

func (a *etcdActor) load() error {
	for first := 0; first < a.data.Rows; first += loadRows {
		if err := a.Batch(first, min(loadRows, a.data.Rows-first)); err != nil {
			return err
		}
	}
	return nil
}

func (a *etcdActor) get(row int) ([]byte, error) {
	res, err := a.db.Get(ctx, string(a.at(row)), clientv3.WithSerializable())
	if err != nil || len(res.Kvs) == 0 {
		return nil, errors.Join(err, errAbsent)
	}
	return res.Kvs[0].Value, nil
}

func (a *etcdActor) Get(row int) error {
	v, err := a.get(row)
	if err == nil && len(v) != bench.ValueBytes {
		err = errSize
	}
	return err
}

func (a *etcdActor) Miss(row int) error {
	switch _, err := a.get(row); err {
	case nil:
		return errStored
	default:
		if errors.Is(err, errAbsent) {
			return nil
		}
		return err
	}
}

func (a *etcdActor) MultiGet(rows []int) error {
	ops := make([]clientv3.Op, len(rows))
	for i, row := range rows {
		ops[i] = clientv3.OpGet(string(a.at(row)), clientv3.WithSerializable())
	}
	res, err := a.db.Txn(ctx).Then(ops...).Commit()
	if err != nil {
		return err
	}
	for _, r := range res.Responses {
		if kvs := r.GetResponseRange().GetKvs(); len(kvs) != 1 || len(kvs[0].Value) != bench.ValueBytes {
			return errSize
		}
	}
	return nil
}

func (a *etcdActor) Put(row int) error { return a.PutSynced(row) }

func (a *etcdActor) PutSynced(row int) error {
	key, value := a.of(row)
	_, err := a.db.Put(ctx, string(key), string(value))
	return err
}

func (a *etcdActor) Batch(first, n int) error {
	ops := make([]clientv3.Op, n)
	for i := range ops {
		key, value := a.of(first + i)
		ops[i] = clientv3.OpPut(string(key), string(value))
	}
	_, err := a.db.Txn(ctx).Then(ops...).Commit()
	return err
}

func (a *etcdActor) Scan(row, n int) (int, error) {
	key := a.at(row)
	n, _, err := a.page(string(key), string(engine.Successor(key[:bench.ContextBytes])), n)
	return n, err
}

func (a *etcdActor) Walk() (all int, err error) {
	for from := "\x00"; ; {
		n, last, err := a.page(from, "\x00", etcdPage) // "\x00" as an end is none
		all += n
		if err != nil || n < etcdPage {
			return all, err
		}
		from = last + "\x00"
	}
}

// page reads at most n entries, and returns the last key.
func (a *etcdActor) page(from, to string, n int) (int, string, error) {
	res, err := a.db.Get(ctx, from, clientv3.WithRange(to), clientv3.WithLimit(int64(n)), clientv3.WithSerializable())
	if err != nil || len(res.Kvs) == 0 {
		return 0, "", err
	}
	for _, kv := range res.Kvs {
		if err := sized(kv.Key, kv.Value); err != nil {
			return 0, "", err
		}
	}
	return len(res.Kvs), string(res.Kvs[len(res.Kvs)-1].Key), nil
}

func (a *etcdActor) Release() error { return a.db.Close() }
