// Package tikvtest makes clusters within a test: client-go's own double of TiKV and PD, which has
// transactions, regions, locks and their errors, with a wire that loses what a test wants lost. Tests
// that need no such wire run on a real cluster if STOA_TIKV_PD names one, each in a place of its own.
package tikvtest

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingcap/kvproto/pkg/errorpb"
	"github.com/stretchr/testify/require"
	"github.com/tikv/client-go/v2/testutils"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/tikvrpc"
	"github.com/tikv/client-go/v2/util/codec"
	pd "github.com/tikv/pd/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	stoatikv "github.com/stoadb/stoa/engine/tikv"
)

// Cluster is a client of a cluster, which is in this process unless Any has found another. Its fields
// are to be set while nobody uses it.
type Cluster struct {
	*tikv.KVStore
	Options stoatikv.Options             // of engines that a test opens here
	Ahead   atomic.Int64                 // milliseconds by which PD's clock is ahead; of New's only, as are those below
	Before  func(*tikvrpc.Request) error // an error keeps a request from arriving; nil: all arrive
	After   func(*tikvrpc.Request) error // an error is the answer in the place of the one that came; nil: none
	// Says is what a store answers in the place of what it does or, if done is set, has done; nil: that.
	Says func(*tikvrpc.Request) (said *errorpb.Error, done bool)
}

const prefix = "stoa/"

// New returns a cluster of one store, whose regions are split at keys, and how to end it. The keys
// are those of the test's store, without its prefix.
func New(splits ...[]byte) (c *Cluster, end func() error, err error) {
	client, nodes, pdClient, err := testutils.NewMockTiKV("", nil)
	if err != nil {
		return nil, nil, err
	}
	encoded := make([][]byte, len(splits))
	for i, key := range splits {
		encoded[i] = codec.EncodeBytes(nil, append([]byte(prefix), key...))
	}
	id, _, _ := testutils.BootstrapWithMultiRegions(nodes, encoded...)
	alive, err := healthy()
	if err != nil {
		return nil, nil, err
	}
	nodes.UpdateStoreAddr(id, alive.address)
	c = &Cluster{Options: stoatikv.Options{Prefix: prefix}}
	c.KVStore, err = tikv.NewTestTiKVStore(client, pdClient,
		func(to tikv.Client) tikv.Client { return &wire{to, c} },
		func(to pd.Client) pd.Client { return &clock{to, c} }, 0)
	if err != nil {
		return nil, nil, errors.Join(err, alive.stop())
	}
	return c, func() error { return errors.Join(c.KVStore.Close(), alive.stop()) }, nil
}

// Start returns a cluster that ends with the test.
func Start(t testing.TB, splits ...[]byte) *Cluster {
	c, end, err := New(splits...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, end()) })
	return c
}

// service is a socket that says of a store that it serves: a client that has lost a connection asks
// there whether the store is alive.
type service struct {
	dir, address string
	server       *grpc.Server
}

func healthy() (*service, error) {
	dir, err := os.MkdirTemp("", "tikv")
	if err != nil {
		return nil, err
	}
	ln, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s := &service{dir, "unix:" + ln.Addr().String(), grpc.NewServer()}
	healthpb.RegisterHealthServer(s.server, health.NewServer())
	go func() { _ = s.server.Serve(ln) }()
	return s, nil
}

func (s *service) stop() error {
	s.server.Stop()
	return os.RemoveAll(s.dir)
}

// wire is the way to the stores.
type wire struct {
	tikv.Client
	*Cluster
}

// ErrLost is an error as a wire has them.
var ErrLost = errors.New("the connection is lost")

func (w *wire) Close() error { return w.Client.Close() }

func (w *wire) SendRequest(ctx context.Context, addr string, r *tikvrpc.Request, timeout time.Duration) (*tikvrpc.Response, error) {
	if w.Before != nil {
		if err := w.Before(r); err != nil {
			return nil, err
		}
	}
	if w.Says != nil {
		if said, done := w.Says(r); said != nil {
			if done {
				if _, err := w.Client.SendRequest(ctx, addr, r, timeout); err != nil {
					return nil, err
				}
			}
			return tikvrpc.GenRegionErrorResp(r, said)
		}
	}
	answer, err := w.Client.SendRequest(ctx, addr, r, timeout)
	if err == nil && w.After != nil {
		if lost := w.After(r); lost != nil {
			return nil, lost
		}
	}
	return answer, err
}

// clock is PD, whose clock a test moves.
type clock struct {
	pd.Client
	*Cluster
}

func (c *clock) Close() { c.Client.Close() }

func (c *clock) GetTS(ctx context.Context) (int64, int64, error) {
	physical, logical, err := c.Client.GetTS(ctx)
	return physical + c.Ahead.Load(), logical, err
}

func (c *clock) GetTSAsync(ctx context.Context) pd.TSFuture {
	return &moved{c.Client.GetTSAsync(ctx), c.Cluster}
}

type moved struct {
	pd.TSFuture
	*Cluster
}

func (m *moved) Wait() (int64, int64, error) {
	physical, logical, err := m.TSFuture.Wait()
	return physical + m.Ahead.Load(), logical, err
}
