package diskfile

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// writeChain puts logs into dir, each of batches that count so many changes, and returns
// the sequence of the last change.
func writeChain(t require.TestingT, dir string, from uint64, logs [][]int) uint64 {
	for i, counts := range logs {
		var records [][]byte
		for _, n := range counts {
			b := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, from), uint32(n))
			records = append(records, append(b, make([]byte, 10*n)...))
			from += uint64(n)
		}
		require.NoError(t, os.WriteFile(chainLog(dir, i), writeLog(records), 0o600))
	}
	return from - 1
}

func chainLog(dir string, i int) string { return filepath.Join(dir, fmt.Sprintf("%06d.log", 10+i)) }

func readChain(t require.TestingT, dir string, tabled uint64) Chain {
	m := &Manifest{Families: map[uint32]*Family{0: newFamily("default")}, LastSequence: tabled}
	m.Families[0].Log = 10
	c, err := m.Chain(dir, 0)
	require.NoError(t, err)
	return c
}

// Whole logs have no hole; neither has one that ends in the middle of its last record.
// Without one of the logs before the last, or with zeros over a part of one, what is
// behind that does not count, and is counted.
func TestChainEndsBeforeAHole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "chain")
		require.NoError(t, err)
		defer os.RemoveAll(dir)
		logs := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]int{1, 2, 50, 4000}), 1, 5), 2, 4).Draw(t, "logs")
		last := writeChain(t, dir, 101, logs)
		require.NoError(t, os.WriteFile(chainLog(dir, -1), []byte("garbage that no family needs"), 0o600))
		require.Equal(t, Chain{Last: last}, readChain(t, dir, 100))
		require.Equal(t, Chain{Last: last}, readChain(t, dir, 170), "a flush knew of changes that were still in the log only")

		hurt := rapid.IntRange(0, len(logs)-1).Draw(t, "hurt")
		before, in := uint64(100), uint64(0)
		for i, counts := range logs[:hurt+1] {
			for _, n := range counts {
				if i < hurt {
					before += uint64(n)
				} else {
					in += uint64(n)
				}
			}
		}
		b, err := os.ReadFile(chainLog(dir, hurt))
		require.NoError(t, err)
		switch rapid.SampledFrom([]string{"gone", "short", "zeros"}).Draw(t, "how") {
		case "gone":
			require.NoError(t, os.Remove(chainLog(dir, hurt)))
			in = 0
		case "short":
			require.NoError(t, os.WriteFile(chainLog(dir, hurt), b[:rapid.IntRange(0, len(b)-1).Draw(t, "length")], 0o600))
		case "zeros":
			from := rapid.IntRange(0, len(b)-1).Draw(t, "from")
			to := rapid.IntRange(from+1, len(b)).Draw(t, "to")
			clear(b[from:to])
			require.NoError(t, os.WriteFile(chainLog(dir, hurt), b, 0o600))
		}
		c := readChain(t, dir, 100)
		if c.Last == last && c.Hole == nil { // zeros over zeros
			return
		}
		require.GreaterOrEqual(t, max(c.Last, 100), before)
		require.Less(t, c.Last, last)
		require.Less(t, c.Last, before+max(in, 1))
		if hurt < len(logs)-1 {
			require.NotNil(t, c.Hole)
			require.Equal(t, last, c.Hole.Last)
			require.NotZero(t, c.Hole.Bytes)
			require.Contains(t, c.Hole.String(), fmt.Sprint(" to ", last))
		}
	})
}

// A log that nobody has synced may be missing altogether: what comes after it does not
// continue what is in tables.
func TestChainBeginsWhereTheTablesEnd(t *testing.T) {
	dir := t.TempDir()
	writeChain(t, dir, 101, [][]int{{5}, {5}})
	require.NoError(t, os.Remove(chainLog(dir, 0)))
	c := readChain(t, dir, 100)
	require.Zero(t, c.Last)
	require.Equal(t, chainLog(dir, 1), c.Hole.Path)
	require.Zero(t, c.Hole.Offset)
	require.Contains(t, c.Hole.String(), "sequence 101 is due, and 106 comes")
	require.EqualValues(t, 1, c.Hole.Records)
}

// Where the first log begins with a hole, nothing is missing of what tables have, unless
// one of them has something of that log.
func TestAChainThatBeginsWithAHoleEndsWithTheTables(t *testing.T) {
	dir := t.TempDir()
	writeChain(t, dir, 101, [][]int{{5, 5}})
	b, err := os.ReadFile(chainLog(dir, 0))
	require.NoError(t, err)
	clear(b[:12])
	require.NoError(t, os.WriteFile(chainLog(dir, 0), b, 0o600))
	m := &Manifest{Families: map[uint32]*Family{0: newFamily("default"), 1: newFamily("other")}, LastSequence: 103}
	m.Families[1].flushed = 100
	for log, last := range map[uint64]uint64{9: 100, 10: 100, 11: 0} {
		m.Families[1].Log = log
		c, err := m.Chain(dir, 0)
		require.NoError(t, err)
		require.Equal(t, last, c.Last, "a family that has flushed what is before log %d", log)
		require.Zero(t, c.Hole.Offset)
	}
}

// A log whose records say again what the log before it has said is no part of the chain.
func TestALogThatGoesBackEndsTheChain(t *testing.T) {
	dir := t.TempDir()
	require.EqualValues(t, 110, writeChain(t, dir, 101, [][]int{{5, 5}}))
	again, err := os.ReadFile(chainLog(dir, 0))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(chainLog(dir, 1), again, 0o600))
	c := readChain(t, dir, 100)
	require.EqualValues(t, 110, c.Last)
	require.NotNil(t, c.Hole)
	require.Equal(t, chainLog(dir, 1), c.Hole.Path)
	require.Contains(t, c.Hole.String(), "sequence 111 is due, and 101 comes")
}

func TestBatchesWithoutChangesHaveNoLastChange(t *testing.T) {
	dir := t.TempDir()
	writeChain(t, dir, 101, [][]int{{0, 0}})
	require.Equal(t, Chain{}, readChain(t, dir, 100))
}
