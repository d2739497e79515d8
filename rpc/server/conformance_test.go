package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/rpc"
)

func TestTheClientKeepsTheContractOfAnEngineInMemory(t *testing.T) {
	conform(t, func(testing.TB) engine.Engine { return nil })
}

// conform runs the suite of engines against a client of a daemon that serves
// what open returns.
func conform(t *testing.T, open func(testing.TB) engine.Engine) {
	enginetest.Run(t, enginetest.Config{
		Open: func(t testing.TB) enginetest.DB { return start(t, open(t), Options{}).dial(t) },
		Reopen: func(t testing.TB, db enginetest.DB) enginetest.DB {
			c := db.(*rpc.Client)
			c.Close()
			again, err := rpc.Dial(c.Path(), rpc.ClientOptions{})
			require.NoError(t, err)
			return again
		},
		Space: enginetest.KeySpace{Columns: []column.Column{column.Generic}, Prefix: row("")},
	})
}
