//go:build cgo

package rocks

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
)

// The environment of a process that a test has started.
const (
	childEnv  = "STOA_ROCKS_CHILD"
	childTask = "STOA_ROCKS_TASK"
)

func child(dir string) int {
	task := map[string]func(string) error{"hold": holdOpen, "write": writeUntilKilled, "churn": churnUntilKilled}[os.Getenv(childTask)]
	if err := task(dir); err != nil {
		fmt.Println("error", err)
		return 1
	}
	return 0
}

const crashWriters = 3

// writeUntilKilled says what it finds, and then writes batches over three columns
// and says so of each once it is acknowledged.
func writeUntilKilled(dir string) error {
	e, err := Open(dir, Options{WatermarkEvery: 10 * time.Millisecond, MinFreeBytes: -1})
	if err != nil {
		return err
	}
	return write(e)
}

// churnUntilKilled is writeUntilKilled, while tables are written, compacted and
// replaced all the time.
func churnUntilKilled(dir string) error {
	e, err := Open(dir, Options{WatermarkEvery: 10 * time.Millisecond, MinFreeBytes: -1})
	if err != nil {
		return err
	}
	go func() {
		for i := 0; ; i++ {
			col := []column.Column{column.State, column.Delta, column.Meta}[i%3]
			err := e.st.flush(col)
			if i%4 == 0 {
				err = errors.Join(err, e.Compact(col, engine.Range{}))
			}
			if err != nil {
				fmt.Println("error", err)
				os.Exit(1)
			}
		}
	}()
	return write(e)
}

func write(e *Engine) (err error) {
	heads := make([]uint64, crashWriters)
	for w := range heads {
		if heads[w], err = checkWriter(e, w); err != nil {
			return err
		}
		fmt.Printf("found %d %d\n", w, heads[w])
	}
	fmt.Println("ready")
	var out sync.Mutex
	for w := range heads {
		go func() {
			for n := heads[w] + 1; ; n++ {
				b := crashBatch(w, n)
				if err := e.Apply(b); err != nil {
					fmt.Println("error", err)
					os.Exit(1)
				}
				out.Lock()
				fmt.Printf("ack %d %d\n", w, n)
				out.Unlock()
			}
		}()
	}
	select {}
}

// crashBatch is the nth batch of a writer: a state row, a delta, and the head.
func crashBatch(w int, n uint64) *engine.Batch {
	b := &engine.Batch{Durability: engine.Durability(n % 2)}
	row := crashKey(w, n)
	b.Put(column.State, row, make([]byte, n%300))
	b.Put(column.Delta, row, row)
	b.Put(column.Meta, row[:32], binary.BigEndian.AppendUint64(nil, n))
	return b
}

func crashKey(w int, n uint64) []byte {
	key := make([]byte, 64)
	key[0] = byte(w)
	binary.BigEndian.PutUint64(key[56:], n)
	return key
}

// checkWriter returns the head of a writer, or an error if the rows are not those
// of whole batches up to it.
func checkWriter(e *Engine, w int) (head uint64, err error) {
	v, err := e.Get(nil, column.Meta, crashKey(w, 0)[:32])
	if err == nil {
		head = binary.BigEndian.Uint64(v)
	} else if !errors.Is(err, engine.ErrNotFound) {
		return 0, err
	}
	for _, col := range []column.Column{column.State, column.Delta} {
		it, err := e.Iterate(col, engine.Prefixed(crashKey(w, 0)[:32]))
		if err != nil {
			return 0, err
		}
		defer it.Close()
		n := uint64(0)
		for it.Next() {
			n++
			if at := binary.BigEndian.Uint64(it.Key()[56:]); at != n {
				return 0, fmt.Errorf("%s of writer %d: row %d where %d is due", col, w, at, n)
			}
		}
		if it.Err() != nil || n != head {
			return 0, fmt.Errorf("%s of writer %d: %d rows, head %d: %v", col, w, n, head, it.Err())
		}
	}
	return head, nil
}

func TestKillLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	killMany(t, "write", enginetest.Scale(200))
}

// What a kill in the middle of a flush, of a compaction, or of an opening leaves is
// no damage: tables that the manifest does not list yet, or no more.
func TestKillInAFlushIsNoDamage(t *testing.T) {
	t.Parallel()
	killMany(t, "churn", enginetest.Scale(40))
}

// killMany kills as often as it is told, and on until something was acknowledged: on a
// busy machine a few kills may all come before.
func killMany(t *testing.T, task string, kills int) {
	random := enginetest.Random(t)
	const patience = 100
	t.Helper()
	dir, acked, total := shortDir(t), make([]uint64, crashWriters), uint64(0)
	for i := 0; i < kills || total == 0 && i < kills+patience; i++ {
		if i%100 == 99 { // keep it small, so that the check at every start is
			require.NoError(t, os.RemoveAll(dir))
			clear(acked)
		}
		if task == "churn" && i%2 > 0 {
			killOpening(t, task, dir, random)
		}
		total += killOnce(t, task, dir, acked, time.Duration(random.IntN(15000))*time.Microsecond)
	}
	require.NotZero(t, total)
	t.Logf("%d kills, %d batches acknowledged, none lost, none in part", kills, total)
}

// killOnce starts a writer, compares what it finds with what was acknowledged,
// and kills it after a while.
func killOnce(t *testing.T, task, dir string, acked []uint64, after time.Duration) (acks uint64) {
	t.Helper()
	cmd := enginetest.EndWithParent(exec.Command(os.Args[0]))
	cmd.Env = append(os.Environ(), childEnv+"="+dir, childTask+"="+task)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()
	killed := false
	for s := bufio.NewScanner(out); s.Scan(); {
		var w int
		var n uint64
		line := s.Text()
		if line == "ready" {
			killed = true
			time.AfterFunc(after, func() { cmd.Process.Kill() })
			continue
		}
		what, _, _ := strings.Cut(line, " ")
		if _, err := fmt.Sscanf(line, what+" %d %d", &w, &n); err != nil {
			require.True(t, killed && what != "error", "the writer says: %s", line)
			break // a line that the kill cut short
		}
		switch what {
		case "found":
			require.GreaterOrEqual(t, n, acked[w], "an acknowledged batch of writer %d is lost", w)
			acked[w] = n
		case "ack":
			acked[w] = max(acked[w], n)
			acks++
		}
	}
	require.True(t, killed, "the writer did not get ready")
	return acks
}

// killOpening kills a writer that may not have opened its store yet.
func killOpening(t *testing.T, task, dir string, random *rand.Rand) {
	t.Helper()
	cmd := enginetest.EndWithParent(exec.Command(os.Args[0]))
	cmd.Env = append(os.Environ(), childEnv+"="+dir, childTask+"="+task)
	require.NoError(t, cmd.Start())
	time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
}

// shortDir is a directory in memory where there is one: a kill does not need a
// disk.
func shortDir(t *testing.T) string {
	t.Helper()
	parent := ""
	if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() {
		parent = "/dev/shm"
	}
	dir, err := os.MkdirTemp(parent, "st")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
