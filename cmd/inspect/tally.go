package inspect

// Tally counts rows. Bytes are those of keys and values, before compression. The
// zero Tally has none.
type Tally struct {
	Rows     uint64 `json:"rows"`
	Bytes    uint64 `json:"bytes"`
	Smallest uint64 `json:"smallest"` // bytes of the smallest row
	Largest  uint64 `json:"largest"`
}

// Add counts a row.
func (t *Tally) Add(key, value []byte) {
	n := uint64(len(key) + len(value))
	if t.Rows == 0 || n < t.Smallest {
		t.Smallest = n
	}
	t.Largest = max(t.Largest, n)
	t.Rows++
	t.Bytes += n
}

// Merge counts what u has counted.
func (t *Tally) Merge(u Tally) {
	if u.Rows == 0 {
		return
	}
	if t.Rows == 0 || u.Smallest < t.Smallest {
		t.Smallest = u.Smallest
	}
	t.Largest = max(t.Largest, u.Largest)
	t.Rows += u.Rows
	t.Bytes += u.Bytes
}
