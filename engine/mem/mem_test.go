package mem_test

import (
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	enginetest.Run(t, enginetest.Config{
		Open:  func(testing.TB) enginetest.DB { return mem.New() },
		Space: enginetest.KeySpace{Columns: slices.Collect(column.All)},
	})
}

// The suite is the same for a store of which it may use a part only, as a
// client that shares a daemon does.
func TestConformanceWithinAPrefix(t *testing.T) {
	prefix := append([]byte("stoa.test"), make([]byte, 7)...)
	enginetest.Run(t, enginetest.Config{
		Open:   func(testing.TB) enginetest.DB { return mem.New() },
		Space:  enginetest.KeySpace{Columns: []column.Column{column.Generic}, Prefix: prefix, MaxKey: 16 + 65535},
		Limits: enginetest.Limits{Snapshots: 16, Lookups: 1000},
	})
}
