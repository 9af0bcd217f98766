//! Deliveries: what waits in network memory goes to where the program wants it, by DMA.

use std::collections::VecDeque;

use chasqui_ni::{Context, DmaWriter};
use chasqui_placement::ProcessId;

use super::events::{NicEvent, Owner};
use super::{Shared, turns};

#[derive(Clone, Copy, Debug)]
struct Delivery {
    /// Offset in the network memory of its process.
    from: u64,
    /// Virtual address.
    to: u64,
    bytes: u64,
}

/// What a process has delivered.
#[derive(Default)]
pub(super) struct Requester {
    /// Registers of the next one.
    pub to: u64,
    pub bytes: u64,
    /// Deliveries that are over.
    pub done: u64,
    queue: VecDeque<Delivery>,
}

/// The unit that delivers, one after the other; processes take turns.
pub(super) struct Deliverer {
    /// By process.
    pub requesters: Vec<Requester>,
    /// Whose delivery it is at, or was last.
    turn: ProcessId,
    is_busy: bool,
    pub writer: DmaWriter,
}

impl Deliverer {
    pub fn new(processes: u32, line_bytes: u64) -> Deliverer {
        let writer = DmaWriter::new(|number| Owner::Deliver.tag(number), line_bytes);
        let requesters = (0..processes).map(|_| Requester::default()).collect();
        Deliverer { requesters, turn: ProcessId(0), is_busy: false, writer }
    }

    /// The process wants what is at `from` of its network memory.
    pub fn ask(&mut self, process: ProcessId, from: u64, s: &Shared, c: &mut Context<'_, '_>) {
        let Requester { to, bytes, queue, .. } = &mut self.requesters[process.index()];
        let memory = s.memory_bytes;
        if from.checked_add(*bytes).is_none_or(|end| end > memory) {
            return c
                .fault(process, format!("a delivery of {bytes} bytes from offset {from:#x} of {memory:#x}"));
        }
        queue.push_back(Delivery { from, to: *to, bytes: *bytes });
        self.begin(s, c);
    }

    fn begin(&mut self, s: &Shared, c: &mut Context<'_, '_>) {
        if self.is_busy {
            return;
        }
        let waits = |process: &ProcessId| !self.requesters[process.index()].queue.is_empty();
        if let Some(process) = turns(self.turn, self.requesters.len()).find(waits) {
            (self.turn, self.is_busy) = (process, true);
            let next = self.requesters[process.index()].queue[0];
            s.pipeline.begin_with(NicEvent::Delivering, s.unit.deliver.cycles() + s.crossing(next.bytes), c);
        }
    }

    /// Control is over, or pages are there.
    pub fn place(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let process = self.turn;
        let Delivery { from, to, bytes } = self.requesters[process.index()].queue[0];
        match c.bring_in(process, to, bytes, true) {
            Ok(0) => {}
            Ok(missing) => {
                s.counters.pages_in += missing;
                return s.pipeline.begin_with(NicEvent::Delivering, missing * s.unit.page_in.cycles(), c);
            }
            Err(at) => {
                c.fault(process, format!("the NIC has to deliver to {at:#x}, which is not mapped"));
                return self.finish(s, c);
            }
        }
        let at = s.memory_of(process) + from;
        let data = c.memory.slice(at, bytes as usize).expect("network memory").to_vec();
        s.write(&mut self.writer, (process, to), &data, c);
        if !self.writer.start(c) {
            self.finish(s, c);
        }
    }

    /// All of it is written.
    pub fn finish(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let requester = &mut self.requesters[self.turn.index()];
        let Delivery { from, .. } = requester.queue.pop_front().expect("a delivery ends");
        requester.done += 1;
        s.release(self.turn, from, c);
        s.counters.deliveries += 1;
        self.is_busy = false;
        self.begin(s, c);
    }
}
