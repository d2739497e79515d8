package inspect

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

// drawStore returns a store in memory with rows of several types.
func drawStore(t *rapid.T) *mem.Engine {
	e := mem.New()
	var b engine.Batch
	id := func(name string) (v [32]byte) {
		v[0] = rapid.ByteRange(1, 3).Draw(t, name)
		return v
	}
	for range rapid.IntRange(0, 40).Draw(t, "rows") {
		value := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "value")
		switch rapid.IntRange(0, 6).Draw(t, "type") {
		case 0:
			engine.Put(&b, keys.ContextState{Context: id("c"), AppKey: keys.NewBytes(value[:len(value)/4])}, codec.Raw(value))
		case 1:
			engine.Put(&b, keys.GroupMember{Group: id("g"), Identity: id("i")}, codec.Member)
		case 2:
			engine.Put(&b, keys.GroupSigningKey{Group: id("g"), Key: id("k")}, codec.GroupSigningKeyValue{PrivateKey: id("s")})
		case 3:
			engine.Put(&b, keys.ContextDagDelta{Context: id("c"), Delta: id("d")}, codec.ContextDagDeltaValue{
				DeltaID: id("x"), Parents: []codec.DeltaID{id("p")}, Actions: []codec.Action{codec.Put(value, value)},
				HLC: codec.HybridTimestamp{Time: 7, ID: codec.NodeID{Lo: 1}}, Events: []codec.Event{{Kind: "é\"<\n", Data: value}},
			})
		case 4:
			engine.Put(&b, keys.GroupChildIndex{Parent: id("g"), Child: id("h")}, codec.Present{})
		case 5:
			b.Put(column.Generic, append([]byte("stoa.test\x00\x00\x00\x00\x00\x00\x00"), value...), value)
		case 6:
			engine.Put(&b, keys.ContextGroupRef{Context: id("c")}, codec.GroupRefValue{GroupID: id("g")})
		}
	}
	require.NoError(t, e.Apply(&b))
	return e
}

func dump(t require.TestingT, e engine.Reader, o ExportOptions) ([]byte, *Exported) {
	var out bytes.Buffer
	done, err := Export(context.Background(), From(e, Facts{Schema: 1}), &out, o)
	require.NoError(t, err)
	return out.Bytes(), done
}

func TestWhatWasExportedIsImportedAsItWas(t *testing.T) {
	enginetest.Check(t, 100, func(t *rapid.T) {
		a, b := drawStore(t), mem.New()
		defer a.Close()
		defer b.Close()
		text, done := dump(t, a, ExportOptions{Reveal: true, Plain: rapid.Bool().Draw(t, "plain")})
		got, err := Import(context.Background(), bytes.NewReader(text), b, ImportOptions{})
		require.NoError(t, err)
		require.Equal(t, done.Rows, got.Rows)
		require.Zero(t, got.Skipped)
		require.Equal(t, digests(t, a), digests(t, b))
		again, _ := dump(t, b, ExportOptions{Reveal: true, Plain: true})
		plain, _ := dump(t, a, ExportOptions{Reveal: true, Plain: true})
		require.Equal(t, string(plain), string(again))
		if got.Rows > 0 {
			_, err = Import(context.Background(), bytes.NewReader(text), b, ImportOptions{})
			require.ErrorIs(t, err, engine.ErrConflict)
		}
		_, err = Import(context.Background(), bytes.NewReader(text), b, ImportOptions{Replace: true})
		require.NoError(t, err)
	})
}

func TestDumpsAreWithoutSecrets(t *testing.T) {
	a, b := mem.New(), mem.New()
	defer a.Close()
	defer b.Close()
	secret := codec.Secret{0xCA, 0x41, 0xCA, 0x41, 0xCA, 0x41}
	apply(t, a, func(batch *engine.Batch) {
		engine.Put(batch, keys.ContextIdentity{}, codec.ContextIdentityValue{PrivateKey: codec.Some(secret)})
		engine.Put(batch, keys.GroupSigningKey{}, codec.GroupSigningKeyValue{PrivateKey: secret})
		engine.Put(batch, keys.NamespaceIdentity{}, codec.NamespaceIdentityValue{PrivateKey: secret, SenderKey: secret})
		engine.Put(batch, keys.GroupKeyEntry{}, codec.GroupKeyValue{Key: secret})
		batch.Put(column.Group, append([]byte{0x25}, bytes.Repeat([]byte{9}, 64)...), secret[:5]) // it does not parse
		engine.Put(batch, keys.GroupMember{}, codec.Admin)
	})
	text, done := dump(t, a, ExportOptions{Plain: true})
	require.NotContains(t, string(text), "ca41ca41")
	require.EqualValues(t, 5, done.Redacted)
	got, err := Import(context.Background(), bytes.NewReader(text), b, ImportOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 1, got.Rows)
	require.EqualValues(t, 5, got.Skipped)
}

