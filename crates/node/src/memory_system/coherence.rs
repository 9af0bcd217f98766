//! Harts among each other: whose transaction takes what from whose caches, and when.
//!
//! A transaction of a hart has other harts' caches answer at its grant. Two rules, for any memory system, keep harts that want the
//! same line from taking it from each other for ever:
//!
//! - a line that was fetched for an instruction that waits stays until the instruction has been executed;
//! - a line that a load-reserved holds stays for `node.order.reservation` cycles, or until the
//!   store-conditional (RISC-V unprivileged ISA, 13.3: constrained loops succeed eventually).
//!
//! Until then the transaction waits; on a bus it is the first in line, and the bus waits with it: its address tenure is
//! retried.

use chasqui_engine::Time;
use chasqui_memory::{Request, Snoop};

use super::Client;
use super::bus::SnoopingBus;
use crate::harts::{Core, Filling};
use crate::parts::Parts;

impl Core {
    /// The transaction of `request`, for the instruction that waits, is over at `end`.
    pub(super) fn fills(&mut self, request: Request, end: Time) {
        self.filling = self.hart.port.asks(request).map(|(_, address, bytes)| {
            let used = self.hart.time_of(self.hart.cycle_at(end));
            Filling { address, bytes, used }
        });
    }

    /// Until when the thread holds something of the `bytes` from `address` on against others, if it does at
    /// `now`: the line is used then, or nobody knows when (`NEVER`).
    fn holds_until(&self, address: u64, bytes: u32, now: Time, reservation_cycles: u64) -> Option<Time> {
        let touches =
            |f: &Filling| f.address < address + u64::from(bytes) && address < f.address + u64::from(f.bytes);
        let filling = self.filling.filter(|f| now <= f.used && touches(f));
        if let Some(filling) = filling {
            return Some(filling.used);
        }
        let since = self.hart.port.reserved_since(address, bytes)?;
        (now < self.hart.time_of(since + reservation_cycles)).then_some(Time::NEVER)
    }
}

impl Parts {
    /// Until when hart `index` holds something of the `bytes` from `address` on at `now`, if it does: as [`Parts::held_until`].
    pub fn kept_until(
        &self,
        index: usize,
        address: u64,
        bytes: u32,
        now: Time,
        reservation_cycles: u64,
    ) -> Option<Time> {
        let core = &self.harts[index];
        if core.is_alive() { core.holds_until(address, bytes, now, reservation_cycles) } else { None }
    }

    /// Until when another hart than `index` holds something of the `bytes` from `address` on at `now`, if one does: a line
    /// is used then, or nobody knows when (`NEVER`). `reservation_cycles`: so long a load-reserved may hold one.
    pub fn held_until(
        &self,
        index: usize,
        address: u64,
        bytes: u32,
        now: Time,
        reservation_cycles: u64,
    ) -> Option<Time> {
        let threads = self.harts.iter().take(self.harts.started()).enumerate();
        let others = threads.filter(|&(i, t)| i != index && t.is_alive());
        others.filter_map(|(_, t)| t.holds_until(address, bytes, now, reservation_cycles)).max()
    }
}

impl SnoopingBus {
    /// What the first in line asks of other harts' caches, if it is a hart: which, what, where.
    fn asked(&self, parts: &Parts) -> Option<(usize, (Snoop, u64, u32))> {
        let &Client::Hart(index, slot) = self.waiting.front()? else { return None };
        let port = &parts.harts[usize::from(index)].hart.port;
        Some((usize::from(index), port.asks(port.current(slot)?)?))
    }

    /// When the grant to the first in line is tried again, if another hart holds what it asks for at `now`.
    pub(super) fn held_until(&self, parts: &Parts, now: Time) -> Option<Time> {
        let (index, (_, address, bytes)) = self.asked(parts)?;
        let used = parts.held_until(index, address, bytes, now, self.reservation_cycles)?;
        // The instruction that starts at a time comes after events of that time.
        let clock = self.bus.clock();
        Some(if used == Time::NEVER { clock.after(now, 1) } else { clock.align(used + Time(1)) })
    }

    /// The first in line is about to be granted the bus at `now`: harts that repeat themselves and hold what it
    /// asks for catch up first. True: there are some.
    pub(super) fn announce_grant(&mut self, parts: &mut Parts, now: Time) -> bool {
        let Some((index, asked)) = self.asked(parts) else { return false };
        parts.announce_to(Some(&mut self.bus), index, asked, now)
    }
}
