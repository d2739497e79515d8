//! A typed store over RocksDB in Rust, the peer "rust" of package bench: keys and values are structs, values
//! are encoded and decoded by the borsh crate, as nodes in Rust do it.
//!
//!   bench-loop-rust DIR ROWS CACHE_BYTES
//!
//! It is asked as ../loop.cc is, and answers likewise. It has one worker, and the workloads of one.

use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

use borsh::{BorshDeserialize, BorshSerialize};
use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamily, ColumnFamilyDescriptor, DBCompressionType, Direction, IteratorMode, Options, ReadOptions, WriteBatch, WriteOptions, DB,
};

const VALUE_BYTES: usize = 256;
const CONTEXTS: u64 = 1000;
const METAS: u64 = CONTEXTS;
const ENTRIES: usize = 100;
const SAMPLE_EVERY: u64 = 8;

type Failure = Box<dyn std::error::Error>;

/// An application, as a node stores it.
#[derive(BorshSerialize, BorshDeserialize, PartialEq)]
struct ApplicationMeta {
    application_id: [u8; 32],
    bytecode: [u8; 32],
    size: u64,
    source: String,
    metadata: Vec<u8>,
    compiled: [u8; 32],
    package: String,
    version: String,
    signer_id: String,
    services: Vec<ServiceMeta>,
}

#[derive(BorshSerialize, BorshDeserialize, PartialEq)]
struct ServiceMeta {
    name: String,
    bytecode: [u8; 32],
    compiled: [u8; 32],
}

/// The metadata of a context.
#[derive(BorshSerialize, BorshDeserialize, PartialEq)]
struct ContextMeta {
    application: ApplicationMeta,
    root_hash: [u8; 32],
    dag_heads: Vec<[u8; 32]>,
}

/// A key of a column, and the value that lies there.
trait Key: Sized {
    const COLUMN: &'static str;
    type Bytes: AsRef<[u8]>;
    type Value: Value;
    fn bytes(&self) -> Self::Bytes;
    fn parse(bytes: &[u8]) -> Result<Self, Failure>;
}

trait Value: Sized {
    fn encode(&self, into: &mut Vec<u8>) -> Result<(), Failure>;
    fn decode(bytes: &[u8]) -> Result<Self, Failure>;
}

struct ContextMetaKey([u8; 32]);

impl Key for ContextMetaKey {
    const COLUMN: &'static str = "Meta";
    type Bytes = [u8; 32];
    type Value = ContextMeta;
    fn bytes(&self) -> [u8; 32] {
        self.0
    }
    fn parse(bytes: &[u8]) -> Result<Self, Failure> {
        Ok(Self(bytes.try_into()?))
    }
}

impl Value for ContextMeta {
    fn encode(&self, into: &mut Vec<u8>) -> Result<(), Failure> {
        Ok(self.serialize(into)?)
    }
    fn decode(bytes: &[u8]) -> Result<Self, Failure> {
        Ok(borsh::from_slice(bytes)?)
    }
}

struct StateKey([u8; 65]);

/// What an application has under a key of its own: bytes.
struct State(Vec<u8>);

impl Key for StateKey {
    const COLUMN: &'static str = "State";
    type Bytes = [u8; 65];
    type Value = State;
    fn bytes(&self) -> [u8; 65] {
        self.0
    }
    fn parse(bytes: &[u8]) -> Result<Self, Failure> {
        Ok(Self(bytes.try_into()?))
    }
}

impl Value for State {
    fn encode(&self, into: &mut Vec<u8>) -> Result<(), Failure> {
        into.extend_from_slice(&self.0);
        Ok(())
    }
    fn decode(bytes: &[u8]) -> Result<Self, Failure> {
        Ok(Self(bytes.to_vec()))
    }
}

/// The typed store.
struct Store {
    db: DB,
    wal: WriteOptions,
    buffer: Vec<u8>,
}

