//! The frames of STO1, without I/O: rpc/README.md, "Frames", has the bytes.

use prost::Message;

pub const MAGIC: [u8; 4] = *b"STO1";
pub const END: u8 = 1;
pub const ERROR: u8 = 2;
pub const CANCEL: u8 = 4;
pub const CREDIT: u8 = 8;
pub const PACED: u8 = 16;
pub const MAX_MESSAGE: usize = 33 << 20;
/// What a message of a paced stream counts beside its payload.
pub const PACED_COST: usize = 256;
const HEADER: usize = 19;

/// What stands before a payload that a client sends.
#[derive(Clone, Copy, Default)]
pub struct Head {
    pub id: u64,
    pub method: u16,
    pub flags: u8,
    pub deadline_ms: u32,
}

impl Head {
    /// The bytes of a frame with a message.
    pub fn with(self, message: &impl Message) -> Vec<u8> {
        let size = message.encoded_len();
        let mut out = self.begin(size);
        message.encode_raw(&mut out);
        out
    }

    /// The bytes of a frame without a payload.
    pub fn alone(self) -> Vec<u8> {
        self.begin(0)
    }

    /// The bytes of a frame that gives credit.
    pub fn credit(id: u64, size: u32) -> Vec<u8> {
        let mut out = Self { id, flags: CREDIT, ..Self::default() }.begin(4);
        out.extend(size.to_le_bytes());
        out
    }

    fn begin(self, size: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER + size);
        // A message of more than 4 GiB is refused before.
        out.extend((size as u32).to_le_bytes());
        out.extend(self.id.to_le_bytes());
        out.extend(self.method.to_le_bytes());
        out.push(self.flags);
        out.extend(self.deadline_ms.to_le_bytes());
        out
    }
}

/// A frame of the daemon.
#[derive(Debug, PartialEq)]
pub struct Frame<'a> {
    pub id: u64,
    pub flags: u8,
    pub payload: &'a [u8],
}

/// The first frame of what was received, and how many bytes it has; none if there is no whole one.
pub fn first(received: &[u8]) -> Result<Option<(Frame<'_>, usize)>, String> {
    if received.len() < HEADER {
        return Ok(None);
    }
    let size = u32::from_le_bytes(received[0..4].try_into().expect("four bytes")) as usize;
    if size > MAX_MESSAGE {
        return Err(format!("the daemon sends a frame of {size} bytes"));
    }
    if received.len() < HEADER + size {
        return Ok(None);
    }
    let id = u64::from_le_bytes(received[4..12].try_into().expect("eight bytes"));
    Ok(Some((Frame { id, flags: received[14], payload: &received[HEADER..HEADER + size] }, HEADER + size)))
}

/// What a daemon says of a connection when it begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Greeting {
    /// Bytes of a stream of answers that come without credit.
    pub window: usize,
    /// The same of a stream of requests; 0: the daemon knows no paced streams.
    pub client_window: usize,
}

impl Greeting {
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let u32_at = |at: usize| payload.get(at..at + 4).map(|b| u32::from_le_bytes(b.try_into().expect("four bytes")) as usize);
        let window = u32_at(8)?;
        let methods = payload[12..].chunks_exact(2).position(|number| number == [0, 0]);
        let client_window = methods.and_then(|n| u32_at(12 + 2 * n + 2)).unwrap_or(0);
        Some(Self { window, client_window })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_may_be_cut_anywhere() {
        let mut stream = Head { id: 7, flags: END, ..Head::default() }.with(&"answer".to_string());
        let size = stream.len();
        stream.extend(Head::credit(8, 9));
        for cut in 0..size {
            assert_eq!(first(&stream[..cut]), Ok(None));
        }
        let (frame, used) = first(&stream).unwrap().unwrap();
        assert_eq!((frame.id, frame.flags, used), (7, END, size));
        assert_eq!(String::decode(frame.payload).unwrap(), "answer");
        assert_eq!(first(&stream[size..]).unwrap().unwrap().0, Frame { id: 8, flags: CREDIT, payload: &[9, 0, 0, 0] });
        assert!(first(&[0xff; HEADER]).is_err());
    }

    #[test]
    fn greetings() {
        let sizes = [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0];
        assert_eq!(Greeting::parse(&sizes), Some(Greeting { window: 3, client_window: 0 }));
        let more = [&sizes[..], &[101, 0, 0, 0, 4, 0, 0, 0, 9]].concat();
        assert_eq!(Greeting::parse(&more), Some(Greeting { window: 3, client_window: 4 }));
        assert_eq!(Greeting::parse(&sizes[..11]), None);
    }
}
