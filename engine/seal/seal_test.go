package seal_test

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/engine/seal"
)

// memory is an engine in memory with a row stoa.seal. It fails the n-th write, if
// n is not 0, and all after it, as a kill does.
type memory struct {
	*mem.Engine
	row    []byte
	writes atomic.Int64
	kill   int64
}

var errKilled = errors.New("killed")

func (m *memory) killed() bool {
	n := m.writes.Add(1)
	return m.kill > 0 && n >= m.kill
}

func (m *memory) SealRow() ([]byte, error) { return bytes.Clone(m.row), nil }

func (m *memory) SetSealRow(row []byte) error {
	if m.killed() {
		return errKilled
	}
	m.row = bytes.Clone(row)
	return nil
}

func (m *memory) Update(fn func(engine.Getter, *engine.Batch) error) error {
	if m.killed() {
		return errKilled
	}
	return m.Engine.Update(fn)
}

func key(t require.TestingT, b byte) seal.Key {
	k, err := seal.NewKey(bytes.Repeat([]byte{b}, 32))
	require.NoError(t, err)
	return k
}

func sealed(t require.TestingT, m *memory, k seal.Key) *seal.Engine {
	e, err := seal.Open(m, k, seal.Options{})
	require.NoError(t, err)
	return e
}

func TestConformance(t *testing.T) {
	enginetest.Run(t, enginetest.Config{
		Open:  func(t testing.TB) enginetest.DB { return sealed(t, &memory{Engine: mem.New()}, key(t, 1)) },
		Space: enginetest.KeySpace{Columns: []column.Column{column.State, column.Generic}},
	})
}

// places are keys that the tests write: the first four hold secrets.
var places = []struct {
	col column.Column
	key string
}{
	{column.Identity, "i"}, {column.Group, "\x25s"}, {column.Group, "\x37n"}, {column.Group, "\x3Ak"},
	{column.Group, "\x21m"}, {column.Group, "\x38o"}, {column.State, "s"},
}

const secretPlaces = 4

// drawBatch fills a batch of any changes and expectations.
func drawBatch(t *rapid.T, b *engine.Batch) {
	value := rapid.SampledFrom([][]byte{nil, []byte("a"), bytes.Repeat([]byte("long"), 30), append([]byte("STS1"), make([]byte, 60)...)})
	for range rapid.IntRange(0, 4).Draw(t, "ops") {
		p := rapid.SampledFrom(places).Draw(t, "place")
		k := []byte(p.key)
		switch rapid.IntRange(0, 4).Draw(t, "op") {
		case 0, 1:
			b.Put(p.col, k, value.Draw(t, "value"))
		case 2:
			b.Delete(p.col, k)
		case 3:
			b.Expect(p.col, k, value.Draw(t, "want"))
		case 4:
			b.ExpectAbsent(p.col, k)
		}
	}
	if rapid.IntRange(0, 9).Draw(t, "range") == 0 {
		b.DeleteRange(column.Group, []byte{0x22}, []byte{0x39})
	}
}

// contents lists a store as "column/key=value", read in every way that there is.
func contents(t require.TestingT, r engine.Reader) (rows []string) {
	for c := range column.All {
		var forward, back []string
		for _, reverse := range []bool{false, true} {
			it, err := r.Iterate(c, engine.Range{Reverse: reverse})
			require.NoError(t, err)
			for it.Next() {
				row := fmt.Sprintf("%s/%q=%q", c, it.Key(), it.Value())
				if reverse {
					back = append(back, row)
				} else {
					forward = append(forward, row)
				}
				v, err := r.Get([]byte("dst"), c, it.Key())
				require.NoError(t, err)
				require.Equal(t, "dst"+string(it.Value()), string(v))
				lookups := []engine.Lookup{{Column: c, Key: it.Key()}, {Column: c, Key: []byte("none")}}
				_, err = r.MultiGet(nil, lookups)
				require.NoError(t, err)
				require.Equal(t, string(it.Value()), string(lookups[0].Value))
				require.False(t, lookups[1].Found)
			}
			require.NoError(t, it.Err())
			require.NoError(t, it.Close())
		}
		slices.Reverse(back)
		require.Equal(t, forward, back)
		rows = append(rows, forward...)
	}
	return rows
}

