package group

import (
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
)

// forked returns a ledger in which K has signed so many ops with each of so many nonces.
func forked(t *testing.T, forks, long int) *Ledger {
	l := NewLedger(root, codec.Identity{})
	l.Hold()
	first := codec.OpID{1}
	_, err := l.Add(&Op{ID: first, Signer: who("Z"), Nonce: 1, Root: &codec.RootOp{Kind: codec.RootNamespaceCreated, GroupID: root}})
	require.NoError(t, err)
	for f := range forks {
		parent := first
		for n := range long {
			var id codec.OpID
			binary.BigEndian.PutUint32(id[:], uint32(f+2))
			binary.BigEndian.PutUint32(id[4:], uint32(n))
			_, err := l.Add(&Op{ID: id, Parents: []codec.OpID{parent}, Signer: who("K"), Nonce: uint64(n + 1), Root: &codec.RootOp{Kind: codec.RootMerge}})
			require.NoError(t, err)
			parent = id
		}
	}
	return l
}

// However many ops have one nonce, they are one entry, and to list them takes as much as
// they are, not as much as their pairs.
func TestEquivocationsTakeNoMoreThanTheirOps(t *testing.T) {
	const ops = 2000
	l := forked(t, ops, 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	found := l.Equivocations(Equivocation{}, 0)
	runtime.ReadMemStats(&after)
	require.Len(t, found, 1)
	require.Equal(t, ops, found[0].Count)
	require.Equal(t, byte(2), found[0].First[3], "the least id")
	require.Equal(t, byte(3), found[0].Second[3])
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), "bytes; %d pairs would take a hundred times as many", ops*(ops-1)/2)
}

func TestEquivocationsComeInPages(t *testing.T) {
	l := forked(t, 3, 100)
	all := l.Equivocations(Equivocation{}, 0)
	require.Len(t, all, 100)
	var paged []Equivocation
	for last := (Equivocation{}); ; last = paged[len(paged)-1] {
		page := l.Equivocations(last, 7)
		if paged = append(paged, page...); len(page) < 7 {
			break
		}
	}
	require.Equal(t, all, paged)
	for i, e := range all {
		require.Equal(t, uint64(i+1), e.Nonce)
		require.Equal(t, 3, e.Count)
	}
	require.Empty(t, l.Equivocations(Equivocation{Signer: who("K"), Nonce: ^uint64(0)}, 1))
}
