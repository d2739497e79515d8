//go:build cgo

#include "shim.h"

#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <string.h>

// RocksDB wants a pointer even for no bytes.
static const char* some(const char* p) { return p ? p : ""; }

// Blocks come and go on whichever thread a goroutine happens to run on. glibc
// gives threads arenas of their own, up to eight for each core, and each keeps
// what it once had: a scan of 1 GiB then costs a daemon some 60 MiB beyond the
// cache. Threads keep the arena of their first malloc, so that this must come
// before Go starts any: it is the one thing here that runs before main.
#ifdef __GLIBC__
__attribute__((constructor)) static void share_one_arena(void) {
  mallopt(M_ARENA_MAX, 1);
}
#endif

void stoa_db_init(stoa_db* d) {
  d->read = rocksdb_readoptions_create();
  d->write_wal = rocksdb_writeoptions_create();
  d->write_synced = rocksdb_writeoptions_create();
  rocksdb_writeoptions_set_sync(d->write_synced, 1);
}

void stoa_db_release(stoa_db* d) {
  rocksdb_readoptions_destroy(d->read);
  rocksdb_writeoptions_destroy(d->write_wal);
  rocksdb_writeoptions_destroy(d->write_synced);
}

void stoa_get(stoa_db* d, rocksdb_readoptions_t* read, int col, const char* key,
              size_t key_len, char* dst, size_t cap, stoa_got* out) {
  memset(out, 0, sizeof *out);
  rocksdb_pinnableslice_t* pin =
      rocksdb_get_pinned_cf(d->db, read ? read : d->read, d->cf[col], some(key),
                            key_len, &out->err);
  if (!pin) return;
  if (out->err) {
    rocksdb_pinnableslice_destroy(pin);
    return;
  }
  const char* value = rocksdb_pinnableslice_value(pin, &out->len);
  out->found = 1;
  if (out->len > cap) {
    out->pin = pin;
    return;
  }
  if (out->len) memcpy(dst, value, out->len);
  rocksdb_pinnableslice_destroy(pin);
}

void stoa_unpin(rocksdb_pinnableslice_t* pin, char* dst) {
  size_t len;
  const char* value = rocksdb_pinnableslice_value(pin, &len);
  memcpy(dst, value, len);
  rocksdb_pinnableslice_destroy(pin);
}

void stoa_multi_get(stoa_db* d, rocksdb_readoptions_t* read, const char* keys,
                    size_t n, int64_t* lens, char* dst, size_t cap,
                    stoa_multi* out) {
  memset(out, 0, sizeof *out);
  for (; out->done < n; out->done++) {
    uint32_t key_len;
    const char* at = keys + out->read;
    memcpy(&key_len, at + 1, sizeof key_len);
    stoa_got got;
    stoa_get(d, read, (unsigned char)at[0], at + 1 + sizeof key_len, key_len,
             dst + out->used, cap - out->used, &got);
    if (got.err) {
      out->err = got.err;
      return;
    }
    if (got.pin) {
      rocksdb_pinnableslice_destroy(got.pin);
      out->needed = got.len;
      return;
    }
    lens[out->done] = got.found ? (int64_t)got.len : -1;
    out->used += got.len;
    out->read += 1 + sizeof key_len + key_len;
  }
}

void stoa_view_open(stoa_db* d, stoa_view* v) {
  v->snapshot = d->fixed ? NULL : rocksdb_create_snapshot(d->db);
  v->read = rocksdb_readoptions_create();
  if (v->snapshot) rocksdb_readoptions_set_snapshot(v->read, v->snapshot);
}

void stoa_view_close(stoa_db* d, stoa_view* v) {
  rocksdb_readoptions_destroy(v->read);
  if (v->snapshot) rocksdb_release_snapshot(d->db, v->snapshot);
}

// RocksDB keeps pointers to the options and the bounds, so that they live here,
// beside the iterator.
struct stoa_iter {
  rocksdb_iterator_t* it;
  rocksdb_readoptions_t* read;
  size_t start_len, end_len;
  int has_end, reverse, sought;
  char bounds[]; // start, then end
};

