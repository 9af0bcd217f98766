//! Which message the engines move, and what the firmware has done with others, for the records: it says so by marks, which
//! cost no time.

use std::collections::VecDeque;

use chasqui_abi::{Envelope, mark};
use chasqui_counters::{counters, counters_by};
use chasqui_engine::Time;
use chasqui_ni::{Context, FIRMWARE_MEMORY, FirmwareProcessor, MessageKey, SharedSram};
use chasqui_placement::ProcessId;
use chasqui_record::Stage;

use crate::{np_registers as np, requests};

/// Messages are recorded as the node's first process's.
pub(super) const PROCESS: ProcessId = ProcessId(0);

counters_by! {
    /// Why the library does a collective that the card could have been asked for.
    pub(super) enum Reason {
        /// Collectives that the library did, as their data were too long for the card.
        Long: "by_library_long";
        /// Collectives that the library did, as they did not block, or were its own.
        Nonblocking: "by_library_nonblocking";
        /// Collectives that the library did, as the card has no such operation on such data.
        Operation: "by_library_operation";
        /// Collectives that the library did, as some process's data may have had gaps, or lengths differed.
        Unlike: "by_library_unlike";
    }
    /// Collectives that the library did, counted by each process of the node, by reason.
    pub(super) struct Reasons: "count";
}

counters! {
    /// Collectives, counted by each process of the node.
    pub(super) struct CollectiveStatistics {
        /// Barriers that the cards did.
        barriers: "count";
        /// Broadcasts that the cards began.
        broadcasts: "count";
        /// Reductions whose result all processes get, that the cards did.
        allreduces: "count";
        /// Reductions to a root that the cards did.
        reduces: "count";
        /// Gathers that the cards did.
        gathers: "count";
        /// Scatters that the cards did.
        scatters: "count";
        ..by_library: Reasons;
    }
}

impl CollectiveStatistics {
    /// The library does one, for the reason of this number.
    pub fn count_library(&mut self, reason: u64) {
        if let Some(&reason) = usize::try_from(reason).ok().and_then(|reason| Reason::ALL.get(reason)) {
            self.by_library[reason] += 1;
        }
    }

    /// The firmware begins one of this kind.
    fn count_card(&mut self, kind: u64) {
        match kind {
            requests::BARRIER => self.barriers += 1,
            requests::BCAST => self.broadcasts += 1,
            requests::ALLREDUCE => self.allreduces += 1,
            requests::REDUCE => self.reduces += 1,
            requests::GATHER => self.gathers += 1,
            requests::SCATTER => self.scatters += 1,
            other => unreachable!("the firmware counts a collective of kind {other}"),
        }
    }
}

counters! {
    /// Pages that stay pinned, of all processes of the node.
    pub(super) struct PinCacheStatistics {
        /// Transfers whose pages were pinned already.
        hits: "count";
        /// System calls that pinned pages which stay so.
        misses: "count";
        /// Entries of the page table that named other pages before.
        evictions: "count";
    }
}

impl PinCacheStatistics {
    /// The kernel has pinned pages that stay so; so many entries named others.
    pub fn count_call(&mut self, evictions: u64) {
        self.misses += 1;
        self.evictions += evictions;
    }
}

counters! {
    /// The card's TLB.
    pub(super) struct TlbStatistics {
        /// Entries of the page table that were wanted and there.
        hits: "count";
        /// Entries that were wanted and fetched.
        misses: "count";
    }
}

counters! {
    /// The card's channels, where they are a cache.
    pub(super) struct ChannelStatistics {
        /// Messages that were sent on credit: a table was leased to their channel.
        hits: "count";
        /// Times that a message had to wait until one was.
        misses: "count";
        /// Tables that were leased to a channel, as receiver.
        leases: "count";
        /// Tables that were taken back for others.
        recalls: "count";
        /// Messages that waited for a send ring.
        ring_waits: "count";
    }
}

const _: () = assert!(
    Reason::Long as u64 == requests::REASON_LONG
        && Reason::Nonblocking as u64 == requests::REASON_NONBLOCKING
        && Reason::Operation as u64 == requests::REASON_OPERATION
        && Reason::Unlike as u64 == requests::REASON_UNLIKE
);

/// Messages that the firmware has named, and those that engines move.
#[derive(Default)]
pub(super) struct Records {
    /// When it named them, and the stage if not the engine's next; it may have run ahead of its stores.
    named: VecDeque<(Time, Option<Stage>, MessageKey)>,
    /// What the sender sends, and what the host's DMA moves.
    pub sends: MessageKey,
    pub moves: MessageKey,
    pub collectives: CollectiveStatistics,
    pub pin_cache: PinCacheStatistics,
    pub tlb: TlbStatistics,
    pub channels: ChannelStatistics,
}

impl Records {
    /// Takes the firmware's marks.
    fn take_marks(&mut self, processor: &mut FirmwareProcessor<SharedSram>) {
        for mark in processor.take_marks() {
            let stage = match mark.code {
                mark::CARRY => None,
                mark::TAKEN => Some(Stage::Accept),
                mark::MATCH => Some(Stage::Match),
                mark::PROTOCOL => {
                    self.count(mark.value);
                    continue;
                }
                _ => continue,
            };
            let place = mark.value.wrapping_sub(FIRMWARE_MEMORY);
            let envelope = processor.memory.sram.memory().slice(place, size_of::<Envelope>());
            let message = envelope.ok().and_then(|bytes| Envelope::from_bytes(bytes).message());
            self.named.push_back((mark.time, stage, message));
        }
    }

    /// The firmware has done something that is counted.
    fn count(&mut self, what: u64) {
        match what {
            np::COUNT_FOUND => self.pin_cache.hits += 1,
            np::COUNT_TLB_HIT => self.tlb.hits += 1,
            np::COUNT_TLB_MISS => self.tlb.misses += 1,
            np::COUNT_CHANNEL_HIT => self.channels.hits += 1,
            np::COUNT_CHANNEL_MISS => self.channels.misses += 1,
            np::COUNT_CHANNEL_LEASE => self.channels.leases += 1,
            np::COUNT_CHANNEL_RECALL => self.channels.recalls += 1,
            np::COUNT_RING_AWAITED => self.channels.ring_waits += 1,
            kind => self.collectives.count_card(kind),
        }
    }

    /// The message of what `processor` starts now: the one that it named last before. The stages that it said are stamped.
    pub fn take_named(
        &mut self,
        processor: &mut FirmwareProcessor<SharedSram>,
        c: &mut Context<'_, '_>,
    ) -> MessageKey {
        self.take_marks(processor);
        let count = self.named.iter().take_while(|&&(at, ..)| at <= c.now).count();
        let mut carried = None;
        for (at, stage, message) in self.named.drain(..count) {
            match stage {
                Some(stage) => c.stamp(PROCESS, message, stage, at),
                None => carried = message,
            }
        }
        carried
    }
}
