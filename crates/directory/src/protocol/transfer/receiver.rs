//! The destination of transfers: packets come, and are written to memory.
//!
//! The state of the line is looked up, the own cache gives up its copy, and memory is written; of a line of which a part comes
//! the rest is read before. From the look-up on whoever loads has the new data.

use chasqui_engine::Time;

use super::super::{Host, Protocol, Step};
use super::line::{Found, WRITE};
use super::{Counts, TransferStep, Writing};

impl Protocol {
    pub(super) fn packet_arrives<H: Host>(&mut self, host: &mut H, id: u32, now: Time) {
        let packet = self.transfers.packets.get_mut(id);
        packet.since = now;
        let (node, of) = (packet.to, packet.transfer);
        self.count(host, of, Counts::Arrived, now);
        self.transfers.units[node].arrived.push_back(id);
        self.go_on(host, node, now);
    }

    /// The oldest packet's line is looked up.
    pub(super) fn begin_write<H: Host>(&mut self, host: &mut H, node: usize, now: Time) {
        let id = *self.transfers.units[node].arrived.front().expect("a packet has come");
        let packet = self.transfers.packets.get(id);
        let transfer = self.transfers.transfers.get(packet.transfer);
        let address = packet.line(self.times.line_bytes);
        let physical = host.physical(transfer.owner, address, true).filter(|_| !transfer.has_failed);
        let Some(line) = physical.filter(|&line| host.home(line) == node) else {
            let wrong = format!("there is no page at {address:#x} any more that it goes to");
            let of = packet.transfer;
            self.drop_packet(host, node, now);
            return self.fail(host, of, &wrong, now);
        };
        self.transfers.statistics[node].write_waits_ps += (now - packet.since).0;
        let unit = &mut self.transfers.units[node];
        unit.writing = Some(Writing { packet: id, line });
        unit.own_until = unit.own_until.max(now + self.times.lookup);
        let step = Step::Transfer(TransferStep::WriteLookedUp(node));
        self.occupy(host, node, step, (now, now + self.times.lookup));
    }

    /// The oldest packet is not written: its transfer has failed.
    fn drop_packet<H: Host>(&mut self, host: &mut H, node: usize, now: Time) {
        let unit = &mut self.transfers.units[node];
        unit.writing = None;
        let id = unit.arrived.pop_front().expect("a packet has come");
        self.transfers.packets.remove(id);
        self.make_packet_room(host, node, now);
    }

    pub(super) fn write_looked_up<H: Host>(&mut self, host: &mut H, node: usize, now: Time) {
        self.controllers[node].taken -= 1;
        let &Writing { packet, line } =
            self.transfers.units[node].writing.as_ref().expect("a line is written");
        match self.find(host, (node, line), true, now) {
            Found::Ready { was_cached } => {
                self.transfers.statistics[node].invalidated += u64::from(was_cached);
                let after = if was_cached { self.times.cached } else { Time::ZERO };
                self.write_line(host, node, after, now);
            }
            Found::Later(at) => {
                self.transfers.statistics[node].retries += 1;
                let unit = &mut self.transfers.units[node];
                (unit.writing, unit.writes_from) = (None, at);
            }
            Found::Elsewhere(other) => {
                let packet = self.transfers.packets.get(packet);
                let (of, address) = (packet.transfer, packet.line(self.times.line_bytes));
                let wrong = format!(
                    "node {other} has a copy of the line at {address:#x}, which it writes at node {node} \
                     (flash.transfer.coherent=true has it fetched)"
                );
                self.drop_packet(host, node, now);
                self.fail(host, of, &wrong, now);
            }
            Found::Ask => {
                self.transfers.statistics[node].fetched += 1;
                self.ask(host, (node, line), WRITE, now);
            }
        }
        self.serve(host, node, now);
    }

    /// The line that `node` had to ask for is there.
    pub(super) fn write_asked<H: Host>(&mut self, host: &mut H, node: usize, now: Time) {
        self.write_line(host, node, Time::ZERO, now);
    }

    /// No cache has the line: the packet's data are written; the cache takes `after` longer.
    fn write_line<H: Host>(&mut self, host: &mut H, node: usize, after: Time, now: Time) {
        let line_bytes = self.times.line_bytes;
        let unit = &mut self.transfers.units[node];
        let Writing { packet: id, line } = unit.writing.take().expect("a line is written");
        unit.arrived.pop_front();
        let packet = self.transfers.packets.get(id);
        let mut at = 0;
        for run in &packet.runs {
            let data = &packet.data[at..at + run.bytes as usize];
            host.write(line + run.destination % line_bytes, data);
            at += run.bytes as usize;
        }
        let is_part = (packet.data.len() as u64) < line_bytes;
        let statistics = &mut self.transfers.statistics[node];
        statistics.received_bytes += packet.data.len() as u64;
        statistics.lines_written += 1;
        if is_part {
            statistics.lines_merged += 1;
            self.memory(node, now);
        }
        let end = self.memory(node, now);
        self.transfers.units[node].own_until = end;
        host.schedule(end + after, Step::Transfer(TransferStep::Written(id)));
        self.make_packet_room(host, node, now);
        self.go_on(host, node, now);
    }

    /// There is room for one packet more.
    fn make_packet_room<H: Host>(&mut self, host: &mut H, node: usize, now: Time) {
        let unit = &mut self.transfers.units[node];
        unit.room += 1;
        if let Some(&first) = unit.waiting.front() {
            self.push(host, first, now);
        }
    }

    /// Memory has a packet's data.
    pub(super) fn written<H: Host>(&mut self, host: &mut H, id: u32, now: Time) {
        let packet = self.transfers.packets.remove(id);
        self.count(host, packet.transfer, Counts::Written, now);
    }
}
