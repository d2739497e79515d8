//go:build !cgo

package bench

// dagNames returns nothing: what dag is measured beside needs cgo.
func dagNames() []string { return nil }

// measureDags measures nothing.
func measureDags(Options) ([]Result, error) { return nil, nil }
