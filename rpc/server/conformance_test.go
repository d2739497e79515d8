package server

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc"
)

func TestTheClientKeepsTheContractOfAnEngineInMemory(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		if f == rpc.FramingFrames {
			enginetest.SkipUnderRace(t, seenElsewhere)
		}
		conform(t, f, func(testing.TB) engine.Engine { return nil })
	})
}

// seenElsewhere is why the race detector is spared half of the contract.
const seenElsewhere = "frames on RocksDB and gRPC on an engine in memory run all the code there is"

// overBoth runs a test over both framings.
func overBoth(t *testing.T, test func(*testing.T, rpc.Framing)) {
	t.Run("frames", func(t *testing.T) { test(t, rpc.FramingFrames) })
	t.Run("grpc", func(t *testing.T) { test(t, rpc.FramingGRPC) })
}

// inFullOnce spares one of the framings most of the cases of what is tested in process too:
// what is counted up to there is the work of what is behind both. Where tests are not run in
// full, the cases are few as it is.
func inFullOnce(t *testing.T, f rpc.Framing) {
	if f == rpc.FramingGRPC && enginetest.Scale(100) >= 100 {
		enginetest.Fewer(t, 0.1)
	}
}

// rowStore is the store of a daemon as the suite of engines takes it.
type rowStore struct {
	*rpc.Store
	client *rpc.Client
}

func rowsOf(c *rpc.Client) rowStore { return rowStore{c.Store(context.Background()), c} }

// Close closes the client.
func (r rowStore) Close() error { return r.client.Close() }

// conform runs the suite of engines against a client of a daemon that serves
// what open returns.
func conform(t *testing.T, f rpc.Framing, open func(testing.TB) engine.Engine) {
	enginetest.Run(t, enginetest.Config{
		Open: func(t testing.TB) enginetest.DB { return rowsOf(start(t, open(t), Options{}).dialAs(t, f)) },
		Reopen: func(t testing.TB, db enginetest.DB) enginetest.DB {
			again, err := rpc.Dial(t.Context(), db.(rowStore).client.Path(), rpc.WithFraming(f))
			require.NoError(t, err)
			return rowsOf(again)
		},
		Space: enginetest.KeySpace{Columns: []column.Column{column.Generic}, Prefix: row(""), MaxKey: 16 + keys.MaxVariable},
	})
}
