#![doc = include_str!("../README.md")]

mod client;
mod connection;
mod error;
mod frames;
mod key;
pub mod key_values;
#[rustfmt::skip]
pub mod keys;
mod layout;
#[allow(missing_docs, clippy::all, rustdoc::all)]
#[rustfmt::skip]
pub mod messages;
mod rows;
#[allow(clippy::doc_lazy_continuation)]
#[rustfmt::skip]
pub mod services;
#[rustfmt::skip]
pub mod values;

pub use client::{BothStreams, Client, ClientStream, ServerStream};
pub use error::{Code, Error, Result};
pub use key::{Key, Scope, Start};
pub use key_values::KeyValues;
pub use layout::{Malformed, Value};
pub use rows::{Batch, Rows, Scan};
