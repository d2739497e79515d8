package caller

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/rpc/internal/fault"
)

func TestAWatchThatIsGivenUpWhileItLooksForTheDaemonSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun := 0
	r := Resuming[int]{
		Begin: func(context.Context, kv.WatchStart, uint64) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) {
				if begun++; begun == 1 && !yield(1, nil) {
					return
				}
				if begun == 2 {
					cancel()
				}
				yield(0, fmt.Errorf("%w: no such file", fault.ErrUnavailable))
			}
		},
		About: func(*int) (kv.EventKind, uint64) { return kv.EventSynced, 1 },
	}
	var told []int
	var last error
	for e, err := range r.Events(ctx) {
		if last = err; err == nil {
			told = append(told, e)
		}
	}
	require.Equal(t, []int{1}, told)
	require.Equal(t, 2, begun)
	require.ErrorIs(t, last, context.Canceled)
}
