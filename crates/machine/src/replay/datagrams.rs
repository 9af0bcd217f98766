//! Packets that stand for themselves: whatever a library sends may leave, in its order.

use std::collections::VecDeque;

use chasqui_abi::Envelope;
use chasqui_engine::{Packet, Time};

use super::{Transport, Wire};

/// The NICs of peers whose packets belong to no connection.
pub struct Datagrams<W> {
    wire: W,
    queue: VecDeque<Packet>,
}

impl<W: Wire> Datagrams<W> {
    /// NICs that put packets on the wire like this.
    pub fn new(wire: W) -> Datagrams<W> {
        Datagrams { wire, queue: VecDeque::new() }
    }
}

impl<W: Wire> Transport for Datagrams<W> {
    fn eager_bytes_max(&self) -> u64 {
        self.wire.eager_bytes_max()
    }

    fn puts(&self) -> bool {
        self.wire.puts()
    }

    fn takes(&mut self, _: Time, _: u16) -> bool {
        true
    }

    fn send(&mut self, _: Time, envelope: &Envelope, data: &[u8]) {
        self.queue.push_back(self.wire.message(envelope, data));
    }

    fn put(&mut self, _: Time, finished: &Envelope, to: u64, data: &[u8]) {
        self.queue.extend(self.wire.put(finished, to, data));
        self.queue.push_back(self.wire.message(finished, &[]));
    }

    fn next(&mut self, _: Time) -> Option<Packet> {
        self.queue.pop_front()
    }

    fn receive(&mut self, _: Time, packet: Packet, brought: &mut Vec<(Envelope, Vec<u8>)>) {
        brought.extend(self.wire.read(&packet).map(|(envelope, data)| (envelope, data.to_vec())));
    }
}
