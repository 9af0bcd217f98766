//! The stages of a message's life.

use chasqui_abi::Envelope;

/// A message: the `sequence`th that world rank `source` has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// World rank of the sender.
    pub source: u16,
    /// Number among the sender's messages, from 1 on.
    pub sequence: u32,
}

impl MessageId {
    /// The message that an envelope names, if it names one.
    pub fn of(envelope: &Envelope) -> Option<MessageId> {
        envelope.message().map(|(source, sequence)| MessageId { source, sequence })
    }

    pub(crate) fn key(self) -> u64 {
        u64::from(self.source) << 32 | u64::from(self.sequence)
    }
}

macro_rules! stages {
    ($( $(#[doc = $doc:literal])+ $stage:ident = $column:literal, keeps $keeps:ident; )+) => {
        /// A stage of a message's life. A stage that is stamped more than once (segments of a long
        /// message, retransmissions, repeated accesses) keeps its first or its last time, as each says;
        /// first and last are by time, not by the order of the calls.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Stage { $( $(#[doc = $doc])+ $stage ),+ }

        /// Number of stages.
        pub const STAGES: usize = [$( Stage::$stage ),+].len();

        impl Stage {
            /// The stages in the order of the columns.
            pub const ALL: [Stage; STAGES] = [$( Stage::$stage ),+];

            /// Name of the stage's column, which holds picoseconds.
            pub const fn column(self) -> &'static str {
                match self { $( Stage::$stage => $column ),+ }
            }

            /// What the stage is.
            pub const fn doc(self) -> &'static str {
                match self { $( Stage::$stage => concat!($($doc),+).trim_ascii() ),+ }
            }

            /// Whether repeated stamps keep the last time rather than the first.
            #[inline]
            pub const fn keeps_last(self) -> bool {
                match self { $( Stage::$stage => stages!(@$keeps) ),+ }
            }
        }
    };
    (@first) => { false };
    (@last) => { true };
}

stages! {
    /// The MPI call that sends is entered. First: a message has one send call.
    Call = "call_ps", keeps first;
    /// The request is handed to the NI. First: the first segment or the rendezvous request.
    Ready = "ready_ps", keeps first;
    /// The call that sends returns. First: a later call that completes the request is not it.
    SendReturn = "send_return_ps", keeps first;
    /// The NI starts on the message. First segment.
    Accept = "accept_ps", keeps first;
    /// The first byte is on the wire. First segment, first transmission.
    Inject = "inject_ps", keeps first;
    /// The first byte is at the destination's NI. First segment that comes.
    Arrive = "arrive_ps", keeps first;
    /// The last byte is in the destination's node. Last segment.
    Land = "land_ps", keeps last;
    /// The MPI call that receives is entered. First: a message has one.
    ReceiveCall = "receive_call_ps", keeps first;
    /// The receive is posted: arriving messages can match it. First.
    Post = "post_ps", keeps first;
    /// The MPI call that completes a nonblocking receive is entered. Last: earlier calls only tested.
    WaitCall = "wait_call_ps", keeps last;
    /// Message and receive meet. First.
    Match = "match_ps", keeps first;
    /// The data is where the program asked. Last segment.
    Deliver = "deliver_ps", keeps last;
    /// The call that reports the completion to the program returns. First.
    Done = "done_ps", keeps first;
    /// The program first touches the data.
    FirstAccess = "first_access_ps", keeps first;
    /// The program last touches the data.
    LastAccess = "last_access_ps", keeps last;
}

/// Stages that the sender's partition stamps; the destination's stamps the rest.
pub(crate) const SEND_STAGES: usize = Stage::Arrive as usize;

/// The time of a stage that has not been.
pub(crate) const NEVER: u64 = u64::MAX;

/// Enters a stamp into the time of `stage`.
#[inline]
pub(crate) fn keep(slot: &mut u64, stage: Stage, ps: u64) {
    // NEVER is larger than any time, which serves the first; the last needs the test.
    if if stage.keeps_last() { *slot == NEVER || ps > *slot } else { ps < *slot } {
        *slot = ps;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_the_stages_in_order() {
        let columns: Vec<&str> = Stage::ALL.iter().map(|s| s.column()).collect();
        assert_eq!(
            columns.join(" "),
            "call_ps ready_ps send_return_ps accept_ps inject_ps arrive_ps land_ps receive_call_ps post_ps \
             wait_call_ps match_ps deliver_ps done_ps first_access_ps last_access_ps"
        );
        for (index, stage) in Stage::ALL.into_iter().enumerate() {
            assert_eq!(stage as usize, index);
        }
    }

    #[test]
    fn repeated_stamps_keep_the_first_or_the_last() {
        for stage in Stage::ALL {
            let mut slot = NEVER;
            for ps in [20, 10, 30] {
                keep(&mut slot, stage, ps);
            }
            let last = matches!(stage, Stage::Land | Stage::WaitCall | Stage::Deliver | Stage::LastAccess);
            assert_eq!(slot, if last { 30 } else { 10 }, "{stage:?}");
        }
    }
}
