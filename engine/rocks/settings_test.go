//go:build cgo

package rocks

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
)

// settings returns the newest OPTIONS file of dir by section.
func settings(t *testing.T, dir string) map[string]map[string]string {
	t.Helper()
	names := fileNames(t, dir)
	last := ""
	for _, n := range names {
		if strings.HasPrefix(n, "OPTIONS-") {
			last = n
		}
	}
	b, err := os.ReadFile(dir + "/" + last)
	require.NoError(t, err)
	all := make(map[string]map[string]string)
	var at map[string]string
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			at = make(map[string]string)
			all[strings.Trim(line, "[]")] = at
		} else if key, value, ok := strings.Cut(line, "="); ok {
			at[key] = value
		}
	}
	return all
}

func TestSettingsAreInForce(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, Options{MaxWALBytes: 7 * mib, BackgroundJobs: 3})
	all := settings(t, dir)
	requireSettings(t, all["DBOptions"], map[string]string{
		"paranoid_checks": "true", "max_open_files": "-1", "max_total_wal_size": fmt.Sprint(7 * mib), "db_write_buffer_size": fmt.Sprint(128 * mib),
		"max_background_jobs": "3", "bytes_per_sync": fmt.Sprint(mib), "keep_log_file_num": "8", "max_manifest_file_size": fmt.Sprint(64 * mib),
		"info_log_level": "INFO_LEVEL", "wal_recovery_mode": "kTolerateCorruptedTailRecords", "manual_wal_flush": "false", "atomic_flush": "false",
		"enable_pipelined_write": "false", "unordered_write": "false", "recycle_log_file_num": "0",
		"track_and_verify_wals_in_manifest": "true",
	})
	compression := map[column.Compression][2]string{
		column.LZ4:           {"kLZ4Compression", "kDisableCompressionOption"},
		column.LZ4ThenZSTD:   {"kLZ4Compression", "kZSTD"},
		column.NoCompression: {"kNoCompression", "kDisableCompressionOption"},
	}
	for c := range column.All {
		s := c.Spec()
		want := map[string]string{
			"write_buffer_size": fmt.Sprint(s.WriteBuffer), "level_compaction_dynamic_level_bytes": "true", "optimize_filters_for_hits": fmt.Sprint(s.FiltersForHits),
			"compression": compression[s.Compression][0], "bottommost_compression": compression[s.Compression][1],
			"memtable_whole_key_filtering": fmt.Sprint(s.MemtableBloom), "enable_blob_files": fmt.Sprint(s.BlobFiles), "prefix_extractor": "nullptr",
		}
		if s.PrefixBytes > 0 {
			want["prefix_extractor"] = fmt.Sprintf("rocksdb.CappedPrefix.%d", s.PrefixBytes)
		}
		if s.MemtableBloom {
			want["memtable_prefix_bloom_size_ratio"] = "0.100000"
		}
		if s.BlobFiles {
			want["min_blob_size"], want["blob_compression_type"] = fmt.Sprint(s.MinBlob), "kLZ4Compression"
			want["enable_blob_garbage_collection"], want["blob_garbage_collection_age_cutoff"] = "true", "0.250000"
			want["blob_garbage_collection_force_threshold"] = "0.500000"
		}
		requireSettings(t, all[fmt.Sprintf("CFOptions %q", s.Name)], want)
		requireSettings(t, all[fmt.Sprintf("TableOptions/BlockBasedTable %q", s.Name)], map[string]string{
			"format_version": "5", "cache_index_and_filter_blocks": "true", "cache_index_and_filter_blocks_with_high_priority": "true",
			"pin_l0_filter_and_index_blocks_in_cache": "true", "whole_key_filtering": "true", "filter_policy": "bloomfilter",
		})
	}
}

func requireSettings(t *testing.T, got, want map[string]string) {
	t.Helper()
	for key, value := range want {
		require.Equal(t, value, got[key], key)
	}
}
