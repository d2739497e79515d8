package view

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

func TestSmallStoresAreCheckedWithoutBeingAsked(t *testing.T) {
	sample := newSample(t, 1)
	sample.put(t, func(b *engine.Batch) {
		b.Put(column.Alias, []byte{9, 9}, []byte("what is this"))
		b.Put(column.Meta, []byte{1}, []byte("short"))
	})
	s := sample.served(t)
	require.Equal(t, "idle", ask[jobDoc](t, s, "findings").State, "nobody looks at the page")
	require.Empty(t, ask[factsDoc](t, s, "store").Unchecked)
	doc := ended(t, s, "findings")
	require.Equal(t, "done", doc.State)
	require.False(t, doc.Verdict.Full)
	require.Equal(t, doc.Verdict.Findings, doc.Columns["Alias"]+doc.Columns["Meta"])
	require.NotZero(t, doc.Columns["Alias"])
	require.NotZero(t, doc.Columns["Meta"])
}

func TestLargeStoresSayWhyTheyWereNotChecked(t *testing.T) {
	s := newSample(t, 1).served(t)
	require.Contains(t, s.checkSmall(smallRows+1, 0), "100001")
	require.Contains(t, s.checkSmall(1, smallBytes+1<<20), "257 MiB")
	require.Equal(t, "idle", ask[jobDoc](t, s, "findings").State)
	require.Empty(t, s.checkSmall(smallRows, smallBytes))
	require.Equal(t, "done", ended(t, s, "findings").State)
}

// A store may have more rows than it was known to have.
func TestChecksThatTakeLongerThanWasThoughtAreBrokenOff(t *testing.T) {
	s, err := New(Options{
		Open: func() (*inspect.Source, error) { return inspect.From(mem.New(), inspect.Facts{}), nil },
		Verify: func(ctx context.Context, o inspect.VerifyOptions, _ func(inspect.Finding) error) (*inspect.Verdict, error) {
			for range 100 * smallRows / 4096 {
				if o.Progress(4096); ctx.Err() != nil {
					return nil, ctx.Err()
				}
			}
			return &inspect.Verdict{}, nil
		},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	ask[factsDoc](t, s, "store")
	doc := ended(t, s, "findings")
	require.Equal(t, "failed", doc.State)
	require.Contains(t, doc.Error, "more than 200000 rows")
	ask[factsDoc](t, s, "store")
	require.Equal(t, "failed", ask[jobDoc](t, s, "findings").State, "it is not begun again")
	require.Equal(t, "done", ended(t, s, "findings", "start", "1").State, "but for who asks")
}
