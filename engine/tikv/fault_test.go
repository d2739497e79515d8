package tikv_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingcap/kvproto/pkg/errorpb"
	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/stretchr/testify/require"
	tikverr "github.com/tikv/client-go/v2/error"
	tikvclient "github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/tikvrpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/tikv"
	"github.com/stoadb/stoa/engine/tikv/tikvtest"
)

func TestErrorsOfAClusterAreOurs(t *testing.T) {
	e := open(t, tikvtest.Start(t), tikv.Options{})
	for want, is := range map[error][]error{
		engine.ErrNotFound:     {tikverr.ErrNotExist},
		engine.ErrTooLarge:     {&tikverr.ErrTxnTooLarge{Size: 1}, &tikverr.ErrEntryTooLarge{Limit: 1, Size: 2}},
		engine.ErrClosed:       {&tikverr.ErrGCTooEarly{}},
		engine.ErrNoSpace:      {tikverr.ErrTiKVDiskFull},
		engine.ErrUndetermined: {tikverr.ErrResultUndetermined},
		engine.ErrUnavailable: {
			tikverr.ErrRegionUnavailable, tikverr.ErrTiKVServerTimeout, tikverr.ErrTiKVServerBusy, tikverr.ErrTiKVStaleCommand,
			tikverr.ErrTiKVMaxTimestampNotSynced, tikverr.ErrResolveLockTimeout, tikverr.ErrLockWaitTimeout, tikverr.ErrRegionDataNotReady,
			tikverr.ErrRegionNotInitialized, tikverr.ErrRegionRecoveryInProgress, tikverr.ErrRegionFlashbackInProgress,
			tikverr.NewErrPDServerTimeout("no clock"), context.DeadlineExceeded,
			status.Error(codes.Unavailable, "no connection"), status.Error(codes.DeadlineExceeded, "no answer"),
		},
	} {
		for _, err := range is {
			require.ErrorIs(t, e.Fault(fmt.Errorf("of the client: %w", err)), want)
			if want != engine.ErrUnavailable {
				require.NotErrorIs(t, e.Fault(err), engine.ErrUnavailable)
			}
		}
	}
	require.NoError(t, e.Fault(nil))
	unknown := errors.New("another")
	require.ErrorIs(t, e.Fault(unknown), unknown)
	require.NotErrorIs(t, e.Fault(unknown), engine.ErrUnavailable)
	require.NoError(t, e.Close())
	require.ErrorIs(t, e.Fault(unknown), engine.ErrClosed)
}

// A store that loses its place tells those who wait that what they sent is stale. It may have been made all the same:
// the engine asks, and does not make it again.
func TestACommitThatIsSaidToBeStaleMayHaveBeenMade(t *testing.T) {
	for _, made := range []bool{true, false} {
		t.Run(fmt.Sprintf("made %t", made), func(t *testing.T) {
			c := tikvtest.Start(t)
			e := open(t, c, tikv.Options{Wait: 2 * time.Second, TwoPhase: true})
			var stale, asked atomic.Bool
			c.Says = func(r *tikvrpc.Request) (*errorpb.Error, bool) { // called by several goroutines
				if stale.Load() && r.Type == tikvrpc.CmdGet {
					asked.Store(true)
				}
				if asked.Load() || r.Type != tikvrpc.CmdCommit {
					return nil, false
				}
				if !stale.Swap(true) {
					c.Ahead.Add(60_000) // locks of who does not come back have ended
				}
				return &errorpb.Error{StaleCommand: &errorpb.StaleCommand{}}, made
			}
			calls := 0
			err := e.Update(func(_ engine.Getter, b *engine.Batch) error {
				calls++
				b.Put(col, []byte("k"), []byte("v"))
				return nil
			})
			require.Equal(t, 1, calls)
			require.True(t, asked.Load())
			if made {
				require.NoError(t, err)
				require.Equal(t, "v", get(t, e, "k"))
			} else {
				require.ErrorIs(t, err, engine.ErrUnavailable)
				require.Equal(t, "(none)", get(t, e, "k"))
			}
		})
	}
}

// A cluster that takes no write is unavailable. What has not been made when the engine asks for it is never made,
// however late it arrives.
func TestWhatArrivesLaterThanItWasAskedForIsNotMade(t *testing.T) {
	c := tikvtest.Start(t)
	e := open(t, c, tikv.Options{Wait: 2 * time.Second, TwoPhase: true})
	var late atomic.Pointer[tikvrpc.Request]
	var back atomic.Bool
	c.Before = func(r *tikvrpc.Request) error { // called by several goroutines, of which some clean up later
		if back.Load() || r.Type != tikvrpc.CmdPrewrite || len(r.Prewrite().Mutations) == 1 { // one: who asks
			return nil
		}
		late.CompareAndSwap(nil, r)
		return tikvtest.ErrLost
	}
	require.ErrorIs(t, e.Apply(set("k", "v")), engine.ErrUnavailable)
	back.Store(true)
	bo := tikvclient.NewBackoffer(t.Context(), 1000)
	r := late.Load()
	region, err := c.GetRegionCache().LocateKey(bo, r.Prewrite().Mutations[0].Key)
	require.NoError(t, err)
	answer, err := c.SendReq(bo, r, region.Region, time.Second)
	require.NoError(t, err)
	refused := answer.Resp.(*kvrpcpb.PrewriteResponse).Errors
	require.Len(t, refused, 1)
	require.NotNil(t, refused[0].Conflict, "%v", refused)
	require.Equal(t, "(none)", get(t, e, "k"))
	require.NoError(t, e.Apply(set("k", "w")))
	require.Equal(t, "w", get(t, e, "k"))
}
