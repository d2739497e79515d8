//! One connection: a task reads what the daemon says, or the only one who calls, for a moment; who
//! calls writes, and the task what is left of that.

use std::{
    collections::HashMap,
    io::{self, Read},
    os::{fd::AsFd, unix::net},
    path::Path,
    sync::{
        Arc, LazyLock, Mutex, MutexGuard,
        atomic::{AtomicI64, Ordering},
    },
    thread,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{Notify, mpsc, oneshot},
};

use crate::{
    error::{Code, Error, Result},
    frames::{self, CANCEL, END, ERROR, Frame, Greeting, Head},
};

const RECEIVE: usize = 64 << 10;
/// How often who calls looks for the answer, of about half a microsecond each. Where there is one
/// processor the daemon needs it.
static LOOKS: LazyLock<u32> = LazyLock::new(|| if thread::available_parallelism().is_ok_and(|n| n.get() > 1) { 40 } else { 0 });
/// Bytes that are waiting to be written, beyond which a stream of requests waits.
const WAITING: usize = 1 << 20;

/// What comes for a stream: messages, and then an end.
pub type Answers = mpsc::UnboundedReceiver<Result<Vec<u8>>>;

/// A call that is under way.
enum Slot {
    Unary(oneshot::Sender<Result<Vec<u8>>>),
    Stream(mpsc::UnboundedSender<Result<Vec<u8>>>, Arc<Credit>),
}

impl Slot {
    fn fail(self, failure: Error) {
        match self {
            Self::Unary(answer) => drop(answer.send(Err(failure))),
            Self::Stream(answers, credit) => {
                let _ = answers.send(Err(failure));
                credit.end();
            }
        }
    }
}

/// What a stream of requests may send. An ended one may send all, as nobody reads it.
pub struct Credit {
    left: AtomicI64,
    more: Notify,
}

impl Credit {
    fn new(window: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicI64::new(window as i64), more: Notify::new() })
    }

    fn give(&self, size: u32) {
        self.left.fetch_add(size.into(), Ordering::AcqRel);
        self.more.notify_waiters();
    }

    fn end(&self) {
        self.left.store(i64::MAX / 2, Ordering::Release);
        self.more.notify_waiters();
    }

    async fn take(&self, size: usize) {
        loop {
            let more = self.more.notified();
            tokio::pin!(more);
            more.as_mut().enable();
            if self.left.load(Ordering::Acquire) > 0 {
                self.left.fetch_sub(size as i64, Ordering::AcqRel);
                return;
            }
            more.await;
        }
    }
}

struct Calls {
    open: HashMap<u64, Slot>,
    last: u64,
    failure: Option<Error>,
}

/// A connection. It lasts as long as somebody has it, and its task the runtime in which it was made.
pub struct Connection {
    writer: OwnedWriteHalf,
    /// The same socket, for who does not wait for it.
    socket: net::UnixStream,
    /// What has come of the next frame. Who reads has it, from before until it is taken.
    received: Mutex<Vec<u8>>,
    pub greeting: Greeting,
    calls: Mutex<Calls>,
    /// What is not yet written.
    output: Mutex<Vec<u8>>,
    written: Notify,
    left: Notify,
    closed: Notify,
}

/// Why nothing was sent.
pub struct NotSent(pub Error);

