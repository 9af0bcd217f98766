//! The numbers of a connection's packets at the end that sends: a window of packets is under way; from one that is
//! refused on they are sent again (go back n).

/// `a` comes before `b`.
pub(super) fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Whether packet `number` of so many of a descriptor, `sequence` on the connection, should ask for a reply: the last, and
/// two of each window.
pub(super) fn should_ask(number: u32, packets: u32, sequence: u32, window: u32) -> bool {
    number + 1 == packets || sequence.wrapping_add(1).is_multiple_of((window / 2).max(1))
}

/// What a reply has the sender do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing: it says nothing new.
    Nothing,
    /// It goes on.
    GoOn,
    /// It waits, then goes back.
    GoBack,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outgoing {
    /// The oldest packet that has not been acknowledged, the next that is sent, and the one after the last that was.
    pub base: u32,
    pub next: u32,
    sent: u32,
    /// The number after that of the last packet there is.
    pub end: u32,
    /// It waits until it may go back.
    pub waits: bool,
    /// Refusals in a row.
    pub refusals: u64,
    /// Time-outs in a row.
    pub timeouts: u32,
}

impl Outgoing {
    /// So many packets more are to be sent. Returns the first one's number.
    pub fn add(&mut self, packets: u32) -> u32 {
        let first = self.end;
        self.end = first.wrapping_add(packets);
        first
    }

    /// One more may be under way.
    pub fn has_room(&self, window: u32) -> bool {
        !self.waits && self.next.wrapping_sub(self.base) < window
    }

    /// There are packets to be sent.
    pub fn has_more(&self) -> bool {
        before(self.next, self.end)
    }

    /// Packet `sequence` is about to be sent. True: it was before.
    pub fn sends(&mut self, sequence: u32) -> bool {
        if self.next == sequence {
            self.next = sequence.wrapping_add(1);
        }
        let again = before(sequence, self.sent);
        if !again {
            self.sent = sequence.wrapping_add(1);
        }
        again
    }

    /// Packets are under way that have not been acknowledged.
    pub fn is_waiting(&self) -> bool {
        self.base != self.next
    }

    /// What is under way counts as lost.
    pub fn lost(&mut self) {
        self.next = self.base;
        self.timeouts += 1;
    }

    /// All packets before `awaited` have come; `awaited` itself was refused, or not.
    pub fn acknowledged(&mut self, awaited: u32, refused: bool) -> Effect {
        if before(awaited, self.base) || before(self.sent, awaited) {
            return Effect::Nothing;
        }
        let advanced = self.base != awaited;
        self.base = awaited;
        if before(self.next, awaited) {
            self.next = awaited;
        }
        if advanced {
            self.refusals = 0;
            self.timeouts = 0;
        }
        if !refused || self.waits || awaited == self.sent {
            return if advanced { Effect::GoOn } else { Effect::Nothing };
        }
        self.next = awaited;
        self.waits = true;
        self.refusals += 1;
        Effect::GoBack
    }
}