impl Store {
    fn open(dir: &str, cache_bytes: usize) -> Result<Self, Failure> {
        let cache = Cache::new_lru_cache(cache_bytes)?;
        let families = DB::list_cf(&Options::default(), dir)?;
        let mut database = Options::default();
        database.set_db_write_buffer_size(128 << 20);
        database.set_bytes_per_sync(1 << 20);
        let db = DB::open_cf_descriptors(&database, dir, families.iter().map(|name| ColumnFamilyDescriptor::new(name, Self::options(name, &cache))))?;
        Ok(Self { db, wal: WriteOptions::default(), buffer: Vec::new() })
    }

    /// The options of engine/rocks, as far as the crate has them.
    fn options(name: &str, cache: &Cache) -> Options {
        let mut table = BlockBasedOptions::default();
        table.set_block_cache(cache);
        table.set_bloom_filter(10.0, false);
        table.set_format_version(5);
        table.set_cache_index_and_filter_blocks(true);
        table.set_pin_l0_filter_and_index_blocks_in_cache(true);
        let mut o = Options::default();
        o.set_block_based_table_factory(&table);
        o.set_level_compaction_dynamic_level_bytes(true);
        o.set_write_buffer_size(if name == StateKey::COLUMN { 64 << 20 } else { 8 << 20 });
        if name == StateKey::COLUMN {
            o.set_compression_type(DBCompressionType::Lz4);
            o.set_bottommost_compression_type(DBCompressionType::Zstd);
        }
        o
    }

    fn family<K: Key>(&self) -> Result<&ColumnFamily, Failure> {
        self.db.cf_handle(K::COLUMN).ok_or_else(|| format!("there is no column family {}", K::COLUMN).into())
    }

    fn get<K: Key>(&self, key: &K) -> Result<Option<K::Value>, Failure> {
        match self.db.get_pinned_cf(self.family::<K>()?, key.bytes())? {
            Some(bytes) => Ok(Some(K::Value::decode(&bytes)?)),
            None => Ok(None),
        }
    }

    fn put<K: Key>(&mut self, key: &K, value: &K::Value) -> Result<(), Failure> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        value.encode(&mut buffer)?;
        self.db.put_cf_opt(self.family::<K>()?, key.bytes(), &buffer, &self.wal)?;
        self.buffer = buffer;
        Ok(())
    }

    fn batch<'a, K: Key>(&mut self, rows: impl Iterator<Item = (K, &'a K::Value)>) -> Result<(), Failure>
    where
        K::Value: 'a,
    {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut batch = WriteBatch::default();
        let family = self.family::<K>()?;
        for (key, value) in rows {
            buffer.clear();
            value.encode(&mut buffer)?;
            batch.put_cf(family, key.bytes(), &buffer);
        }
        self.db.write_opt(batch, &self.wal)?;
        self.buffer = buffer;
        Ok(())
    }

    /// Calls entry with at most ENTRIES entries from a key on, whose keys begin as that does for the first bytes.
    fn scan<K: Key>(&self, from: &K, within: usize, mut entry: impl FnMut(K, K::Value) -> Result<(), Failure>) -> Result<usize, Failure> {
        let from = from.bytes();
        let mut options = ReadOptions::default();
        if let Some(end) = successor(&from.as_ref()[..within]) {
            options.set_iterate_upper_bound(end);
        }
        let mut n = 0;
        for row in self.db.iterator_cf_opt(self.family::<K>()?, options, IteratorMode::From(from.as_ref(), Direction::Forward)).take(ENTRIES) {
            let (key, value) = row?;
            entry(K::parse(&key)?, K::Value::decode(&value)?)?;
            n += 1;
        }
        Ok(n)
    }
}

/// The first key after all that begin so; None: there is none.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = prefix.to_vec();
    while end.last() == Some(&0xFF) {
        end.pop();
    }
    *end.last_mut()? += 1;
    Some(end)
}

