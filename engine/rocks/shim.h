// The calls that are made often enough for the crossing from Go to C to count:
// each does in one call what the C API of RocksDB needs several for. They use
// only functions whose types are the same in RocksDB 7.8 to 11.
#ifndef STOA_ROCKS_SHIM_H
#define STOA_ROCKS_SHIM_H

#include <stddef.h>
#include <stdint.h>

#include "rocksdb/c.h"

enum { STOA_FAMILIES = 12 };

// An open database. cf is indexed by column; 0 is the default family.
typedef struct {
  rocksdb_t* db;
  rocksdb_column_family_handle_t* cf[STOA_FAMILIES];
  rocksdb_readoptions_t* read;
  rocksdb_writeoptions_t* write_wal;
  rocksdb_writeoptions_t* write_synced;
  int fixed; // it does not change, and takes no snapshots: a secondary instance
} stoa_db;

// A snapshot and the options that read from it.
typedef struct {
  const rocksdb_snapshot_t* snapshot;
  rocksdb_readoptions_t* read;
} stoa_view;

typedef struct stoa_iter stoa_iter;

// err is NULL, or a text to be given back with rocksdb_free.
typedef struct {
  char* err;
  size_t len;                   // length of the value
  rocksdb_pinnableslice_t* pin; // the value, if it was too long for the buffer
  int found;
} stoa_got;

typedef struct {
  char* err;
  size_t done;   // keys that were looked up
  size_t read;   // bytes of keys that they took
  size_t used;   // bytes of dst that are filled
  size_t needed; // length of the value that did not fit, or 0
} stoa_multi;

typedef struct {
  char* err;
  uint64_t entries;
  size_t used;   // bytes of dst that are filled
  size_t needed; // bytes of the entry that did not fit, or 0
  int end;       // there are no more entries
} stoa_page;

typedef struct {
  char* err;
  uint64_t sequence; // of the last change, once this write was done
} stoa_written;

void stoa_db_init(stoa_db* d);
void stoa_db_release(stoa_db* d);

// Copies the value to dst if it fits in cap, else leaves it in out->pin.
void stoa_get(stoa_db* d, rocksdb_readoptions_t* read, int col, const char* key,
              size_t key_len, char* dst, size_t cap, stoa_got* out);
// Copies a pinned value and gives it back.
void stoa_unpin(rocksdb_pinnableslice_t* pin, char* dst);

// Looks up n keys, each of them column u8, length u32 in host order, key. It
// sets lens[i] to the length of value i, or -1, and puts the values one after
// the other. It stops at the value that does not fit.
void stoa_multi_get(stoa_db* d, rocksdb_readoptions_t* read, const char* keys,
                    size_t n, int64_t* lens, char* dst, size_t cap,
                    stoa_multi* out);

void stoa_view_open(stoa_db* d, stoa_view* v);
void stoa_view_close(stoa_db* d, stoa_view* v);

// Opens an iterator over [start, end), or to the last key if end is NULL. It
// keeps copies of the bounds. snapshot may be NULL. in_prefix says that all of the
// range, and the key that a seek starts at, has one prefix of the family's
// extractor.
stoa_iter* stoa_iter_open(stoa_db* d, const rocksdb_snapshot_t* snapshot,
                          int col,
                          const char* start, size_t start_len, const char* end,
                          size_t end_len, int reverse, int in_prefix,
                          int no_ranges);
// Seeks if this is the first page, and packs entries into dst until there are
// max of them, or they take full bytes, or the next does not fit in cap.
void stoa_iter_page(stoa_iter* it, char* dst, size_t cap, size_t full,
                    uint64_t max, stoa_page* out);
void stoa_iter_close(stoa_iter* it);

void stoa_write(stoa_db* d, const char* rep, size_t len, int synced,
                stoa_written* out);

#endif
