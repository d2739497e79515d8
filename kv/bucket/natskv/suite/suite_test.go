// Package suite is where nats.go's own tests of key-values run on Stoa: TestT70 of natskv puts
// their file beside this one, which has the helpers that they call. Without it there is nothing
// to run here.
package suite

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stoadb/stoa/kv/bucket/natskv"
	"github.com/stoadb/stoa/kv/bucket/natskv/natskvtest"
)

// withJSServer runs a test on a daemon of its own, where nats.go starts a server of NATS.
func withJSServer(t *testing.T, run func(*testing.T, *nats.Conn, *natskv.Manager)) {
	t.Helper()
	run(t, nil, natskv.New(natskvtest.Dial(t).Buckets("acme")))
}

func newTesterCtx(t *testing.T, limit time.Duration) context.Context {
	ctx, stop := context.WithTimeout(context.Background(), max(limit, time.Minute))
	t.Cleanup(stop)
	return ctx
}

func expectOk(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

func expectErr(t *testing.T, err error, expected ...error) {
	t.Helper()
	if err == nil {
		t.Fatal("expected an error")
	}
	for _, e := range expected {
		if errors.Is(err, e) {
			return
		}
	}
	if len(expected) > 0 {
		t.Fatalf("expected one of %v, got %v", expected, err)
	}
}

var _ = []any{withJSServer, newTesterCtx, expectOk, expectErr}
