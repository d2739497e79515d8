package keys

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
)

// form is what a scope takes and what it refuses.
type form struct{ taken, refused [][]byte }

// exactly is the form of any bytes of one of these numbers.
func exactly(sizes ...int) (f form) {
	f.taken = zeros(sizes...)
	for _, n := range sizes {
		for _, near := range []int{0, n - 1, n + 1} {
			if near >= 0 && !slices.Contains(sizes, near) {
				f.refused = append(f.refused, make([]byte, near))
			}
		}
	}
	return f
}

func zeros(sizes ...int) (all [][]byte) {
	for _, n := range sizes {
		all = append(all, make([]byte, n))
	}
	return all
}

// led returns the bytes first and then zeros.
func led(zeros int, first ...byte) []byte { return append(first, make([]byte, zeros)...) }

// counted returns the parts one after the other, each behind its length.
func counted(parts ...string) (b []byte) {
	for _, part := range parts {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(part))), part...)
	}
	return b
}

// stamp is a place in the order of deltas: an id, a stamp of node 1, and parents.
func stamp(parents int) []byte {
	b := make([]byte, 32+24+8*parents)
	b[32+8] = 1
	return b
}

// places returns a row of the order that says that it has so many parents, and n numbers.
func places(parents uint32, n int) []byte {
	b := binary.LittleEndian.AppendUint32(stamp(0), parents)
	return append(b, make([]byte, 8*n)...)
}

// sealed returns an envelope of a delta.
func sealed() []byte {
	b, err := codec.DeltaEnvelope{Sealed: []byte("sealed")}.AppendBinary(nil)
	if err != nil {
		panic(err)
	}
	return b
}

// Where a scope of Generic takes fragments of some sizes only.
var fragmentForms = map[string]form{
	"sync-in-progres":  exactly(32),
	"ssl_certs:server": {zeros(32), append(zeros(0, 31, 33), led(31, 1), append(make([]byte, 31), 1))},
	"sse-sessions":     exactly(32),
	"dag-clock":        exactly(0),
	"dag-uptime":       exactly(0),
	"dag-trie": {append(zeros(32, 32+2, 32+63), append(make([]byte, 32), 1, 15, 0)),
		append(zeros(0, 31, 33, 32+64), append(make([]byte, 32), 16, 0), append(make([]byte, 32), 0, 16))},
	"dag-tail":    exactly(32),
	"dag-order":   exactly(32 + 8),
	"dag-seq":     exactly(32 + 32),
	"dag-head":    exactly(32 + 32),
	"dag-gone":    exactly(32 + 32),
	"dag-late":    exactly(32 + 32 + 8 + 16 + 32),
	"dag-version": exactly(32 + 32 + 8 + 16 + 32),
	"dag-pending": {[][]byte{led(40, 'a'), led(64, 'i'), led(64, 'm'), led(64, 'r'), led(96, 'w')},
		[][]byte{nil, led(39, 'a'), led(41, 'a'), led(64, 'a'), led(40, 'i'), led(63, 'i'), led(65, 'm'), led(63, 'r'), led(95, 'w'), led(97, 'w'),
			led(64, 's'), led(40, 0), led(64, 0)}},
	"dag-refused":  {[][]byte{led(40, 's'), led(64, 'i')}, [][]byte{nil, led(39, 's'), led(64, 's'), led(40, 'i'), led(65, 'i'), led(40, 'a'), led(64, 0)}},
	"dag-context":  exactly(32),
	"dag-cursor":   {zeros(33, 96), zeros(0, 32, 97)},
	"dag-seeded":   exactly(32 + 32),
	"dag-seeding":  exactly(32),
	"dag-aside":    exactly(32 + 8 + 32),
	"dag-staging":  exactly(32 + 32),
	"dag-signed":   exactly(32 + 32),
	"dag-envelope": exactly(32 + 32),
	"dag-cut":      {[][]byte{led(64, 'h'), led(96, 'm')}, [][]byte{nil, led(63, 'h'), led(96, 'h'), led(64, 'm'), led(95, 'm'), led(64, 'a')}},
	"dag-held":     exactly(32 + 32),
	"gov-op":       exactly(32 + 8),
	"gov-pending":  exactly(32 + 8),
	"gov-reissued": exactly(32 + 32),
	"gov-home":     exactly(32 + 32),
	"gov-rules":    exactly(32),
	"gov-followed": exactly(32),
	"gov-restored": exactly(32),
	"gov-peer":     exactly(32 + 32),
}

