package mem_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	enginetest.Run(t, enginetest.Config{
		Open:  func(testing.TB) enginetest.DB { return mem.New() },
		Space: enginetest.Engines(),
	})
}
