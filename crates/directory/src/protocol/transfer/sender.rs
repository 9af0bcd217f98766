//! The source of transfers: they are prepared; lines are read into the controller; packets leave.
//!
//! Transfers of a node take turns, packet by packet. The next line is read while packets leave, as far as there is room for them
//! in the controller (`TransferTimes::lines`).

use chasqui_engine::Time;

use super::super::{Host, Protocol, Step};
use super::command::Run;
use super::line::{Found, READ};
use super::{Counts, Packet, TransferStep};

/// A packet whose lines are read.
pub(super) struct Reading {
    transfer: u32,
    runs: Vec<Run>,
    /// Lines that have yet to be read, the next at the end: virtual addresses.
    missing: Vec<u64>,
    /// Physical address of the one that is.
    pub line: u64,
    /// The memory has given it by then.
    memory_at: Time,
    began: Time,
    is_under_way: bool,
    /// It is not tried before.
    pub from: Time,
}

impl Reading {
    /// A line is to be read.
    pub fn is_next(&self) -> bool {
        !self.is_under_way
    }
}

/// The lines that `runs` are in, in their order, each once.
fn lines_of(runs: &[Run], line_bytes: u64) -> Vec<u64> {
    let mut lines = vec![];
    for run in runs {
        let first = run.source / line_bytes * line_bytes;
        let of_run = (first..run.source + run.bytes).step_by(line_bytes as usize);
        lines.extend(of_run.filter(|line| !lines.contains(line)).collect::<Vec<_>>());
    }
    lines
}

impl Protocol {
    /// A transfer is prepared at its source, after those before it.
    pub(super) fn prepare<H: Host>(&mut self, host: &mut H, id: u32, now: Time) {
        let node = self.transfers.transfers.get(id).source;
        let startup = self.times.transfer.startup;
        let prepared_at = &mut self.transfers.units[node].prepared_at;
        *prepared_at = now.max(*prepared_at) + startup;
        self.transfers.statistics[node].startup_ps += startup.0;
        host.schedule(*prepared_at, Step::Transfer(TransferStep::Started(id)));
    }

    pub(super) fn started<H: Host>(&mut self, host: &mut H, id: u32, now: Time) {
        let node = self.transfers.transfers.get(id).source;
        self.transfers.units[node].sending.push_back(id);
        self.go_on(host, node, now);
    }

    /// The packet that `node` reads next is chosen, if there is room for it.
    pub(super) fn choose<H: Host>(&mut self, host: &mut H, node: usize, now: Time) {
        let line_bytes = self.times.line_bytes;
        loop {
            let unit = &mut self.transfers.units[node];
            if unit.reading.is_some() || unit.read.len() >= self.times.transfer.lines {
                return;
            }
            let Some(id) = unit.sending.pop_front() else { return };
            let transfer = self.transfers.transfers.get_mut(id);
            if transfer.has_failed {
                continue;
            }
            let runs = transfer.cursor.next(&transfer.command, line_bytes);
            transfer.outstanding += 1;
            if !transfer.cursor.is_at_end(&transfer.command) {
                unit.sending.push_back(id);
            }
            let mut missing = lines_of(&runs, line_bytes);
            transfer.lines.retain(|(line, _)| missing.contains(line));
            missing.retain(|line| transfer.lines.iter().all(|(read, _)| read != line));
            missing.reverse();
            let is_complete = missing.is_empty();
            unit.reading = Some(Reading {
                transfer: id,
                runs,
                missing,
                line: 0,
                memory_at: now,
                began: now,
                is_under_way: false,
                from: now,
            });
            if is_complete {
                self.collect_packet(host, node, now);
            }
        }
    }

    /// The next line is read: its state is looked up, and the memory read meanwhile.
    pub(super) fn begin_read<H: Host>(&mut self, host: &mut H, node: usize, now: Time) {
        let unit = &mut self.transfers.units[node];
        let reading = unit.reading.as_mut().expect("a packet is read");
        let id = reading.transfer;
        let address = *reading.missing.last().expect("a line is missing");
        let transfer = self.transfers.transfers.get(id);
        let physical = host.physical(transfer.owner, address, false).filter(|_| !transfer.has_failed);
        let Some(line) = physical.filter(|&line| host.home(line) == node) else {
            unit.reading = None;
            let wrong = format!("there is no page at {address:#x} any more that it sends from");
            return self.fail(host, id, &wrong, now);
        };
        let memory_at = self.memory(node, now);
        let unit = &mut self.transfers.units[node];
        unit.own_until = memory_at;
        let reading = unit.reading.as_mut().expect("a packet is read");
        (reading.line, reading.memory_at, reading.began) = (line, memory_at, now);
        reading.is_under_way = true;
        let step = Step::Transfer(TransferStep::ReadLookedUp(node));
        self.occupy(host, node, step, (now, now + self.times.lookup));
    }

