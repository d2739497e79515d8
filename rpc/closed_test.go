package rpc

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/engine"
)

// Close ends the connections one after the other; whoever calls meanwhile learns of
// the closing, not of the connection that has ended already.
func TestCallsThatEndWhileTheClientClosesAreClosed(t *testing.T) {
	c := silent(t, func(string) error { return nil })
	ended := status.Error(codes.Canceled, "the connection is closed")
	require.NotErrorIs(t, c.failed("get", ended), engine.ErrClosed)
	c.carrier.closed.Store(true) // as Close does first
	require.ErrorIs(t, c.failed("get", ended), engine.ErrClosed)
}
