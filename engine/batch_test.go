package engine

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
)

// formats is testdata/formats.json: what other languages have to agree with. The
// bytes in it were not made by this package.
type formats struct {
	Batches []struct {
		Name         string
		Changes      []change
		Expectations []expectation
		vectorBytes
	}
	Malformed []struct {
		Name, Error string
		vectorBytes
	}
	Pages []struct {
		Name    string
		Entries []struct{ Key, Value octets }
		Page    octets `json:"page_hex"`
	}
	MalformedPages []struct {
		Name string
		Page octets `json:"page_hex"`
	} `json:"malformed_pages"`
}

type vectorBytes struct {
	Ops     octets `json:"changes_hex"`
	Expects octets `json:"expectations_hex"`
}

type change struct {
	Op, Column      string
	Key, Value, End octets
}

type expectation struct {
	Column    string
	Key, Want octets
	Absent    bool
}

// octets are bytes that stand as hex in the file.
type octets string

func (o *octets) UnmarshalText(text []byte) error {
	b, err := hex.AppendDecode(nil, text)
	*o = octets(b)
	return err
}

func (o octets) hex() string { return hex.EncodeToString([]byte(o)) }

func vectors(t testing.TB) (f formats) {
	t.Helper()
	b, err := os.ReadFile("testdata/formats.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &f))
	return f
}

func named(t testing.TB, name string) column.Column {
	t.Helper()
	col, ok := column.Parse(name)
	require.True(t, ok, "no column %q", name)
	return col
}

// A batch that is appended to another is what it was made of, and stays as it is.
func TestABatchIsAppendedToAnother(t *testing.T) {
	var a, b, want Batch
	for _, into := range []*Batch{&a, &want} {
		into.Put(column.State, []byte("k"), []byte("v"))
		into.Expect(column.State, []byte("k"), []byte("before"))
	}
	for _, into := range []*Batch{&b, &want} {
		into.Delete(column.Delta, []byte("d"))
		into.DeleteRange(column.Delta, []byte("e"), []byte("f"))
		into.ExpectAbsent(column.Meta, []byte("m"))
		into.Durability = WAL
	}
	parsed, err := ParseBatch(bytes.Clone(a.Bytes()), bytes.Clone(a.Expectations()), Synced)
	require.NoError(t, err)
	for _, into := range []*Batch{&a, parsed} {
		into.Append(&b)
		into.Append(&Batch{Durability: WAL})
		require.Equal(t, want.Bytes(), into.Bytes())
		require.Equal(t, want.Expectations(), into.Expectations())
		require.Equal(t, WAL, into.Durability)
	}
	require.Equal(t, 2, b.Len())
	var failed Batch
	failed.Fail(ErrTooLarge)
	a.Append(&failed)
	require.ErrorIs(t, a.Check(), ErrTooLarge)
}

func TestBatchBytes(t *testing.T) {
	for _, v := range vectors(t).Batches {
		t.Run(v.Name, func(t *testing.T) {
			var b Batch
			for _, c := range v.Changes {
				switch col := named(t, c.Column); c.Op {
				case "put":
					b.Put(col, []byte(c.Key), []byte(c.Value))
				case "delete":
					b.Delete(col, []byte(c.Key))
				case "delete range":
					b.DeleteRange(col, []byte(c.Key), []byte(c.End))
				default:
					t.Fatalf("no change %q", c.Op)
				}
			}
			for _, e := range v.Expectations {
				if e.Absent {
					b.ExpectAbsent(named(t, e.Column), []byte(e.Key))
				} else {
					b.Expect(named(t, e.Column), []byte(e.Key), []byte(e.Want))
				}
			}
			require.NoError(t, b.Check())
			require.Equal(t, len(v.Changes), b.Len())
			require.Equal(t, len(v.Expectations) > 0, b.Guarded())
			if len(v.Ops) > 0 {
				require.Equal(t, v.Ops.hex(), hex.EncodeToString(b.Bytes()))
			}
			require.Equal(t, v.Expects.hex(), hex.EncodeToString(b.Expectations()))

			parsed, err := ParseBatch([]byte(v.Ops), []byte(v.Expects), WAL)
			require.NoError(t, err)
			require.Equal(t, WAL, parsed.Durability)
			require.Equal(t, len(v.Changes), parsed.Len())
			require.Equal(t, listOps(t, &b), listOps(t, parsed))
			require.Equal(t, v.Changes, listOps(t, parsed))
			require.Equal(t, v.Expectations, listExpectations(t, parsed))
		})
	}
}

func listOps(t testing.TB, b *Batch) []change {
	t.Helper()
	list := []change{}
	for op, err := range b.Ops {
		require.NoError(t, err)
		c := change{Column: op.Column.String(), Key: octets(op.Key)}
		switch op.Kind {
		case KindPut:
			c.Op, c.Value = "put", octets(op.Value)
		case KindDelete:
			c.Op = "delete"
			require.Nil(t, op.Value)
		case KindDeleteRange:
			c.Op, c.End = "delete range", octets(op.Value)
		}
		list = append(list, c)
	}
	return list
}

func listExpectations(t testing.TB, b *Batch) []expectation {
	t.Helper()
	list := []expectation{}
	for e, err := range b.Expected {
		require.NoError(t, err)
		list = append(list, expectation{e.Column.String(), octets(e.Key), octets(e.Want), e.Absent})
	}
	return list
}

func TestParseBatchRefusesMalformedBytesAndSaysWhy(t *testing.T) {
	for _, v := range vectors(t).Malformed {
		t.Run(v.Name, func(t *testing.T) {
			_, err := ParseBatch([]byte(v.Ops), []byte(v.Expects), Synced)
			require.ErrorIs(t, err, ErrBatch)
			require.EqualError(t, err, v.Error)
		})
	}
}

func TestParseBatchRefusesADurabilityThatIsNone(t *testing.T) {
	_, err := ParseBatch(nil, nil, 7)
	require.ErrorIs(t, err, ErrBatch)
	require.EqualError(t, err, "engine: malformed batch: Durability(7)")
}

func TestCheckHoldsTheLimits(t *testing.T) {
	longest, largest := make([]byte, MaxKey), make([]byte, MaxValue)
	over, end := make([]byte, MaxKey+1), append(make([]byte, MaxKey), 1)
	tests := []struct {
		name string
		fill func(*Batch)
		want string // empty: it is within the limits
	}{
		{"longest key", func(b *Batch) { b.Put(column.State, longest, nil) }, ""},
		{"key", func(b *Batch) { b.Put(column.State, over, nil) }, "change 0: engine: too large: key of 65568 bytes, at most 65567"},
		{"largest value", func(b *Batch) { b.Put(column.State, nil, largest) }, ""},
		{"value", func(b *Batch) { b.Put(column.State, nil, append(largest, 0)) }, "change 0: engine: too large: value of 16777217 bytes, at most 16777216"},
		{"second change", func(b *Batch) { b.Delete(column.Meta, nil); b.Delete(column.Meta, over) }, "change 1: engine: too large: key of 65568 bytes, at most 65567"},
		{"range of the longest key", func(b *Batch) { b.DeleteRange(column.State, longest, append(longest, 0)) }, ""},
		{"start of a range", func(b *Batch) { b.DeleteRange(column.State, over, end) }, "change 0: engine: too large: key of 65568 bytes, at most 65567"},
		{"end of a range", func(b *Batch) { b.DeleteRange(column.State, nil, append(end, 0)) }, "change 0: engine: too large: end of a range of 65569 bytes, at most 65568"},
		{"expected key", func(b *Batch) { b.ExpectAbsent(column.State, over) }, "expectation 0: engine: too large: key of 65568 bytes, at most 65567"},
		{"expected value", func(b *Batch) { b.Expect(column.State, nil, append(largest, 0)) }, "expectation 0: engine: too large: value of 16777217 bytes, at most 16777216"},
		{"batch", func(b *Batch) {
			b.Put(column.State, nil, largest)
			b.Put(column.State, nil, largest)
		}, "engine: too large: batch of 33554458 bytes, at most 33554432"},
		{"expectations too", func(b *Batch) {
			b.Put(column.State, nil, largest)
			b.Expect(column.State, nil, largest)
		}, "engine: too large: batch of 33554458 bytes, at most 33554432"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b Batch
			tt.fill(&b)
			_, err := ParseBatch(b.Bytes(), b.Expectations(), Synced)
			require.Equal(t, err, b.Check(), "built and parsed differ")
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrTooLarge)
			require.EqualError(t, err, tt.want)
		})
	}
}

