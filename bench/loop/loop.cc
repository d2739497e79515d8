// A bare loop over RocksDB in C++, the peer "rocksdb-c++" of package bench: what the
// library costs without Go and without cgo.
//
//   bench-loop DIR ROWS CACHE_BYTES
//
// opens the store in DIR, with the options that were written there, and reads one
// command to a line, answering each with a line: "version" is RocksDB's, "warm" reads all
// rows, "flush" writes the memtables, and "WORKLOAD WORKERS NANOSECONDS" works that long, and answers with
// how many units it did, the CPU time of its workers and the latencies of one call in eight, in nanoseconds. Rows
// and workloads are those of dataset.go and workload.go. Anything wrong ends it with
// status 1 and a line on stderr.

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/options_util.h>
#include <rocksdb/version.h>

#include <time.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t kContextBytes = 32, kKeyBytes = 65, kValueBytes = 256;
constexpr uint64_t kContexts = 1000;
constexpr size_t kLookups = 100, kScanEntries = 100;
constexpr size_t kRootFromEnd = 32 + 4 + 2 * 32;  // of metadata: two heads and their number follow the root
constexpr int kSampleEvery = 8;

[[noreturn]] void fail(const std::string& what) {
  std::cerr << "bench-loop: " << what << std::endl;
  exit(1);
}

void check(const rocksdb::Status& s) {
  if (!s.ok()) fail(s.ToString());
}

