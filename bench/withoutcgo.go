//go:build !cgo

package bench

// What is measured on RocksDB, or beside what needs cgo, is not there: these have no names,
// and measure nothing.

func blobNames() []string { return nil }
func dagNames() []string  { return nil }
func govNames() []string  { return nil }
func growNames() []string { return nil }
func kvNames() []string   { return nil }
func syncNames() []string { return nil }

func measureBlobs(Options) ([]Result, error)      { return nil, nil }
func measureDags(Options) ([]Result, error)       { return nil, nil }
func measureGovernance(Options) ([]Result, error) { return nil, nil }
func measureGrowth(Options) ([]Result, error)     { return nil, nil }
func measureKV(Options) ([]Result, error)         { return nil, nil }
func measureSync(Options) ([]Result, error)       { return nil, nil }
