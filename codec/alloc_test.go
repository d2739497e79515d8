package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// allocated returns how many bytes f allocates, or the least of a few runs where
// that is more than enough: the rest of the process allocates too.
func allocated(f func(), enough uint64) uint64 {
	least := uint64(math.MaxUint64)
	for range 4 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		if least = min(least, after.TotalAlloc-before.TotalAlloc); least <= enough {
			break
		}
	}
	return least
}

// allocationBound is what decoding n bytes may allocate, whatever they are.
func allocationBound(n int) uint64 { return 16*uint64(n) + 4<<10 }

func requireBounded(t require.TestingT, k kind, src []byte) {
	bound := allocationBound(len(src))
	got := allocated(func() { _, _ = k.decode(src) }, bound)
	require.LessOrEqual(t, got, bound, "%s of %d bytes", k.typ.Name, len(src))
}

func TestDecodingAllocatesWithinTheBound(t *testing.T) {
	properties(t, func(t *testing.T, k kind) {
		requireBounded(t, k, nil)
		requireBounded(t, k, bytes.Repeat([]byte{0xFF}, 200))
		rapid.Check(t, func(t *rapid.T) {
			b, err := k.encode(k.draw(t), nil)
			require.NoError(t, err)
			requireBounded(t, k, b)
		})
	})
}

// The inputs that make the most of each byte: as many as possible of the
// elements that are small on disk and large in memory.
func TestDecodingDenseListsAllocatesWithinTheBound(t *testing.T) {
	delta := kindOf[ContextDagDeltaValue]()
	app := kindOf[ApplicationMeta]()
	heads := kindOf[NamespaceGovHeadValue]()
	for _, n := range []int{1, 10, 100, 1000, 100_000} {
		clock := HybridTimestamp{ID: NodeID{Lo: 1}}
		tiny := Put([]byte{1}, []byte{2})
		for name, v := range map[string]ContextDagDeltaValue{
			"empty deletes": {HLC: clock, Actions: make([]Action, n)},
			"tiny puts":     {HLC: clock, Actions: bytesOf(n, tiny)},
			"empty events":  {HLC: clock, Events: make([]Event, n)},
			"tiny events":   {HLC: clock, Events: bytesOf(n, Event{Kind: "a", Data: []byte{1}})},
			"parents":       {HLC: clock, Parents: make([]DeltaID, n)},
		} {
			if name == "empty deletes" {
				for i := range v.Actions {
					v.Actions[i].Kind = ActionDelete
				}
			}
			t.Run(fmt.Sprint(name, n), func(t *testing.T) { requireBounded(t, delta, encode(t, delta, v)) })
		}
		requireBounded(t, app, encode(t, app, ApplicationMeta{Services: make([]ServiceMeta, n)}))
		requireBounded(t, heads, encode(t, heads, NamespaceGovHeadValue{DagHeads: make([]OpID, n)}))
	}
}

func bytesOf[T any](n int, v T) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = v
	}
	return s
}

func encode(t *testing.T, k kind, v any) []byte {
	b, err := k.encode(v, nil)
	require.NoError(t, err)
	return b
}

func TestCountsAreCheckedBeforeAllocating(t *testing.T) {
	delta := kindOf[ContextDagDeltaValue]()
	for _, count := range []uint32{3, 1 << 20, 1 << 28, math.MaxUint32} {
		src := binary.LittleEndian.AppendUint32(make([]byte, 32), count)
		src = append(src, make([]byte, 64)...)
		requireBounded(t, delta, src)
		require.Error(t, delta.typ.Check(src))
	}
}

func TestFixedSizeValuesAllocateNothing(t *testing.T) {
	buf := make([]byte, 0, 256)
	noAllocs(t, buf, ContextConfigValue{1, 2})
	noAllocs(t, buf, ContextIdentityValue{PrivateKey: Some(Secret{1})})
	noAllocs(t, buf, HybridTimestamp{1, NodeID{2, 3}})
	noAllocs(t, buf, BlobMeta{Size: 1, Chunks: 1})
	noAllocs(t, buf, AliasValue{Hash{1}})
	noAllocs(t, buf, GroupMetaValue{CreatedAt: 1})
	noAllocs(t, buf, UpgradeFrozen)
	noAllocs(t, buf, ReadOnly)
	noAllocs(t, buf, Present{})
	noAllocs(t, buf, GroupRefValue{GroupID{1}})
	noAllocs(t, buf, ParentRefValue{GroupID{1}})
	noAllocs(t, buf, MemberContextValue{Identity{1}})
	noAllocs(t, buf, GroupUpgradeValue{ToVersion: 1})
	noAllocs(t, buf, GroupUpgradeStatus{Total: 1})
	noAllocs(t, buf, GroupSigningKeyValue{Secret{1}})
	noAllocs(t, buf, GroupKeyValue{Secret{1}})
	noAllocs(t, buf, GroupMemberCapabilityValue{ManageAliases})
	noAllocs(t, buf, GroupDefaultCapsValue{AllCapabilities})
	noAllocs(t, buf, ContextCapability(1))
	noAllocs(t, buf, Nonce(7))
	noAllocs(t, buf, NamespaceIdentityValue{PublicKey: Identity{1}})
}

func noAllocs[V Value[V]](t *testing.T, buf []byte, v V) {
	t.Helper()
	require.Zero(t, testing.AllocsPerRun(20, func() {
		b, err := v.AppendBinary(buf)
		if err == nil {
			_, err = v.Decode(b)
		}
		if err != nil {
			panic(err)
		}
	}), "%T", v)
}

func TestCheckAllocatesNothing(t *testing.T) {
	properties(t, func(t *testing.T, k kind) {
		rapid.Check(t, func(t *rapid.T) {
			b, err := k.encode(k.draw(t), nil)
			require.NoError(t, err)
			require.Zero(t, testing.AllocsPerRun(1, func() { _ = k.typ.Check(b) }))
		})
	})
}

// The strings of an application take one piece of memory while they are short, and are the same when they
// are not.
func TestStringsOfAnApplicationShareMemory(t *testing.T) {
	v := ApplicationMeta{Source: "https://apps.example.com/chat.wasm", Package: "chat", Version: "1.4.2", SignerID: "z6Mk"}
	for _, source := range []string{v.Source, strings.Repeat("s", maxTogether+1)} {
		v.Source = source
		b, err := v.AppendBinary(nil)
		require.NoError(t, err)
		got, err := ApplicationMeta{}.Decode(b)
		require.NoError(t, err)
		require.Equal(t, v, got)
		if short := len(source) < maxTogether; short {
			require.LessOrEqual(t, testing.AllocsPerRun(100, func() { got, err = ApplicationMeta{}.Decode(b) }), 1.0)
		}
	}
}
