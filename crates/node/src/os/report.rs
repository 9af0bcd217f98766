//! Faults, places and what processes wait for, in words.

use std::sync::Arc;

use chasqui_engine::Time;
use chasqui_linux::{Elf, Wait};

use super::position::Position;
use super::{Ended, Os, ProcessView};
use crate::harts::{Activity, Harts};

impl Os {
    /// Ends the process on hart `index` by `signal`, because of what is said in `what` and the hart does.
    pub(super) fn fault(&mut self, harts: &mut Harts, index: usize, signal: i32, what: &str) {
        let pc = self.trapped_at(harts, index).unwrap_or(harts[index].hart.state.pc);
        self.fault_at(harts, index, signal, what, Position::at(pc));
    }

    /// The same, of the instruction at `position`.
    pub(super) fn fault_at(
        &mut self,
        harts: &mut Harts,
        index: usize,
        signal: i32,
        what: &str,
        position: Position,
    ) {
        let now = harts[index].hart.now();
        let process = self.on(harts, index);
        let on_hart = match process.harts.len() > 1 && harts.is_several() {
            true => format!(", hart {index},"),
            false => String::new(),
        };
        let text = format!("{}{on_hart} at {now}: {what}, {}", process.rank, position.text(&process.symbols));
        self.end(harts, index, Ended::Fault { signal, text });
    }
}

impl ProcessView<'_> {
    /// Its program.
    pub fn elf(&self) -> &Arc<Elf> {
        self.process.process.elf()
    }

    /// Numbers of its harts that have a thread.
    fn alive(&self) -> Vec<usize> {
        self.process.harts.clone().filter(|&i| self.harts[i].is_alive()).collect()
    }

    /// The pc of hart `index` with its symbol: the process's, if the kernel works for it.
    fn place(&self, index: usize) -> String {
        let pc = self.harts[index].hart.state.pc;
        let symbols = &self.process.symbols;
        match self.os.trapped_at(self.harts, index) {
            Some(user) if self.os.is_elsewhere(self.harts, index) => symbols.place(user),
            Some(user) => format!("{}, in the kernel at {}", symbols.place(user), symbols.place(pc)),
            None => symbols.place(pc),
        }
    }

    /// The pc of each thread with its symbol, in words.
    pub fn places(&self) -> String {
        match self.alive()[..] {
            [one] => format!("pc {}", self.place(one)),
            ref alive => {
                let each = alive.iter().map(|&i| format!("hart {i}: pc {}", self.place(i)));
                each.collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// What the process waits for, if it can't go on by itself; nothing, once it has ended, alone or with its job.
    pub fn waiting_for(&self) -> Option<String> {
        if self.process.is_over() {
            return None;
        }
        let alive = self.alive();
        if let [one] = alive[..] {
            return Some(self.thread_waits_for(one));
        }
        let each = alive.iter().map(|&i| format!("hart {i} for {}", self.thread_waits_for(i)));
        (!alive.is_empty()).then(|| format!("its threads: {}", each.collect::<Vec<_>>().join("; ")))
    }

    /// Some thread would go on by itself, but simulated time ends before.
    pub fn waits_beyond_time(&self) -> bool {
        !self.process.is_over() && self.harts().any(|core| core.waits_beyond_time())
    }

    fn thread_waits_for(&self, index: usize) -> String {
        let place = self.place(index);
        let core = &self.harts[index];
        let is_elsewhere = self.os.is_elsewhere(self.harts, index);
        if !is_elsewhere && matches!(core.activity, Activity::Sleeping(until) if until >= Time::END) {
            return format!("a time after the end of simulated time, asleep, pc {place}");
        }
        let sleeps = if self.os.trapped_at(self.harts, index).is_some() {
            self.os.sleeps_for(self.harts, index)
        } else {
            None
        };
        let read = &mut |address, bytes: &mut [u8]| core.hart.port.peek_virtual(address, bytes);
        match (&core.activity, self.process.life.waiting_for(self.process.thread(index), read)) {
            (Activity::Blocked(Wait::Futex { address }, _), _) => {
                format!("another thread at the futex {address:#x}, pc {place}")
            }
            (activity, text) if sleeps.is_some() || matches!(activity, Activity::Idle) && !is_elsewhere => {
                let for_what = sleeps.unwrap_or("an interrupt".into());
                let text = text.map_or(format!("pc {place}"), |text| format!("{text}, pc {place}"));
                format!("{for_what}, asleep: {text}")
            }
            (_, Some(text)) => text,
            (activity, None)
                if is_elsewhere || matches!(activity, Activity::Suspended(_) | Activity::Parked(_)) =>
            {
                format!("what never comes: it repeats itself at pc {place}")
            }
            _ => format!("something, at pc {place}"),
        }
    }
}
