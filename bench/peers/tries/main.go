// Command tries measures commits of package dag beside what makes a state and its root elsewhere: cosmos/iavl,
// and go-ethereum's trie, each with its store on disk. It is a module of its own, so that no other has theirs.
//
//	tries -keys 1000,100000
package main

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The shape of a commit. Sizes are in bytes.
const (
	sets       = 10
	keyBytes   = 32
	valueBytes = 100
)

// subject is a state with a root.
type subject interface {
	// Commit sets keys that differ, and makes a root of all.
	Commit(keys, values [][]byte) error
	Close() error
}

// subjects open a store in a directory.
var subjects = []struct {
	name string
	open func(dir string) (subject, error)
}{
	{"stoa", openStoa},
	{"iavl", func(dir string) (subject, error) { return openIavl(dir, true) }},
	{"iavl-fast", func(dir string) (subject, error) { return openIavl(dir, false) }},
	{"geth", openGeth},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "tries:", err)
		os.Exit(1)
	}
}

func run() error {
	keys := flag.String("keys", "1000,100000", "how many keys a state has, with commas between")
	commits := flag.Int("commits", 3000, "how many commits a turn has")
	rounds := flag.Int("rounds", 3, "how many turns each has, after one that is not counted")
	flag.Parse()
	for text := range strings.SplitSeq(*keys, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < sets || *commits < 1 || *rounds < 1 {
			return fmt.Errorf("-keys %s, -commits %d, -rounds %d: numbers of at least %d, 1 and 1 are asked for", text, *commits, *rounds, sets)
		}
		all, err := measure(n, *commits, *rounds)
		if err != nil {
			return err
		}
		fmt.Printf("%d keys: %d sets of %d + %d bytes a commit; medians of %d turns, µs a commit\n", n, sets, keyBytes, valueBytes, *rounds)
		fmt.Println("           CPU  / stoa    wall  / stoa")
		for _, f := range all {
			fmt.Printf("%-9s %6.0f  %6.2f  %6.0f  %6.2f\n", f.name, f.cpu, f.cpu/all[0].cpu, f.wall, f.wall/all[0].wall)
		}
	}
	return nil
}

// figures are of a commit, in µs: what the process has used, with its flushes, compactions and collections.
type figures struct {
	name      string
	cpu, wall float64
}

// measure has one subject after the other do its turns: what one has in memory, the collector would go
// through in the turns of the others.
func measure(keys, commits, rounds int) (all []figures, err error) {
	for _, s := range subjects {
		f, err := measureOne(s.open, keys, commits, rounds)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		f.name = s.name
		all = append(all, f)
		debug.FreeOSMemory()
	}
	return all, nil
}

func measureOne(open func(dir string) (subject, error), keys, commits, rounds int) (f figures, err error) {
	dir, err := os.MkdirTemp("", "stoa-tries")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(dir)
	s, err := open(filepath.Join(dir, "store"))
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := fill(s, keys); err != nil {
		return f, fmt.Errorf("filling: %w", err)
	}
	var turns []figures
	for round := -1; round < rounds; round++ {
		r := rand.New(rand.NewPCG(uint64(round+1), 5))
		begun, cpu := time.Now(), cpuTime()
		for range commits {
			if err := s.Commit(draw(r, keys)); err != nil {
				return f, err
			}
		}
		n := float64(commits)
		if round >= 0 {
			turns = append(turns, figures{cpu: float64((cpuTime() - cpu).Microseconds()) / n, wall: float64(time.Since(begun).Microseconds()) / n})
		}
	}
	f.cpu = median(turns, func(f figures) float64 { return f.cpu })
	f.wall = median(turns, func(f figures) float64 { return f.wall })
	return f, nil
}

func median(turns []figures, of func(figures) float64) float64 {
	var all []float64
	for _, f := range turns {
		all = append(all, of(f))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// fill sets all keys, by commits of a thousand.
func fill(s subject, keys int) error {
	for first := 0; first < keys; first += 1000 {
		var some, values [][]byte
		for i := first; i < min(first+1000, keys); i++ {
			some, values = append(some, keyOf(i)), append(values, make([]byte, valueBytes))
			values[len(values)-1][0] = 1
		}
		if err := s.Commit(some, values); err != nil {
			return err
		}
	}
	return nil
}

// keyOf returns the key of a number. In their order keys are spread.
func keyOf(i int) []byte {
	key := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(i)))
	return key[:keyBytes]
}

// draw returns different keys and new values, half of each random.
func draw(r *rand.Rand, of int) (keys, values [][]byte) {
	for i := range sets {
		keys = append(keys, keyOf(r.IntN(of/sets)*sets+i))
		v := make([]byte, valueBytes)
		for at := range valueBytes / 2 {
			v[at] = byte(r.Uint32())
		}
		values = append(values, v)
	}
	return keys, values
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
