package dag

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/engine/mem"
)

var (
	epoch    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	node1    = codec.NodeID{Lo: 1}
	context1 = codec.ContextID{1, 0xFF, 31: 0xFF}
)

// The clock of a store and that of a view are those that its options choose.
func TestTheClockOfAStoreIsThatOfItsOptions(t *testing.T) {
	require.Equal(t, hlc.Options{Node: node1}, (&Options{Node: node1}).clock(), "of the system, held against its uptime")
	for name, held := range map[string]bool{"a clock alone": false, "a clock and an uptime": true} {
		t.Run(name, func(t *testing.T) {
			e, now, elapsed := mem.New(), epoch, time.Duration(0)
			defer e.Close()
			o := Options{Node: node1, Now: func() time.Time { return now }}
			if held {
				o.Uptime = &hlc.Uptime{Elapsed: func() time.Duration { return elapsed }}
			}
			s, err := Open(e, o)
			require.NoError(t, err)
			defer s.Close()
			view, err := View(e, o)
			require.NoError(t, err)
			defer view.Close()
			now = now.Add(time.Hour)
			for _, c := range []*hlc.Clock{s.Clock(), view.Clock()} {
				require.Equal(t, held, c.State().Jumped)
			}
		})
	}
}
