//! A recording: what every rank of a run received, when, and what it printed. It drives a rank that is simulated alone.
//!
//! It holds messages as the program sent them, not packets: whether one goes eagerly or by rendezvous is the matter of
//! the machine that it is replayed on.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::kept::Kept;
use crate::messages::Messages;
use crate::stage::{MessageId, Stage};

/// A message that a rank received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Its name.
    pub id: MessageId,
    /// World rank of the receiver.
    pub destination: u16,
    /// Context id of the communicator.
    pub context: u16,
    /// Tag.
    pub tag: i32,
    /// The sender waits until the message is matched.
    pub synchronous: bool,
    /// When its first byte came to the receiver's NI [ps]; for a message by rendezvous, the announcement's.
    pub arrive_ps: u64,
    /// Number of the receive that took it among the receiver's, from 1 on in the order of their posts; `None`: none did.
    pub receive: Option<u32>,
    /// The data.
    pub data: Vec<u8>,
}

/// How a rank ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankEnd {
    /// Exit status.
    pub status: i32,
    /// When [ps].
    pub time_ps: u64,
    /// What it wrote to its standard output.
    pub output: Vec<u8>,
}

/// What every rank of a run received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Machine that it was made on.
    pub machine: String,
    /// Base name of the program.
    pub program: String,
    /// What tells it from other programs: that of its file's loaded parts.
    pub fingerprint: u64,
    /// Its arguments, without its name.
    pub arguments: Vec<String>,
    /// The ranks' ends, in their order.
    pub ends: Vec<RankEnd>,
    /// The messages, by destination, then in the order in which they came to the library there. An NI with several
    /// queues may tell the library of them in another order than they came to it.
    pub messages: Vec<Recorded>,
}

/// Why a run can't be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrecordable(pub String);

impl fmt::Display for Unrecordable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Recording {
    /// Ranks.
    pub fn ranks(&self) -> u32 {
        self.ends.len() as u32
    }

    /// The recorded messages to `rank`, in the order in which they came to its library.
    pub fn to(&self, rank: u16) -> &[Recorded] {
        let start = self.messages.partition_point(|m| m.destination < rank);
        let end = self.messages.partition_point(|m| m.destination <= rank);
        &self.messages[start..end]
    }

    /// Adds what `kept` has of the messages that each rank sent, in the ranks' order, with the times in `records`.
    /// Messages to oneself never come to a network and are left out; so are those that had not arrived at the end.
    ///
    /// # Errors
    /// A message whose data the program's library has not named.
    pub fn collect(&mut self, kept: &[&Kept], records: &Messages) -> Result<(), Unrecordable> {
        for (source, rank) in kept.iter().enumerate() {
            let source = source as u16;
            for sent in rank.sent().iter().filter(|sent| sent.destination != source) {
                let id = MessageId { source, sequence: sent.sequence };
                let Some(arrive_ps) = records.get(id).and_then(|record| record.time(Stage::Arrive)) else {
                    continue;
                };
                let data = sent.data.clone().ok_or_else(|| {
                    Unrecordable(
                        "the program's MPI library does not tell where messages' data are: link the program again"
                            .into(),
                    )
                })?;
                let receive = kept.get(usize::from(sent.destination)).and_then(|to| to.taken_by(id));
                self.messages.push(Recorded {
                    id,
                    destination: sent.destination,
                    context: sent.context,
                    tag: sent.tag,
                    synchronous: sent.synchronous,
                    arrive_ps,
                    receive,
                    data,
                });
            }
        }
        let place = |m: &Recorded| {
            let place = kept.get(usize::from(m.destination)).and_then(|to| to.arrived(m.id));
            // What its library never looked at comes last.
            (m.destination, place.is_none(), place, m.arrive_ps, m.id)
        };
        self.messages.sort_by_key(place);
        Ok(())
    }
}

/// A recording's file that can't be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub what: String,
}

impl RecordingError {
    pub(crate) fn new(path: &Path, what: impl fmt::Display) -> RecordingError {
        RecordingError { path: path.to_path_buf(), what: what.to_string() }
    }
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.what)
    }
}

impl std::error::Error for RecordingError {}
