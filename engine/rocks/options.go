// Package rocks is the engine that keeps its data on disk, in RocksDB.
//
// Start at Open. README.md has the files of a directory, what is promised of
// them after a crash, and the reasons for the settings. All use of RocksDB is in
// this package; without cgo it builds too, and Open says so.
package rocks

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"
)

// SchemaVersion is the version of the schema that this build reads and writes.
const SchemaVersion = 1

const (
	mib = 1 << 20

	defaultCacheBytes     = 256 * mib
	defaultMaxWALBytes    = 256 * mib
	defaultMinFreeBytes   = 256 * mib
	defaultWatermarkEvery = time.Second
	defaultJobs           = 2
)

// ErrOptions is returned by Open when the options are out of their limits;
// nothing is opened.
var ErrOptions = errors.New("rocks: options")

// Options say how a directory is opened. The zero Options make a store where
// there is none, and open it for reading and writing.
type Options struct {
	// MustExist refuses a path that holds no store, with ErrNotDatabase. Unset,
	// Open makes one there. ReadOnly implies it.
	MustExist bool
	// ReadOnly opens a view of the store as it is now, and writes nothing to its
	// directory. It works beside a process that has the directory open. What
	// this build does not know is listed by Engine.Unknown and is no error.
	ReadOnly bool
	// ScratchDir is a directory outside of the store for what RocksDB writes
	// beside a store that it only reads: its own log. It implies ReadOnly. If
	// a process has the store open for writing, it is then opened beside that,
	// as a secondary instance or, where there are blob files, by links to files
	// that are held open; the view stays as it is, and Engine.Secondary says so.
	// Empty: there is none, and a store that is held is opened as it lies.
	ScratchDir string
	// AcceptLoss opens a store that has lost changes which were on disk, instead
	// of refusing it; Engine.Recovery says how many. It also opens one that does not
	// say which version may write it, since that is damaged.
	AcceptLoss bool
	// DropEmptyFamilies drops column families that this build does not know and that have no
	// rows, as other software leaves them that has opened the directory. If one has rows,
	// Open returns ErrSchema, and drops none.
	DropEmptyFamilies bool
	// Building opens a store that is being built, as BeginBuilding has said. Unset, such
	// a store is ErrUnfinished, unless it is opened read-only and is a database already.
	Building bool
	// NewNode draws another node id for a store that is there, as a copy that is to
	// run beside the first wants one. Open returns when it is on disk.
	NewNode bool
	// CacheBytes is the size of the block cache that all columns share. 0: 256
	// MiB.
	CacheBytes int64
	// RowCacheBytes is the size of a cache of single rows, beside the block cache:
	// reading a row that it has does not go through RocksDB. 0: there is none.
	RowCacheBytes int64
	// SharedRowBytes is the size of a second such cache, on Linux, of rows that other processes
	// may read, which have them without a call; see Engine.SharedRows. 0: there is none.
	SharedRowBytes int64
	// MaxWALBytes is the size of the write-ahead log from which on the oldest
	// columns in memory are written to tables. 0: 256 MiB.
	MaxWALBytes int64
	// MinFreeBytes is the free space of the disk below which writes return
	// ErrNoSpace; batches that only delete may use it down to a quarter. 0: 256
	// MiB; negative: none is kept free, and a full disk makes the engine
	// read-only until it is reopened.
	MinFreeBytes int64
	// WatermarkEvery is how often what is in the write-ahead log is synced, if
	// it is not yet, and recorded in the watermark. 0: one second; at least 10
	// ms.
	WatermarkEvery time.Duration
	// BackgroundJobs is how many flushes and compactions run at once. 0: 2; at
	// most 64.
	BackgroundJobs int
	// Logger is told of openings, losses and faults. nil: nobody is.
	Logger *slog.Logger
	// Now is the clock. nil: time.Now.
	Now func() time.Time
	// Rand is where the node id of a new store comes from. nil: crypto/rand.
	Rand io.Reader

	until uint64 // the last sequence that was written before a fault: what comes after it was refused; 0: there was none
	held  bool   // another process has the store open; found at open
	plain bool   // the directory is written to by its path, as on systems without /proc; for tests
}

// withDefaults returns o with its zero fields filled in, or ErrOptions.
func (o Options) withDefaults() (Options, error) {
	fill(&o.CacheBytes, defaultCacheBytes)
	fill(&o.MaxWALBytes, defaultMaxWALBytes)
	fill(&o.MinFreeBytes, defaultMinFreeBytes)
	fill(&o.WatermarkEvery, defaultWatermarkEvery)
	fill(&o.BackgroundJobs, defaultJobs)
	o.ReadOnly = o.ReadOnly || o.ScratchDir != ""
	o.MustExist = o.MustExist || o.ReadOnly
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	switch {
	case strings.ContainsRune(o.ScratchDir, 0):
		return o, fmt.Errorf("%w: ScratchDir %q is not a path", ErrOptions, o.ScratchDir)
	case o.CacheBytes < mib:
		return o, fmt.Errorf("%w: CacheBytes is %d, at least %d", ErrOptions, o.CacheBytes, mib)
	case o.RowCacheBytes != 0 && o.RowCacheBytes < mib:
		return o, fmt.Errorf("%w: RowCacheBytes is %d, 0 or at least %d", ErrOptions, o.RowCacheBytes, mib)
	case o.SharedRowBytes != 0 && o.SharedRowBytes < mib:
		return o, fmt.Errorf("%w: SharedRowBytes is %d, 0 or at least %d", ErrOptions, o.SharedRowBytes, mib)
	case o.MaxWALBytes < mib:
		return o, fmt.Errorf("%w: MaxWALBytes is %d, at least %d", ErrOptions, o.MaxWALBytes, mib)
	case o.WatermarkEvery < 10*time.Millisecond:
		return o, fmt.Errorf("%w: WatermarkEvery is %s, at least 10ms", ErrOptions, o.WatermarkEvery)
	case o.BackgroundJobs < 1 || o.BackgroundJobs > 64:
		return o, fmt.Errorf("%w: BackgroundJobs is %d, from 1 to 64", ErrOptions, o.BackgroundJobs)
	}
	return o, nil
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// checkPath returns ErrOptions for a path that C cannot be given.
func checkPath(dir string) error {
	if dir == "" || strings.ContainsRune(dir, 0) {
		return fmt.Errorf("%w: %q is not a path", ErrOptions, dir)
	}
	return nil
}
