//! The watched loop: one instruction at a time, each shown to an observer.

use chasqui_memory::LentBus;

use crate::hart::{Halt, Hart};
use crate::run::UNTIMED_RUN;
use crate::{Insn, Op, decode};

/// Looks at every instruction that a hart tries to execute.
pub trait Observer {
    /// `insn` is at `pc` and is about to be tried.
    fn before(&mut self, hart: &Hart, insn: &Insn);

    /// It was tried. Not `executed`, it was only fetched, or waits, or faults: it is tried again, if ever.
    fn after(&mut self, hart: &Hart, insn: &Insn, executed: bool);

    /// A trap was taken: the hart is at the handler's first instruction.
    fn trapped(&mut self, _hart: &Hart) {}
}

/// Instructions by their bits, of which decoding is a function. It takes room when it is first used.
#[derive(Default)]
pub struct Decoder(Vec<(u32, Insn)>);

/// A power of two.
const DECODED: usize = 1 << 12;

impl Decoder {
    fn decode(&mut self, bits: u32) -> Insn {
        if self.0.is_empty() {
            self.0 = vec![(0, decode(0)); DECODED];
        }
        // The upper half differs in what the opcode leaves free.
        let entry = &mut self.0[((bits >> 16) ^ (bits >> 2)) as usize % DECODED];
        if entry.0 != bits {
            *entry = (bits, decode(bits));
        }
        entry.1
    }
}

impl Hart {
    /// Does what [`Hart::run_with_bus`] does, shown to `observer`.
    pub fn run_observed(
        &mut self,
        observer: &mut impl Observer,
        decoder: &mut Decoder,
        lent: Option<LentBus<'_>>,
        end: u64,
    ) -> Halt {
        if let Some(lent) = lent {
            // SAFETY: it is borrowed until it is taken back.
            unsafe { self.port.lend_bus(lent, self.cycles) };
        }
        let halt = self.step_observed(observer, decoder, end);
        self.port.take_back_bus();
        halt
    }

    fn step_observed(&mut self, observer: &mut impl Observer, decoder: &mut Decoder, end: u64) -> Halt {
        let untimed_last = self.statistics.instructions + UNTIMED_RUN;
        loop {
            let endless = !self.port.is_timed() && self.statistics.instructions >= untimed_last;
            if self.cycle >= end || endless || !self.port.pass_events(self.cycle) {
                return Halt::Deadline;
            }
            if self.take_interrupt() {
                observer.trapped(self);
                continue;
            }
            if !self.may_read(self.state.pc) {
                return Halt::Turn;
            }
            if self.stops_here() {
                return Halt::Stop;
            }
            self.has_read(self.state.pc);
            self.course.started = self.cycle;
            let insn = match self.instruction_bits(self.state.pc) {
                Ok(bits) => decoder.decode(bits),
                Err(halt) => match self.delivered(halt) {
                    Some(halt) => return halt,
                    None => {
                        observer.trapped(self);
                        continue;
                    }
                },
            };
            let instructions = self.statistics.instructions;
            observer.before(self, &insn);
            let halt = self.try_step(&insn).unwrap_or_else(Some);
            // Marks are not counted.
            let marked = insn.op == Op::Mark;
            observer.after(self, &insn, marked || self.statistics.instructions > instructions);
            let Some(halt) = halt else { continue };
            match self.delivered(halt) {
                Some(halt) => return halt,
                None => observer.trapped(self),
            }
        }
    }
}
