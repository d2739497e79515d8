use std::{
    marker::PhantomData,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use prost::Message;

use crate::{
    connection::{Answers, Call, Connection, NotSent, Opened, lock},
    error::{Code, Error, Result},
    frames::{END, Head, MAX_MESSAGE, PACED},
};

/// For how long a daemon may be late with saying that a call took too long.
const GRACE: Duration = Duration::from_secs(5);

/// A connection to a daemon, made when it is first needed, and again when it was lost. Clones share it.
///
/// A call that is refused since the daemon is busy was not begun, and is made again until its time
/// is over. A call whose future is dropped is given up: what it asks for may or may not be done.
#[derive(Clone, Debug)]
pub struct Client {
    shared: Arc<Shared>,
    timeout: Duration,
}

#[derive(Default)]
struct Shared {
    path: PathBuf,
    connection: Mutex<Option<Arc<Opened>>>,
    connecting: tokio::sync::Mutex<()>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.path.fmt(f)
    }
}

impl Client {
    /// A client of the daemon at a socket, whose calls take at most a minute.
    pub fn new(path: impl AsRef<Path>) -> Self {
        let shared = Shared { path: path.as_ref().into(), ..Shared::default() };
        Self { shared: Arc::new(shared), timeout: Duration::from_secs(60) }
    }

    /// The same, with calls that take at most so long, at the daemon too. Streams take what they take.
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Self {
        Self { shared: self.shared.clone(), timeout }
    }

    fn connection(&self) -> Option<Arc<Opened>> {
        let connection = lock(&self.shared.connection);
        connection.as_ref().filter(|c| c.lives()).cloned()
    }

    async fn connected(&self) -> Result<Arc<Opened>> {
        if let Some(connection) = self.connection() {
            return Ok(connection);
        }
        let _connecting = self.shared.connecting.lock().await;
        if let Some(connection) = self.connection() {
            return Ok(connection); // of who was here first
        }
        let opened = tokio::time::timeout(self.timeout, Connection::open(&self.shared.path)).await;
        let opened = opened.unwrap_or_else(|_| Err(Error::new(Code::Unavailable, "the daemon does not greet")))?;
        *lock(&self.shared.connection) = Some(opened.clone());
        Ok(opened)
    }

    /// A call of one message.
    pub(crate) async fn unary<A: Message + Default>(&self, method: u16, request: impl Message) -> Result<A> {
        sized(&request)?;
        let until = Instant::now() + self.timeout;
        let mut pause = Duration::from_millis(1);
        loop {
            let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            let answer = match tokio::time::timeout(left + GRACE, self.once(method, &request, left)).await {
                Ok(answer) => answer,
                Err(_) => Err(Error::new(Code::DeadlineExceeded, "the daemon does not answer")),
            };
            match answer {
                Err(e) if e.kind() == "BUSY" && Instant::now() + pause < until => {
                    // Not all at once: by the clock's last digits.
                    let some = Instant::now().duration_since(until - self.timeout).subsec_nanos() % 1000;
                    tokio::time::sleep(pause / 2 + pause * some / 2000).await;
                    pause = (2 * pause).min(Duration::from_millis(100));
                }
                answer => return Ok(A::decode(answer?.as_slice())?),
            }
        }
    }

    async fn once(&self, method: u16, request: &impl Message, deadline: Duration) -> Result<Vec<u8>> {
        let deadline_ms = u32::try_from(deadline.as_millis()).unwrap_or(u32::MAX).max(1);
        let mut tries = 0;
        loop {
            let connection = self.connected().await?;
            let (mut call, answer) = connection.unary()?;
            match call.send(&Head { id: call.id, method, flags: END, deadline_ms }.with(request)) {
                Ok(()) => {
                    call.look();
                    return answer.await.unwrap_or_else(|_| Err(Error::new(Code::Unavailable, "the connection is lost")));
                }
                Err(NotSent(e)) if tries > 0 => return Err(e),
                Err(NotSent(_)) => tries += 1, // nothing has come of it: a new connection may do
            }
        }
    }

    async fn begin(&self) -> Result<(Call, Answers)> {
        self.connected().await?.stream()
    }

    /// A call that is answered by a stream.
    pub(crate) async fn server_stream<A: Message + Default>(&self, method: u16, request: impl Message) -> Result<ServerStream<A>> {
        sized(&request)?;
        let (mut call, answers) = self.begin().await?;
        call.send(&Head { id: call.id, method, flags: END, deadline_ms: 0 }.with(&request)).map_err(|NotSent(e)| e)?;
        Ok(ServerStream(Receiving::new(call, answers)))
    }