/// A lock that whoever panicked with it has left as it was.
pub fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Connection {
    pub async fn open(path: &Path) -> Result<Arc<Opened>> {
        let failed = |e: io::Error| Error::new(Code::Unavailable, format!("no daemon at {}: {e}", path.display()));
        let (mut reader, mut writer) = UnixStream::connect(path).await.map_err(failed)?.into_split();
        writer.write_all(&frames::MAGIC).await.map_err(failed)?;
        let mut received = Vec::with_capacity(RECEIVE);
        let greeting = loop {
            if reader.read_buf(&mut received).await.map_err(failed)? == 0 {
                return Err(Error::new(Code::Unavailable, format!("the daemon at {} hangs up: it may not let this user in", path.display())));
            }
            let begun = received.len().min(frames::MAGIC.len());
            if received[..begun] != frames::MAGIC[..begun] {
                return Err(Error::new(Code::Unavailable, "the socket is no Stoa daemon's, or one's that speaks no frames"));
            }
            let protocol = |e: String| Error::new(Code::Unavailable, e);
            if let Some((frame, used)) = frames::first(&received[begun..]).map_err(protocol)? {
                if frame.flags & ERROR != 0 {
                    return Err(Error::of_status(frame.payload));
                }
                let greeting = Greeting::parse(frame.payload).ok_or_else(|| protocol("the daemon's greeting is too short".into()))?;
                received.drain(..begun + used);
                break greeting;
            }
        };
        let socket = writer.as_ref().as_fd().try_clone_to_owned().map_err(failed)?.into();
        let connection = Arc::new(Self {
            writer,
            socket,
            received: Mutex::new(received),
            greeting,
            calls: Mutex::new(Calls { open: HashMap::new(), last: 0, failure: None }),
            output: Mutex::new(Vec::new()),
            written: Notify::new(),
            left: Notify::new(),
            closed: Notify::new(),
        });
        tokio::spawn(Reading { connection: connection.clone(), reader }.run());
        Ok(Arc::new(Opened(connection)))
    }

    /// Whether the daemon has not hung up, as far as is known.
    pub fn lives(&self) -> bool {
        lock(&self.calls).failure.is_none()
    }

    /// Sends a frame, of which the task sends what can't be sent at once.
    fn send(&self, frame: &[u8]) -> std::result::Result<(), NotSent> {
        let mut output = lock(&self.output);
        let mut sent = 0;
        if output.is_empty() {
            match self.writer.try_write(frame) {
                Ok(n) if n == frame.len() => return Ok(()),
                Ok(n) => sent = n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) => {
                    drop(output);
                    let failure = lost(e);
                    self.fail(failure.clone());
                    return Err(NotSent(failure));
                }
            }
        }
        output.extend_from_slice(&frame[sent..]);
        self.left.notify_one();
        Ok(())
    }

    async fn wait_for_room(&self) {
        loop {
            let written = self.written.notified();
            tokio::pin!(written);
            written.as_mut().enable();
            if lock(&self.output).len() < WAITING || !self.lives() {
                return;
            }
            written.await;
        }
    }

    /// Ends all calls: the connection is gone.
    fn fail(&self, failure: Error) {
        let mut calls = lock(&self.calls);
        let failure = calls.failure.get_or_insert(failure).clone();
        let open = std::mem::take(&mut calls.open);
        drop(calls);
        for slot in open.into_values() {
            slot.fail(failure.clone());
        }
        self.written.notify_waiters();
        self.closed.notify_one();
    }

    fn take(&self, frame: &Frame<'_>) -> Result<()> {
        let said = || if frame.flags & ERROR != 0 { Err(Error::of_status(frame.payload)) } else { Ok(frame.payload) };
        if frame.id == 0 {
            return said().map(drop);
        }
        let ends = frame.flags & END != 0;
        let mut calls = lock(&self.calls);
        let answer = || said().map(<[u8]>::to_vec);
        match calls.open.get(&frame.id) {
            Some(Slot::Unary(_)) if ends => {
                let slot = calls.open.remove(&frame.id);
                drop(calls);
                if let Some(Slot::Unary(to)) = slot {
                    let _ = to.send(answer());
                }
            }
            Some(Slot::Stream(to, credit)) => {
                if let (frames::CREDIT, Ok(size)) = (frame.flags, frame.payload.try_into()) {
                    credit.give(u32::from_le_bytes(size));
                } else if frame.flags & ERROR != 0 || !frame.payload.is_empty() || !ends {
                    let _ = to.send(answer());
                }
                if ends {
                    credit.end();
                    calls.open.remove(&frame.id);
                }
            }
            _ => {} // of a call that was given up
        }
        Ok(())
    }
}

/// A connection as clients and calls have it: when none of them is left, it is closed.
pub struct Opened(Arc<Connection>);

impl Opened {
    /// Begins a call of one message.
    pub fn unary(self: &Arc<Self>) -> Result<(Call, oneshot::Receiver<Result<Vec<u8>>>)> {
        let (answer, answered) = oneshot::channel();
        Ok((self.call(Slot::Unary(answer), None)?, answered))
    }

    /// Begins a call that is answered by a stream.
    pub fn stream(self: &Arc<Self>) -> Result<(Call, Answers)> {
        let (answers, answered) = mpsc::unbounded_channel();
        let credit = Credit::new(self.greeting.client_window);
        Ok((self.call(Slot::Stream(answers, credit.clone()), Some(credit))?, answered))
    }

    fn call(self: &Arc<Self>, slot: Slot, credit: Option<Arc<Credit>>) -> Result<Call> {
        let mut calls = lock(&self.calls);
        if let Some(failure) = &calls.failure {
            return Err(failure.clone());
        }
        calls.last += 1;
        let id = calls.last;
        calls.open.insert(id, slot);
        Ok(Call { connection: self.clone(), id, begun: false, credit })
    }
}

