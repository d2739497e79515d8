package fuzz

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzMetamorphic makes operations of any bytes, carries them out on every
// store there is, and demands that all answer as the first does.
func FuzzMetamorphic(f *testing.F) {
	f.Add([]byte(nil))
	var stores []*store
	for _, s := range subjects() {
		st := newStore(f, s)
		f.Cleanup(func() { require.NoError(f, st.db.Close()) })
		stores = append(stores, st)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		want := play(t, stores[0], input)
		for _, s := range stores[1:] {
			require.Equal(t, want, play(t, s, input), "%s answers otherwise than %s", s.name, stores[0].name)
		}
	})
}
