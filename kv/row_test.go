package kv

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/keys"
)

// drawRow draws a row of a shape, with values that are near to each other.
func drawRow(r *rand.Rand, l *layout, row *Row) {
	*row = Row{Shape: l.shape}
	scope := keys.NewKVScope(uint8(1+r.IntN(2)), uint32(1+r.IntN(2)), uint64(1+r.IntN(2)))
	if !l.global {
		row.Scope = scope
	}
	for _, f := range l.fields {
		switch f {
		case fieldKind:
			row.Kind = byte(r.IntN(256))
			if l.kinds != "" {
				row.Kind = l.kinds[r.IntN(len(l.kinds))]
			}
		case fieldOf:
			row.Of = scope
		case fieldDue:
			row.Due = drawNumber(r)
		case fieldIndex:
			row.Index = uint16(drawNumber(r))
		case fieldName:
			row.Name = drawText(r)
		case fieldGroup:
			row.Group = drawText(r)
		case fieldScore:
			row.Score = drawScore(r)
		case fieldNumber:
			row.Number = drawNumber(r)
		case fieldKey:
			row.Key = drawText(r)
		}
	}
}

func drawNumber(r *rand.Rand) uint64 {
	n := r.Uint64() >> r.IntN(64)
	if r.IntN(2) == 0 {
		return ^n
	}
	return n
}

func drawScore(r *rand.Rand) float64 {
	edges := []float64{0, 1, -1, 0.5, math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64}
	if r.IntN(3) == 0 {
		return edges[r.IntN(len(edges))]
	}
	if f := math.Float64frombits(r.Uint64()); f == f {
		return f + 0
	}
	return float64(r.IntN(100) - 50)
}

// drawText draws texts of bytes at which escaping and ends are.
func drawText(r *rand.Rand) []byte {
	text := make([]byte, r.IntN(5))
	for i := range text {
		text[i] = [...]byte{0, 1, 2, 0xFE, 0xFF, 'a'}[r.IntN(6)]
	}
	return text
}

// compareRows is the order that a shape's fields say, one after the other.
func compareRows(l *layout, a, b *Row) int {
	if c := bytes.Compare(a.Scope[:], b.Scope[:]); c != 0 {
		return c
	}
	for _, f := range l.fields {
		c := 0
		switch f {
		case fieldKind:
			c = cmp.Compare(a.Kind, b.Kind)
		case fieldOf:
			c = bytes.Compare(a.Of[:], b.Of[:])
		case fieldDue:
			c = cmp.Compare(a.Due, b.Due)
		case fieldIndex:
			c = cmp.Compare(a.Index, b.Index)
		case fieldName:
			c = bytes.Compare(a.Name, b.Name)
		case fieldGroup:
			c = bytes.Compare(a.Group, b.Group)
		case fieldScore:
			c = cmp.Compare(a.Score, b.Score)
		case fieldNumber:
			c = cmp.Compare(a.Number, b.Number)
		case fieldKey:
			c = bytes.Compare(a.Key, b.Key)
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

func TestX17EveryKeyCodecKeepsOrderAndComesBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	n := enginetest.Scale(1_000_000) / len(layouts)
	for i := range layouts {
		l := &layouts[i]
		var a, b Row
		var before, key []byte
		for range n {
			drawRow(r, l, &b)
			key = b.AppendKey(key[:0])
			got, err := ParseRow(key)
			if err != nil || compareRows(l, &got, &b) != 0 || got.Shape != b.Shape {
				t.Fatalf("%s: %+v came back as %+v, %v", l.name, b, got, err)
			}
			if before != nil && bytes.Compare(before, key) != compareRows(l, &a, &b) {
				t.Fatalf("%s: %+v and %+v sort otherwise than %x and %x", l.name, a, b, before, key)
			}
			a, before = b, append(before[:0], key...)
		}
	}
}

// parseAgain holds ParseRow to giving the bytes back, or an error that is damage.
func parseAgain(t *testing.T, key []byte) {
	row, err := ParseRow(key)
	if err != nil {
		require.ErrorIs(t, err, engine.ErrCorrupt)
		return
	}
	require.Equal(t, key, row.AppendKey(nil))
	_, err = json.Marshal(row)
	require.NoError(t, err)
}

func TestX17RandomBytesNeverPanic(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range enginetest.Scale(20_000) {
		l := &layouts[r.IntN(len(layouts))]
		var row Row
		drawRow(r, l, &row)
		key := row.AppendKey(nil)
		key = key[:r.IntN(len(key)+1)]
		for range r.IntN(3) {
			if len(key) > 0 {
				key[r.IntN(len(key))] = byte(r.IntN(256))
			}
		}
		parseAgain(t, append(key, drawText(r)...))
	}
}

func FuzzParseRow(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6))
	for i := range layouts {
		var row Row
		drawRow(r, &layouts[i], &row)
		f.Add(row.AppendKey(nil))
	}
	f.Fuzz(func(t *testing.T, key []byte) { parseAgain(t, key) })
}

// Values of rows are parsed as strictly: what comes back makes the same bytes.
func FuzzParseValues(f *testing.F) {
	f.Add(appendMeta(nil, &Stats{Revision: 7, Floor: 3, Keys: 1, Bytes: 9}))
	f.Add(appendRecord(nil, &Record{Kind: Put, Revision: 3, Created: 2, Value: []byte("v"), Written: timeOf(5), expires: 9}))
	f.Add(appendLog(nil, &Record{Key: []byte("k"), Kind: Expired, Revision: 3, Created: 2, Written: timeOf(5)}, MaxInline))
	f.Add(StreamInfo{First: 2, Last: 3}.bytes())
	f.Add(Pending{Consumer: "c", Since: timeOf(5), Deliveries: 1}.bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := parseMeta(nil, b); err == nil {
			require.Equal(t, b, appendMeta(nil, &m))
		}
		if i, err := parseStreamHead(nil, b); err == nil {
			require.Equal(t, b, i.bytes())
		}
		if p, err := parsePending(nil, b); err == nil {
			require.Equal(t, b, p.bytes())
		}
		if r, err := parseRecord(nil, nil, b); err == nil {
			require.Equal(t, b, appendRecord(nil, &r))
		}
		_, _, _ = parseLog(nil, b)
		_, _ = parseRevisions(nil, b)
		_, _ = parseJob(nil, b)
		_, _ = parseGroup(nil, b)
		_, _ = parseSetHead(nil, b)
		_, _ = parseScore(nil, b)
		_, _ = parseTenant(nil, b)
	})
}

func TestTextThatIsNoUTF8IsShownInHexadecimal(t *testing.T) {
	text, err := json.Marshal(Row{Scope: keys.NewKVScope(1, 2, 3), Shape: ShapeRecord, Key: []byte("\xffk")})
	require.NoError(t, err)
	require.JSONEq(t, `{"shape":"record","system":1,"space":2,"tenant":"3","key_hex":"ff6b"}`, string(text))
}