func TestTheLargestBatchFitsExactly(t *testing.T) {
	var b Batch
	b.Put(column.State, nil, make([]byte, MaxValue))
	b.Put(column.State, nil, make([]byte, MaxBatch-b.Size()-7)) // tag, column, key length 1, value length 4
	require.Equal(t, MaxBatch, b.Size())
	require.NoError(t, b.Check())
	b.ExpectAbsent(column.State, nil)
	require.ErrorIs(t, b.Check(), ErrTooLarge)
}

func TestFailKeepsTheFirstError(t *testing.T) {
	var b Batch
	b.Fail(os.ErrExist)
	b.Fail(os.ErrInvalid)
	b.Put(column.State, nil, nil)
	require.Equal(t, os.ErrExist, b.Check())
	b.Reset()
	require.NoError(t, b.Check())
}

func TestResetEmptiesABatch(t *testing.T) {
	b := Batch{Durability: WAL}
	b.Put(column.State, []byte("k"), []byte("v"))
	b.ExpectAbsent(column.State, []byte("k"))
	b.Reset()
	require.Equal(t, Synced, b.Durability)
	require.Zero(t, b.Len())
	require.Zero(t, b.Size())
	require.False(t, b.Guarded())
	require.Empty(t, listOps(t, &b))
	require.Equal(t, make([]byte, BatchHeader), b.Bytes())
}

