//go:build cgo

package inspect

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/keys"
)

// workerEnv makes the test binary look at the directories that it is told of on
// stdin, so that one which ends the process does not end the tests; churnEnv makes
// it write to the directory that it names until it is killed; offlineEnv is that of
// the benchmarks.
const (
	workerEnv = "STOA_TEST_INSPECT"
	churnEnv  = "STOA_TEST_INSPECT_CHURN"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(churnEnv); dir != "" {
		fmt.Fprintln(os.Stderr, churnAndWait(dir, os.Stdout))
		os.Exit(1)
	}
	if what := os.Getenv(offlineEnv); what != "" {
		if err := goThrough(what, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(workerEnv) != "" {
		work(os.Stdin, os.Stdout)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// seen is what a look at a directory gave: an error, findings, or the digests.
type seen struct {
	Err      string
	Findings []Finding
	Digest   string
}

func work(r io.Reader, w io.Writer) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		line, err := json.Marshal(look(lines.Text()))
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "%s\n", line)
	}
}

func look(dir string) (out seen) {
	s, err := OpenDir(dir, Options{})
	if err != nil {
		return seen{Err: err.Error()}
	}
	defer s.Close()
	if _, err := Verify(context.Background(), s, VerifyOptions{Full: true}, func(f Finding) error {
		out.Findings = append(out.Findings, f)
		return nil
	}); err != nil {
		return seen{Err: err.Error()}
	}
	d, err := Hash(context.Background(), s, nil)
	if err != nil {
		return seen{Err: err.Error()}
	}
	text, err := json.Marshal(d)
	if err != nil {
		return seen{Err: err.Error()}
	}
	out.Digest = string(text)
	return out
}

// worker is a process that looks at directories. It is started again when one has
// ended it.
type worker struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	err bytes.Buffer
}

func (w *worker) look(dir string) (s seen) {
	if w.cmd == nil {
		w.start()
	}
	_, err := fmt.Fprintln(w.in, dir)
	require.NoError(w.t, err)
	line, err := w.out.ReadBytes('\n')
	if err != nil { // it was ended: an abort of the library, or a panic
		_ = w.cmd.Wait()
		w.cmd = nil
		require.Fail(w.t, "what looks at a damaged store ends", "%s", w.err.String())
	}
	require.NoError(w.t, json.Unmarshal(line, &s))
	return s
}

func (w *worker) start() {
	w.err.Reset()
	w.cmd = enginetest.EndWithParent(exec.Command(os.Args[0]))
	w.cmd.Env = append(os.Environ(), workerEnv+"=1", "GOTRACEBACK=none")
	w.cmd.Stderr = &w.err
	var err error
	w.in, err = w.cmd.StdinPipe()
	require.NoError(w.t, err)
	out, err := w.cmd.StdoutPipe()
	require.NoError(w.t, err)
	w.out = bufio.NewReaderSize(out, 1<<20)
	require.NoError(w.t, w.cmd.Start())
}

func (w *worker) stop() {
	if w.cmd != nil {
		w.in.Close()
		require.NoError(w.t, w.cmd.Wait())
	}
}

// fillStore writes rows of many types, with blob files and more than one table.
func fillStore(t testing.TB, e *rocks.Engine, rows int) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 3 {
		apply(t, e, func(b *engine.Batch) {
			g := codec.GroupID{byte(i)}
			engine.Put(b, keys.GroupMember{Group: g, Identity: codec.Identity{3}}, codec.Admin)
			engine.Put(b, keys.GroupAlias{Group: g}, codec.AliasName("main"))
			engine.Put(b, keys.ContextConfig{Context: codec.ContextID{byte(i)}}, codec.ContextConfigValue{ApplicationRevision: uint64(i)})
			for n := range rows {
				value := make([]byte, 300)
				for j := range value {
					value[j] = byte(r.Uint32())
				}
				engine.Put(b, keys.ContextState{Context: codec.ContextID{byte(i)}, AppKey: keys.NewBytes([]byte{byte(n)})}, codec.Raw(value))
				engine.Put(b, keys.ContextPrivateState{Context: codec.ContextID{byte(i)}, AppKey: keys.NewBytes([]byte{byte(n)})}, codec.Raw(bytes.Repeat([]byte("x"), 200)))
			}
			if i < 2 { // what stays in the log is small
				b.Put(column.Blobs, append(bytes.Repeat([]byte{byte(i)}, 32), 0, 0, 0, 0), make([]byte, 40<<10))
			}
		})
		if i < 2 {
			require.NoError(t, e.Flush())
		}
	}
}

