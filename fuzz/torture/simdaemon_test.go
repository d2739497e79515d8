package torture

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/server"
)

// clockEnv makes this program a daemon by the clock in the file that it names, and
// with the settings in the other variable.
const (
	clockEnv    = "STOA_TORTURE_CLOCK"
	settingsEnv = "STOA_TORTURE_SETTINGS"
)

// settings are what an operator changes between one start of a daemon and the next. All
// of it is what `stoa serve` has flags for, or a build its constants.
type settings struct {
	CacheBytes, RowCacheBytes, MaxWALBytes, MinFreeBytes int64
	WatermarkEvery                                       time.Duration
	Jobs                                                 int

	TrieCache, MaxContexts, MaxTail, MaxRefused, CutBudget int
	BaseAge                                                time.Duration // negative: any

	MaxTTLSeconds int64
	MaxValueBytes int
	ErrorsV2      bool

	MaxInFlight int64
	MaxStreams  uint32

	// Defect is what is wrong with the daemon's clocks; "": nothing.
	Defect string
}

func one[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// drawSettings returns some. None of them refuses what the workers do.
func drawSettings(r *rand.Rand) settings {
	const mib = 1 << 20
	return settings{
		CacheBytes: one[int64](r, mib, 8*mib, 64*mib), RowCacheBytes: one[int64](r, 0, mib, 16*mib),
		MaxWALBytes: one[int64](r, mib, 4*mib, 256*mib), MinFreeBytes: one[int64](r, -1, mib, 64*mib),
		WatermarkEvery: one(r, 10*time.Millisecond, 100*time.Millisecond, time.Second), Jobs: one(r, 1, 2, 4),
		TrieCache: one(r, -1, 64<<10, 0), MaxContexts: one(r, 1, 4, 0), MaxTail: one(r, 1, 10, 0), MaxRefused: one(r, 1, 64, 0), CutBudget: one(r, 1, 100, 0),
		BaseAge:       one(r, -1, time.Minute, 10*time.Minute, time.Hour),
		MaxTTLSeconds: one[int64](r, longSeconds, 2*longSeconds, 0), MaxValueBytes: one(r, 1<<10, 0), ErrorsV2: r.IntN(2) == 0,
		MaxInFlight: one[int64](r, 32*mib, 0), MaxStreams: one[uint32](r, 32, 0),
	}
}

// String are the settings as the environment has them.
func (s settings) String() string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // numbers and truths
	}
	return string(b)
}

// serveSimulated is the daemon by a clock of its own: it is put together as cmd/stoa
// does, of the same parts.
func serveSimulated(clock string, args []string) int {
	if err := serveByClock(clock, args[3]); err != nil { // after the program, serve and --dir
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serveByClock(path, dir string) error {
	var s settings
	if err := json.Unmarshal([]byte(os.Getenv(settingsEnv)), &s); err != nil {
		return fmt.Errorf("%s: %w", settingsEnv, err)
	}
	clock, err := openSimClock(path)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	disk, err := rocks.Open(dir, rocks.Options{
		CacheBytes: s.CacheBytes, RowCacheBytes: s.RowCacheBytes, MaxWALBytes: s.MaxWALBytes, MinFreeBytes: s.MinFreeBytes,
		WatermarkEvery: s.WatermarkEvery, BackgroundJobs: s.Jobs, Now: clock.Now, Logger: log,
	})
	if err != nil {
		return err
	}
	o := parts{
		dag: dag.Options{Now: clock.Now, Cache: merkle.NewCache(s.TrieCache), MaxContexts: s.MaxContexts, MaxTail: s.MaxTail, MaxRefused: s.MaxRefused,
			CutBudget: s.CutBudget, BaseAge: s.BaseAge, Log: log},
		kv:         kv.Options{Clock: clock, Log: log},
		storage:    kvstorage.Options{MaxTTLSeconds: s.MaxTTLSeconds, MaxValueBytes: s.MaxValueBytes, ErrorsV2: s.ErrorsV2},
		namespaces: namespace.Options{Now: clock.Now, Log: log},
		server:     server.Options{Now: clock.Now, MaxInFlight: s.MaxInFlight, MaxStreams: s.MaxStreams, Logger: log},
	}
	spoil(&o, s.Defect, clock)
	return errors.Join(serveEngine(disk, disk, filepath.Join(dir, "stoa.sock"), o), disk.Close())
}

// spoil gives some part of a daemon a wrong clock.
func spoil(o *parts, defect string, clock *simClock) {
	late := func(d time.Duration) func() time.Time {
		return func() time.Time { return clock.Now().Add(-d) }
	}
	switch defect {
	case "values expire early":
		o.kv.Clock = wrongClock{simClock: clock, fast: time.Minute}
	case "nothing is swept":
		o.kv.Clock = wrongClock{simClock: clock, dumb: true}
	case "stamps are late":
		o.dag.Now = late(20 * time.Second)
	case "invitations stay":
		o.namespaces.Now = late(time.Hour)
	case "bases are young":
		o.dag.BaseAge /= 2
	}
}

// wrongClock is fast, or does not wake.
type wrongClock struct {
	*simClock
	fast time.Duration
	dumb bool
}

// Now is the time of day, and more.
func (c wrongClock) Now() time.Time { return c.simClock.Now().Add(c.fast) }

// Timer is kv.Clock's.
func (c wrongClock) Timer(at time.Duration) (<-chan time.Time, func() bool) {
	if c.dumb {
		return nil, func() bool { return true }
	}
	return c.simClock.Timer(at)
}