    /// A call of a stream of requests.
    pub(crate) async fn client_stream<R: Message, A: Message + Default>(&self, method: u16) -> Result<ClientStream<R, A>> {
        self.both_streams(method).await.map(ClientStream)
    }

    /// A call of a stream of requests that is answered by a stream.
    pub(crate) async fn both_streams<R: Message, A: Message + Default>(&self, method: u16) -> Result<BothStreams<R, A>> {
        let (call, answers) = self.begin().await?;
        Ok(BothStreams { receiving: Receiving::new(call, answers), method, ended: false, of: PhantomData })
    }
}

fn sized(message: &impl Message) -> Result<()> {
    match message.encoded_len() {
        0..=MAX_MESSAGE => Ok(()),
        size => Err(Error::new(Code::InvalidArgument, format!("a message of {size} bytes, of which there may be {MAX_MESSAGE}"))),
    }
}

/// What a daemon answers to a call, with the credit that it needs for more.
struct Receiving<A> {
    call: Call,
    answers: Answers,
    taken: usize,
    done: bool,
    of: PhantomData<fn() -> A>,
}

impl<A: Message + Default> Receiving<A> {
    fn new(call: Call, answers: Answers) -> Self {
        Self { call, answers, taken: 0, done: false, of: PhantomData }
    }

    async fn message(&mut self) -> Result<Option<A>> {
        if self.done {
            return Ok(None);
        }
        match self.answers.recv().await {
            Some(Ok(payload)) => {
                self.taken += payload.len();
                if self.taken >= self.call.greeting().window / 2 {
                    // Of a connection that is lost the next message says so.
                    let _ = self.call.send(&Head::credit(self.call.id, self.taken as u32));
                    self.taken = 0;
                }
                Ok(Some(A::decode(payload.as_slice())?))
            }
            Some(Err(e)) => {
                self.done = true;
                Err(e)
            }
            None => {
                self.done = true;
                Ok(None)
            }
        }
    }
}

/// A stream of answers. Dropped, it is given up.
pub struct ServerStream<A>(Receiving<A>);

impl<A: Message + Default> ServerStream<A> {
    /// The next message; none: the daemon has said all. It may be dropped before it is ready, and nothing is lost.
    pub async fn message(&mut self) -> Result<Option<A>> {
        self.0.message().await
    }
}

/// A stream of requests that is answered once. Dropped, it is given up.
pub struct ClientStream<R, A>(BothStreams<R, A>);

impl<R: Message, A: Message + Default> ClientStream<R, A> {
    /// Sends a message. It waits while the daemon has not taken those before. What comes after the
    /// daemon has ended the call goes nowhere: `finish` says why.
    pub async fn send(&mut self, request: R) -> Result<()> {
        self.0.send(request).await
    }

    /// Says that no more messages follow, and waits for the answer.
    pub async fn finish(mut self) -> Result<A> {
        self.0.end()?;
        Ok(self.0.message().await?.unwrap_or_default())
    }
}

/// A stream both ways. Dropped, it is given up.
pub struct BothStreams<R, A> {
    receiving: Receiving<A>,
    method: u16,
    ended: bool,
    of: PhantomData<fn(R)>,
}

impl<R: Message, A: Message + Default> BothStreams<R, A> {
    /// Sends a message. It waits while the daemon has not taken those before. What comes after the
    /// daemon has ended the call goes nowhere.
    pub async fn send(&mut self, request: R) -> Result<()> {
        sized(&request)?;
        self.receiving.call.pace(request.encoded_len()).await;
        let paced = if self.receiving.call.greeting().client_window > 0 { PACED } else { 0 };
        if self.receiving.call.ended() {
            return Ok(());
        }
        let head = self.head(paced);
        self.receiving.call.send(&head.with(&request)).map_err(|NotSent(e)| e)
    }

    /// Says that no more messages follow.
    pub fn end(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.ended, true) || self.receiving.call.ended() {
            return Ok(());
        }
        let head = Head { flags: END, ..self.head(0) };
        self.receiving.call.send(&head.alone()).map_err(|NotSent(e)| e)
    }

    /// The next message; none: the daemon has said all.
    pub async fn message(&mut self) -> Result<Option<A>> {
        self.receiving.message().await
    }

    /// The head of the next frame: the first one has more to say.
    fn head(&self, flags: u8) -> Head {
        let call = &self.receiving.call;
        if call.begun() {
            return Head { id: call.id, ..Head::default() };
        }
        Head { id: call.id, method: self.method, flags, deadline_ms: 0 }
    }
}
