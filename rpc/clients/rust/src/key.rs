//! Keys of the schema: keys/README.md. Integers in keys are big endian, so that their order is that of bytes.

use std::marker::PhantomData;

use crate::layout::{Malformed, Value, check_name, name};

/// A type of keys, which knows its column and the type of its values.
pub trait Key: Sized {
    /// The number of the column.
    const COLUMN: u8;
    /// What all keys of the type begin with.
    const PREFIX: &'static [u8];
    /// The size of a key, or of the smallest one.
    const LEAST: usize;
    /// Whether there are larger ones.
    const OPEN: bool;
    /// What such a key has.
    type Value: Value;

    #[doc(hidden)]
    fn put(&self, out: &mut Vec<u8>) -> Result<(), Malformed>;
    #[doc(hidden)]
    fn get(source: &mut Input<'_>) -> Result<Self, Malformed>;

    /// The bytes of the key.
    fn encode(&self) -> Result<Vec<u8>, Malformed> {
        let mut out = Self::PREFIX.to_vec();
        self.put(&mut out).map_err(|e| Malformed::new(format!("{}: {e}", name::<Self>())))?;
        Ok(out)
    }

    /// The key of some bytes.
    fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        if !Self::fits(bytes) {
            return Err(Malformed::new(format!("{} bytes are no key {}, which has {}", bytes.len(), name::<Self>(), Self::LEAST)));
        }
        Self::get(&mut Input(&bytes[Self::PREFIX.len()..]))
    }

    /// Whether bytes are of the size of such keys, and begin as they do.
    fn fits(bytes: &[u8]) -> bool {
        bytes.starts_with(Self::PREFIX) && if Self::OPEN { bytes.len() >= Self::LEAST } else { bytes.len() == Self::LEAST }
    }
}

/// What all keys begin with that a scan wants.
pub struct Start<K> {
    pub(crate) bytes: Vec<u8>,
    of: PhantomData<fn() -> K>,
}

impl<K: Key> Start<K> {
    pub(crate) fn all() -> Self {
        Self { bytes: K::PREFIX.to_vec(), of: PhantomData }
    }

    pub(crate) fn of(fields: &[&dyn Part]) -> Result<Self, Malformed> {
        let mut start = Self::all();
        for field in fields {
            field.put(&mut start.bytes)?;
        }
        Ok(start)
    }
}

/// What is left of a key that is decoded.
pub struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or_else(|| Malformed::new("the key is too short"))?;
        self.0 = rest;
        Ok(*taken)
    }
}

/// A part of a key.
pub(crate) trait Part {
    fn put(&self, out: &mut Vec<u8>) -> Result<(), Malformed>;
    fn get(source: &mut Input<'_>) -> Result<Self, Malformed>
    where
        Self: Sized;
}

impl<const N: usize> Part for [u8; N] {
    fn put(&self, out: &mut Vec<u8>) -> Result<(), Malformed> {
        out.extend(self);
        Ok(())
    }

    fn get(source: &mut Input<'_>) -> Result<Self, Malformed> {
        source.take()
    }
}

impl Part for Vec<u8> {
    fn put(&self, out: &mut Vec<u8>) -> Result<(), Malformed> {
        out.extend(self);
        Ok(())
    }

    fn get(source: &mut Input<'_>) -> Result<Self, Malformed> {
        Ok(std::mem::take(&mut source.0).to_vec())
    }
}

macro_rules! integers {
    ($($of:ty)*) => {$(
        impl Part for $of {
            fn put(&self, out: &mut Vec<u8>) -> Result<(), Malformed> {
                out.extend(self.to_be_bytes());
                Ok(())
            }

            fn get(source: &mut Input<'_>) -> Result<Self, Malformed> {
                source.take().map(Self::from_be_bytes)
            }
        }
    )*};
}

integers!(u8 u32 u64);

fn put_name<const SIZE: usize>(name: &str, out: &mut Vec<u8>) -> Result<(), Malformed> {
    check_name(name, SIZE)?;
    out.extend(name.as_bytes());
    out.resize(out.len() + SIZE - name.len(), 0);
    Ok(())
}

fn get_name<const SIZE: usize>(padded: [u8; SIZE]) -> Result<String, Malformed> {
    let end = padded.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
    if end == 0 || padded[..end].contains(&0) {
        return Err(Malformed::new("is no name that is filled up with zeros"));
    }
    String::from_utf8(padded[..end].to_vec()).map_err(|_| Malformed::new("is not UTF-8"))
}

/// Names of aliases.
impl Part for String {
    fn put(&self, out: &mut Vec<u8>) -> Result<(), Malformed> {
        put_name::<50>(self, out)
    }

    fn get(source: &mut Input<'_>) -> Result<Self, Malformed> {
        get_name::<50>(source.take()?)
    }
}

/// What rows of the column Generic are grouped by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// A name of 1 to 16 bytes.
    Name(String),
    /// The scope of key-values, of which the first byte is 0.
    KeyValues([u8; 16]),
}

impl Part for Scope {
    fn put(&self, out: &mut Vec<u8>) -> Result<(), Malformed> {
        match self {
            Self::Name(name) => put_name::<16>(name, out),
            Self::KeyValues(bytes) if bytes[0] != 0 => Err(Malformed::new("a scope of key-values begins with 0")),
            Self::KeyValues(bytes) => bytes.put(out),
        }
    }

    fn get(source: &mut Input<'_>) -> Result<Self, Malformed> {
        let bytes = source.take()?;
        if bytes[0] == 0 { Ok(Self::KeyValues(bytes)) } else { get_name(bytes).map(Self::Name) }
    }
}
