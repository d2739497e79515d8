//go:build !race

package enginetest

// UnderRace reports whether the race detector is on.
const UnderRace = false