// spread is the mixer of SplitMix64 (Steele, Lea, Flood 2014).
uint64_t spread(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

void put_big_endian(char* to, uint64_t x) {
  for (int i = 0; i < 8; i++) to[i] = static_cast<char>(x >> (56 - 8 * i));
}

struct Key {
  char bytes[kKeyBytes];
  explicit Key(uint64_t row) {
    memset(bytes, 0, sizeof bytes);
    put_big_endian(bytes, spread(row % kContexts));
    put_big_endian(bytes + kContextBytes, spread(row));
    put_big_endian(bytes + kContextBytes + 8, row);
  }
  rocksdb::Slice slice() const { return rocksdb::Slice(bytes, kKeyBytes); }
};

struct Value {
  char bytes[kValueBytes];
  explicit Value(uint64_t row) {
    uint64_t x = spread(row + 1);
    for (size_t at = 0; at < kValueBytes / 2; at += 8) {
      x = spread(x);
      for (int i = 0; i < 8; i++) bytes[at + i] = static_cast<char>(x >> (8 * i));
    }
    memset(bytes + kValueBytes / 2, static_cast<char>(row), kValueBytes / 2);
  }
  rocksdb::Slice slice() const { return rocksdb::Slice(bytes, kValueBytes); }
};

struct Store {
  std::unique_ptr<rocksdb::DB> db;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::ColumnFamilyHandle *state = nullptr, *meta = nullptr;
  uint64_t rows = 0;
  std::vector<std::pair<std::string, std::string>> metas;  // the row of Meta of each context

  ~Store() {
    for (auto* h : handles) check(db->DestroyColumnFamilyHandle(h));
    check(db->Close());
  }

  void open(const std::string& dir, size_t cache_bytes) {
    rocksdb::ConfigOptions config;
    config.ignore_unknown_options = true;  // those of a newer RocksDB, at what they are by default
    rocksdb::DBOptions options;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    auto cache = rocksdb::NewLRUCache(cache_bytes);
    check(rocksdb::LoadLatestOptions(config, dir, &options, &families, &cache));
    // Caches and filters are objects, which an options file does not bring back whole.
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = cache;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    table.format_version = 5;
    table.cache_index_and_filter_blocks = true;
    table.cache_index_and_filter_blocks_with_high_priority = true;
    table.pin_l0_filter_and_index_blocks_in_cache = true;
    for (auto& f : families) f.options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    rocksdb::DB* raw = nullptr;
    check(rocksdb::DB::Open(options, dir, families, &handles, &raw));
    db.reset(raw);
    for (auto* h : handles) {
      if (h->GetName() == "State") state = h;
      if (h->GetName() == "Meta") meta = h;
    }
    if (state == nullptr || meta == nullptr) fail("there is no column family State, or Meta, in " + dir);
    for (uint64_t i = 0; i < kContexts; i++) {
      std::string key(kContextBytes, 0), value;
      put_big_endian(key.data(), spread(i));
      check(db->Get(rocksdb::ReadOptions(), meta, key, &value));
      metas.emplace_back(key, value);
    }
  }
};

// Worker is one thread's hands on the store.
class Worker {
 public:
  Worker(Store& store, uint64_t seed)
      : store_(store), metas_(store.metas), random_(seed), values_(kLookups), statuses_(kLookups) {
    wal_.disableWAL = false;
    synced_.sync = true;
  }

  size_t get() { return look(any(), true); }
  size_t miss() { return look(store_.rows + any(), false); }

  size_t multiget() {
    std::vector<Key> keys;
    keys.reserve(kLookups);
    std::vector<rocksdb::Slice> slices;
    slices.reserve(kLookups);
    for (size_t i = 0; i < kLookups; i++) {
      keys.emplace_back(any());
      slices.push_back(keys.back().slice());
    }
    for (auto& v : values_) v.Reset();
    store_.db->MultiGet(read_, store_.state, kLookups, slices.data(), values_.data(), statuses_.data());
    for (size_t i = 0; i < kLookups; i++) {
      check(statuses_[i]);
      if (values_[i].size() != kValueBytes) fail("a value of another size");
    }
    return 1;
  }

  size_t scan() {
    Key key(any());
    std::string end(key.bytes, kContextBytes);
    while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xFF) end.pop_back();
    if (!end.empty()) end.back()++;
    rocksdb::Slice bound(end);
    rocksdb::ReadOptions o;
    if (!end.empty()) o.iterate_upper_bound = &bound;
    std::unique_ptr<rocksdb::Iterator> it(store_.db->NewIterator(o, store_.state));
    size_t n = 0;
    for (it->Seek(key.slice()); it->Valid() && n < kScanEntries; it->Next()) n += sized(*it, kKeyBytes, kValueBytes);
    check(it->status());
    return 1;
  }

  size_t walk() {
    std::unique_ptr<rocksdb::Iterator> it(store_.db->NewIterator(read_, store_.state));
    size_t n = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next()) n += sized(*it, kKeyBytes, kValueBytes);
    check(it->status());
    return n;
  }

  size_t mixed() { return random_() % 10 == 0 ? put(wal_) : get(); }
  size_t put_wal() { return put(wal_); }
  size_t put_synced() { return put(synced_); }

  size_t batch(size_t n) {
    rocksdb::WriteBatch b;
    uint64_t first = random_() % (store_.rows - n);
    for (size_t i = 0; i < n; i++) check(b.Put(store_.state, Key(first + i).slice(), Value(first + i).slice()));
    check(store_.db->Write(wal_, &b));
    return n;
  }

  size_t get_meta() {
    auto& m = metas_[random_() % metas_.size()];
    value_.Reset();
    check(store_.db->Get(read_, store_.meta, m.first, &value_));
    if (value_.size() != m.second.size()) fail("metadata of another size");
    copied_.assign(value_.data(), value_.size());
    return 1;
  }

  size_t put_meta() {
    auto& m = touched(random_() % metas_.size());
    check(store_.db->Put(wal_, store_.meta, m.first, m.second));
    return 1;
  }

  size_t batch_meta(size_t n) {
    rocksdb::WriteBatch b;
    size_t first = random_() % (metas_.size() - n);
    for (size_t i = 0; i < n; i++) {
      auto& m = touched(first + i);
      check(b.Put(store_.meta, m.first, m.second));
    }
    check(store_.db->Write(wal_, &b));
    return n;
  }

  size_t scan_meta() {
    auto& from = metas_[random_() % metas_.size()].first;
    std::unique_ptr<rocksdb::Iterator> it(store_.db->NewIterator(read_, store_.meta));
    size_t n = 0;
    for (it->Seek(from); it->Valid() && n < kScanEntries; it->Next()) n += sized(*it, kContextBytes, metas_[0].second.size());
    check(it->status());
    return 1;
  }

 private:
  // touched returns metadata whose root has been changed.
  std::pair<std::string, std::string>& touched(size_t i) {
    auto& m = metas_[i];
    uint64_t root = spread(++writes_);
    memcpy(&m.second[m.second.size() - kRootFromEnd], &root, sizeof root);
    return m;
  }

  uint64_t any() { return random_() % store_.rows; }

  size_t look(uint64_t row, bool stored) {
    Key key(row);
    value_.Reset();
    auto s = store_.db->Get(read_, store_.state, key.slice(), &value_);
    if (!stored && s.IsNotFound()) return 1;
    check(s);
    if (!stored || value_.size() != kValueBytes) fail("a row that should not be stored is, or a value of another size");
    memcpy(copy_, value_.data(), kValueBytes);  // as who reads has it
    return 1;
  }

  size_t put(const rocksdb::WriteOptions& o) {
    uint64_t row = any();
    check(store_.db->Put(o, store_.state, Key(row).slice(), Value(row).slice()));
    return 1;
  }

  static size_t sized(const rocksdb::Iterator& it, size_t key, size_t value) {
    if (it.key().size() != key || it.value().size() != value) fail("an entry of another size");
    return 1;
  }

  Store& store_;
  std::vector<std::pair<std::string, std::string>> metas_;
  uint64_t writes_ = 0;
  std::string copied_;
  std::mt19937_64 random_;
  rocksdb::ReadOptions read_;
  rocksdb::WriteOptions wal_, synced_;
  rocksdb::PinnableSlice value_;
  std::vector<rocksdb::PinnableSlice> values_;
  std::vector<rocksdb::Status> statuses_;
  char copy_[kValueBytes];
};

