package limit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/wire"
)

func TestAQuotaTakesUpToItsLimit(t *testing.T) {
	q := Quota{What: WhatRequests, Limit: 10}
	require.NoError(t, q.Take(4))
	require.NoError(t, q.Take(6))
	err := q.Take(1)
	require.ErrorIs(t, err, rpc.ErrBusy)
	require.ErrorContains(t, err, "no more than 10 bytes of requests at once")
	require.EqualValues(t, 10, q.Used(), "what is refused is not taken")
	q.Give(4)
	require.NoError(t, q.Take(1))
	require.ErrorContains(t, Busy(WhatScans, 3), "no more than 3 scans at once")
}

func TestPagesOfScansShrinkWithTheirNumber(t *testing.T) {
	scans := Quota{Limit: 1 << 20}
	require.Equal(t, wire.MaxPage, PageSize(&scans))
	require.NoError(t, scans.Take(64))
	require.Equal(t, allPages/3/64, PageSize(&scans))
	require.NoError(t, scans.Take(1<<20-64))
	require.Equal(t, minPage, PageSize(&scans))
}
