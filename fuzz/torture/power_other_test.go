//go:build !linux

package torture

import (
	"errors"
	"testing"
)

const launchEnv = "STOA_TORTURE_LAUNCH"

func launch([]string) error {
	return errors.New("only Linux lets a process answer the calls of another")
}

func TestAFullDiskLosesNothing(t *testing.T) {
	t.Skip("SKIPPED: small disks are made on Linux only")
}

func TestTooLittleMemoryLosesNothing(t *testing.T) {
	t.Skip("SKIPPED: memory is limited on Linux only")
}

func TestPowerCutsUnderMixedLoadLoseNothing(t *testing.T) {
	t.Skip("SKIPPED: power cuts are modelled on Linux only")
}