stoa_iter* stoa_iter_open(stoa_db* d, const rocksdb_snapshot_t* snapshot,
                          int col,
                          const char* start, size_t start_len, const char* end,
                          size_t end_len, int reverse, int in_prefix,
                          int no_ranges) {
  stoa_iter* s = malloc(sizeof *s + start_len + end_len + 1);
  if (!s) abort();
  s->start_len = start_len;
  s->end_len = end_len;
  s->has_end = end != NULL;
  s->reverse = reverse;
  s->sought = 0;
  if (start_len) memcpy(s->bounds, start, start_len);
  if (end_len) memcpy(s->bounds + start_len, end, end_len);

  s->read = rocksdb_readoptions_create();
  if (snapshot) rocksdb_readoptions_set_snapshot(s->read, snapshot);
  if (start_len)
    rocksdb_readoptions_set_iterate_lower_bound(s->read, s->bounds, start_len);
  if (end)
    rocksdb_readoptions_set_iterate_upper_bound(
        s->read, s->bounds + start_len, end_len);
  rocksdb_readoptions_set_total_order_seek(s->read, !in_prefix);
  rocksdb_readoptions_set_prefix_same_as_start(s->read, in_prefix != 0);
  rocksdb_readoptions_set_ignore_range_deletions(s->read, no_ranges != 0);
  s->it = rocksdb_create_iterator_cf(d->db, s->read, d->cf[col]);
  return s;
}

static void seek(stoa_iter* s) {
  s->sought = 1;
  if (!s->reverse) {
    if (s->start_len)
      rocksdb_iter_seek(s->it, s->bounds, s->start_len);
    else
      rocksdb_iter_seek_to_first(s->it);
    return;
  }
  if (!s->has_end) {
    rocksdb_iter_seek_to_last(s->it);
    return;
  }
  const char* end = s->bounds + s->start_len;
  rocksdb_iter_seek_for_prev(s->it, end, s->end_len);
  // The end itself is not in the range.
  if (rocksdb_iter_valid(s->it)) {
    size_t len;
    const char* key = rocksdb_iter_key(s->it, &len);
    if (len == s->end_len && memcmp(key, end, len) == 0)
      rocksdb_iter_prev(s->it);
  }
}

static size_t uvarint_len(uint64_t v) {
  size_t n = 1;
  for (; v >= 0x80; v >>= 7) n++;
  return n;
}

static char* put(char* p, const char* part, size_t len) {
  uint64_t v = len;
  for (; v >= 0x80; v >>= 7) *p++ = (char)(v | 0x80);
  *p++ = (char)v;
  memcpy(p, part, len);
  return p + len;
}

void stoa_iter_page(stoa_iter* s, char* dst, size_t cap, size_t full,
                    uint64_t max, stoa_page* out) {
  memset(out, 0, sizeof *out);
  if (!s->sought) seek(s);
  char* p = dst;
  while (rocksdb_iter_valid(s->it)) {
    out->used = p - dst;
    if (out->entries >= max || (out->entries > 0 && out->used >= full)) return;
    size_t key_len, value_len;
    const char* key = rocksdb_iter_key(s->it, &key_len);
    const char* value = rocksdb_iter_value(s->it, &value_len);
    size_t needed =
        uvarint_len(key_len) + key_len + uvarint_len(value_len) + value_len;
    if (needed > cap - out->used) {
      out->needed = needed;
      return;
    }
    p = put(put(p, key, key_len), value, value_len);
    out->entries++;
    if (s->reverse)
      rocksdb_iter_prev(s->it);
    else
      rocksdb_iter_next(s->it);
  }
  out->used = p - dst;
  out->end = 1;
  rocksdb_iter_get_error(s->it, &out->err);
}

void stoa_iter_close(stoa_iter* s) {
  rocksdb_iter_destroy(s->it);
  rocksdb_readoptions_destroy(s->read);
  free(s);
}

void stoa_write(stoa_db* d, const char* rep, size_t len, int synced,
                stoa_written* out) {
  memset(out, 0, sizeof *out);
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create_from(rep, len);
  rocksdb_write(d->db, synced ? d->write_synced : d->write_wal, batch,
                &out->err);
  rocksdb_writebatch_destroy(batch);
  if (!out->err) out->sequence = rocksdb_get_latest_sequence_number(d->db);
}