func TestChangingAParsedBatchLeavesItsBytesAlone(t *testing.T) {
	var made Batch
	made.Put(column.State, []byte("k"), []byte("v"))
	made.ExpectAbsent(column.State, []byte("k"))
	for name, alter := range map[string]func(*Batch){
		"put":    func(b *Batch) { b.Put(column.Meta, []byte("other"), []byte("other")) },
		"expect": func(b *Batch) { b.Expect(column.Meta, []byte("other"), []byte("other")) },
		"reset": func(b *Batch) {
			b.Reset()
			b.Delete(column.Meta, []byte("other"))
			b.ExpectAbsent(column.Meta, []byte("other"))
		},
		"several": func(b *Batch) {
			b.ExpectAbsent(column.Meta, []byte("o"))
			b.Delete(column.Meta, []byte("other"))
			b.ExpectAbsent(column.Meta, []byte("p"))
			b.Reset()
			b.Put(column.Meta, []byte("k"), []byte("v"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			// Room behind the bytes must not be written to either.
			ops := append(slices.Grow(slices.Clone(made.Bytes()), 64), 1, 2, 3)
			expects := append(slices.Grow(slices.Clone(made.Expectations()), 64), 4, 5, 6)
			n, m := len(ops)-3, len(expects)-3
			wantOps, wantExpects := slices.Clone(ops), slices.Clone(expects)
			b, err := ParseBatch(ops[:n], expects[:m], Synced)
			require.NoError(t, err)
			alter(b)
			require.NoError(t, b.Check())
			require.Equal(t, wantOps, ops)
			require.Equal(t, wantExpects, expects)
		})
	}
}

func TestAnEmptyParsedBatchIsUsable(t *testing.T) {
	b, err := ParseBatch(nil, nil, Synced)
	require.NoError(t, err)
	b.Put(column.State, []byte("k"), []byte("v"))
	require.Equal(t, 1, b.Len())
	require.NoError(t, b.Check())
}

func TestChangesOfBytesThatAreTooShort(t *testing.T) {
	for _, err := range Changes([]byte("short")) {
		require.EqualError(t, err, "engine: malformed batch: 5 bytes, shorter than the header")
	}
	for range Changes(nil) {
		t.Fatal("a change of no bytes")
	}
}

func TestOpsAndExpectedStopWhenAsked(t *testing.T) {
	var b Batch
	for range 3 {
		b.Delete(column.State, nil)
		b.ExpectAbsent(column.State, nil)
	}
	n := 0
	for range b.Ops {
		n++
		break
	}
	for range b.Expected {
		n++
		break
	}
	require.Equal(t, 2, n)
}

func TestConflictNamesColumnAndKeyButNotTheValue(t *testing.T) {
	c := &Conflict{Column: column.Identity, Key: []byte{0xAB}}
	require.EqualError(t, c, "engine: conflict: Identity ab: the batch expected another value")
	c.Absent = true
	require.EqualError(t, c, "engine: conflict: Identity ab: the batch expected nothing there")
	require.ErrorIs(t, c, ErrConflict)
	require.NotErrorIs(t, c, ErrBatch)
}

func TestDurabilityText(t *testing.T) {
	require.Equal(t, "synced wal Durability(9)", strings.Join([]string{Synced.String(), WAL.String(), Durability(9).String()}, " "))
}
