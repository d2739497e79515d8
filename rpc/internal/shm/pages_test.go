package shm

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPageLiesInASlot(t *testing.T) {
	p := &PagesRead{memory: make([]byte, 30), slot: 10}
	for i := range p.memory {
		p.memory[i] = byte(i)
	}
	b, err := p.Page(2, 10)
	require.NoError(t, err)
	require.Equal(t, p.memory[20:], b)
	require.Equal(t, 10, cap(b))
	b, err = p.Page(1, 3)
	require.NoError(t, err)
	require.Equal(t, []byte{10, 11, 12}, b)
	for _, bad := range [][2]uint32{{0, 11}, {3, 1}, {1 << 31, 1}, {2, 1 << 31}} {
		_, err := p.Page(bad[0], bad[1])
		require.ErrorIs(t, err, errAnswer)
	}
	for _, p := range []*PagesRead{nil, {memory: make([]byte, 30), slot: 31}, {memory: make([]byte, 30), slot: 1 << 63}} {
		_, err := p.Page(0, 1)
		require.ErrorIs(t, err, errAnswer)
	}
}
