//go:build !race

package enginetest

// underRace reports whether the race detector is on.
const underRace = false
