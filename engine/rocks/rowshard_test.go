package rocks

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
)

// All slots that a row may have are taken: the one that was kept first gives way.
func TestTheOldestRowGivesWay(t *testing.T) {
	for oldest := range bucket {
		var s rowShard
		s.init(make([]byte, 16<<10))
		key := func(i int) row {
			// Rows with the lower half of the hash in common have the same slots.
			return row{rowVersion{hash: uint64(i+1) << 48}, column.State, binary.BigEndian.AppendUint32(nil, uint32(i))}
		}
		for i := range bucket {
			s.put(key(i), []byte("value"))
		}
		for i := range oldest { // those before it are kept anew, and are the newest
			_, ok := s.remove(key(i))
			require.True(t, ok)
			s.put(key(i), []byte("value"))
		}
		s.put(key(bucket), []byte("new"))
		for i := range bucket {
			_, ok := s.find(nil, key(i))
			require.Equal(t, i != oldest, ok, "row %d, after that of %d", i, oldest)
		}
		v, ok := s.find(nil, key(bucket))
		require.True(t, ok)
		require.Equal(t, "new", string(v))
	}
}
