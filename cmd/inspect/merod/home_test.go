package merod

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// home returns the rows of a merod of one node, which fit each other, but for some that do not, and the content of its blobs by
// ids of chunks.
func home() (rows map[string][]diskfile.Row, chunks map[[32]byte][]byte) {
	rows, chunks = map[string][]diskfile.Row{}, map[[32]byte][]byte{}
	add := func(family string, value []byte, key ...[]byte) {
		rows[family] = append(rows[family], diskfile.Row{Key: slices.Concat(key...), Value: value})
	}
	str := func(s string) []byte { return append(binary.LittleEndian.AppendUint32(nil, uint32(len(s))), s...) }
	u64 := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
	blob := func(parts ...string) (id []byte) {
		var links []byte
		for _, part := range parts {
			sum := sha256.Sum256([]byte(part))
			chunks[sum] = []byte(part)
			links = append(links, sum[:]...)
			add("Blobs", slices.Concat(u64(uint64(len(part))), sum[:], make([]byte, 4), u64(1)), sum[:])
		}
		whole, content := sha256.Sum256(links), sha256.Sum256([]byte(join(parts)))
		add("Blobs", slices.Concat(u64(uint64(len(join(parts)))), content[:], binary.LittleEndian.AppendUint32(nil, uint32(len(parts))), links, u64(1)), whole[:])
		return whole[:]
	}
	code, compiled, lost, other := blob("the code of an application, ", "in two chunks"), blob("what it was compiled to"), blob("lost"), blob("other")
	delete(chunks, sha256.Sum256([]byte("lost")))
	chunks[sha256.Sum256([]byte("other"))] = []byte("other bytes")
	_ = blob() // an empty one
	app, app1 := sampleID("application_id", 0), sampleID("application_id", 1)
	none := make([]byte, 32)
	meta := func(code, compiled []byte, services ...[]byte) []byte {
		return slices.Concat(code, u64(40), str("https://example.org/chat"), str("meta"), compiled, str("org.example.chat"), str("1.2.3"), str("signer"),
			append(binary.LittleEndian.AppendUint32(nil, uint32(len(services))), slices.Concat(services...)...))
	}
	add("Application", append(meta(code, compiled), 2, 0, 0, 0), app)                                                              // of August
	add("Application", meta(lost, none, slices.Concat(str("chat"), compiled, none), slices.Concat(str("old"), other, none)), app1) // of May

	ctx := func(i int) []byte { return sampleID("context_id", i) }
	add("Meta", slices.Concat(app, none, make([]byte, 4), []byte{0}), ctx(0))
	add("Meta", slices.Concat(app1, none, make([]byte, 4), []byte{1}, str("chat")), ctx(1))
	add("Meta", slices.Concat(sampleID("application_id", 7), none, make([]byte, 4), []byte{0}), ctx(2))
	for i := range 3 {
		add("Config", append(u64(uint64(i+1)), u64(7)...), ctx(i))
	}
	add("Config", append(u64(1), u64(1)...), ctx(9))
	for i, n := range []int{0: 5, 2: 3, 9: 1} {
		for j := range n {
			add("State", bytes.Repeat([]byte{byte(j)}, 10*j), ctx(i), sampleID("state_key", 10*i+j))
			add("PrivateState", []byte{byte(j)}, ctx(i), sampleID("private_key", 10*i+j))
		}
	}
	key := func(i int) (public, private []byte) {
		seed := sampleID("seed", i)
		return ed25519.NewKeyFromSeed(seed)[32:], seed
	}
	for i, owned := range []struct {
		context int
		secret  bool
	}{{0, true}, {0, false}, {1, true}, {1, true}} {
		public, private := key(i)
		value := []byte{0}
		if owned.secret {
			value = append([]byte{1}, private...)
		}
		add("Identity", value, ctx(owned.context), public)
	}
	alias := func(kind byte, scope []byte, name string, to []byte) {
		add("Alias", to, []byte{kind}, scope, []byte(name), make([]byte, 50-len(name)))
	}
	alias(1, none, "main", ctx(0))
	alias(2, ctx(0), "alice", sampleID("alice", 0))
	alias(3, none, "chat", app)
	alias(1, none, "gone", ctx(9))
	alias(1, none, "", ctx(0)) // stoa takes no empty name
	add("Generic", sampleID("hash", 0), []byte("sync-in-progres\x00"), ctx(0))
	add("Generic", []byte(`{"cert":"…"}`), []byte("ssl_certs:server"), none)
	add("Generic", []byte("x"), []byte("other-scope\x00\x00\x00\x00\x00"), none)
	some := sample("2026-08")
	rows["Delta"], rows["Group"], rows["ContextLocal"] = some["Delta"], some["Group"], some["ContextLocal"]
	for _, list := range rows {
		slices.SortFunc(list, func(a, b diskfile.Row) int { return bytes.Compare(a.Key, b.Key) })
	}
	return rows, chunks
}

func join(parts []string) (s string) {
	for _, part := range parts {
		s += part
	}
	return s
}