// No damage of a dump goes in unnoticed, nor panics.
func TestDamagedDumpsAreRefused(t *testing.T) {
	enginetest.Check(t, 100, func(t *rapid.T) {
		a, b := drawStore(t), mem.New()
		defer a.Close()
		defer b.Close()
		text, _ := dump(t, a, ExportOptions{Plain: rapid.Bool().Draw(t, "plain"), Reveal: true})
		cut := text[:rapid.IntRange(0, len(text)-2).Draw(t, "cut")]
		_, err := Import(context.Background(), bytes.NewReader(cut), b, ImportOptions{Replace: true})
		require.Error(t, err)
		flipped := bytes.Clone(text)
		flipped[rapid.IntRange(0, len(text)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		_, err = Import(context.Background(), bytes.NewReader(flipped), b, ImportOptions{Replace: true})
		if err != nil {
			require.True(t, errors.Is(err, ErrDump) || errors.Is(err, engine.ErrCorrupt), err)
		}
	})
}

func TestExportsOfContextsAndNamespaces(t *testing.T) {
	e := mem.New()
	defer e.Close()
	one, two := codec.ContextID{1}, codec.ContextID{2}
	root, child, other := codec.GroupID{1}, codec.GroupID{2}, codec.GroupID{3}
	apply(t, e, func(b *engine.Batch) {
		for _, c := range []codec.ContextID{one, two} {
			engine.Put(b, keys.ContextState{Context: c}, codec.Raw("v"))
			b.Put(column.Generic, append([]byte("dag-trie\x00\x00\x00\x00\x00\x00\x00\x00"), c[:]...), nil)
			b.Put(column.Generic, append(append([]byte("dag-refused\x00\x00\x00\x00\x00s"), c[:]...), make([]byte, 8)...), nil)
		}
		engine.Put(b, keys.ContextGroupRef{Context: one}, codec.GroupRefValue{GroupID: child})
		engine.Put(b, keys.GroupChildIndex{Parent: root, Child: child}, codec.Present{})
		for _, g := range []codec.GroupID{root, child, other} {
			engine.Put(b, keys.GroupAlias{Group: g}, codec.AliasName("x"))
		}
	})
	count := func(o ExportOptions) uint64 {
		o.Plain = true
		text, done := dump(t, e, o)
		require.Len(t, slices.Collect(strings.Lines(string(text))), int(done.Rows)+2)
		return done.Rows
	}
	require.EqualValues(t, 11, count(ExportOptions{}))
	require.EqualValues(t, 4, count(ExportOptions{Context: &one}))
	require.EqualValues(t, 3, count(ExportOptions{Context: &two}))
	require.EqualValues(t, 4, count(ExportOptions{Namespace: &root}))
	require.EqualValues(t, 2, count(ExportOptions{Namespace: &child}))
	require.EqualValues(t, 5, count(ExportOptions{Columns: []column.Column{column.Group}}))
	apply(t, e, func(b *engine.Batch) { b.Put(column.Group, append([]byte{0x20}, root[:31]...), nil) }) // of no group
	require.EqualValues(t, 4, count(ExportOptions{Namespace: &root}))
}

// The end of a dump says that it is whole.
func TestADumpThatIsBrokenOffHasNoEnd(t *testing.T) {
	e, copied := mem.New(), mem.New()
	defer e.Close()
	defer copied.Close()
	apply(t, e, func(b *engine.Batch) {
		for i := range uint32(2 * stride) {
			engine.Put(b, keys.ContextState{AppKey: keys.NewBytes(binary.BigEndian.AppendUint32(nil, i))}, codec.Raw("v"))
		}
	})
	for _, plain := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var out bytes.Buffer
		_, err := Export(ctx, From(e, Facts{Schema: 1}), &out, ExportOptions{Plain: plain})
		require.ErrorIs(t, err, context.Canceled)
		_, err = Import(t.Context(), &out, copied, ImportOptions{Replace: true})
		require.ErrorIs(t, err, ErrDump)
	}
}

// However small its rows are, an import holds a few thousand of them at once.
func TestAnImportIsWrittenInBatches(t *testing.T) {
	const rows = 3 * importChanges
	from, to := mem.New(), faulty.New(mem.New(), faulty.Options{})
	defer from.Close()
	defer to.Close()
	apply(t, from, func(b *engine.Batch) {
		for i := range uint32(rows) {
			engine.Put(b, keys.ContextState{AppKey: keys.NewBytes(binary.BigEndian.AppendUint32(nil, i))}, codec.Raw(nil))
		}
	})
	text, _ := dump(t, from, ExportOptions{})
	got, err := Import(t.Context(), bytes.NewReader(text), to, ImportOptions{})
	require.NoError(t, err)
	require.EqualValues(t, rows, got.Rows)
	require.GreaterOrEqual(t, to.Count(faulty.Writes), rows/importChanges)
}

// The short way to a line gives what the long way gives.
func TestRawLinesAreWrittenAsAnyOthers(t *testing.T) {
	short := 0
	rapid.Check(t, func(t *rapid.T) {
		e := drawStore(t)
		defer e.Close()
		for c := range column.All {
			it, err := e.Iterate(c, engine.Range{})
			require.NoError(t, err)
			for it.Next() {
				info, err := keys.Identify(c, it.Key())
				require.NoError(t, err)
				if line, ok := appendRaw(nil, &info, it.Key(), it.Value()); ok {
					short++
					want, err := json.Marshal(dumpLine{Record: NewPrinter(e, false).Record(c, it.Key(), it.Value())})
					require.NoError(t, err)
					require.Equal(t, string(want)+"\n", string(line))
				}
			}
			require.NoError(t, it.Close())
		}
	})
	require.NotZero(t, short)
}

// The short way through a line gives what the long way gives, or leaves it alone.
func TestRawLinesAreReadAsAnyOthers(t *testing.T) {
	short := 0
	rapid.Check(t, func(t *rapid.T) {
		e := drawStore(t)
		defer e.Close()
		text, _ := dump(t, e, ExportOptions{Plain: true, Reveal: true})
		for line := range bytes.Lines(text) {
			line = bytes.Clone(line)
			if rapid.Bool().Draw(t, "damage") {
				at := rapid.IntRange(0, len(line)-1).Draw(t, "at")
				line[at] = rapid.SampledFrom([]byte(`"{}:,aA0 \x`+"\x00\n")).Draw(t, "byte")
			}
			name, key, value, ok := rawLine(line)
			if !ok {
				continue
			}
			short++
			var l dumpLine
			require.NoError(t, json.Unmarshal(line, &l), "%s", line)
			require.Equal(t, l.Column, name)
			col, known := column.Parse(name)
			require.True(t, known)
			k, v, err := l.bytes(col)
			if err != nil {
				require.Error(t, keys.Check(col, key, value), "%s", line)
				continue
			}
			require.Equal(t, string(k), string(key))
			require.Equal(t, string(v), string(value))
		}
	})
	require.NotZero(t, short)
}

// What did not parse in the store is in its dump, and is refused, or passed over and
// told of.
func TestADumpWithRowsThatDoNotParseIsImportedWithoutThem(t *testing.T) {
	e := mem.New()
	defer e.Close()
	var b engine.Batch
	b.Put(column.Group, []byte{0x99}, []byte{1})
	member := append([]byte{0x21}, make([]byte, 64)...)
	b.Put(column.Group, member, []byte{0xFF})
	engine.Put(&b, keys.ContextState{AppKey: keys.NewBytes([]byte("k"))}, codec.Raw("v"))
	require.NoError(t, e.Apply(&b))
	var out bytes.Buffer
	done, err := Export(t.Context(), From(e, Facts{}), &out, ExportOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 3, done.Rows)

	refused := mem.New()
	defer refused.Close()
	_, err = Import(t.Context(), bytes.NewReader(out.Bytes()), refused, ImportOptions{})
	require.ErrorIs(t, err, ErrDump)
	require.ErrorIs(t, err, ErrDamagedRow)
	require.ErrorContains(t, err, "line 3: ")
	require.ErrorContains(t, err, "Group "+hex.EncodeToString(member)+": ")

	rest := mem.New()
	defer rest.Close()
	var found []Finding
	got, err := Import(t.Context(), &out, rest, ImportOptions{Damaged: func(f Finding) error {
		found = append(found, f)
		return nil
	}})
	require.NoError(t, err)
	require.EqualValues(t, 1, got.Rows)
	require.EqualValues(t, 2, got.Damaged)
	require.Equal(t, []string{"value", "key"}, []string{found[0].Code, found[1].Code})
	require.Equal(t, []string{hex.EncodeToString(member), "99"}, []string{found[0].Key, found[1].Key})
	value, err := engine.Get(rest, keys.ContextState{AppKey: keys.NewBytes([]byte("k"))})
	require.NoError(t, err)
	require.Equal(t, "v", string(value))
}