using Work = std::function<size_t(Worker&)>;

Work work_of(const std::string& name) {
  static const std::map<std::string, Work> works = {
      {"get", &Worker::get},           {"get-missing", &Worker::miss},
      {"get-16", &Worker::get},        {"get-64", &Worker::get},
      {"multiget-100", &Worker::multiget}, {"scan-100", &Worker::scan},
      {"scan-all", &Worker::walk},     {"mixed-90", &Worker::mixed},
      {"put", &Worker::put_wal},       {"put-synced-1", &Worker::put_synced},
      {"put-synced-8", &Worker::put_synced}, {"put-synced-64", &Worker::put_synced},
      {"batch-10", [](Worker& w) { return w.batch(10); }},
      {"batch-100", [](Worker& w) { return w.batch(100); }},
      {"batch-1000", [](Worker& w) { return w.batch(1000); }},
      {"typed-get", &Worker::get_meta}, {"typed-put", &Worker::put_meta},
      {"typed-batch-100", [](Worker& w) { return w.batch_meta(100); }},
      {"typed-scan-100", &Worker::scan_meta},
  };
  auto found = works.find(name);
  if (found == works.end()) fail("no workload " + name);
  return found->second;
}

using Clock = std::chrono::steady_clock;

struct Share {
  uint64_t units = 0;
  int64_t cpu = 0;
  std::vector<int64_t> latencies;
};

int64_t thread_cpu() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

void run(Store& store, const Work& work, uint64_t seed, Clock::time_point until, Share& share) {
  Worker worker(store, seed);
  share.latencies.reserve(1 << 16);
  int64_t cpu = thread_cpu();
  for (uint64_t i = 0;; i++) {
    bool sample = i % kSampleEvery == 0;
    Clock::time_point start;
    if (sample) {
      start = Clock::now();
      if (i > 0 && start >= until) break;
    }
    share.units += work(worker);
    if (sample) share.latencies.push_back(std::chrono::nanoseconds(Clock::now() - start).count());
  }
  share.cpu = thread_cpu() - cpu;
}

void answer(const std::vector<Share>& shares) {
  uint64_t units = 0;
  int64_t cpu = 0;
  for (auto& s : shares) {
    units += s.units;
    cpu += s.cpu;
  }
  std::string line = std::to_string(units) + ' ' + std::to_string(cpu);
  for (auto& s : shares) {
    for (auto l : s.latencies) line += ' ' + std::to_string(l);
  }
  std::cout << line << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) fail("usage: bench-loop DIR ROWS CACHE_BYTES");
  Store store;
  store.rows = std::stoull(argv[2]);
  store.open(argv[1], std::stoull(argv[3]));
  uint64_t seed = 1;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string name;
    int workers = 1;
    int64_t nanos = 0;
    words >> name >> workers >> nanos;
    if (name == "version") {
      std::cout << rocksdb::GetRocksVersionAsString() << std::endl;
    } else if (name == "warm") {
      Worker w(store, seed++);
      w.walk();
      for (uint64_t i = 0; i < store.rows; i++) w.get();
      answer({});
    } else if (name == "flush") {
      check(store.db->Flush(rocksdb::FlushOptions(), {store.state, store.meta}));
      answer({});
    } else {
      Work work = work_of(name);
      std::vector<Share> shares(workers);
      auto until = Clock::now() + std::chrono::nanoseconds(nanos);
      if (workers == 1) {
        run(store, work, seed++, until, shares[0]);
      } else {
        std::vector<std::thread> threads;
        for (auto& s : shares) threads.emplace_back([&, seed = seed++] { run(store, work, seed, until, s); });
        for (auto& t : threads) t.join();
      }
      answer(shares);
    }
  }
}
