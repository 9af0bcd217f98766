//! What the way in from the link is: its DMA, and how long what has come may wait.

use chasqui_engine::Time;
use chasqui_ni::ReceiveDma;

/// The way in.
pub(super) struct Receiver {
    pub dma: ReceiveDma,
    /// Where its next place is, as the firmware has stored it.
    pub local: u64,
    /// Of the place that was filled last.
    pub filled: u64,
    pub unserviced: Unserviced,
}

impl Receiver {
    /// What comes may wait for a place for so long; zero: for ever.
    pub(super) fn new(longest: Time) -> Receiver {
        let longest = (longest > Time::ZERO).then_some(longest);
        let unserviced = Unserviced { longest, since: None, is_watched: false };
        Receiver { dma: ReceiveDma::default(), local: 0, filled: 0, unserviced }
    }
}

/// How long what has come may wait for a place.
pub(super) struct Unserviced {
    /// Longest; none: for ever.
    pub longest: Option<Time>,
    /// What waits does so since.
    pub since: Option<Time>,
    /// An event is to come: one at a time, which looks when what waits now has waited for long.
    pub is_watched: bool,
}
