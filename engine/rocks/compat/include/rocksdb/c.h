/* The C API of RocksDB 7.8, on top of a newer RocksDB.
 *
 * Why: go.mod pins a grocksdb that was written against the C header of RocksDB
 * 7.8 (what Debian 12 ships). Later releases removed a few functions that it
 * names and changed the arguments of three more, so that it does not compile
 * against the libraries of Debian 13, Ubuntu 24.04 or Homebrew. A newer
 * grocksdb, in turn, does not compile against 7.8.
 *
 * How: this folder is put first on the include path (env.sh beside it prints
 * the flags, make uses them), so that `#include "rocksdb/c.h"` finds this
 * file. It includes the real header, which comes next on the path, and then
 * supplies what that one lacks. STOA_ROCKSDB tells the version of the real one,
 * major * 100 + minor: 809 is 8.9. RocksDB's own version.h is C++ and cannot be
 * included here.
 *
 *  - A function that changed: the old name becomes a macro for an inline
 *    function with the old arguments, which calls the real one. cgo follows
 *    such a macro, so this holds for calls from Go and from C.
 *  - A function that was removed: the option it set no longer exists, RocksDB
 *    behaves as if it had never been set. A setter does nothing, a getter
 *    answers RocksDB's former default.
 *
 * Stoa itself calls none of these functions; they only have to exist for
 * grocksdb to compile.
 */
#ifndef STOA_COMPAT_ROCKSDB_C_H
#define STOA_COMPAT_ROCKSDB_C_H

#ifndef STOA_ROCKSDB
#error "STOA_ROCKSDB is not defined: take the flags from `make -s env`, do not name this folder by hand"
#endif

#include_next <rocksdb/c.h>

/* 8.0: the compressed block cache is gone. */
#if STOA_ROCKSDB >= 800
static inline void rocksdb_block_based_options_set_block_cache_compressed(
    rocksdb_block_based_table_options_t* options, rocksdb_cache_t* cache) {
  (void)options;
  (void)cache;
}
#endif

/* 8.4: four more arguments, given here the defaults of PlainTableOptions. */
#if STOA_ROCKSDB >= 804
static inline void stoa_options_set_plain_table_factory(
    rocksdb_options_t* options, uint32_t user_key_len, int bloom_bits_per_key,
    double hash_table_ratio, size_t index_sparseness) {
  rocksdb_options_set_plain_table_factory(
      options, user_key_len, bloom_bits_per_key, hash_table_ratio,
      index_sparseness, /*huge_page_tlb_size=*/0, /*encoding_type: plain=*/0,
      /*full_scan_mode=*/0, /*store_index_in_file=*/0);
}
#define rocksdb_options_set_plain_table_factory \
  stoa_options_set_plain_table_factory
#endif

/* 9.0: file deletions are enabled without `force`, and there is no access hint
 * for compaction inputs (its default was NORMAL, 1). */
#if STOA_ROCKSDB >= 900
static inline void stoa_enable_file_deletions(rocksdb_t* db,
                                              unsigned char force,
                                              char** errptr) {
  (void)force;
  rocksdb_enable_file_deletions(db, errptr);
}
#define rocksdb_enable_file_deletions stoa_enable_file_deletions

static inline void rocksdb_options_set_access_hint_on_compaction_start(
    rocksdb_options_t* options, int hint) {
  (void)options;
  (void)hint;
}

static inline int rocksdb_options_get_access_hint_on_compaction_start(
    rocksdb_options_t* options) {
  (void)options;
  return 1;
}
#endif

/* 10.0: a file cannot be deleted by name, and the history of a column family
 * is bounded by size only. */
#if STOA_ROCKSDB >= 1000
static inline void rocksdb_delete_file(rocksdb_t* db, const char* name) {
  (void)db;
  (void)name;
}

static inline void rocksdb_options_set_max_write_buffer_number_to_maintain(
    rocksdb_options_t* options, int number) {
  (void)options;
  (void)number;
}

static inline int rocksdb_options_get_max_write_buffer_number_to_maintain(
    rocksdb_options_t* options) {
  (void)options;
  return 0;
}
#endif

/* 11.0: a slice transform has no in_range, which RocksDB had not called for
 * years, and the sizes of all files are always checked when opening. */
#if STOA_ROCKSDB >= 1100
static inline rocksdb_slicetransform_t* stoa_slicetransform_create(
    void* state, void (*destructor)(void*),
    char* (*transform)(void*, const char* key, size_t length,
                       size_t* dst_length),
    unsigned char (*in_domain)(void*, const char* key, size_t length),
    unsigned char (*in_range)(void*, const char* key, size_t length),
    const char* (*name)(void*)) {
  (void)in_range;
  return rocksdb_slicetransform_create(state, destructor, transform, in_domain,
                                       name);
}
#define rocksdb_slicetransform_create stoa_slicetransform_create

static inline void rocksdb_options_set_skip_checking_sst_file_sizes_on_db_open(
    rocksdb_options_t* options, unsigned char skip) {
  (void)options;
  (void)skip;
}

static inline unsigned char
rocksdb_options_get_skip_checking_sst_file_sizes_on_db_open(
    rocksdb_options_t* options) {
  (void)options;
  return 0;
}
#endif

#endif /* STOA_COMPAT_ROCKSDB_C_H */