/// The mixer of SplitMix64 (Steele, Lea, Flood 2014).
fn spread(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E3779B97F4A7C15);
    let x = (x ^ x >> 30).wrapping_mul(0xBF58476D1CE4E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D049BB133111EB);
    x ^ x >> 31
}

fn state_key(row: u64) -> StateKey {
    let mut key = [0; 65];
    key[..8].copy_from_slice(&spread(row % CONTEXTS).to_be_bytes());
    key[32..40].copy_from_slice(&spread(row).to_be_bytes());
    key[40..48].copy_from_slice(&row.to_be_bytes());
    StateKey(key)
}

fn fill(state: &mut State, row: u64) {
    let mut x = spread(row + 1);
    for at in (0..VALUE_BYTES / 2).step_by(8) {
        x = spread(x);
        state.0[at..at + 8].copy_from_slice(&x.to_le_bytes());
    }
    state.0[VALUE_BYTES / 2..].fill(row as u8);
}

fn meta_key(i: u64) -> ContextMetaKey {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&spread(i).to_be_bytes());
    ContextMetaKey(key)
}

/// What works: a store, and the values that it writes.
struct Worker {
    store: Store,
    rows: u64,
    metas: Vec<ContextMeta>,
    states: Vec<State>,
    random: u64,
    writes: u64,
}

impl Worker {
    fn new(store: Store, rows: u64) -> Result<Self, Failure> {
        let metas = (0..METAS).map(|i| Ok(store.get(&meta_key(i))?.ok_or("a context has no metadata")?)).collect::<Result<_, Failure>>()?;
        let states = (0..ENTRIES).map(|_| State(vec![0; VALUE_BYTES])).collect();
        Ok(Self { store, rows, metas, states, random: 1, writes: 0 })
    }

    fn any(&mut self, of: u64) -> u64 {
        self.random = self.random.wrapping_add(1);
        spread(self.random) % of
    }

    fn get(&mut self) -> Result<u64, Failure> {
        let row = self.any(self.rows);
        match self.store.get(&state_key(row))? {
            Some(value) if value.0.len() == VALUE_BYTES => Ok(1),
            _ => Err("a row is not there, or has another size".into()),
        }
    }

    fn miss(&mut self) -> Result<u64, Failure> {
        let row = self.rows + self.any(self.rows);
        match self.store.get(&state_key(row))? {
            None => Ok(1),
            _ => Err("a row that should not be stored is".into()),
        }
    }

    fn put(&mut self) -> Result<u64, Failure> {
        let row = self.any(self.rows);
        fill(&mut self.states[0], row);
        self.store.put(&state_key(row), &self.states[0])?;
        Ok(1)
    }

    fn batch(&mut self) -> Result<u64, Failure> {
        let n = self.states.len() as u64;
        let first = self.any(self.rows - n);
        for (state, row) in self.states.iter_mut().zip(first..) {
            fill(state, row);
        }
        self.store.batch((first..).map(state_key).zip(&self.states))?;
        Ok(n)
    }

    fn scan(&mut self) -> Result<u64, Failure> {
        let row = self.any(self.rows);
        self.store.scan(&state_key(row), 32, |_, value| if value.0.len() == VALUE_BYTES { Ok(()) } else { Err("an entry of another size".into()) })?;
        Ok(1)
    }

    fn get_meta(&mut self) -> Result<u64, Failure> {
        let i = self.any(METAS);
        match self.store.get(&meta_key(i))? {
            Some(meta) if meta.dag_heads.len() == 2 => Ok(1),
            _ => Err("metadata is not there, or another".into()),
        }
    }

    fn touch(&mut self, i: u64) {
        self.writes += 1;
        self.metas[i as usize].root_hash[..8].copy_from_slice(&spread(self.writes).to_le_bytes());
    }

    fn put_meta(&mut self) -> Result<u64, Failure> {
        let i = self.any(METAS);
        self.touch(i);
        self.store.put(&meta_key(i), &self.metas[i as usize])?;
        Ok(1)
    }

