package exchange

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// reconciled has two sides find out how they differ, and returns what each has found, how many bytes
// that took, and how many messages.
func reconciled(t require.TestingT, a, b [][]byte, itemLen int) (ofA, ofB found, size, messages int) {
	sides := []set{setOf(a), setOf(b)}
	results := []*found{&ofA, &ofB}
	out, err := sides[0].opening()
	require.NoError(t, err)
	for goes := true; goes; {
		wire := appendSpans(nil, out)
		size += len(wire)
		messages++
		require.LessOrEqual(t, messages, maxPasses)
		spans, err := spansOf(wire, itemLen)
		require.NoError(t, err)
		out, goes, err = sides[messages%2].answer(spans, results[messages%2])
		require.NoError(t, err)
	}
	return ofA, ofB, size, messages
}

func TestBothSidesFindOutHowTheyDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const most = 2000
		item := func(i int) []byte {
			b := make([]byte, 8)
			binary.BigEndian.PutUint32(b, uint32(i)/3) // some share their first bytes
			b[7] = byte(i % 3)
			return b
		}
		var a, b, onlyA, onlyB [][]byte
		n, often := rapid.IntRange(0, most).Draw(t, "items"), rapid.SampledFrom([]int{0, 1, 20, 500}).Draw(t, "differing of a thousand")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for i := range n {
			switch in := r.IntN(2000); {
			case in < often:
				a, onlyA = append(a, item(i)), append(onlyA, item(i))
			case in < 2*often:
				b, onlyB = append(b, item(i)), append(onlyB, item(i))
			default:
				a, b = append(a, item(i)), append(b, item(i))
			}
		}
		ofA, ofB, _, _ := reconciled(t, a, b, 8)
		for _, f := range []*found{&ofA, &ofB} {
			slices.SortFunc(f.mine, bytes.Compare)
			slices.SortFunc(f.theirs, bytes.Compare)
		}
		require.Equal(t, found{onlyA, onlyB}, ofA)
		require.Equal(t, found{onlyB, onlyA}, ofB)
	})
}

func TestWhatAHundredOfAMillionTake(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var a, b [][]byte
	for i := range 1_000_000 {
		item := make([]byte, 24)
		binary.BigEndian.PutUint64(item, uint64(i)<<20)
		binary.BigEndian.PutUint64(item[8:], r.Uint64())
		a = append(a, item)
	}
	for _, spread := range []bool{false, true} {
		b = slices.Clone(a[:len(a)-100])
		if spread {
			b = slices.Clone(a)
			for range 100 {
				i := r.IntN(len(b))
				b = slices.Delete(b, i, i+1)
			}
		}
		ofA, _, size, messages := reconciled(t, a, b, 24)
		require.Len(t, ofA.mine, 100)
		t.Logf("spread %v: %d bytes, %d messages", spread, size, messages)
		require.Less(t, size, 160<<10)
		require.LessOrEqual(t, messages, 8)
	}
}
