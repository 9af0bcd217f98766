//! What a core's program and the host see of each other: channels ([`Element::read_channel`], [`Element::write_channel`]),
//! and registers that are mapped for the host ([`Element::read`], [`Element::write`]), each facility in pages of its own, with
//! what is a kernel's apart from what is a program's.
//!
//! What waits waits at whoever asks: an access that can't be made now has no effect and is made again, when something has
//! changed.

mod channels;
mod decrementer;
mod host;
mod signal;
mod tags;

use chasqui_config::{Bytes, Count, Frequency};
use chasqui_counters::{Counters, Visitor, below};
use chasqui_engine::Time;
use chasqui_ni::Mailbox;

pub use channels::{ChannelRead, ChannelWrite};
pub use decrementer::Decrementer;
pub use host::{Area, Refusal, Window};
pub use signal::{Signal, SignalMode};
use tags::TagQuery;

use crate::registers::{event, hypervisor, problem};
use crate::{Mfc, MfcParameters, MfcStep, Reason, Source};

chasqui_config::parameters! {
    /// A core with a local store: what is beside its processor.
    pub struct ElementParameters {
        /// Bytes of the local store.
        store: Bytes = "256 KiB", range "16 KiB" ..= "64 MiB", source "Khunjush, 8.2: 256 KB";
        /// Ticks of time base and decrementer.
        timebase: Frequency = "80 MHz", range "1 kHz" ..= "10 GHz", source "Khunjush, 8.3.4: every 12.5 ns";
        /// Entries of the inbound mailbox.
        inbound: Count = 4, range 1 ..= 64, source "Cell BE Programming Handbook 1.12, mailboxes (as remembered: we could not look at it)";
        /// Entries of the outbound mailbox.
        outbound: Count = 1, range 1 ..= 64, source "Cell BE Programming Handbook 1.12, mailboxes (as remembered: we could not look at it)";
        /// Entries of the outbound interrupt mailbox.
        outbound_interrupt: Count = 1, range 1 ..= 64, source "Cell BE Programming Handbook 1.12, mailboxes (as remembered: we could not look at it)";
    } and groups {
        /// Its memory flow controller.
        mfc: MfcParameters;
    }
}

/// The registers of a DMA command that is about to be entered.
#[derive(Clone, Copy, Debug, Default)]
struct Staged {
    local: u32,
    effective: u64,
    bytes: u32,
    tag: u32,
}

/// Interrupts of a class to the host.
#[derive(Clone, Copy, Debug, Default)]
struct InterruptClass {
    status: u64,
    mask: u64,
}

/// Whether the program runs.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// The register.
    status: u32,
    npc: u32,
    /// It has been told to run, and nobody has heard of it.
    starts: bool,
}

/// A core's hardware beside its processor.
pub struct Element {
    /// Its memory flow controller.
    pub mfc: Mfc,
    inbound: Mailbox<u32>,
    outbound: Mailbox<u32>,
    outbound_interrupt: Mailbox<u32>,
    signals: [Signal; 2],
    decrementer: Decrementer,
    /// Events that have come, and those that are enabled.
    events: u32,
    event_mask: u32,
    /// Of the core's commands and of others'.
    staged: [Staged; 2],
    queries: [TagQuery; 2],
    /// What came of the last proxy command.
    command_status: u64,
    /// The core's queue had no room.
    was_full: bool,
    /// The channel that the program waits to write.
    refused: Option<u64>,
    interrupts: [InterruptClass; 3],
    /// Virtual page of the kernel's next translation.
    page: u64,
    /// The lists that the program knows to wait, a bit a tag group.
    known_stalled: u32,
    run: Run,
}

impl Element {
    /// One that does nothing.
    pub fn new(parameters: &ElementParameters) -> Element {
        let store_bytes = u32::try_from(parameters.store.bytes()).expect("the range allows less");
        Element {
            mfc: Mfc::new(parameters.mfc.clone(), store_bytes),
            inbound: Mailbox::new(parameters.inbound as usize),
            outbound: Mailbox::new(parameters.outbound as usize),
            outbound_interrupt: Mailbox::new(parameters.outbound_interrupt as usize),
            signals: [Signal::default(); 2],
            decrementer: Decrementer::new(parameters.timebase.hz()),
            events: 0,
            event_mask: 0,
            staged: [Staged::default(); 2],
            queries: [TagQuery::default(); 2],
            command_status: problem::CMD_ENTERED,
            was_full: false,
            refused: None,
            interrupts: [InterruptClass::default(); 3],
            page: 0,
            known_stalled: 0,
            run: Run::default(),
        }
    }

    /// Its next program finds nothing of the last one's, or of what was sent to that. The commands of the MFC are apart
    /// ([`Mfc::purge`]).
    fn reset(&mut self) {
        for mailbox in [&mut self.inbound, &mut self.outbound, &mut self.outbound_interrupt] {
            while mailbox.take().is_some() {}
        }
        self.signals = Default::default();
        self.decrementer.forget();
        (self.events, self.event_mask) = (0, 0);
        (self.staged, self.queries) = Default::default();
        self.command_status = problem::CMD_ENTERED;
        self.refused = None;
        self.run = Run::default();
        self.mfc.forget_atomics();
    }

