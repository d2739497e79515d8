//! Values of JSON under keys of a tenant, on the service `Kv`.

use std::time::{Duration, SystemTime};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    client::{Client, ServerStream},
    error::{Code, Error, Result},
    messages as m,
};

/// The key-values of a tenant.
#[derive(Clone, Debug)]
pub struct KeyValues {
    client: Client,
    tenant: Vec<u8>,
    durability: m::Durability,
}

/// What a key has.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Item {
    /// The key.
    pub key: String,
    /// The value.
    pub value: Value,
    /// The revision of the tenant at which it was written.
    pub revision: u64,
    /// When it is gone.
    pub expires: Option<SystemTime>,
}

/// What must be there for a swap.
#[derive(Clone, Copy, Debug)]
pub enum Expected<'a> {
    /// Nothing.
    Absent,
    /// What was written at this revision.
    Revision(u64),
    /// This value.
    Value(&'a Value),
}

/// Something that a watch tells.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A key has a value: at the beginning, or since.
    Put(Item),
    /// A key was deleted.
    Delete {
        /// The key.
        key: String,
        /// The revision at which it was.
        revision: u64,
    },
    /// What a key had has expired.
    Expire {
        /// The key.
        key: String,
        /// The revision at which it was.
        revision: u64,
    },
    /// What was there when the watch began has been told, and what follows is news.
    Synced {
        /// The revision of the tenant then.
        revision: u64,
    },
    /// What was told may be out of date: the whole state follows, and then `Synced`.
    Resync {
        /// The revision of the tenant then.
        revision: u64,
    },
}

impl KeyValues {
    /// The key-values of a tenant, whose changes are on disk when they are answered.
    pub fn new(client: &Client, tenant: &str) -> Self {
        Self { client: client.clone(), tenant: tenant.into(), durability: m::Durability::Synced }
    }

    /// The same, with changes that are answered before they are on disk, and may be lost with the power.
    #[must_use]
    pub fn deferred(&self) -> Self {
        Self { durability: m::Durability::Wal, ..self.clone() }
    }

    /// The value of a key. One that is no `T` is an error.
    pub async fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        let answer = self.client.kv().get(m::KvGetRequest { tenant: self.tenant.clone(), key: key.into(), ..Default::default() }).await?;
        answer.item.map(|item| parse(key, &item.value)).transpose()
    }

    /// What a key has, with its revision.
    pub async fn item(&self, key: &str) -> Result<Option<Item>> {
        let answer = self.client.kv().get(m::KvGetRequest { tenant: self.tenant.clone(), key: key.into(), ..Default::default() }).await?;
        answer.item.map(|item| Item::of(m::KvItem { key: key.into(), ..item })).transpose()
    }

    /// Stores a value, and answers its revision.
    pub async fn put(&self, key: &str, value: &impl Serialize) -> Result<u64> {
        self.store(key, value, None).await
    }

    /// Stores a value that is gone after a time, of whole seconds, and answers its revision.
    pub async fn put_for(&self, key: &str, value: &impl Serialize, ttl: Duration) -> Result<u64> {
        let seconds = i64::try_from(ttl.as_secs()).map_err(|_| Error::new(Code::InvalidArgument, "ttl: too many seconds"))?;
        self.store(key, value, Some(seconds)).await
    }

    async fn store(&self, key: &str, value: &impl Serialize, ttl_seconds: Option<i64>) -> Result<u64> {
        let request = m::KvPutRequest {
            tenant: self.tenant.clone(),
            key: key.into(),
            value: text(value)?,
            ttl_seconds,
            durability: self.durability.into(),
            ..Default::default()
        };
        Ok(self.client.kv().put(request).await?.item.unwrap_or_default().revision)
    }

    /// Removes what a key has, and says whether there was something.
    pub async fn delete(&self, key: &str) -> Result<bool> {
        let request = m::KvDeleteRequest { tenant: self.tenant.clone(), key: key.into(), durability: self.durability.into(), ..Default::default() };
        Ok(self.client.kv().delete(request).await?.existed)
    }

    /// Adds to an integer, 0 if there is nothing.
    pub async fn increment(&self, key: &str, delta: i64) -> Result<i64> {
        let request = m::KvIncrementRequest {
            tenant: self.tenant.clone(),
            key: key.into(),
            delta: Some(delta),
            durability: self.durability.into(),
            ..Default::default()
        };
        let item = self.client.kv().increment(request).await?.item.unwrap_or_default();
        match parse(key, &item.value)? {
            Value::String(digits) => digits.parse().map_err(|_| wrong(key, "no integer")), // beyond 2^53
            value => value.as_i64().ok_or_else(|| wrong(key, "no integer")),
        }
    }

    /// Stores a value if the key has what is expected; false: it has not.
    pub async fn swap(&self, key: &str, value: &impl Serialize, expected: Expected<'_>) -> Result<bool> {
        let expect = match expected {
            Expected::Absent => m::KvExpect { absent: true, ..Default::default() },
            Expected::Revision(revision) => m::KvExpect { revision, ..Default::default() },
            Expected::Value(value) => m::KvExpect { value: Some(text(value)?), ..Default::default() },
        };
        let request = m::KvCompareAndSwapRequest {
            tenant: self.tenant.clone(),
            key: key.into(),
            value: text(value)?,
            expect: Some(expect),
            durability: self.durability.into(),
            ..Default::default()
        };
        Ok(self.client.kv().compare_and_swap(request).await?.swapped)
    }

    /// All keys that begin with a prefix, in order, of one moment.
    pub async fn items(&self, prefix: &str) -> Result<Vec<Item>> {
        let request = m::KvScanRequest { tenant: self.tenant.clone(), prefix: prefix.into(), ..Default::default() };
        let mut pages = self.client.kv().scan(request).await?;
        let mut items = Vec::new();
        while let Some(page) = pages.message().await? {
            for item in page.items {
                items.push(Item::of(item)?);
            }
        }
        Ok(items)
    }

    /// The keys that begin with a prefix, then `Synced`, then what changes.
    pub fn watch(&self, prefix: &str) -> Watch {
        self.watching(prefix, None)
    }

    /// What changes after a revision.
    pub fn watch_after(&self, prefix: &str, revision: u64) -> Watch {
        self.watching(prefix, Some(revision))
    }

    fn watching(&self, prefix: &str, after: Option<u64>) -> Watch {
        let (stream, told) = (None, Vec::new().into_iter());
        Watch { of: self.clone(), prefix: prefix.into(), after, synced: after.is_some(), stream, told, pause: FIRST }
    }
}

