use std::collections::VecDeque;

use crate::{
    client::{Client, ServerStream},
    error::{Code, Error, Result},
    key::{Key, Start},
    layout::Value,
    messages as m,
};

/// Rows by the types of the schema, on the service `Store`: see [`keys`](crate::keys) and [`values`](crate::values).
#[derive(Clone, Debug)]
pub struct Rows(Client);

impl Rows {
    /// The rows of a daemon.
    pub fn new(client: &Client) -> Self {
        Self(client.clone())
    }

    /// The value of a key.
    pub async fn get<K: Key>(&self, key: &K) -> Result<Option<K::Value>> {
        let answer = self.0.store().get(m::GetRequest { column: K::COLUMN.into(), key: key.encode()?, ..Default::default() }).await?;
        answer.value.map(|value| Ok(K::Value::decode(&value)?)).transpose()
    }

    /// The rows whose keys begin so, in the order of the keys' bytes.
    pub async fn scan<K: Key>(&self, start: Start<K>) -> Result<Scan<K>> {
        self.scan_with(start, m::ScanRequest::default()).await
    }

    /// The same, with other fields of the request than the column and the prefix: a limit, say.
    pub async fn scan_with<K: Key>(&self, start: Start<K>, request: m::ScanRequest) -> Result<Scan<K>> {
        let pages = self.0.store().scan(m::ScanRequest { column: K::COLUMN.into(), prefix: start.bytes, ..request }).await?;
        Ok(Scan { pages, rows: VecDeque::new() })
    }

    /// A batch: all of its changes are made when it is applied, or none.
    pub fn batch(&self) -> Batch {
        Batch { client: self.0.clone(), changes: Vec::new(), count: 0, expectations: Vec::new(), durability: m::Durability::Synced, failure: None }
    }
}

/// Rows of a scan.
pub struct Scan<K: Key> {
    pages: ServerStream<m::ScanResponse>,
    rows: VecDeque<(K, K::Value)>,
}

impl<K: Key> Scan<K> {
    /// The next row.
    pub async fn next(&mut self) -> Result<Option<(K, K::Value)>> {
        while self.rows.is_empty() {
            let Some(page) = self.pages.message().await? else {
                return Ok(None);
            };
            let mut rest = page.entries.as_slice();
            while !rest.is_empty() {
                let (key, value) = (take(&mut rest)?, take(&mut rest)?);
                // A column may have keys of several types: of another one are those of another size.
                if K::fits(key) {
                    self.rows.push_back((K::decode(key)?, K::Value::decode(value)?));
                }
            }
        }
        Ok(self.rows.pop_front())
    }
}

/// The next key or value of a page: engine/README.md, "Bytes of a page".
fn take<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let mut size = 0usize;
    for (i, byte) in rest.iter().enumerate().take(5) {
        size |= usize::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            let (taken, after) = rest[i + 1..].split_at_checked(size).unwrap_or((&[], &[]));
            if taken.len() < size {
                break;
            }
            *rest = after;
            return Ok(taken);
        }
    }
    Err(Error::new(Code::DataLoss, "the daemon answers a page that ends too early"))
}

/// Changes, and what they expect: engine/README.md, "Bytes of a batch".
#[must_use = "a batch does nothing until it is applied"]
pub struct Batch {
    client: Client,
    changes: Vec<u8>,
    count: u32,
    expectations: Vec<u8>,
    durability: m::Durability,
    failure: Option<Error>,
}

impl Batch {
    /// Stores a value.
    pub fn put<K: Key>(mut self, key: &K, value: &K::Value) -> Self {
        self.change(5, key, Some(value));
        self
    }

    /// Removes what the key has.
    pub fn delete<K: Key>(mut self, key: &K) -> Self {
        self.change(4, key, None);
        self
    }

    /// Has the batch be refused ([`Code::Aborted`], `CONFLICT`) unless the key has that value; none: nothing.
    pub fn expect<K: Key>(mut self, key: &K, value: Option<&K::Value>) -> Self {
        match row(key, value) {
            Ok(row) => {
                self.expectations.extend([u8::from(value.is_some()), K::COLUMN]);
                self.expectations.extend(row);
            }
            Err(e) => self.failure = self.failure.or(Some(e)),
        }
        self
    }

    /// Has the changes be answered before they are on disk: they may be lost with the power.
    pub fn deferred(mut self) -> Self {
        self.durability = m::Durability::Wal;
        self
    }

    fn change<K: Key>(&mut self, tag: u8, key: &K, value: Option<&K::Value>) {
        match row(key, value) {
            Ok(row) => {
                self.changes.extend([tag, K::COLUMN]);
                self.changes.extend(row);
                self.count += 1;
            }
            Err(e) => self.failure = self.failure.take().or(Some(e)),
        }
    }

    /// Makes the changes. What can't be encoded is said here.
    pub async fn apply(self) -> Result<()> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let mut ops = Vec::new();
        if self.count > 0 {
            ops.extend([0; 8]);
            ops.extend(self.count.to_le_bytes());
            ops.extend(self.changes);
        }
        let request = m::ApplyRequest { ops, expectations: self.expectations, durability: self.durability.into(), ..Default::default() };
        self.client.store().apply(request).await.map(drop)
    }
}

fn row<K: Key>(key: &K, value: Option<&K::Value>) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    put(&mut out, &key.encode()?);
    if let Some(value) = value {
        put(&mut out, &value.encode()?);
    }
    Ok(out)
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    let mut size = bytes.len();
    while size >= 0x80 {
        out.push(size as u8 & 0x7f | 0x80);
        size >>= 7;
    }
    out.push(size as u8);
    out.extend(bytes);
}
