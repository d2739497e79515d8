package bench

// Peers opens subjects of the caller's below o.Dir and fills each with every
// row of data. What it returns is closed at the end of the run, also when it
// returns an error.
type Peers func(o Options, data *Dataset) ([]*Subject, error)

// openers returns what opens the subjects of a run.
func openers(o Options) []Peers {
	if o.Peers == nil {
		return []Peers{openMemory, openRocks, openServedMemory, OpenRedis}
	}
	return []Peers{openRocks, o.Peers}
}
