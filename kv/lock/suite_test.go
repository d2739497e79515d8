package lock_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/stoadb/stoa/kv/lock/locktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

func TestRows(t *testing.T) { locktest.Run(t, locktest.InProcess) }