    fn batch_meta(&mut self) -> Result<u64, Failure> {
        let n = ENTRIES as u64;
        let first = self.any(METAS - n);
        (first..first + n).for_each(|i| self.touch(i));
        self.store.batch((first..).map(meta_key).zip(&self.metas[first as usize..][..ENTRIES]))?;
        Ok(n)
    }

    fn scan_meta(&mut self) -> Result<u64, Failure> {
        let i = self.any(METAS);
        self.store.scan(&meta_key(i), 0, |_, meta| if meta.dag_heads.len() == 2 { Ok(()) } else { Err("other metadata".into()) })?;
        Ok(1)
    }

    fn work(&mut self, workload: &str) -> Result<u64, Failure> {
        match workload {
            "get" => self.get(),
            "get-missing" => self.miss(),
            "put" => self.put(),
            "batch-100" => self.batch(),
            "scan-100" => self.scan(),
            "typed-get" => self.get_meta(),
            "typed-put" => self.put_meta(),
            "typed-batch-100" => self.batch_meta(),
            "typed-scan-100" => self.scan_meta(),
            _ => Err(format!("no workload {workload}").into()),
        }
    }

    /// Works that long, and returns the answer.
    fn turn(&mut self, workload: &str, length: Duration) -> Result<String, Failure> {
        let (mut units, mut latencies) = (0, Vec::with_capacity(1 << 16));
        let (cpu, until) = (thread_cpu(), Instant::now() + length);
        for i in 0.. {
            let sample = i % SAMPLE_EVERY == 0;
            let start = if sample { Some(Instant::now()) } else { None };
            if i > 0 && start.is_some_and(|at| at >= until) {
                break;
            }
            units += self.work(workload)?;
            if let Some(at) = start {
                latencies.push(at.elapsed().as_nanos());
            }
        }
        let mut answer = format!("{} {}", units, thread_cpu() - cpu);
        for l in latencies {
            answer += &format!(" {l}");
        }
        Ok(answer)
    }

    /// Reads everything, and looks whether metadata is encoded as it was stored.
    fn warm(&mut self) -> Result<(), Failure> {
        for row in 0..self.rows {
            self.store.get(&state_key(row))?.ok_or("a row is not there")?;
        }
        for i in 0..METAS {
            let stored = self.store.db.get_cf(self.store.family::<ContextMetaKey>()?, meta_key(i).bytes())?;
            if stored != Some(borsh::to_vec(&self.metas[i as usize])?) {
                return Err("metadata has another form here".into());
            }
        }
        Ok(())
    }
}

/// The CPU time of this thread, in nanoseconds.
fn thread_cpu() -> i64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: t is a timespec of ours.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.tv_sec * 1_000_000_000 + t.tv_nsec
}

fn run() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().collect();
    let [_, dir, rows, cache] = &args[..] else {
        return Err("usage: bench-loop-rust DIR ROWS CACHE_BYTES".into());
    };
    let mut worker = Worker::new(Store::open(dir, cache.parse()?)?, rows.parse()?)?;
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = match words[..] {
            ["version"] => String::from("of the system, by the crate rocksdb 0.19.0"),
            ["warm"] => {
                worker.warm()?;
                String::from("0 0")
            }
            ["flush"] => {
                for name in [StateKey::COLUMN, ContextMetaKey::COLUMN] {
                    worker.store.db.flush_cf(worker.store.db.cf_handle(name).ok_or("no such family")?)?;
                }
                String::from("0 0")
            }
            [workload, "1", nanos] => worker.turn(workload, Duration::from_nanos(nanos.parse()?))?,
            _ => return Err(format!("{line:?} is not understood").into()),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn main() {
    if let Err(e) = run() {
        eprintln!("bench-loop-rust: {e}");
        std::process::exit(1);
    }
}
