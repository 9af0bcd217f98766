//! Faults, places and what processes wait for, in words.

use std::sync::Arc;

use chasqui_engine::Time;
use chasqui_linux::{Elf, Wait};
use chasqui_memory::{PAGE_BYTES, Port};
use chasqui_watch::{Registers, callers};

use super::position::Position;
use super::process::NodeProcess;
use super::{Ended, Os, ProcessView};
use crate::harts::{Activity, Core, Harts};

/// Calls that led to a call of MPI, as far as they are listed.
const CALLS_LISTED: usize = 3;

/// Whether a function is one that programs call, of the MPI library.
fn is_of_mpi(name: &str) -> bool {
    name.starts_with("MPI_") || name.starts_with("PMPI_") || is_fortran_binding(name)
}

/// Whether a function is one of Fortran's names of MPI's: it calls the function of C.
fn is_fortran_binding(name: &str) -> bool {
    name.strip_prefix('p').unwrap_or(name).starts_with("mpi_") && name.ends_with('_')
}

impl Os {
    /// Ends the process on hart `index` by `signal`, because of what is said in `what` and the hart does.
    pub(super) fn fault(&mut self, harts: &mut Harts, index: usize, signal: i32, what: &str) {
        let (position, now) = (self.position(harts, index), harts[index].hart.now());
        self.fault_at(harts, index, (signal, what), position, now);
    }

    /// How the process on hart `index` has its job end with `status`: by the MPI call that it is in.
    pub(super) fn aborted(&self, harts: &Harts, index: usize, status: i32) -> Ended {
        let Core { hart, .. } = &harts[index];
        let symbols = &self.on(harts, index).symbols;
        let mut memory = |at, bytes: &mut [u8]| hart.port.peek_virtual(at, bytes);
        let calls = callers(symbols, &Registers::of(hart), &mut memory);
        let name = |&back: &u64| symbols.symbolize(back.saturating_sub(1)).map_or("", |(name, _)| name);
        let Some(first) = calls.iter().position(|back| is_of_mpi(name(back))) else {
            return Ended::Abort { status, is_error: false, by: "the MPI library".into() };
        };
        // The library calls itself, and Fortran's names those of C: what the program has called is the last of all, or, of
        // MPI_Abort, which others have not called, behind those next to it.
        let c_name = |back: &u64| name(back).trim_start_matches('P').to_string();
        let aborts = c_name(&calls[first]) == "MPI_Abort";
        let within = |back: &&u64| is_of_mpi(name(back));
        let last = match aborts {
            true => first + calls[first..].iter().take_while(within).count() - 1,
            false => calls.iter().rposition(|back| is_of_mpi(name(back))).unwrap_or(first),
        };
        let in_c = calls[first..=last].iter().rfind(|back| !is_fortran_binding(name(back)) && within(back));
        let what = match (aborts, in_c) {
            (true, _) => "MPI_Abort".into(),
            (false, found) => format!("an error in {}", c_name(found.unwrap_or(&calls[first]))),
        };
        let places = calls[last + 1..].iter().take(CALLS_LISTED).map(|&back| symbols.caller(back));
        let by = match places.collect::<Vec<_>>() {
            places if places.is_empty() => what,
            places => format!("{what}, called at {}", places.join(", from ")),
        };
        Ended::Abort { status, is_error: !aborts, by }
    }

    /// Where the process on hart `index` is.
    pub(super) fn position(&self, harts: &Harts, index: usize) -> Position {
        match self.trapped_at(harts, index, harts[index].process) {
            Some(pc) => Position { registers: self.trapped_registers(harts, index), ..Position::at(pc) },
            None => Position::of(&harts[index].hart).where_code_is(),
        }
    }

    /// The same, of the instruction at `position`, at `now`.
    pub(super) fn fault_at(
        &mut self,
        harts: &mut Harts,
        index: usize,
        (signal, what): (i32, &str),
        position: Position,
        now: Time,
    ) {
        let process = self.on(harts, index);
        let on_hart = match process.harts.len() > 1 && harts.is_several() {
            true => format!(", hart {index},"),
            false => String::new(),
        };
        let port = &harts[index].hart.port;
        let place = position.text(&process.symbols, &mut |at, bytes| port.peek_virtual(at, bytes));
        let text = format!("{}{on_hart} at {now}: {what}, {place}", process.rank);
        self.end_at(harts, index, now, Ended::Fault { signal, text });
    }
}