// A sealed store answers as a plain one does, whatever is asked of it.
func TestASealedStoreIsAsAPlainOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &memory{Engine: mem.New()}
		plain, s := mem.New(), sealed(t, m, key(t, 1))
		defer plain.Close()
		defer s.Close()
		for range rapid.IntRange(1, 12).Draw(t, "batches") {
			var b engine.Batch
			drawBatch(t, &b)
			var want, got error
			if rapid.Bool().Draw(t, "update") {
				update := func(e engine.Engine) error {
					return e.Update(func(g engine.Getter, out *engine.Batch) error {
						v, err := g.Get(nil, column.Group, []byte("\x25s"))
						if err == nil {
							out.Put(column.Group, []byte("\x37n"), append(v, 'x'))
						}
						for op := range b.Ops {
							if op.Kind == engine.KindPut {
								out.Put(op.Column, op.Key, op.Value)
							}
						}
						for x := range b.Expected {
							if !x.Absent {
								out.Expect(x.Column, x.Key, x.Want)
							}
						}
						return nil
					})
				}
				want, got = update(plain), update(s)
			} else {
				want, got = plain.Apply(&b), s.Apply(&b)
			}
			require.Equal(t, want == nil, got == nil, "%v, %v", want, got)
			require.Equal(t, errors.Is(want, engine.ErrConflict), errors.Is(got, engine.ErrConflict))
		}
		all := contents(t, plain)
		require.Equal(t, all, contents(t, s))
		snapshot, err := s.Snapshot()
		require.NoError(t, err)
		require.Equal(t, all, contents(t, snapshot))
		require.NoError(t, snapshot.Close())
		r, err := seal.Reader(m.Engine, m.row, key(t, 1))
		require.NoError(t, err)
		require.Equal(t, all, contents(t, r))
	})
}

func fill(t require.TestingT, e engine.Writer) {
	var b engine.Batch
	for i, p := range places {
		b.Put(p.col, []byte(p.key), fmt.Appendf(nil, "the secret %d", i))
	}
	require.NoError(t, e.Apply(&b))
}

func TestSecretsAreSealedBeforeTheyAreStored(t *testing.T) {
	m := &memory{Engine: mem.New()}
	defer m.Close()
	fill(t, m)
	s := sealed(t, m, key(t, 1)) // which seals what is there
	for i, p := range places {
		v, err := m.Get(nil, p.col, []byte(p.key))
		require.NoError(t, err)
		require.Equal(t, i >= secretPlaces, bytes.Contains(v, []byte("secret")), "%q", p.key)
	}
	fill(t, s)
	for i, p := range places[:secretPlaces] {
		v, err := m.Get(nil, p.col, []byte(p.key))
		require.NoError(t, err)
		require.NotContains(t, string(v), "secret")
		require.Equal(t, "STS1", string(v[:4]))
		require.Len(t, v, 4+8+24+len("the secret 0")+16, "place %d", i)
	}
}

func TestAWrongKeyChangesNothing(t *testing.T) {
	m := &memory{Engine: mem.New()}
	defer m.Close()
	fill(t, sealed(t, m, key(t, 1)))
	row, before := bytes.Clone(m.row), contents(t, m)
	phrase, err := seal.NewPassphrase([]byte("correct horse"))
	require.NoError(t, err)
	for _, k := range []seal.Key{key(t, 2), phrase} {
		_, err = seal.Open(m, k, seal.Options{})
		require.ErrorIs(t, err, seal.ErrWrongKey)
		_, err = seal.Reader(m, m.row, k)
		require.ErrorIs(t, err, seal.ErrWrongKey)
	}
	require.Equal(t, row, m.row)
	require.Equal(t, before, contents(t, m))
}