// Where a scope of Generic takes values of some form only.
var valueForms = map[string]form{
	"dag-clock":  exactly(8),
	"dag-uptime": exactly(16 + 8 + 8),
	"dag-order": {[][]byte{stamp(0), stamp(1), stamp(65_536), make([]byte, 32+24), places(0, 0), places(1, 8), places(65_536, 65_536), places(2, 2+8192)},
		append(zeros(0, 32+24+8, 32+24+4), stamp(0)[:32+23], stamp(1)[:32+24+7], stamp(65_537), // no node is 0
			places(1, 0), places(65_537, 65_537), places(0, 8193), places(0xFFFFFFFF, 3), places(0, 1)[:32+24+4+7])},
	"dag-gone": {[][]byte{{1, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 1}}, zeros(0, 7, 8, 9)},
	"dag-late": {[][]byte{{1, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 1}}, zeros(0, 7, 8, 9)},
	"dag-tail": exactly(8 + 32),
	"dag-seq":  exactly(8),
	"dag-head": exactly(8),
	"dag-version": {[][]byte{led(32, 1), led(0, 2)},
		[][]byte{nil, led(0, 1), led(31, 1), led(33, 1), led(32, 2), led(1, 2), led(32, 0), led(0, 0), led(0, 3)}},
	"dag-pending": exactly(0, 8, 40),
	"dag-refused": {zeros(8, 4*32+1, 4*32+2), zeros(0, 7, 9, 4*32)},
	"dag-context": exactly(32+24+1+1, 32+24+1+1+8),
	"dag-cursor":  exactly(8),
	"dag-seeded":  {[][]byte{counted(""), counted("k"), append(counted("key"), "any value"...)}, append(zeros(0, 3), led(0, 1, 0, 0, 0), led(0, 0, 0, 0, 0xFF))},
	"dag-staging": {[][]byte{counted(""), counted("k"), append(counted("key"), "any value"...)}, append(zeros(0, 3), led(0, 1, 0, 0, 0), led(0, 0, 0, 0, 0xFF))},
	"dag-seeding": {[][]byte{append(make([]byte, 40), counted("", "")...), append(make([]byte, 40), counted("base", "place")...)},
		[][]byte{nil, make([]byte, 39), append(make([]byte, 40), counted("base")...), append(make([]byte, 40), counted("", "", "")...),
			append(append(make([]byte, 40), counted("base")...), 0, 0, 0, 0xFF), led(40, 0, 0, 0, 0, 0)}},
	"dag-signed":   {[][]byte{append(make([]byte, 40), sealed()...)}, [][]byte{nil, make([]byte, 40), append(make([]byte, 39), sealed()...), append(make([]byte, 41), sealed()...)}},
	"dag-envelope": exactly(32),
	"dag-cut":      exactly(0, 32, 64),
	"dag-held":     {[][]byte{append(make([]byte, 40), sealed()...)}, [][]byte{nil, make([]byte, 40), append(make([]byte, 39), sealed()...), append(make([]byte, 41), sealed()...)}},
	"gov-op":       {append(zeros(41, 43), append(make([]byte, 41), 4, 0)), append(zeros(0, 40), append(make([]byte, 41), 5), append(make([]byte, 41), 1, 9))},
	"gov-reissued": exactly(32),
	"gov-home":     exactly(32 + 3*8),
	"gov-rules":    exactly(4),
	"gov-followed": exactly(0),
	"gov-restored": exactly(8),
	"gov-peer":     exactly(8),
}

func TestScopesTakeFragmentsOfTheirFormOnly(t *testing.T) {
	for info := range Scopes() {
		f, ok := fragmentForms[info.Name]
		require.True(t, ok != (info.Fragment == "any"), "the form of the fragments of %s", info.Name)
		for _, fragment := range f.taken {
			require.NoError(t, CheckKey(column.Generic, genericKey(t, info.Name, fragment)), "%s %x", info.Name, fragment)
		}
		for _, fragment := range f.refused {
			require.ErrorIs(t, CheckKey(column.Generic, genericKey(t, info.Name, fragment)), ErrLayout, "%s %x", info.Name, fragment)
		}
	}
}

func TestScopesTakeValuesOfTheirFormOnly(t *testing.T) {
	free := []string{"opaque", "a page (dag/merkle/README.md)", "the delta as it travels (dag/README.md)", "the op as it travels (namespace/README.md)"}
	for info := range Scopes() {
		key := genericKey(t, info.Name, nil)
		if f := fragmentForms[info.Name]; len(f.taken) > 0 {
			key = genericKey(t, info.Name, f.taken[0])
		}
		f, ok := valueForms[info.Name]
		require.True(t, ok != slices.Contains(free, info.Value), "the form of the values of %s", info.Name)
		if !ok {
			f.taken = [][]byte{nil, []byte("anything")}
		}
		for _, value := range f.taken {
			require.NoError(t, Check(column.Generic, key, value), "%s %x", info.Name, value)
		}
		for _, value := range f.refused {
			require.ErrorIs(t, Check(column.Generic, key, value), codec.ErrMalformed, "%s %x", info.Name, value)
		}
	}
}
