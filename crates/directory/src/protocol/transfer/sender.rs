//! The source of transfers: they are prepared; lines are read into the controller; packets leave.
//!
//! Transfers of a node take turns, packet by packet. The next line is read while packets leave, as far as there is room for them
//! in the controller (`TransferTimes::lines`).

use chasqui_coherence::CacheState;
use chasqui_engine::Time;

use super::super::links::way;
use super::super::{Host, Protocol, Step};
use super::command::Run;
use super::line::{Found, READ, ask, find};
use super::receiver::release;
use super::{Cast, Counts, ONE, Packet, TransferStep, count, fail, go_on_at, subtract};

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

/// A transfer is prepared at its source, after those before it.
pub(super) fn prepare<H: Host>(protocol: &mut Protocol, host: &mut H, id: u32, now: Time) {
    let node = protocol.transfers.transfers.get(id).source;
    let startup = protocol.times.transfer.startup;
    let prepared_at = &mut protocol.transfers.units[node].prepared_at;
    *prepared_at = now.max(*prepared_at) + startup;
    protocol.transfers.statistics[node].startup_ps += startup.0;
    host.schedule(*prepared_at, Step::Transfer(TransferStep::Started(id)));
}

pub(super) fn started<H: Host>(protocol: &mut Protocol, host: &mut H, id: u32, now: Time) {
    let node = protocol.transfers.transfers.get(id).source;
    protocol.transfers.units[node].sending.push_back(id);
    protocol.go_on(host, node, now);
}

/// The packet that `node` reads next is chosen, if there is room for it.
pub(super) fn choose<H: Host>(protocol: &mut Protocol, host: &mut H, node: usize, now: Time) {
    let line_bytes = protocol.times.line_bytes;
    loop {
        let unit = &mut protocol.transfers.units[node];
        if unit.reading.is_some() || unit.read.len() >= protocol.times.transfer.lines {
            return;
        }
        let Some(id) = unit.sending.pop_front() else { return };
        let transfer = protocol.transfers.transfers.get_mut(id);
        if transfer.has_failed {
            continue;
        }
        // As many lines as a block has rows are kept meanwhile.
        let block = (line_bytes / transfer.command.bytes).clamp(1, protocol.times.transfer.lines as u64);
        let runs = transfer.cursor.next(&transfer.command, line_bytes, block);
        transfer.outstanding += runs.iter().map(|run| run.bytes).sum::<u64>() * transfer.copies();
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
            collect_packet(protocol, host, node, now);
        }
    }
}

/// The next line is read: its state is looked up, and the memory read meanwhile.
pub(super) fn begin_read<H: Host>(protocol: &mut Protocol, host: &mut H, node: usize, now: Time) {
    let unit = &mut protocol.transfers.units[node];
    let reading = unit.reading.as_mut().expect("a packet is read");
    let id = reading.transfer;
    let address = *reading.missing.last().expect("a line is missing");
    let transfer = protocol.transfers.transfers.get(id);
    let physical = host.physical(transfer.owner, address, false).filter(|_| !transfer.has_failed);
    let Some(line) = physical.filter(|&line| host.home(line) == node) else {
        unit.reading = None;
        let wrong = format!("there is no page at {address:#x} any more that it sends from");
        return fail(protocol, host, id, &wrong, now);
    };
    let memory_at = protocol.memory(node, now);
    let unit = &mut protocol.transfers.units[node];
    unit.own_until = memory_at;
    let reading = unit.reading.as_mut().expect("a packet is read");
    (reading.line, reading.memory_at, reading.began) = (line, memory_at, now);
    reading.is_under_way = true;
    let step = Step::Transfer(TransferStep::ReadLookedUp(node));
    protocol.occupy(host, node, step, (now, now + protocol.times.lookup));
}

pub(super) fn read_looked_up<H: Host>(protocol: &mut Protocol, host: &mut H, node: usize, now: Time) {
    protocol.controllers[node].taken -= 1;
    let reading = protocol.transfers.units[node].reading.as_ref().expect("a packet is read");
    let (line, memory_at, id) = (reading.line, reading.memory_at, reading.transfer);
    match find(protocol, host, (node, line), false, now) {
        Found::Ready { was_cached } => {
            protocol.transfers.statistics[node].retrieved += u64::from(was_cached);
            let after = if was_cached { protocol.times.cached } else { Time::ZERO };
            take_line(protocol, host, node, now.max(memory_at) + after);
        }
        Found::Later(at) => {
            protocol.transfers.statistics[node].retries += 1;
            let reading = protocol.transfers.units[node].reading.as_mut().expect("a packet is read");
            (reading.from, reading.is_under_way) = (at, false);
        }
        Found::Elsewhere(other) => {
            let reading = protocol.transfers.units[node].reading.take().expect("a packet is read");
            let wrong = format!(
                "node {other} has modified the line at {:#x}, which it sends from node {node} \
                 (flash.transfer.coherent=true has it fetched)",
                reading.missing.last().expect("a line")
            );
            fail(protocol, host, id, &wrong, now);
        }
        Found::Ask => {
            protocol.transfers.statistics[node].fetched += 1;
            ask(protocol, host, (node, line), READ, now);
        }
    }
    protocol.serve(host, node, now);
}

