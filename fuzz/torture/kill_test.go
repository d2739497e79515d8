package torture

import (
	"testing"

	"github.com/stoadb/stoa/engine/enginetest"
)

// The real daemon is killed while it is used in every way: what it has acknowledged
// is there, what it has not is whole or absent, and the store verifies.
func TestKillsUnderMixedLoadLoseNothing(t *testing.T) {
	p, seed := realDaemon(t), seedOf(t)
	kills := *killFlag
	if kills == 0 {
		kills = max(5, enginetest.Scale(6))
	}
	h := newHarness(t, p, seed)
	err := h.run(kills)
	for does, n := range h.acks {
		t.Logf("%9d acknowledged: %s", n, does)
	}
	t.Logf("%d kills, %d of them before the daemon listened; %d writes acknowledged and recounted", h.kills, h.opening, h.total())
	if err != nil {
		t.Fatalf("%s=%d: %v", seedEnv, seed, err)
	}
	if h.total() == 0 {
		t.Fatal("nothing was written")
	}
}
