//! Borsh, as values of the schema use it: codec/README.md. Decoding is strict, so that what was
//! decoded is encoded to the same bytes.

use std::{
    fmt,
    io::{Error, ErrorKind, Read, Result, Write},
    ops::{BitAnd, Not},
};

use borsh::{BorshDeserialize, BorshSerialize};

/// A value, or a key, that is none: bytes that say nothing, or fields that have no bytes.
#[derive(Debug)]
pub struct Malformed(String);

impl Malformed {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

impl From<Malformed> for crate::Error {
    fn from(e: Malformed) -> Self {
        Self::new(crate::Code::InvalidArgument, e.0)
    }
}

/// A type of values.
pub trait Value: BorshSerialize + BorshDeserialize {
    /// The bytes of the value.
    fn encode(&self) -> std::result::Result<Vec<u8>, Malformed> {
        borsh::to_vec(self).map_err(|e| Malformed(format!("{}: {e}", name::<Self>())))
    }

    /// The value of some bytes.
    fn decode(bytes: &[u8]) -> std::result::Result<Self, Malformed> {
        borsh::from_slice(bytes).map_err(|e| Malformed(format!("{}: {e}", name::<Self>())))
    }
}

pub(crate) fn name<T>() -> &'static str {
    std::any::type_name::<T>().rsplit("::").next().unwrap_or_default()
}

fn invalid(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidData, why.into())
}

/// Integers of which some bits are known.
pub trait Bits: Copy + BorshSerialize + BorshDeserialize + BitAnd<Output = Self> + Not<Output = Self> + PartialEq + TryFrom<u32> + Default {}
impl Bits for u8 {}
impl Bits for u32 {}

fn check_bits<T: Bits, const KNOWN: u32>(value: T) -> Result<T> {
    let known = T::try_from(KNOWN).map_err(|_| invalid("more bits than there are"))?;
    if value & !known != T::default() { Err(invalid(format!("has other bits than {KNOWN:#x}"))) } else { Ok(value) }
}

pub fn put_bits<T: Bits, const KNOWN: u32, W: Write>(value: &T, writer: &mut W) -> Result<()> {
    check_bits::<T, KNOWN>(*value)?.serialize(writer)
}

pub fn get_bits<T: Bits, const KNOWN: u32, R: Read>(reader: &mut R) -> Result<T> {
    check_bits::<T, KNOWN>(T::deserialize_reader(reader)?)
}

/// Says what is wrong with a name of at most so many bytes.
pub fn check_name(value: &str, most: usize) -> std::result::Result<(), Malformed> {
    if value.is_empty() || value.len() > most || value.contains('\0') {
        return Err(Malformed(format!("a name has 1 to {most} bytes, and no zero")));
    }
    Ok(())
}

pub fn put_name<const MOST: usize, W: Write>(value: &str, writer: &mut W) -> Result<()> {
    check_name(value, MOST).map_err(|e| invalid(e.0))?;
    value.serialize(writer)
}

pub fn get_name<const MOST: usize, R: Read>(reader: &mut R) -> Result<String> {
    let value = String::deserialize_reader(reader)?;
    check_name(&value, MOST).map_err(|e| invalid(e.0))?;
    Ok(value)
}

pub fn put_raw<W: Write>(value: &[u8], writer: &mut W) -> Result<()> {
    writer.write_all(value)
}

pub fn get_raw<R: Read>(reader: &mut R) -> Result<Vec<u8>> {
    let mut value = Vec::new();
    reader.read_to_end(&mut value)?;
    Ok(value)
}

pub fn put_secret<W: Write>(value: &[u8; 32], writer: &mut W) -> Result<()> {
    32u32.serialize(writer)?;
    writer.write_all(value)
}

pub fn get_secret<R: Read>(reader: &mut R) -> Result<[u8; 32]> {
    match u32::deserialize_reader(reader)? {
        32 => BorshDeserialize::deserialize_reader(reader),
        size => Err(invalid(format!("{size} bytes instead of 32"))),
    }
}
