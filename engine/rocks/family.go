//go:build cgo

package rocks

import (
	"fmt"

	"github.com/linxGnu/grocksdb"

	"github.com/stoadb/stoa/column"
)

// defaultFamily is the family that every RocksDB has. Here it holds only what is
// true of the store as a whole.
const defaultFamily = "default"

const bloomBitsPerKey = 10

// trackLogs is set by a string, since the C API has no call for it. It makes the
// manifest name the logs that are closed, without which RocksDB takes one that is
// missing or cut short for one that was never there.
const trackLogs = "track_and_verify_wals_in_manifest=true"

// databaseOptions returns the options of a database as a whole, which are those
// of its default family too. README.md has the reasons.
func databaseOptions(o *Options, mode Mode) (*grocksdb.Options, error) {
	base := grocksdb.NewDefaultOptions()
	defer base.Destroy()
	opts, err := grocksdb.GetOptionsFromString(base, trackLogs)
	if err != nil {
		return nil, fmt.Errorf("engine: options: %w", err)
	}
	opts.SetWALRecoveryMode(mode.wal())
	opts.SetParanoidChecks(true)
	opts.SetMaxOpenFiles(-1)
	opts.SetMaxTotalWalSize(uint64(o.MaxWALBytes))
	opts.SetDbWriteBufferSize(128 * mib)
	opts.SetMaxBackgroundJobs(o.BackgroundJobs)
	opts.SetBytesPerSync(mib)
	opts.SetKeepLogFileNum(8)
	opts.SetMaxLogFileSize(16 * mib)
	opts.SetMaxManifestFileSize(64 * mib)
	opts.SetStatsDumpPeriodSec(3600)
	opts.SetInfoLogLevel(grocksdb.InfoInfoLogLevel)
	opts.SetWriteBufferSize(mib)
	opts.SetCompression(grocksdb.NoCompression)
	if o.ScratchDir != "" {
		opts.SetDbLogDir(o.ScratchDir)
	}
	return opts, nil
}

func (m Mode) wal() grocksdb.WALRecoveryMode {
	if m == Absolute {
		return grocksdb.AbsoluteConsistencyRecovery
	}
	return grocksdb.TolerateCorruptedTailRecordsRecovery
}

// familyOptions returns the options of a column. The extractor of prefixes has
// no call of its own in the C API; a string sets it, so that these options, other
// than those with one set by grocksdb, may be destroyed.
func familyOptions(s column.Spec, cache *grocksdb.Cache) (*grocksdb.Options, error) {
	base := grocksdb.NewDefaultOptions()
	defer base.Destroy()
	table := tableOptions(cache)
	defer table.Destroy()
	base.SetBlockBasedTableFactory(table)

	base.SetWriteBufferSize(uint64(s.WriteBuffer))
	base.SetLevelCompactionDynamicLevelBytes(true)
	base.SetOptimizeFiltersForHits(s.FiltersForHits)
	if s.MemtableBloom {
		base.SetMemTablePrefixBloomSizeRatio(0.1)
		base.SetMemtableWholeKeyFiltering(true)
	}
	switch s.Compression {
	case column.LZ4:
		base.SetCompression(grocksdb.LZ4Compression)
	case column.LZ4ThenZSTD:
		base.SetCompression(grocksdb.LZ4Compression)
		base.SetBottommostCompression(grocksdb.ZSTDCompression)
	case column.NoCompression:
		base.SetCompression(grocksdb.NoCompression)
	}
	if s.BlobFiles {
		base.EnableBlobFiles(true)
		base.SetMinBlobSize(uint64(s.MinBlob))
		base.SetBlobCompressionType(grocksdb.LZ4Compression)
		base.EnableBlobGC(true)
		base.SetBlobGCAgeCutoff(0.25)
		base.SetBlobGCForceThreshold(0.5)
	}
	extractor := ""
	if s.PrefixBytes > 0 {
		extractor = fmt.Sprintf("prefix_extractor=capped:%d", s.PrefixBytes)
	}
	opts, err := grocksdb.GetOptionsFromString(base, extractor)
	if err != nil {
		return nil, fmt.Errorf("engine: options of %s: %w", s.Name, err)
	}
	return opts, nil
}

// leastShard is the least size of a part of the block cache. What is larger than a
// part is never kept: RocksDB makes parts of 512 KiB of a small cache, and the index
// of a table of 64 MiB, which takes some MiB, would be read and decompressed at
// every lookup.
const leastShard = 8 * mib

// newCache returns a block cache of so many bytes.
func newCache(capacity int64) *grocksdb.Cache {
	o := grocksdb.NewLRUCacheOptions()
	defer o.Destroy()
	o.SetCapacity(uint(capacity))
	o.SetNumShardBits(shardBits(capacity))
	return grocksdb.NewLRUCacheWithOptions(o)
}

// shardBits returns how often a cache is halved: at most as often as RocksDB does.
func shardBits(capacity int64) (n int) {
	for n < 6 && capacity>>(n+1) >= leastShard {
		n++
	}
	return n
}

func tableOptions(cache *grocksdb.Cache) *grocksdb.BlockBasedTableOptions {
	t := grocksdb.NewDefaultBlockBasedTableOptions()
	t.SetBlockCache(cache)
	t.SetFormatVersion(5)
	t.SetCacheIndexAndFilterBlocks(true)
	t.SetCacheIndexAndFilterBlocksWithHighPriority(true)
	t.SetPinL0FilterAndIndexBlocksInCache(true)
	t.SetFilterPolicy(grocksdb.NewBloomFilterFull(bloomBitsPerKey))
	t.SetWholeKeyFiltering(true)
	return t
}
