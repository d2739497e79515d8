//go:build !race

package rocks

const raceEnabled = false