// Every flip of a sealed value, or of the ring of keys, is noticed, and so is a
// value that was moved to another key or column.
func TestTamperingIsNoticed(t *testing.T) {
	m := &memory{Engine: mem.New()}
	defer m.Close()
	s := sealed(t, m, key(t, 1))
	fill(t, s)
	p := places[1]
	box, err := m.Get(nil, p.col, []byte(p.key))
	require.NoError(t, err)
	reads := func(col column.Column, k string) error {
		_, err := s.Get(nil, col, []byte(k))
		it, ierr := s.Iterate(col, engine.Range{})
		require.NoError(t, ierr)
		for it.Next() {
		}
		require.Equal(t, err == nil, it.Err() == nil)
		require.NoError(t, it.Close())
		return err
	}
	put := func(col column.Column, k string, v []byte) {
		var b engine.Batch
		b.Put(col, []byte(k), v)
		require.NoError(t, m.Apply(&b))
	}
	for at := range box {
		for bit := range 8 {
			v := bytes.Clone(box)
			v[at] ^= 1 << bit
			put(p.col, p.key, v)
			require.ErrorIs(t, reads(p.col, p.key), engine.ErrCorrupt, "byte %d", at)
		}
	}
	put(p.col, p.key, box)
	require.NoError(t, reads(p.col, p.key))
	put(column.Group, "\x25t", box)
	require.ErrorIs(t, reads(column.Group, "\x25t"), engine.ErrCorrupt)
	put(column.Identity, p.key, box)
	require.ErrorIs(t, reads(column.Identity, p.key), engine.ErrCorrupt)
	put(column.Identity, p.key, []byte("plain"))
	require.ErrorIs(t, reads(column.Identity, p.key), engine.ErrCorrupt)

	for at := range m.row {
		row := bytes.Clone(m.row)
		row[at] ^= 1
		_, err := seal.Reader(m, row, key(t, 1))
		require.Error(t, err, "byte %d", at)
		_, err = seal.Reader(m, m.row[:at], key(t, 1))
		require.ErrorIs(t, err, engine.ErrCorrupt)
	}
}

// A kill at any write of a rekey, or of the first sealing, leaves a store that the
// old key opens or the new one, and that is whole then.
func TestRekeyIsFinishedAfterAKill(t *testing.T) {
	for kill := int64(1); ; kill++ {
		m := &memory{Engine: mem.New()}
		s := sealed(t, m, key(t, 1))
		fill(t, s)
		want := contents(t, s)
		m.writes.Store(0)
		m.kill = kill
		err := s.Rekey(key(t, 2))
		m.kill = 0
		again, opened := seal.Open(m, key(t, 2), seal.Options{})
		if errors.Is(opened, seal.ErrWrongKey) {
			again, opened = seal.Open(m, key(t, 1), seal.Options{})
		}
		require.NoError(t, opened, "kill at write %d", kill)
		require.Equal(t, want, contents(t, again), "kill at write %d", kill)
		require.NoError(t, m.Close())
		if err == nil {
			require.Greater(t, kill, int64(3), "there were writes to be killed at")
			return
		}
		require.ErrorIs(t, err, errKilled)
	}
}

func TestWithoutTheKeyTheRestIsServed(t *testing.T) {
	m := &memory{Engine: mem.New()}
	defer m.Close()
	fill(t, sealed(t, m, key(t, 1)))
	l := seal.Locked(m)
	for i, p := range places {
		var b, want, absent engine.Batch
		b.Put(p.col, []byte(p.key), []byte("new"))
		want.Expect(p.col, []byte(p.key), []byte("x"))
		absent.ExpectAbsent(p.col, []byte(p.key))
		require.ErrorIs(t, l.Apply(&absent), engine.ErrConflict, "whether something is there needs no key")
		absent.Reset()
		absent.ExpectAbsent(p.col, []byte(p.key+"?"))
		require.NoError(t, l.Apply(&absent))
		_, err := l.Get(nil, p.col, []byte(p.key))
		_, several := l.MultiGet(nil, []engine.Lookup{{Column: p.col, Key: []byte(p.key)}})
		if i < secretPlaces {
			for _, err := range []error{err, several, l.Apply(&b), l.Apply(&want), l.Update(func(g engine.Getter, _ *engine.Batch) error {
				_, err := g.Get(nil, p.col, []byte(p.key))
				return err
			})} {
				require.ErrorIs(t, err, engine.ErrUnsupported)
			}
			continue
		}
		require.NoError(t, errors.Join(err, several, l.Apply(&b)))
		require.ErrorIs(t, l.Apply(&want), engine.ErrConflict)
		want.Reset()
		want.Expect(p.col, []byte(p.key), []byte("new"))
		require.NoError(t, l.Apply(&want))
	}
	it, err := l.Iterate(column.Group, engine.Range{})
	require.NoError(t, err)
	defer it.Close()
	require.True(t, it.Next())
	require.Equal(t, "\x21m", string(it.Key()))
	require.False(t, it.Next())
	require.ErrorIs(t, it.Err(), engine.ErrUnsupported)
}

