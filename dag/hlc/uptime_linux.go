package hlc

import (
	"encoding/hex"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// SystemUptime returns the uptime of the machine: Linux's CLOCK_BOOTTIME, which no
// change of the time of day moves and which runs on while the machine is suspended.
// It returns nil where that can't be read.
func SystemUptime() *Uptime {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil
	}
	boot, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(string(text)), "-", ""))
	if err != nil || len(boot) != 16 {
		return nil
	}
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return nil
	}
	return &Uptime{Boot: [16]byte(boot), Elapsed: func() time.Duration {
		var t unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) // fails only where it did above
		return time.Duration(t.Nano())
	}}
}