    /// What follows at the MFC ([`Mfc::step`]), with what the program and the host see of it.
    pub fn step(&mut self, now: Time, local: &[u8]) -> Option<MfcStep> {
        let step = self.mfc.step(now, local);
        if let Some(MfcStep::Fault(fault)) = step {
            let (class, bit) = match fault.reason {
                Reason::Alignment => (0, hypervisor::ALIGNMENT),
                Reason::Miss => (1, hypervisor::TRANSLATION),
                Reason::NoTranslation | Reason::Protection => (1, hypervisor::STORAGE),
                _ => (0, hypervisor::INVALID_COMMAND),
            };
            self.interrupt(class, bit);
        }
        self.look(now);
        step
    }

    /// What may have changed with time, or at the MFC, becomes visible.
    fn look(&mut self, now: Time) {
        if self.decrementer.take_passed(now) {
            self.event(event::DECREMENTER);
        }
        if self.mfc.take_lost() {
            self.event(event::RESERVATION_LOST);
        }
        let stalled = self.mfc.stalled();
        if stalled & !std::mem::replace(&mut self.known_stalled, stalled) != 0 {
            self.event(event::LIST_STALL);
        }
        let is_full = self.mfc.room(Source::Core) == 0;
        if std::mem::replace(&mut self.was_full, is_full) && !is_full {
            self.event(event::QUEUE_AVAILABLE);
        }
        if self.queries[0].look(self.mfc.tag_status(Source::Core)) {
            self.event(event::TAG_STATUS);
        }
        if self.queries[1].look(self.mfc.tag_status(Source::Proxy)) {
            self.interrupt(2, hypervisor::TAG_GROUPS);
        }
    }

    /// When the decrementer has an event, if the program is to hear of it: [`Element::step`] is to be called then.
    pub fn next_event(&self) -> Option<Time> {
        let hears = u64::from(self.event_mask) & event::DECREMENTER != 0;
        self.decrementer.passes_at().filter(|_| hears)
    }

    fn event(&mut self, event: u64) {
        self.events |= event as u32;
    }

    fn interrupt(&mut self, class: usize, bit: u64) {
        self.interrupts[class].status |= bit;
    }

    /// By class: its interrupt line to the host is asserted (class 0: errors; 1: translation; 2: the program's).
    pub fn interrupt_lines(&self) -> [bool; 3] {
        self.interrupts.map(|class| class.status & class.mask != 0)
    }

    // --- the program ------------------------------------------------------------------------------

    /// The host has told the program to run: from where on. Once.
    pub fn take_start(&mut self) -> Option<u32> {
        std::mem::take(&mut self.run.starts).then_some(self.run.npc)
    }

    /// The program is to run.
    pub fn is_running(&self) -> bool {
        u64::from(self.run.status) & problem::STATUS_RUNNING != 0
    }

    /// It has stopped with a code of 14 bits, and would go on at `npc`.
    pub fn stop_and_signal(&mut self, code: u16, npc: u32) {
        self.end(problem::STATUS_STOPPED | u64::from(code) << 16, npc);
        self.interrupt(2, hypervisor::STOPPED);
    }

    /// The host has stopped it, and it would go on at `npc`.
    pub fn suspended(&mut self, npc: u32) {
        self.run.npc = npc;
    }

    /// It has halted at `npc`.
    pub fn halt(&mut self, npc: u32) {
        self.end(problem::STATUS_HALTED, npc);
        self.interrupt(2, hypervisor::HALTED);
    }

    /// It has made an error at `npc`: it accessed a channel that there is not, if `channel`.
    pub fn err(&mut self, npc: u32, channel: bool) {
        self.end(if channel { problem::STATUS_CHANNEL } else { problem::STATUS_INVALID }, npc);
        self.interrupt(0, hypervisor::CORE_ERROR);
    }

    fn end(&mut self, status: u64, npc: u32) {
        self.run = Run { status: status as u32, npc, starts: false };
    }

    /// It waits for a channel, or does no more.
    pub fn waits(&mut self, waits: bool) {
        let bit = problem::STATUS_WAITING as u32;
        self.run.status = if waits { self.run.status | bit } else { self.run.status & !bit };
    }

    /// Visits its counters.
    pub fn statistics(&self, visit: &mut Visitor<'_>) {
        self.mfc.statistics.visit(&mut below("mfc", visit));
        for (name, mailbox) in [
            ("inbound", &self.inbound),
            ("outbound", &self.outbound),
            ("outbound_interrupt", &self.outbound_interrupt),
        ] {
            mailbox.statistics.visit(&mut below(name, visit));
        }
    }
}