// A page that cannot be read is an error, and not the end of the rows.
func TestWithoutTheKeyAnErrorOfTheStoreIsTold(t *testing.T) {
	m := mem.New()
	defer m.Close()
	l := seal.Locked(faulty.New(m, faulty.Options{At: 2, Calls: faulty.Reads, Fault: faulty.Fail}))
	it, err := l.Iterate(column.Group, engine.Range{})
	require.NoError(t, err)
	defer it.Close()
	require.False(t, it.Next())
	require.ErrorIs(t, it.Err(), faulty.ErrInjected)
}

func TestKeyFilesAreTheirOwnersAlone(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, content []byte, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	raw := make([]byte, 32)
	_, err := rand.Read(raw)
	require.NoError(t, err)
	for name, content := range map[string][]byte{"raw": raw, "hex": fmt.Appendf(nil, "%x\n", raw)} {
		k, err := seal.ReadKeyFile(write(name, content, 0o600))
		require.NoError(t, err)
		require.NotContains(t, fmt.Sprintf("%v %+v %#v %s", k, k, k, k), fmt.Sprintf("%x", raw[:4]))
		for _, mode := range []os.FileMode{0o640, 0o604, 0o660} {
			_, err = seal.ReadKeyFile(write(name, content, mode))
			require.ErrorIs(t, err, seal.ErrKey)
			require.ErrorContains(t, err, "chmod 600")
		}
	}
	for name, content := range map[string][]byte{"short": raw[:31], "empty": nil} {
		_, err = seal.ReadKeyFile(write(name, content, 0o600))
		require.ErrorIs(t, err, seal.ErrKey)
	}
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err = seal.ReadKeyFile(pipe) // nobody will ever write to it
	require.ErrorIs(t, err, seal.ErrKey)
	_, err = seal.ReadKeyFile(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = seal.ReadPassphraseFile(write("phrase", []byte("short\n"), 0o600))
	require.ErrorIs(t, err, seal.ErrKey)
	k, err := seal.ReadCredential(dir)
	require.NoError(t, err)
	require.True(t, k.IsZero())
	write(seal.Credential, raw, 0o400)
	k, err = seal.ReadCredential(dir)
	require.NoError(t, err)
	require.False(t, k.IsZero())
}

func TestPassphrasesOpenTheirStore(t *testing.T) {
	m := &memory{Engine: mem.New()}
	defer m.Close()
	right, err := seal.NewPassphrase([]byte("correct horse"))
	require.NoError(t, err)
	wrong, err := seal.NewPassphrase([]byte("battery staple"))
	require.NoError(t, err)
	s := sealed(t, m, right)
	fill(t, s)
	_, err = seal.Open(m, wrong, seal.Options{})
	require.ErrorIs(t, err, seal.ErrWrongKey)
	require.Equal(t, contents(t, s), contents(t, sealed(t, m, right)))
}

// nonceOf is the nonce of a sealed value.
func nonceOf(box []byte) string { return string(box[4+8 : 4+8+24]) }

func TestNoNonceComesTwice(t *testing.T) {
	m := &memory{Engine: mem.New()}
	defer m.Close()
	s := sealed(t, m, key(t, 1))
	seen := map[string]bool{string(make([]byte, 24)): true}
	for range 20 {
		fill(t, s)
		for _, p := range places[:secretPlaces] {
			box, err := m.Get(nil, p.col, []byte(p.key))
			require.NoError(t, err)
			require.False(t, seen[nonceOf(box)], "%q", p.key)
			seen[nonceOf(box)] = true
		}
	}
}

// ringStart is where the entries of the ring begin, ringEntry is how long one is:
// id 8, nonce 24, key 32, tag 16.
const ringStart, ringEntry = 5 + 1 + 1 + 16 + 4 + 4 + 1 + 1, 8 + 24 + 32 + 16

func TestTheRingIsWrappedWithANewNonceEachTime(t *testing.T) {
	m := &memory{Engine: mem.New()}
	defer m.Close()
	s, k := sealed(t, m, key(t, 1)), byte(1)
	seen := map[string]bool{string(make([]byte, 24)): true}
	for range 5 {
		k++
		require.NoError(t, s.Rekey(key(t, k)))
		require.Len(t, m.row, ringStart+ringEntry)
		nonce := string(m.row[ringStart+8 : ringStart+8+24])
		require.False(t, seen[nonce])
		seen[nonce] = true
	}
}

func TestARingBeyondItsLimitsIsCorrupt(t *testing.T) {
	m := &memory{Engine: mem.New()}
	defer m.Close()
	sealed(t, m, key(t, 1))
	phrase, err := seal.NewPassphrase([]byte("correct horse"))
	require.NoError(t, err)
	p := &memory{Engine: mem.New()}
	defer p.Close()
	sealed(t, p, phrase)
	open := func(row []byte, k seal.Key) error {
		_, err := seal.Reader(m, row, k)
		return err
	}
	keysOf := func(n int) []byte {
		row := bytes.Clone(m.row[:ringStart])
		row[ringStart-1] = byte(n)
		return append(row, bytes.Repeat(m.row[ringStart:], n)...)
	}
	require.ErrorIs(t, open(keysOf(16), key(t, 1)), seal.ErrWrongKey, "as many as there may be, but changed")
	require.ErrorIs(t, open(keysOf(17), key(t, 1)), engine.ErrCorrupt)
	require.ErrorIs(t, open(keysOf(0), key(t, 1)), engine.ErrCorrupt)

	asks := func(time, memory uint32, threads byte) []byte {
		row := bytes.Clone(p.row)
		binary.LittleEndian.PutUint32(row[ringStart-10:], time)
		binary.LittleEndian.PutUint32(row[ringStart-6:], memory)
		row[ringStart-2] = threads
		return row
	}
	require.ErrorIs(t, open(asks(1, 8, 1), phrase), seal.ErrWrongKey, "within the limits, but changed")
	for _, row := range [][]byte{asks(0, 8, 1), asks(65, 8, 1), asks(1, 1<<20+1, 1), asks(1, 8, 0)} {
		require.ErrorIs(t, open(row, phrase), engine.ErrCorrupt)
	}
}

// The ring says whether all secrets are sealed: not while the first are being sealed.
func TestTheRingSaysThatAllIsSealed(t *testing.T) {
	const sealing, done = 1, 2 // the byte behind the magic
	broken := 0
	for kill := int64(0); kill < 4; kill++ {
		m := &memory{Engine: mem.New()}
		var b engine.Batch
		b.Put(column.Identity, []byte("i"), []byte("a secret in plain"))
		require.NoError(t, m.Engine.Apply(&b))
		m.kill = kill
		_, _ = seal.Open(m, key(t, 1), seal.Options{}) // it may be killed
		m.kill = 0
		if len(m.row) > 5 && m.row[5] == sealing {
			broken++
		}
		sealed(t, m, key(t, 1))
		require.EqualValues(t, done, m.row[5])
	}
	require.Positive(t, broken)
}

// A value that only begins like a sealed one is none.
func TestAShortValueIsNotSealed(t *testing.T) {
	for n := range 60 {
		m := &memory{Engine: mem.New()}
		s := sealed(t, m, key(t, 1))
		var b engine.Batch
		b.Put(column.Identity, []byte("i"), append([]byte("STS1"), make([]byte, n)...))
		require.NoError(t, m.Engine.Apply(&b))
		require.NotPanics(t, func() {
			_, err := s.Get(nil, column.Identity, []byte("i"))
			require.Error(t, err, "%d bytes", n)
		})
	}
}
