//! Deliveries: what waits in network memory goes to where the program wants it, by DMA.

use std::collections::VecDeque;

use chasqui_ni::{Context, DmaWriter};

use super::events::{NicEvent, Owner};
use super::{PROCESS, Shared};

#[derive(Clone, Copy, Debug)]
struct Delivery {
    /// Offset in network memory.
    from: u64,
    /// Virtual address.
    to: u64,
    bytes: u64,
}

/// The unit that delivers, one after the other.
pub(super) struct Deliverer {
    /// Registers of the next one.
    pub to: u64,
    pub bytes: u64,
    /// Deliveries that are over.
    pub done: u64,
    queue: VecDeque<Delivery>,
    pub writer: DmaWriter,
}

impl Deliverer {
    pub fn new(line_bytes: u64) -> Deliverer {
        let writer = DmaWriter::new(|number| Owner::Deliver.tag(number), line_bytes);
        Deliverer { to: 0, bytes: 0, done: 0, queue: VecDeque::new(), writer }
    }

    /// The processor wants what is at `from`.
    pub fn ask(&mut self, from: u64, s: &Shared, c: &mut Context<'_, '_>) {
        let memory = s.memory.end - s.memory.start;
        if from.checked_add(self.bytes).is_none_or(|end| end > memory) {
            return c.fault(
                PROCESS,
                format!("a delivery of {} bytes from offset {from:#x} of {memory:#x}", self.bytes),
            );
        }
        self.queue.push_back(Delivery { from, to: self.to, bytes: self.bytes });
        if self.queue.len() == 1 {
            self.begin(s, c);
        }
    }

    fn begin(&self, s: &Shared, c: &mut Context<'_, '_>) {
        if let Some(next) = self.queue.front() {
            s.pipeline.begin_with(NicEvent::Delivering, s.unit.deliver.cycles() + s.crossing(next.bytes), c);
        }
    }

    /// Control is over, or pages are there.
    pub fn place(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let Delivery { from, to, bytes } = self.queue[0];
        match c.bring_in(PROCESS, to, bytes, true) {
            Ok(0) => {}
            Ok(missing) => {
                s.counters.pages_in += missing;
                return s.pipeline.begin_with(NicEvent::Delivering, missing * s.unit.page_in.cycles(), c);
            }
            Err(at) => {
                c.fault(PROCESS, format!("the NIC was told to deliver to {at:#x}, which is not mapped"));
                return self.finish(s, c);
            }
        }
        let data = c.memory.slice(s.memory.start + from, bytes as usize).expect("network memory").to_vec();
        s.write(&mut self.writer, to, &data, c);
        if !self.writer.start(c) {
            self.finish(s, c);
        }
    }

    /// All of it is written.
    pub fn finish(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let Delivery { from, .. } = self.queue.pop_front().expect("a delivery ends");
        s.release(from, c);
        s.counters.deliveries += 1;
        self.done += 1;
        self.begin(s, c);
    }
}