// makeStores returns a store that was closed, and what a kill would have left of
// it, with rows in two logs.
func makeStores(t testing.TB, rows int) (closed, killed string) {
	t.Helper()
	root := t.TempDir()
	closed, killed = filepath.Join(root, "closed"), filepath.Join(root, "killed")
	e, err := rocks.Open(closed, rocks.Options{WatermarkEvery: 10 * time.Millisecond})
	require.NoError(t, err)
	fillStore(t, e, rows)
	require.NoError(t, e.Compact(column.Config, engine.Range{})) // ends the log, which others need
	apply(t, e, func(b *engine.Batch) {
		for i := range 3 {
			engine.Put(b, keys.GroupMember{Group: codec.GroupID{byte(i)}, Identity: codec.Identity{4}}, codec.Admin)
		}
	})
	stats, err := e.Stats()
	require.NoError(t, err)
	for { // the watermark is moved off the path of writes
		require.NoError(t, os.CopyFS(killed, os.DirFS(closed)))
		s, err := OpenDir(killed, Options{})
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(killed, "stoa.watermark"))
		require.NoError(t, err)
		require.Equal(t, stats.Sequence, s.Facts.Sequence)
		require.NoError(t, s.Close())
		if bytes.Contains(b[:1024], []byte{byte(stats.Sequence), byte(stats.Sequence >> 8), 0, 0, 0, 0, 0, 0}) {
			break
		}
		require.NoError(t, os.RemoveAll(killed))
	}
	require.NoError(t, e.Close())
	return closed, killed
}

// damages is how many damages a test makes: 1,000 at full scale, or
// STOA_TEST_DAMAGES. `make damage` goes through all bytes.
func damages(t testing.TB) int {
	n := enginetest.Scale(1000)
	if text := os.Getenv("STOA_TEST_DAMAGES"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	return n
}

// link copies a store, of whose files all but some are hard links.
func link(t testing.TB, from, to string, but ...string) {
	t.Helper()
	require.NoError(t, os.Mkdir(to, 0o700))
	entries, err := os.ReadDir(from)
	require.NoError(t, err)
	for _, e := range entries {
		if !slices.Contains(but, e.Name()) {
			require.NoError(t, os.Link(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())))
		}
	}
}

// kindOf returns the kind of a file of a store.
func kindOf(name string) string {
	if kind := filepath.Ext(name); kind != "" && !strings.HasPrefix(name, "stoa") {
		return kind
	}
	kind, _, _ := strings.Cut(name, "-")
	return kind
}

// pick returns a file of dir, each kind as often as any other.
func pick(t testing.TB, dir string, r *rand.Rand) string {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	kinds, names := []string{}, map[string][]string{}
	for _, e := range entries {
		kind := kindOf(e.Name())
		if names[kind] == nil {
			kinds = append(kinds, kind)
		}
		names[kind] = append(names[kind], e.Name())
	}
	of := names[kinds[r.IntN(len(kinds))]]
	return of[r.IntN(len(of))]
}

// damage is files of a store that have another content; nil: they are missing.
type damage struct {
	what  string
	files map[string][]byte
}

// drawDamage returns a damage of the store in dir: a file is missing or cut off, two
// of a kind are swapped, or a bit is flipped.
func drawDamage(t testing.TB, dir string, r *rand.Rand) damage {
	t.Helper()
	read := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return content
	}
	name := pick(t, dir, r)
	content := read(name)
	switch kind := r.IntN(12); {
	case kind == 0 || len(content) == 0:
		return damage{name + " is missing", map[string][]byte{name: nil}}
	case kind <= 2:
		n := r.IntN(len(content))
		return damage{fmt.Sprintf("%s is cut to %d bytes", name, n), map[string][]byte{name: content[:n]}}
	case kind <= 4:
		other := pick(t, dir, r)
		for kindOf(other) != kindOf(name) {
			other = pick(t, dir, r)
		}
		return damage{name + " and " + other + " are swapped", map[string][]byte{name: read(other), other: content}}
	}
	at, bit := r.IntN(len(content)), r.IntN(8)
	content[at] ^= 1 << bit
	return damage{fmt.Sprintf("bit %d of byte %d of %s is flipped", bit, at, name), map[string][]byte{name: content}}
}