const FIRST: Duration = Duration::from_millis(50); // between attempts to go on
const LAST: Duration = Duration::from_secs(2);

/// Events of key-values. It goes on when the daemon was away; dropped, it ends.
pub struct Watch {
    of: KeyValues,
    prefix: Vec<u8>,
    after: Option<u64>, // none: the state comes first
    synced: bool,
    stream: Option<ServerStream<m::KvWatchResponse>>,
    told: std::vec::IntoIter<m::KvEvent>,
    pause: Duration,
}

impl Watch {
    /// The next event. Its future may be dropped before it is ready, and no event is lost.
    pub async fn next(&mut self) -> Result<Event> {
        loop {
            if let Some(event) = self.told.next() {
                self.pause = FIRST;
                let event = Event::of(event)?;
                if let Event::Synced { .. } | Event::Resync { .. } = event {
                    self.synced = matches!(event, Event::Synced { .. });
                }
                if self.synced {
                    self.after = Some(event.revision());
                }
                return Ok(event);
            }
            match self.page().await {
                Ok(page) => self.told = page.events.into_iter(),
                Err(e) if e.code() == Code::Unavailable || e.kind() == "BUSY" => {
                    self.stream = None;
                    if !self.synced {
                        self.after = None;
                    }
                    let pause = self.pause;
                    self.pause = (2 * pause).min(LAST);
                    tokio::time::sleep(pause).await;
                }
                Err(e) => return Err(e),
            }
        }
    }

    async fn page(&mut self) -> Result<m::KvWatchResponse> {
        if self.stream.is_none() {
            let start = if self.after.is_some() { m::KvWatchStart::Revision } else { m::KvWatchStart::State };
            let request = m::KvWatchRequest {
                tenant: self.of.tenant.clone(),
                prefix: self.prefix.clone(),
                start: start.into(),
                after: self.after.unwrap_or_default(),
                ..Default::default()
            };
            self.stream = Some(self.of.client.kv().watch(request).await?);
        }
        let page = match &mut self.stream {
            Some(stream) => stream.message().await?,
            None => None,
        };
        page.ok_or_else(|| Error::new(Code::NotFound, "the watch has ended"))
    }
}

impl Event {
    /// The revision of the tenant.
    pub fn revision(&self) -> u64 {
        match self {
            Self::Put(item) => item.revision,
            Self::Delete { revision, .. } | Self::Expire { revision, .. } | Self::Synced { revision } | Self::Resync { revision } => *revision,
        }
    }

    fn of(event: m::KvEvent) -> Result<Self> {
        let (kind, revision, item) = (event.kind(), event.revision, event.item.unwrap_or_default());
        Ok(match kind {
            m::KvEventKind::Put => Self::Put(Item::of(item)?),
            m::KvEventKind::Delete => Self::Delete { key: key(item.key)?, revision },
            m::KvEventKind::Expire => Self::Expire { key: key(item.key)?, revision },
            m::KvEventKind::Synced => Self::Synced { revision },
            m::KvEventKind::Resync => Self::Resync { revision },
            m::KvEventKind::Unspecified => return Err(Error::new(Code::DataLoss, "the daemon tells of an event that is none")),
        })
    }
}

impl Item {
    fn of(item: m::KvItem) -> Result<Self> {
        let key = key(item.key)?;
        let value = if item.value.is_empty() { Value::Null } else { parse(&key, &item.value)? };
        let expires = (item.expires_ms > 0).then(|| SystemTime::UNIX_EPOCH + Duration::from_millis(item.expires_ms));
        Ok(Self { key, value, revision: item.revision, expires })
    }
}

fn key(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| Error::new(Code::DataLoss, "a key is not UTF-8: read it with the methods of Client::kv"))
}

fn wrong(key: &str, why: impl std::fmt::Display) -> Error {
    Error::new(Code::InvalidArgument, format!("the value of {key}: {why}"))
}

fn parse<T: DeserializeOwned>(key: &str, value: &[u8]) -> Result<T> {
    serde_json::from_slice(value).map_err(|e| wrong(key, e))
}

fn text(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|e| Error::new(Code::InvalidArgument, format!("the value is no JSON: {e}")))
}
