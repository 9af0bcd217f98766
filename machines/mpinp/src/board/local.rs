//! The card's memory and the network processor on it: who has asked for what, and when it is there.

use std::collections::VecDeque;

use chasqui_engine::{Clock, Time};
use chasqui_ni::{Context, FirmwareProcessor, SharedSram, SramBlock, SramData, SramDone, SramPace};

use super::events::BoardEvent;

/// Masters of the card's memory, in the order of their names.
pub(super) const HOST: usize = 0;
pub(super) const RECEIVE: usize = 1;
pub(super) const SEND: usize = 2;
pub(super) const PROCESSOR: usize = 3;
pub(super) const MASTERS: &[&str] = &["host", "receive", "send", "processor"];
/// Who may have the accesses of a clock (specs/mpinp.md): on the rising edge the host's DMA before the processor, on the
/// falling one the receiver, then the sender, then the processor.
pub(super) const ACCESSES: &[&[usize]] = &[&[HOST, PROCESSOR], &[RECEIVE, SEND, PROCESSOR]];

/// What an access was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The host's DMA reads, or writes.
    DmaRead,
    DmaWrite,
    /// Processors' stores from the host, which ring these processes' doorbells, a bit each.
    Store(u64),
    /// A processor's load from the host.
    Load,
    /// ... of the interrupt's register.
    Cause,
    /// A flit that is to leave.
    Send,
    /// A flit that has come.
    Receive,
}

/// The card's memory, with the processor that lies on it.
pub(super) struct Local {
    pub processor: FirmwareProcessor<SharedSram>,
    clock: Clock,
    /// By master: what it has asked for, oldest first.
    asked: [VecDeque<Purpose>; PROCESSOR],
    /// What has been given, of which the end is to come.
    ending: Vec<(Purpose, SramDone)>,
    /// Nobody has told the processor's model of what was asked for last.
    must_go_on: bool,
}

impl Local {
    pub fn new(processor: FirmwareProcessor<SharedSram>, clock: Clock) -> Local {
        Local { processor, clock, asked: Default::default(), ending: vec![], must_go_on: true }
    }

    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// `master` asks for a block.
    ///
    /// # Errors
    /// There is no such memory: in words.
    pub fn ask(
        &mut self,
        (master, purpose): (usize, Purpose),
        now: Time,
        (address, data, pace): (u64, SramData, Option<SramPace>),
    ) -> Result<(), String> {
        let is_silent = purpose == Purpose::Store(0);
        self.processor.memory.sram.ask(master, now, SramBlock { address, data, pace, is_silent })?;
        if !is_silent {
            self.asked[master].push_back(purpose);
        }
        self.must_go_on = true;
        Ok(())
    }

    /// The processor has been told something.
    pub fn told(&mut self) {
        self.must_go_on = true;
    }

    /// The processor goes on, and with it all that was asked for. There is an event at the end of what was, unless that is now
    /// and is taken `at_once`.
    ///
    /// # Errors
    /// What the firmware did wrong.
    pub fn go_on(&mut self, at_once: bool, c: &mut Context<'_, '_>) -> Result<(), String> {
        if !std::mem::take(&mut self.must_go_on) {
            return Ok(());
        }
        self.processor.go_on(BoardEvent::Processor.into(), c)?;
        for done in self.processor.memory.take_done() {
            let purpose = self.asked[done.master].pop_front().expect("it was asked for");
            if !at_once || done.end > c.now {
                c.at(done.end.max(c.now), BoardEvent::Local.into());
            }
            self.ending.push((purpose, done));
        }
        Ok(())
    }

    /// Something that was given is over at `now`.
    pub fn has_ended(&self, now: Time) -> bool {
        self.ending.iter().any(|(_, done)| done.end <= now)
    }

    /// Something that was given, and is over at `now`; the oldest first.
    pub fn take_ended(&mut self, now: Time) -> Option<(Purpose, Vec<u8>)> {
        let place = self.ending.iter().position(|(_, done)| done.end <= now)?;
        let (purpose, done) = self.ending.remove(place);
        Some((purpose, done.data))
    }
}