// check makes the damage in a copy of the store in from, and demands that a look at
// it reports it, or shows what it had shown before. It returns whether it does.
func (d *damage) check(t testing.TB, w *worker, from string, want seen) (reported bool) {
	t.Helper()
	parent, err := os.MkdirTemp(filepath.Dir(from), "damaged-*")
	require.NoError(t, err)
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "db")
	link(t, from, dir, slices.Collect(maps.Keys(d.files))...)
	for name, content := range d.files {
		if content != nil {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
		}
	}
	got := w.look(dir)
	if got.Err != "" || len(got.Findings) != len(want.Findings) {
		return true
	}
	require.Equal(t, want.Digest, got.Digest, "%s: %s", filepath.Base(from), d.what)
	return false
}

// Whatever is flipped, cut off, swapped or missing is reported, or changes no row.
func TestDamageIsReportedOrHarmless(t *testing.T) {
	closed, killed := makeStores(t, 30)
	w := &worker{t: t}
	defer w.stop()
	r := enginetest.Random(t)
	reported := map[string]int{}
	kinds := []string{".sst", ".log", "MANIFEST", "CURRENT"}
	unreported := func() bool { return slices.ContainsFunc(kinds, func(kind string) bool { return reported[kind] == 0 }) }
	whole := map[string]seen{closed: look(closed), killed: look(killed)}
	for _, s := range whole {
		require.Empty(t, s.Err)
	}
	for i := 0; i < damages(t) || unreported() && i < 1000; i++ {
		from := []string{closed, killed}[i%2]
		d := drawDamage(t, from, r)
		if d.check(t, w, from, whole[from]) {
			for name := range d.files {
				reported[kindOf(name)]++
			}
		}
	}
	t.Log("reported, by kind of file:", reported)
	require.False(t, unreported(), "of %v one kind was never reported", kinds)
}

// A store that has another one's file of the same name is found out.
func TestFileOfAnotherStoreIsReported(t *testing.T) {
	closed, killed := makeStores(t, 4)
	other := filepath.Join(t.TempDir(), "other")
	for i := range 2 { // so that its manifest has another number
		e, err := rocks.Open(other, rocks.Options{})
		require.NoError(t, err)
		apply(t, e, func(b *engine.Batch) { engine.Put(b, keys.GroupAlias{}, codec.AliasName(fmt.Sprint("other", i))) })
		require.NoError(t, e.Close())
	}
	w := &worker{t: t}
	defer w.stop()
	for _, dir := range []string{closed, killed} {
		want := look(dir)
		for _, name := range []string{"CURRENT", "stoa.watermark"} {
			content, err := os.ReadFile(filepath.Join(other, name))
			require.NoError(t, err)
			d := damage{name + " is of another store", map[string][]byte{name: content}}
			require.True(t, d.check(t, w, dir, want), "%s: %s", filepath.Base(dir), d.what)
		}
	}
}

// Every byte of every file of a small store, with each bit of it in turn over the
// bytes, and every length of its manifest and its logs. It takes minutes: `make
// damage` runs it. OPTIONS and LOG, which nothing is read from, are sampled.
func TestDamageOfEveryByteIsReportedOrHarmless(t *testing.T) {
	if os.Getenv("STOA_TEST_EVERY_BYTE") == "" {
		t.Skip("`make damage` runs it")
	}
	closed, killed := makeStores(t, 3)
	for _, from := range []string{closed, killed} {
		want := look(from)
		require.Empty(t, want.Err)
		entries, err := os.ReadDir(from)
		require.NoError(t, err)
		for _, e := range entries {
			t.Run(filepath.Base(from)+"/"+e.Name(), func(t *testing.T) {
				t.Parallel()
				damageEveryByte(t, from, e.Name(), want)
			})
		}
	}
}

func damageEveryByte(t *testing.T, from, name string, want seen) {
	content, err := os.ReadFile(filepath.Join(from, name))
	require.NoError(t, err)
	w := &worker{t: t}
	defer w.stop()
	stride, kind, reported := 1, kindOf(name), 0
	if kind == "OPTIONS" || kind == "LOG" {
		stride = 500
	}
	for at := 0; at < len(content); at += stride {
		flipped := bytes.Clone(content)
		flipped[at] ^= 1 << (at % 8)
		damages := []damage{{fmt.Sprintf("bit %d of byte %d of %s is flipped", at%8, at, name), map[string][]byte{name: flipped}}}
		if kind == "MANIFEST" || kind == ".log" {
			damages = append(damages, damage{fmt.Sprintf("%s is cut to %d bytes", name, at), map[string][]byte{name: content[:at]}})
		}
		for _, d := range damages {
			if d.check(t, w, from, want) {
				reported++
			}
		}
	}
	t.Logf("%d bytes, %d damages reported, the others harmless", len(content), reported)
}
