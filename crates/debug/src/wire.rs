//! The connection to the debugger.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gdbstub::conn::Connection;

/// What asks to stop the run (GDB's manual, *Interrupts*).
const INTERRUPT: u8 = 3;
/// Bytes that are read at once.
const CHUNK_BYTES: usize = 4096;
/// Chunks that wait to be dealt with: more stay with the sender.
const CHUNKS: usize = 64;
/// Length of the longest reply: to what no debugger asks [bytes].
const REPLY_BYTES_MAX: usize = 1 << 20;
/// For so long a debugger may read what was sent last.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How often it is looked whether a debugger connects.
const ACCEPT_INTERVAL: Duration = Duration::from_millis(10);
/// For so long it is tried to send something before it is looked whether the run is to end.
const SEND_INTERVAL: Duration = Duration::from_millis(50);
/// How often somebody who waits looks whether the run is to end.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// Listens for a debugger on this host's `port`; 0: on a free one.
///
/// # Errors
/// The port is in use, or may not be used.
pub fn listen(port: u16) -> std::io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port))
}

/// Waits for a debugger, as long as `is_to_end` does not say that none is wanted any more: `None`.
///
/// # Errors
/// Nothing can connect any more.
pub fn wait(listener: TcpListener, is_to_end: &dyn Fn() -> bool) -> std::io::Result<Option<TcpStream>> {
    listener.set_nonblocking(true)?;
    while !is_to_end() {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                stream.set_nodelay(true)?;
                return Ok(Some(stream));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(ACCEPT_INTERVAL),
            // One that has gone again.
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// What is sent to the debugger: a packet at a time.
pub(crate) struct Sender<'a> {
    stream: TcpStream,
    packet: Vec<u8>,
    is_to_end: &'a dyn Fn() -> bool,
}

impl Sender<'_> {
    /// To `stream`. Who does not read is waited for until `is_to_end`.
    pub fn new(stream: TcpStream, is_to_end: &dyn Fn() -> bool) -> std::io::Result<Sender<'_>> {
        stream.set_write_timeout(Some(SEND_INTERVAL))?;
        Ok(Sender { stream, packet: vec![], is_to_end })
    }

    fn send(&mut self) -> std::io::Result<()> {
        let mut left = &self.packet[..];
        while !left.is_empty() {
            match Write::write(&mut self.stream, left) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(sent) => left = &left[sent..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Nothing could be sent for a while: one of both, by the host's system.
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => return Err(error),
            }
            if !left.is_empty() && (self.is_to_end)() {
                return Err(ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }
}

impl Connection for Sender<'_> {
    type Error = std::io::Error;

    fn write(&mut self, byte: u8) -> std::io::Result<()> {
        if self.packet.len() >= REPLY_BYTES_MAX {
            return Err(ErrorKind::QuotaExceeded.into());
        }
        self.packet.push(byte);
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let sent = self.send();
        self.packet.clear();
        sent
    }
}

/// What comes from the debugger, read by a thread of its own: an interrupt does not wait for the run.
pub(crate) struct Incoming {
    stream: TcpStream,
    chunks: Option<Receiver<Vec<u8>>>,
    /// What of the first chunk is left, the next byte last.
    left: Vec<u8>,
    runs: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

/// The next byte.
pub(crate) enum Next {
    Byte(u8),
    /// None has come.
    None,
    /// None will.
    Closed,
}

impl Incoming {
    /// Of `stream`; while something runs, `interrupt` is called when it is to stop.
    pub fn new(stream: &TcpStream, interrupt: Arc<dyn Fn() + Send + Sync>) -> std::io::Result<Incoming> {
        let (reading, stream) = (stream.try_clone()?, stream.try_clone()?);
        let (sender, chunks) = sync_channel(CHUNKS);
        let runs = Arc::new(AtomicBool::new(false));
        let reader = Reader { stream: reading, sender, runs: runs.clone(), interrupt };
        let reader = Some(std::thread::spawn(|| reader.read()));
        Ok(Incoming { stream, chunks: Some(chunks), left: vec![], runs, reader })
    }

    /// Something runs from now on, or does no more.
    pub fn set_runs(&self, runs: bool) {
        self.runs.store(runs, Ordering::SeqCst);
    }

    /// The next byte, if it has come.
    pub fn try_next(&mut self) -> Next {
        let chunks = self.chunks.as_ref().expect("until the end");
        match self.left.pop().map_or_else(|| chunks.try_recv().map(Err), |byte| Ok(Ok(byte))) {
            Ok(Ok(byte)) => Next::Byte(byte),
            Ok(Err(chunk)) => self.take(chunk),
            Err(TryRecvError::Empty) => Next::None,
            Err(TryRecvError::Disconnected) => Next::Closed,
        }
    }

    /// The next byte: none, if it takes long.
    pub fn next(&mut self) -> Next {
        if let Some(byte) = self.left.pop() {
            return Next::Byte(byte);
        }
        match self.chunks.as_ref().expect("until the end").recv_timeout(LOOK_INTERVAL) {
            Ok(chunk) => self.take(chunk),
            Err(RecvTimeoutError::Timeout) => Next::None,
            Err(RecvTimeoutError::Disconnected) => Next::Closed,
        }
    }

    fn take(&mut self, mut chunk: Vec<u8>) -> Next {
        chunk.reverse();
        self.left = chunk;
        self.left.pop().map_or(Next::None, Next::Byte)
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        // What was sent last is read before the connection is broken: the debugger has a while to close its end.
        let _ = self.stream.shutdown(Shutdown::Write);
        let begin = Instant::now();
        let is_read = || self.reader.as_ref().is_none_or(JoinHandle::is_finished);
        while !is_read() && begin.elapsed() < LAST_WORDS {
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = self.stream.shutdown(Shutdown::Both);
        // Who waits for room is let go.
        self.chunks = None;
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

struct Reader {
    stream: TcpStream,
    sender: SyncSender<Vec<u8>>,
    runs: Arc<AtomicBool>,
    interrupt: Arc<dyn Fn() + Send + Sync>,
}

impl Reader {
    fn read(mut self) {
        let mut room = [0; CHUNK_BYTES];
        loop {
            let read = match self.stream.read(&mut room) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // A connection that breaks is over, too.
                Ok(0) | Err(_) => break,
                Ok(read) => read,
            };
            let chunk = &room[..read];
            if self.sender.send(chunk.to_vec()).is_err() {
                return;
            }
            if chunk.contains(&INTERRUPT) && self.runs.load(Ordering::SeqCst) {
                (self.interrupt)();
            }
        }
        let Reader { sender, runs, interrupt, .. } = self;
        drop(sender);
        if runs.load(Ordering::SeqCst) {
            interrupt();
        }
    }
}
