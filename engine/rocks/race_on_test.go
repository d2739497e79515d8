//go:build race

package rocks

const raceEnabled = true