    pub(super) fn read_looked_up<H: Host>(&mut self, host: &mut H, node: usize, now: Time) {
        self.controllers[node].taken -= 1;
        let reading = self.transfers.units[node].reading.as_ref().expect("a packet is read");
        let (line, memory_at, id) = (reading.line, reading.memory_at, reading.transfer);
        match self.find(host, (node, line), false, now) {
            Found::Ready { was_cached } => {
                self.transfers.statistics[node].retrieved += u64::from(was_cached);
                let after = if was_cached { self.times.cached } else { Time::ZERO };
                self.take_line(host, node, now.max(memory_at) + after);
            }
            Found::Later(at) => {
                self.transfers.statistics[node].retries += 1;
                let reading = self.transfers.units[node].reading.as_mut().expect("a packet is read");
                (reading.from, reading.is_under_way) = (at, false);
            }
            Found::Elsewhere(other) => {
                let reading = self.transfers.units[node].reading.take().expect("a packet is read");
                let wrong = format!(
                    "node {other} has modified the line at {:#x}, which it sends from node {node} \
                     (flash.transfer.coherent=true has it fetched)",
                    reading.missing.last().expect("a line")
                );
                self.fail(host, id, &wrong, now);
            }
            Found::Ask => {
                self.transfers.statistics[node].fetched += 1;
                self.ask(host, (node, line), READ, now);
            }
        }
        self.serve(host, node, now);
    }

    /// The line that `node` had to ask for is there.
    pub(super) fn read_asked<H: Host>(&mut self, host: &mut H, node: usize, now: Time) {
        self.take_line(host, node, now);
    }

    /// The line has its data now; it is in the controller at `at`.
    fn take_line<H: Host>(&mut self, host: &mut H, node: usize, at: Time) {
        let reading = self.transfers.units[node].reading.as_ref().expect("a packet is read");
        let mut bytes = vec![0; self.times.line_bytes as usize];
        host.read(reading.line, &mut bytes);
        let address = *reading.missing.last().expect("a line is missing");
        let statistics = &mut self.transfers.statistics[node];
        statistics.lines_read += 1;
        statistics.read_ps += (at - reading.began).0;
        self.transfers.transfers.get_mut(reading.transfer).lines.push((address, bytes));
        host.schedule(at, Step::Transfer(TransferStep::LineRead(node)));
    }

    pub(super) fn line_read<H: Host>(&mut self, host: &mut H, node: usize, now: Time) {
        let unit = &mut self.transfers.units[node];
        unit.own_until = unit.own_until.max(now);
        let reading = unit.reading.as_mut().expect("a packet is read");
        reading.missing.pop();
        (reading.is_under_way, reading.from) = (false, now);
        if reading.missing.is_empty() {
            self.collect_packet(host, node, now);
        }
        self.go_on(host, node, now);
    }

    /// All lines of the packet are there: it waits to leave.
    fn collect_packet<H: Host>(&mut self, host: &mut H, node: usize, now: Time) {
        let unit = &mut self.transfers.units[node];
        let reading = unit.reading.take().expect("a packet is read");
        let transfer = self.transfers.transfers.get(reading.transfer);
        let mut data = vec![];
        for run in &reading.runs {
            for address in run.source..run.source + run.bytes {
                let line = address / self.times.line_bytes * self.times.line_bytes;
                let (_, bytes) = transfer.lines.iter().find(|(at, _)| *at == line).expect("it was read");
                data.push(bytes[(address - line) as usize]);
            }
        }
        let packet = Packet {
            transfer: reading.transfer,
            to: transfer.destination,
            runs: reading.runs,
            data,
            since: now,
        };
        unit.read.push_back(self.transfers.packets.add(packet));
        self.push(host, node, now);
    }

    /// The next packet leaves that there is room for.
    pub(super) fn push<H: Host>(&mut self, host: &mut H, node: usize, now: Time) {
        let transfers = &mut self.transfers;
        if transfers.units[node].is_pushing {
            return;
        }
        let mut place = 0;
        while let Some(&id) = transfers.units[node].read.get(place) {
            let to = transfers.packets.get(id).to;
            let there = &mut transfers.units[to];
            if there.room > 0 && there.waiting.front().is_none_or(|&first| first == node) {
                there.waiting.pop_front();
                return self.leave_with(host, node, place, now);
            }
            if !there.waiting.contains(&node) {
                there.waiting.push_back(node);
            }
            place += 1;
        }
    }

    fn leave_with<H: Host>(&mut self, host: &mut H, node: usize, place: usize, now: Time) {
        let unit = &mut self.transfers.units[node];
        let id = unit.read.remove(place).expect("it waits");
        unit.is_pushing = true;
        let packet = self.transfers.packets.get(id);
        let (to, bytes, of) = (packet.to, packet.data.len() as u64, packet.transfer);
        self.transfers.units[to].room -= 1;
        let push = self.times.wire(bytes);
        let statistics = &mut self.transfers.statistics[node];
        statistics.packets += 1;
        statistics.sent_bytes += bytes;
        statistics.push_ps += push.0;
        statistics.push_waits_ps += (now - packet.since).0;
        host.schedule(now + push, Step::Transfer(TransferStep::Pushed(node)));
        let way = self.times.between_with(node, to, bytes);
        host.schedule(now + way, Step::Transfer(TransferStep::Arrive(id)));
        self.count(host, of, Counts::Sent, now);
    }

    pub(super) fn pushed<H: Host>(&mut self, host: &mut H, node: usize, now: Time) {
        self.transfers.units[node].is_pushing = false;
        self.push(host, node, now);
        self.go_on(host, node, now);
    }
}