impl std::ops::Deref for Opened {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.0
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.0.closed.notify_one();
    }
}

/// The task of a connection. When it is dropped, with its runtime say, the calls end.
struct Reading {
    connection: Arc<Connection>,
    reader: OwnedReadHalf,
}

impl Reading {
    async fn run(self) {
        let it = self.connection.clone();
        loop {
            let waiting = !lock(&it.output).is_empty();
            let done = tokio::select! {
                ready = self.reader.readable() => ready.map_err(lost).and_then(|()| self.read()),
                ready = it.writer.writable(), if waiting => ready.and_then(|()| it.write()).map_err(lost),
                () = it.left.notified(), if !waiting => Ok(()),
                () = it.closed.notified() => Err(Error::new(Code::Unavailable, "the client is closed")),
            };
            if let Err(failure) = done {
                return it.fail(failure);
            }
        }
    }

    fn read(&self) -> Result<()> {
        let mut received = lock(&self.connection.received);
        received.reserve(RECEIVE);
        match self.reader.try_read_buf(&mut *received) {
            Ok(0) => Err(Error::new(Code::Unavailable, "the daemon has hung up")),
            Ok(_) => self.connection.received(&mut received),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(()), // who called has read it
            Err(e) => Err(lost(e)),
        }
    }
}

fn lost(e: io::Error) -> Error {
    Error::new(Code::Unavailable, format!("the connection is lost: {e}"))
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.connection.fail(Error::new(Code::Unavailable, "the runtime of the connection has ended"));
    }
}

impl Connection {
    /// Reads what comes, if it comes soon and to the only call. The daemon answers a get sooner than a
    /// thread that sleeps is woken; where there are more calls, the runtime does not sleep.
    pub fn look(&self) {
        if lock(&self.calls).open.len() != 1 {
            return;
        }
        let mut some = [0; 4 << 10];
        for _ in 0..*LOOKS {
            let Ok(mut received) = self.received.try_lock() else { return };
            match (&self.socket).read(&mut some) {
                Ok(n) if n > 0 => {
                    received.extend_from_slice(&some[..n]);
                    if let Err(failure) = self.received(&mut received) {
                        self.fail(failure);
                    }
                    return;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                _ => return, // the task is told, too
            }
        }
    }

    fn received(&self, received: &mut Vec<u8>) -> Result<()> {
        let mut at = 0;
        while let Some((frame, used)) = frames::first(&received[at..]).map_err(|e| Error::new(Code::Unavailable, e))? {
            self.take(&frame)?;
            at += used;
        }
        received.drain(..at);
        if received.is_empty() && received.capacity() > 4 * RECEIVE {
            *received = Vec::new();
        }
        Ok(())
    }

    fn write(&self) -> io::Result<()> {
        let mut output = lock(&self.output);
        match self.writer.try_write(&output) {
            Ok(n) => {
                output.drain(..n);
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
        self.written.notify_waiters();
        Ok(())
    }
}

/// A call that is given up when it is dropped before it has ended.
pub struct Call {
    connection: Arc<Opened>,
    pub id: u64,
    begun: bool,
    credit: Option<Arc<Credit>>, // of a stream
}

impl Call {
    pub fn greeting(&self) -> Greeting {
        self.connection.greeting
    }

    pub fn send(&mut self, frame: &[u8]) -> std::result::Result<(), NotSent> {
        self.connection.send(frame)?;
        self.begun = true;
        Ok(())
    }

    /// Gives the answer a moment to come.
    pub fn look(&self) {
        self.connection.look();
    }

    pub fn begun(&self) -> bool {
        self.begun
    }

    /// Whether the daemon has ended it, or the connection is lost.
    pub fn ended(&self) -> bool {
        !lock(&self.connection.calls).open.contains_key(&self.id)
    }

    /// Waits until a message of a paced stream may be sent.
    pub async fn pace(&self, size: usize) {
        if let Some(credit) = self.credit.as_ref().filter(|_| self.greeting().client_window > 0) {
            credit.take(size + frames::PACED_COST).await;
        }
        self.connection.wait_for_room().await;
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let under_way = lock(&self.connection.calls).open.remove(&self.id).is_some();
        if under_way && self.begun {
            let _ = self.connection.send(&Head { id: self.id, flags: CANCEL, ..Head::default() }.alone());
        }
    }
}
