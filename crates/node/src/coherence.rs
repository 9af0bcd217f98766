//! Harts among each other: whose transaction takes what from whose caches, and when.
//!
//! A transaction of a hart snoops the other harts' caches at its grant. Two rules keep harts that want the
//! same line from taking it from each other for ever:
//!
//! - a line that was fetched for an instruction that waits stays until the instruction has been executed;
//! - a line that a load-reserved holds stays for `node.order.reservation` cycles, or until the
//!   store-conditional (RISC-V unprivileged ISA, 13.3: constrained loops succeed eventually).
//!
//! Until then the transaction that is first in line waits, and with it the bus: its address tenure is retried.

use chasqui_engine::Time;
use chasqui_memory::{Request, Snooped};

use crate::bus::Client;
use crate::node::Node;
use crate::processor::Processor;
use crate::thread::{Filling, Thread};

impl Thread {
    /// The transaction of `request`, for the instruction that waits, is over at `end`.
    pub(crate) fn fills(&mut self, request: Request, end: Time) {
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

impl Processor {
    /// No hart but `index` does anything until `end`, or repeats itself and may see what `index` does, or
    /// holds a line.
    pub(crate) fn is_left_alone(&self, index: usize, end: Time) -> bool {
        let mut others = self.threads.iter().take(self.started).enumerate().filter(|&(i, _)| i != index);
        others.all(|(_, t)| {
            t.ready_at() > end && t.leaves_bus() && !t.is_idle() && t.hart.port.reservation().is_none()
        })
    }
}

impl Node {
    /// What the first in line asks of other harts' caches, if it is a hart: which, where.
    fn asked(&self) -> Option<(usize, u64, u32)> {
        let &Client::Hart(index, slot) = self.waiting_for_bus.front()? else { return None };
        let port = &self.processor.threads[usize::from(index)].hart.port;
        let (_, address, bytes) = port.asks(port.current(slot)?)?;
        Some((usize::from(index), address, bytes))
    }

    /// When the grant to the first in line is tried again, if another hart holds what it asks for at `now`.
    pub(crate) fn held_until(&self, now: Time) -> Option<Time> {
        let (index, address, bytes) = self.asked()?;
        let threads = self.processor.threads.iter().take(self.processor.started).enumerate();
        let others = threads.filter(|&(i, t)| i != index && t.is_alive());
        let held = others.filter_map(|(_, t)| t.holds_until(address, bytes, now, self.reservation_cycles));
        // The instruction that starts at a time comes after events of that time.
        let clock = self.bus.clock();
        held.max()
            .map(|used| if used == Time::NEVER { clock.after(now, 1) } else { clock.align(used + Time(1)) })
    }

    /// The first in line is about to be granted the bus at `now`: harts that repeat themselves and hold what it
    /// asks for catch up first. True: there are some.
    pub(crate) fn announce_grant(&mut self, now: Time) -> bool {
        let Some((index, address, bytes)) = self.asked() else { return false };
        let mut idle = false;
        for thread in self.processor.others(index) {
            if thread.is_idle() && thread.hart.port.holds(address, bytes) {
                idle = true;
                thread.event(&mut self.bus, now, now);
            }
        }
        idle
    }

    /// The transaction that hart `index` asked for with `request` snoops the caches of the others.
    pub(crate) fn snoop_others(&mut self, index: usize, request: Request, now: Time) -> Snooped {
        let mut found = Snooped::default();
        let port = &self.processor.threads[index].hart.port;
        let Some((snoop, address, bytes)) = port.asks(request) else { return found };
        for thread in self.processor.others(index) {
            let here = thread.hart.port.snoop(snoop, address, bytes);
            if here.present {
                debug_assert!(!thread.is_idle(), "a hart that repeats itself has caught up");
                // What it has seen of the line says nothing any more.
                thread.spin.event(&mut thread.hart, now);
            }
            found = found.or(here);
        }
        found
    }
}