/// The line that `node` had to ask for is there.
pub(super) fn read_asked<H: Host>(protocol: &mut Protocol, host: &mut H, node: usize, now: Time) {
    let reading = protocol.transfers.units[node].reading.as_mut().expect("a packet is read");
    if protocol.copies[node].state(reading.line) == CacheState::Modified {
        // The own cache has it meanwhile.
        (reading.from, reading.is_under_way) = (now, false);
        protocol.transfers.statistics[node].retries += 1;
        return go_on_at(protocol, host, node, now);
    }
    take_line(protocol, host, node, now);
}

/// The line has its data now; it is in the controller at `at`.
fn take_line<H: Host>(protocol: &mut Protocol, host: &mut H, node: usize, at: Time) {
    let reading = protocol.transfers.units[node].reading.as_ref().expect("a packet is read");
    let mut bytes = vec![0; protocol.times.line_bytes as usize];
    host.read(reading.line, &mut bytes);
    let address = *reading.missing.last().expect("a line is missing");
    let statistics = &mut protocol.transfers.statistics[node];
    statistics.lines_read += 1;
    statistics.read_ps += (at - reading.began).0;
    protocol.transfers.transfers.get_mut(reading.transfer).lines.push((address, bytes));
    host.schedule(at, Step::Transfer(TransferStep::LineRead(node)));
}

pub(super) fn line_read<H: Host>(protocol: &mut Protocol, host: &mut H, node: usize, now: Time) {
    let unit = &mut protocol.transfers.units[node];
    unit.own_until = unit.own_until.max(now);
    let reading = unit.reading.as_mut().expect("a packet is read");
    reading.missing.pop();
    (reading.is_under_way, reading.from) = (false, now);
    if reading.missing.is_empty() {
        collect_packet(protocol, host, node, now);
    }
    protocol.go_on(host, node, now);
}

/// All lines of the packet are there: it waits to leave.
fn collect_packet<H: Host>(protocol: &mut Protocol, host: &mut H, node: usize, now: Time) {
    let unit = &mut protocol.transfers.units[node];
    let reading = unit.reading.take().expect("a packet is read");
    let transfer = protocol.transfers.transfers.get(reading.transfer);
    let mut data = vec![];
    for run in &reading.runs {
        for address in run.source..run.source + run.bytes {
            let line = address / protocol.times.line_bytes * protocol.times.line_bytes;
            let (_, bytes) = transfer.lines.iter().find(|(at, _)| *at == line).expect("it was read");
            data.push(bytes[(address - line) as usize]);
        }
    }
    let (id, runs) = (reading.transfer, reading.runs);
    let packet = |to, class, cast| Packet {
        transfer: id,
        to,
        class,
        runs: runs.clone(),
        data: data.clone(),
        since: now,
        hold: None,
        cast,
    };
    let casts = Cast::of(transfer, &protocol.times);
    let packets = match &casts[..] {
        [] => vec![packet(transfer.destination, ONE, None)],
        casts => casts.iter().map(|&(cast, to, class)| packet(to, class, Some(cast))).collect(),
    };
    for packet in packets {
        let id = protocol.transfers.packets.add(packet);
        protocol.transfers.units[node].read.push_back(id);
    }
    push(protocol, host, node, now);
}

/// The next packet leaves that there is room for.
pub(super) fn push<H: Host>(protocol: &mut Protocol, host: &mut H, node: usize, now: Time) {
    let transfers = &mut protocol.transfers;
    if transfers.units[node].is_pushing {
        return;
    }
    let mut place = 0;
    while let Some(&id) = transfers.units[node].read.get(place) {
        let &Packet { to, class, .. } = transfers.packets.get(id);
        let there = &mut transfers.units[to];
        let waiting = &mut there.waiting[class];
        if there.room[class] > 0 && waiting.front().is_none_or(|&first| first == node) {
            waiting.pop_front();
            return leave_with(protocol, host, node, place, now);
        }
        if !waiting.contains(&node) {
            waiting.push_back(node);
        }
        place += 1;
    }
}

fn leave_with<H: Host>(protocol: &mut Protocol, host: &mut H, node: usize, place: usize, now: Time) {
    let unit = &mut protocol.transfers.units[node];
    let id = unit.read.remove(place).expect("it waits");
    unit.is_pushing = true;
    let packet = protocol.transfers.packets.get_mut(id);
    let (to, bytes, of) = (packet.to, packet.data.len() as u64, packet.transfer);
    let (cast, hold) = (packet.cast, packet.hold.take());
    protocol.transfers.units[to].room[packet.class] -= 1;
    let push = protocol.times.wire(bytes);
    let statistics = &mut protocol.transfers.statistics[node];
    statistics.packets += 1;
    statistics.sent_bytes += bytes;
    statistics.push_ps += push.0;
    statistics.push_waits_ps += (now - packet.since).0;
    host.schedule(now + push, Step::Transfer(TransferStep::Pushed(node)));
    let way = way(protocol, (node, to), bytes, now);
    host.schedule(now + way, Step::Transfer(TransferStep::Arrive(id)));
    match cast {
        None => count(protocol, host, (of, bytes), Counts::Sent, now),
        // Of a broadcast what leaves the source counts there.
        Some(cast) if cast.source == node => subtract(protocol, host, (of, bytes), now),
        Some(_) => protocol.transfers.statistics[node].forwarded += 1,
    }
    if let Some(hold) = hold {
        release(protocol, host, hold, now);
    }
}

pub(super) fn pushed<H: Host>(protocol: &mut Protocol, host: &mut H, node: usize, now: Time) {
    protocol.transfers.units[node].is_pushing = false;
    push(protocol, host, node, now);
    protocol.go_on(host, node, now);
}
