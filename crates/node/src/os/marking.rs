//! What a hart's marks tell: stages of messages' lives, and who is to know of them at once.

use chasqui_abi::mark;
use chasqui_hart::{Hart, Marks, State};
use chasqui_ni::RankMark;
use chasqui_record::{RankLife, Recorder, Site, lies_at};

use super::usage::{Away, InCalls, SoftwareCycles, Spent, Usage};
use crate::harts::Spin;

/// What a hart's marks are told to.
pub(crate) struct Marking<'a> {
    pub life: &'a mut RankLife,
    pub recorder: &'a mut Recorder,
    pub spin: &'a mut Spin,
    /// What the thread spent in MPI calls.
    pub in_calls: &'a mut InCalls,
    /// Cycles of the hart that are system software's, so far.
    pub software: SoftwareCycles,
    /// What others have used of the hart.
    pub elsewhere: &'a Usage,
    /// When they did.
    pub away: &'a Away,
    /// Number of the hart.
    pub index: usize,
    /// Messages' data are tracked from their delivery on.
    pub follows: bool,
    pub rules: Rules,
}

/// Which marks halt their hart, so that system software hears of them.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    /// MPI calls take no time: their marks end and begin it.
    pub free_calls: bool,
    /// That the process has yielded says its mark alone ([`super::Os::sees_yields_by_marks`]).
    pub yields: bool,
    /// There are other harts: between two instructions that take no time they may execute theirs.
    pub several: bool,
}

impl Marking<'_> {
    /// Hart `hart` has executed a mark.
    pub fn note(&mut self, hart: &mut Hart, code: u32, call: u32, value: u64) {
        let (now, port) = (hart.now().0, &hart.port);
        let memory = &mut |address, bytes: &mut [u8]| port.peek_virtual(address, bytes);
        self.life.mark(self.recorder, self.index, code, call, value, now, memory);
        match code {
            mark::CALL => self.life.entered_at(self.index, site(hart)),
            mark::RETURN => self.spin.returned(hart),
            _ => return,
        }
        let used = Usage::of_hart(hart, self.software) - *self.elsewhere;
        self.in_calls.pass(self.life.current_call(self.index).is_some(), Spent { used, away: *self.away });
    }
}

/// A rank has executed a mark on a processor that is no hart of the node's. What it spends there is in no hart's usage.
pub(super) fn note_elsewhere(life: &mut RankLife, recorder: &mut Recorder, mark: &RankMark) {
    let memory = &mut |at: u64, bytes: &mut [u8]| lies_at(mark.value, &mark.there, at, bytes);
    life.mark(recorder, 0, mark.code, mark.call, mark.value, mark.time.0, memory);
    match mark.code {
        mark::CALL => life.entered_at(0, mark.site),
        mark::BLOCKED => life.blocked_elsewhere(0, &mark.there),
        _ => {}
    }
}

/// Where `hart` is: behind a mark, at the beginning of an MPI call.
fn site(hart: &Hart) -> Site {
    let State { x, pc, .. } = &hart.state;
    Site {
        pc: *pc,
        return_address: x[1],
        stack_pointer: x[2],
        frame_pointer: x[8],
        arguments: [x[10], x[11], x[12]],
        is_elsewhere: false,
    }
}

impl Marks for Marking<'_> {
    fn take(&mut self, hart: &mut Hart, code: u32, call: u32, value: u64) -> bool {
        let is_more = match code {
            mark::ABORT | mark::REGION => true,
            mark::YIELDED => self.rules.yields,
            mark::CALL | mark::RETURN => self.rules.free_calls,
            mark::DELIVER => self.follows,
            _ => self.rules.several && !hart.port.is_timed(),
        };
        if !is_more {
            self.note(hart, code, call, value);
        }
        !is_more
    }
}