/// How `process` has its job end with `status`, by the MPI call that it is in on a processor that is no hart of the node's.
pub(super) fn aborted_elsewhere(process: &NodeProcess, status: i32) -> Ended {
    let Some(site) = process.life.site(0) else {
        return Ended::Abort { status, is_error: false, by: "the MPI library".into() };
    };
    let name = process.symbols.symbolize(site.pc).map_or("", |(name, _)| name).trim_start_matches('P');
    let aborts = name == "MPI_Abort";
    let what = if aborts { name.into() } else { format!("an error in {name}") };
    let by = format!("{what}, called at {}", process.symbols.caller(site.return_address));
    Ended::Abort { status, is_error: !aborts, by }
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
        match self.os.trapped_at(self.harts, index, self.number) {
            Some(user) if self.os.is_elsewhere(index, self.number) => symbols.place(user),
            Some(user) => format!("{}, in the kernel at {}", symbols.place(user), symbols.place(pc)),
            None => symbols.place(pc),
        }
    }

    /// Reads the memory of the process, as the thread on hart `index` sees it; a page that was never used is as its file has
    /// it. A hart that others share has the page tables of one of them.
    fn memory(&self, index: usize) -> impl FnMut(u64, &mut [u8]) -> bool {
        let (core, elf) = (&self.harts[index], self.elf());
        let is_there = core.process == self.number;
        let peek = move |address, bytes: &mut [u8]| match is_there {
            true => core.hart.port.peek_virtual(address, bytes),
            false => self.peek(&core.hart.port, address, bytes),
        };
        move |address, bytes| peek(address, bytes) || elf.read(address, bytes)
    }

    /// Reads memory by the process's own page tables, as the hart of `port` sees it; false when part of it is not mapped.
    fn peek(&self, port: &Port, address: u64, bytes: &mut [u8]) -> bool {
        let mut at = address;
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = (PAGE_BYTES - at % PAGE_BYTES).min(rest.len() as u64);
            let (first, others) = rest.split_at_mut(room as usize);
            let physical = self.process.process.space.translate(self.memory, at);
            if !physical.is_some_and(|physical| port.peek(physical, first)) {
                return false;
            }
            (at, rest) = (at.wrapping_add(room), others);
        }
        true
    }

    /// Where the thread on hart `index` called MPI, if it is there, in words: `; called at` a place, from another.
    fn called_at(&self, index: usize) -> String {
        let Some(site) = self.process.life.site(self.process.thread(index)) else { return String::new() };
        let mut registers = Registers { pc: site.pc, x: [0; 32] };
        for (number, value) in [(1, site.return_address), (2, site.stack_pointer), (8, site.frame_pointer)] {
            registers.x[number] = value;
        }
        let symbols = &self.process.symbols;
        let mut calls = match site.is_elsewhere {
            true => vec![], // its stack can't be looked at
            false => callers(symbols, &registers, &mut self.memory(index)),
        };
        if calls.is_empty() {
            calls.push(site.return_address);
        }
        let is_binding = |&back: &u64| {
            let function = back.checked_sub(1).and_then(|call| symbols.symbolize(call));
            function.is_some_and(|(name, _)| is_fortran_binding(name))
        };
        let program = calls.into_iter().skip_while(is_binding).take(CALLS_LISTED);
        let places: Vec<String> = program.map(|back| symbols.caller(back)).collect();
        if places.is_empty() { String::new() } else { format!("; called at {}", places.join(", from ")) }
    }

    /// Where each thread is, with symbol and line, in words, and where it has called MPI.
    pub fn places(&self) -> String {
        let place = |i| format!("pc {}{}", self.place(i), self.called_at(i));
        match self.alive()[..] {
            [one] => place(one),
            ref alive => {
                let each = alive.iter().map(|&i| format!("hart {i}: {}", place(i)));
                each.collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// It can't go on by itself, when nothing is left to do: it has not ended, alone or with its job.
    pub fn waits(&self) -> bool {
        !self.process.is_over() && !self.alive().is_empty()
    }

    /// What the process waits for, which [`ProcessView::waits`], and where it has called MPI. `name` names an MPI call by its
    /// number.
    pub fn waiting_for(&self, name: &dyn Fn(u32) -> &'static str) -> String {
        let alive = self.alive();
        let waits = |i| format!("{}{}", self.thread_waits_for(i, name), self.called_at(i));
        if let [one] = alive[..] {
            return waits(one);
        }
        let each = alive.iter().map(|&i| format!("hart {i} for {}", waits(i)));
        format!("its threads: {}", each.collect::<Vec<_>>().join("; "))
    }

    /// Some thread would go on by itself, but simulated time ends before.
    pub fn waits_beyond_time(&self) -> bool {
        !self.process.is_over() && self.harts().any(|core| core.waits_beyond_time())
    }

    fn thread_waits_for(&self, index: usize, name: &dyn Fn(u32) -> &'static str) -> String {
        let place = self.place(index);
        let core = &self.harts[index];
        let is_elsewhere = self.os.is_elsewhere(index, self.number);
        if !is_elsewhere && matches!(core.activity, Activity::Sleeping(until) if until >= Time::END) {
            return format!("a time after the end of simulated time, asleep, pc {place}");
        }
        let trapped = self.os.trapped_at(self.harts, index, self.number);
        let sleeps = trapped.and_then(|_| self.os.sleeps_for(self.harts, index, self.number));
        let thread = self.process.thread(index);
        match (&core.activity, self.process.life.waiting_for(thread, name, &mut self.memory(index))) {
            (Activity::Blocked(Wait::Futex { address }, _), _) => {
                format!("another thread at the futex {address:#x}, pc {place}")
            }
            (activity, text) if sleeps.is_some() || matches!(activity, Activity::Idle) && !is_elsewhere => {
                let for_what = sleeps.unwrap_or("an interrupt".into());
                let site = self.process.life.site(thread);
                let text = match text {
                    // The hart is not where the rank is.
                    Some(text) if site.is_some_and(|site| site.is_elsewhere) => text,
                    Some(text) => format!("{text}, pc {place}"),
                    None => format!("pc {place}"),
                };
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
