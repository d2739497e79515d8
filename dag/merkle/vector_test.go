package merkle

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag/merkle/merkletest"
	"github.com/stoadb/stoa/engine/mem"
)

var rewrite = flag.Bool("update", false, "write testdata/trie.json anew, from the naive implementation")

// trieVector is a state, its root, and proofs. Bytes are in hex.
type trieVector struct {
	Name   string        `json:"name"`
	State  []stateVector `json:"state"`
	Root   string        `json:"root"`
	Proofs []proofVector `json:"proofs"`
}

type stateVector struct {
	AppKey string `json:"app_key"`
	Value  string `json:"value"`
}

type proofVector struct {
	AppKey   string  `json:"app_key"`
	Included bool    `json:"included"`
	Value    *string `json:"value,omitempty"` // of a key that is there
	Proof    string  `json:"proof"`
}

func TestGoldenVectors(t *testing.T) {
	const file = "testdata/trie.json"
	made, err := json.MarshalIndent(naiveVectors(), "", " ")
	require.NoError(t, err)
	made = append(made, '\n')
	if *rewrite {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, made, 0o644))
	}
	stored, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, bytes.Equal(made, stored), "%s is not what the definition gives; if that has changed: go test ./dag/merkle -update", file)

	var vectors []trieVector
	require.NoError(t, json.Unmarshal(stored, &vectors))
	for _, v := range vectors {
		e := mem.New()
		trie := Open(NewCache(0), e, context1, EmptyRoot())
		for _, s := range v.State {
			update(t, trie, Change{Key: HashKey([]byte(merkletest.Unhex(s.AppKey))), Value: HashValue([]byte(merkletest.Unhex(s.Value)))})
		}
		require.Equal(t, v.Root, trie.Root().String(), v.Name)
		for _, p := range v.Proofs {
			h := prove(t, trie, HashKey([]byte(merkletest.Unhex(p.AppKey))))
			require.Equal(t, p.Proof, hex.EncodeToString(h.bytes), "%s %s", v.Name, p.AppKey)
			require.NoError(t, h.verify())
			if p.Included {
				require.Equal(t, HashValue([]byte(merkletest.Unhex(*p.Value))), h.value)
			}
		}
		require.NoError(t, e.Close())
	}
}

// naiveVectors makes the vectors without the trie.
func naiveVectors() (vectors []trieVector) {
	for _, v := range []struct {
		name   string
		keys   []string
		absent []string
	}{
		{"empty", nil, []string{""}},
		{"one key, which is empty and has no value", []string{""}, []string{"a"}},
		{"two keys", []string{"a", "b"}, []string{"", "c"}},
		{"ten keys", strings.Split("0123456789", ""), []string{"a", "10"}},
		{"two hundred keys", words(200), append(words(205)[200:], "")},
	} {
		n, made := merkletest.Naive{}, trieVector{Name: v.name, State: []stateVector{}}
		for _, k := range v.keys {
			value := strings.Repeat(k, 3)
			n[merkletest.Hash(k)] = merkletest.Hash(value)
			made.State = append(made.State, stateVector{AppKey: hex.EncodeToString([]byte(k)), Value: hex.EncodeToString([]byte(value))})
		}
		made.Root = n.Root()
		for i, s := range made.State {
			if i < 3 {
				made.Proofs = append(made.Proofs, proofVector{AppKey: s.AppKey, Included: true, Value: &made.State[i].Value,
					Proof: n.Proof(merkletest.Hash(v.keys[i]))})
			}
		}
		for _, k := range v.absent {
			made.Proofs = append(made.Proofs, proofVector{AppKey: hex.EncodeToString([]byte(k)), Proof: n.Proof(merkletest.Hash(k))})
		}
		vectors = append(vectors, made)
	}
	return vectors
}

// words returns n different keys.
func words(n int) (w []string) {
	for i := range n {
		w = append(w, "key "+string(rune('a'+i%26))+strings.Repeat("'", i/26))
	}
	return w
}

// Rows are not in the vectors file, for nobody but the store reads them; this is
// their form.
func TestRowsAreAsTheReadmeSays(t *testing.T) {
	key, value := codec.Hash{0x12, 0x34}, codec.Hash{9}
	bucket := newBucket([]Leaf{{Key: key, Value: value}}, []uint64{0x0102}, nil, 0)
	leaves := append(append(append([]byte{3}, key[:]...), value[:]...), 2, 1, 0, 0, 0, 0, 0, 0)
	sum := crc32.Checksum(leaves, crc32.MakeTable(crc32.Castagnoli))
	require.Equal(t, binary.LittleEndian.AppendUint32(leaves, sum), bucket.appendRow(nil))
	// Rows of builds without marks, and those with others.
	older := append(append([]byte{1}, key[:]...), value[:]...)
	for _, row := range [][]byte{older, newBucket([]Leaf{{Key: key, Value: value}}, []uint64{7}, nil, 0).appendRow(nil)} {
		require.Equal(t, bucket.appendRow(nil), Remark(nil, row, 0x0102))
	}
	old, fault := parseRow(&Prefix{}, older, nil)
	require.Empty(t, fault)
	require.Equal(t, []uint64{0}, old.marks)
	pg := newInner(nil)
	require.Equal(t, []byte{2, 0, 0}, Remark(nil, pg.appendRow(nil), 1))
	pg.kids[3], pg.kids[15] = kid{hash: key, count: 20}, kid{hash: value, count: manyLeaves}
	require.Equal(t, "020880"+key.String()+"14"+value.String()+"ff", hex.EncodeToString(pg.appendRow(nil)))
	trie := Open(NewCache(0), nil, context1, EmptyRoot())
	p := NewPrefix(key, 3)
	require.Equal(t, hex.EncodeToString([]byte("dag-trie"))+strings.Repeat("00", 8)+context1.String()+"010203",
		hex.EncodeToString(trie.rowKey(&p)))
	back, fault := parseRow(&Prefix{n: 2}, pg.appendRow(nil), nil)
	require.Empty(t, fault)
	require.Equal(t, *pg.kids, *back.kids)
	for _, bad := range [][]byte{nil, {}, {4}, {3}, {1}, {2}, {2, 1}, pg.appendRow(nil)[:40], append(pg.appendRow(nil), 0)} {
		_, fault = parseRow(&Prefix{n: 2}, bad, nil)
		require.NotEmpty(t, fault)
	}
	_, fault = parseRow(&Prefix{n: 3}, pg.appendRow(nil), nil)
	require.NotEmpty(t, fault, "no row for an inner page here")
}
