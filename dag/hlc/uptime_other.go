//go:build !linux

package hlc

// SystemUptime returns nil: this system has no clock that Go reads, that nobody
// sets and that runs on while the machine sleeps. Steps of the physical clock are
// then not noticed.
func SystemUptime() *Uptime { return nil }
