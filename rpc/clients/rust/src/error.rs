use std::{collections::BTreeMap, fmt};

use prost::Message;

/// A code of gRPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The caller gave it up.
    Cancelled = 1,
    /// Something else.
    Unknown = 2,
    /// What was asked for is wrong in itself; the fields say where.
    InvalidArgument = 3,
    /// It took too long. A write may or may not have been made.
    DeadlineExceeded = 4,
    /// There is no such thing.
    NotFound = 5,
    /// There is one already.
    AlreadyExists = 6,
    /// Who asks may not do that.
    PermissionDenied = 7,
    /// A quota, a limit or the disk is full. `BUSY` passes: nothing was done, ask again.
    ResourceExhausted = 8,
    /// As things stand it can't be done.
    FailedPrecondition = 9,
    /// Somebody else was first: what was expected did not hold, and nothing was done.
    Aborted = 10,
    /// What was asked for is no longer kept.
    OutOfRange = 11,
    /// This daemon does not know that.
    Unimplemented = 12,
    /// A defect of the daemon, whose log has more under the field `incident`.
    Internal = 13,
    /// There is no daemon, or no connection any more. A write may or may not have been made.
    Unavailable = 14,
    /// The store is damaged, or an answer is none that this client reads.
    DataLoss = 15,
}

impl Code {
    fn of(number: i32) -> Self {
        use Code::*;
        let all = [
            Cancelled,
            Unknown,
            InvalidArgument,
            DeadlineExceeded,
            NotFound,
            AlreadyExists,
            PermissionDenied,
            ResourceExhausted,
            FailedPrecondition,
            Aborted,
            OutOfRange,
            Unimplemented,
            Internal,
            Unavailable,
            DataLoss,
        ];
        usize::try_from(number - 1).ok().and_then(|i| all.get(i)).copied().unwrap_or(Unknown)
    }
}

/// A call that failed. Branch on [`code`](Self::code), or on [`kind`](Self::kind) where that says
/// more; never on the text. rpc/README.md, "Errors", lists the kinds and their fields.
#[derive(Clone, Debug)]
pub struct Error(Box<Parts>);

#[derive(Clone, Debug)]
struct Parts {
    code: Code,
    message: String,
    kind: String,
    fields: BTreeMap<String, String>,
}

/// What a call answers.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self(Box::new(Parts { code, message: message.into(), kind: String::new(), fields: BTreeMap::new() }))
    }

    /// The code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// What sort of refusal it is, such as `CONFLICT` or `KV_QUOTA`; empty: not one of Stoa's.
    pub fn kind(&self) -> &str {
        &self.0.kind
    }

    /// What the refusal is about, such as `column` and `key`; keys are in hex, numbers in decimal.
    pub fn fields(&self) -> &BTreeMap<String, String> {
        &self.0.fields
    }

    /// What to show to who reads it.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The error that the payload of an error frame stands for.
    pub(crate) fn of_status(payload: &[u8]) -> Self {
        let Ok(status) = Status::decode(payload) else {
            return Self::new(Code::DataLoss, "the daemon answers an error that is none");
        };
        let mut parts = Parts { code: Code::of(status.code), message: status.message, kind: String::new(), fields: BTreeMap::new() };
        for detail in &status.details {
            if detail.type_url == "type.googleapis.com/google.rpc.ErrorInfo"
                && let Ok(info) = ErrorInfo::decode(detail.value.as_slice())
            {
                (parts.kind, parts.fields) = (info.reason, info.metadata);
            }
        }
        Self(Box::new(parts))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.kind.is_empty() {
            write!(f, "{}: ", self.0.kind)?;
        }
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {}

impl From<prost::DecodeError> for Error {
    fn from(e: prost::DecodeError) -> Self {
        Self::new(Code::DataLoss, format!("the daemon answers what is no message: {e}"))
    }
}

/// google.rpc.Status.
#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<prost_types::Any>,
}

/// google.rpc.ErrorInfo.
#[derive(Clone, PartialEq, Message)]
struct ErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(btree_map = "string, string", tag = "3")]
    metadata: BTreeMap<String, String>,
}
