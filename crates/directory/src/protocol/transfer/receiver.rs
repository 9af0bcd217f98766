//! The destination of transfers: packets come, and are written to memory.
//!
//! The state of the line is looked up, the own cache gives up its copy, and memory is written; of a line of which a part comes
//! the rest is read before. From the look-up on whoever loads has the new data.

use chasqui_engine::Time;

use super::super::{Host, Protocol, Step};
use super::command::{Command, Run};
use super::line::{Found, WRITE, ask, find};
use super::sender::push;
use super::{Cast, Counts, Hold, ONE, Packet, TransferStep, Writing, count, fail};

pub(super) fn packet_arrives<H: Host>(protocol: &mut Protocol, host: &mut H, id: u32, now: Time) {
    let transfers = &mut protocol.transfers;
    let packet = transfers.packets.get_mut(id);
    packet.since = now;
    let (node, of, bytes) = (packet.to, packet.transfer, packet.data.len() as u64);
    packet.hold = Some(transfers.holds.add(Hold { node, class: packet.class, users: 1 }));
    if let Some(cast) = packet.cast {
        cast_arrives(protocol, host, (id, cast), now);
    } else {
        transfers.units[node].arrived.push_back(id);
        count(protocol, host, (of, bytes), Counts::Arrived, now);
    }
    protocol.go_on(host, node, now);
}

/// A packet of a broadcast comes: it goes on to the next node, and to where this one has said.
fn cast_arrives<H: Host>(protocol: &mut Protocol, host: &mut H, (id, cast): (u32, Cast), now: Time) {
    let transfers = &mut protocol.transfers;
    let packet = transfers.packets.remove(id);
    let (node, hold) = (packet.to, packet.hold.expect("it has come"));
    let Some(&joined) = transfers.units[node].joined.get(&(cast.owner, cast.group)) else {
        let what = format!("block transfer: node {node} has not joined broadcast {}", cast.group);
        host.fault((cast.source, cast.owner), what, now);
        return release(protocol, host, hold, now);
    };
    let transfer = transfers.transfers.get_mut(joined);
    let command = transfer.command;
    if !std::mem::replace(&mut transfer.has_begun, true) {
        transfers.active += 1;
        transfer.serial = cast.serial;
        if command.bytes * command.count != cast.bytes {
            let wrong = format!(
                "broadcast {} has {} bytes, and node {node} has joined one of {}",
                cast.group,
                cast.bytes,
                command.bytes * command.count
            );
            fail(protocol, host, joined, &wrong, now);
            return release(protocol, host, hold, now);
        }
    }
    if transfers.transfers.get(joined).serial != cast.serial {
        let what = format!(
            "block transfer: broadcast {} has been started again before node {node} has all of the one before",
            cast.group
        );
        host.fault((cast.source, cast.owner), what, now);
        return release(protocol, host, hold, now);
    }
    let (next, class) = cast.next(node, packet.class, &protocol.times);
    let transfers = &mut protocol.transfers;
    let part = |(runs, data)| Packet {
        transfer: joined,
        to: node,
        class: ONE,
        runs,
        data,
        since: now,
        hold: Some(hold),
        cast: None,
    };
    for packet in parts(&packet, &command, protocol.times.line_bytes).into_iter().map(part) {
        let part = transfers.packets.add(packet);
        transfers.holds.get_mut(hold).users += 1;
        transfers.units[node].arrived.push_back(part);
    }
    if next == cast.source {
        return release(protocol, host, hold, now);
    }
    // Its place here is taken until it leaves.
    let forwarded = transfers.packets.add(Packet { to: next, class, since: now, hold: Some(hold), ..packet });
    transfers.units[node].read.push_back(forwarded);
    push(protocol, host, node, now);
}

/// Where the data of a broadcast's packet go at a node that has joined it by `command`: for each line what goes there.
fn parts(packet: &Packet, command: &Command, line_bytes: u64) -> Vec<(Vec<Run>, Vec<u8>)> {
    let mut parts: Vec<(Vec<Run>, Vec<u8>)> = vec![];
    let mut data = &packet.data[..];
    for run in &packet.runs {
        // Its place among all bytes.
        let (mut place, end) = (run.destination, run.destination + run.bytes);
        while place < end {
            let (point, done) = (place / command.bytes, place % command.bytes);
            let to = command.destination + point * command.destination_stride + done;
            let bytes = (end - place).min(command.bytes - done).min(line_bytes - to % line_bytes);
            let run = Run { source: place, destination: to, bytes };
            let (own, rest) = data.split_at(bytes as usize);
            match parts.last_mut() {
                Some((runs, bytes)) if runs[0].destination / line_bytes == to / line_bytes => {
                    runs.push(run);
                    bytes.extend_from_slice(own);
                }
                _ => parts.push((vec![run], own.to_vec())),
            }
            (data, place) = (rest, place + bytes);
        }
    }
    parts
}

/// Who has held a packet's place does not any more.
pub(super) fn release<H: Host>(protocol: &mut Protocol, host: &mut H, id: u32, now: Time) {
    let hold = protocol.transfers.holds.get_mut(id);
    hold.users -= 1;
    if hold.users > 0 {
        return;
    }
    let Hold { node, class, .. } = protocol.transfers.holds.remove(id);
    let unit = &mut protocol.transfers.units[node];
    unit.room[class] += 1;
    if let Some(&first) = unit.waiting[class].front() {
        push(protocol, host, first, now);
    }
}

/// The oldest packet's line is looked up.
pub(super) fn begin_write<H: Host>(protocol: &mut Protocol, host: &mut H, node: usize, now: Time) {
    let id = *protocol.transfers.units[node].arrived.front().expect("a packet has come");
    let packet = protocol.transfers.packets.get(id);
    let transfer = protocol.transfers.transfers.get(packet.transfer);
    let address = packet.line(protocol.times.line_bytes);
    let physical = host.physical(transfer.receiver, address, true).filter(|_| !transfer.has_failed);
    let Some(line) = physical.filter(|&line| host.home(line) == node) else {
        let wrong = format!("there is no page at {address:#x} any more that it goes to");
        let of = packet.transfer;
        drop_packet(protocol, host, node, now);
        return fail(protocol, host, of, &wrong, now);
    };
    protocol.transfers.statistics[node].write_waits_ps += (now - packet.since).0;
    let unit = &mut protocol.transfers.units[node];
    unit.writing = Some(Writing { packet: id, line });
    unit.own_until = unit.own_until.max(now + protocol.times.lookup);
    let step = Step::Transfer(TransferStep::WriteLookedUp(node));
    protocol.occupy(host, node, step, (now, now + protocol.times.lookup));
}

/// The oldest packet is not written: its transfer has failed.
fn drop_packet<H: Host>(protocol: &mut Protocol, host: &mut H, node: usize, now: Time) {
    let unit = &mut protocol.transfers.units[node];
    unit.writing = None;
    let id = unit.arrived.pop_front().expect("a packet has come");
    let packet = protocol.transfers.packets.remove(id);
    release(protocol, host, packet.hold.expect("it has come"), now);
}

pub(super) fn write_looked_up<H: Host>(protocol: &mut Protocol, host: &mut H, node: usize, now: Time) {
    protocol.controllers[node].taken -= 1;
    let &Writing { packet, line } =
        protocol.transfers.units[node].writing.as_ref().expect("a line is written");
    match find(protocol, host, (node, line), true, now) {
        Found::Ready { was_cached } => {
            protocol.transfers.statistics[node].invalidated += u64::from(was_cached);
            let after = if was_cached { protocol.times.cached } else { Time::ZERO };
            write_line(protocol, host, node, after, now);
        }
        Found::Later(at) => {
            protocol.transfers.statistics[node].retries += 1;
            let unit = &mut protocol.transfers.units[node];
            (unit.writing, unit.writes_from) = (None, at);
        }
        Found::Elsewhere(other) => {
            let packet = protocol.transfers.packets.get(packet);
            let (of, address) = (packet.transfer, packet.line(protocol.times.line_bytes));
            let wrong = format!(
                "node {other} has a copy of the line at {address:#x}, which it writes at node {node} \
                 (flash.transfer.coherent=true has it fetched)"
            );
            drop_packet(protocol, host, node, now);
            fail(protocol, host, of, &wrong, now);
        }
        Found::Ask => {
            protocol.transfers.statistics[node].fetched += 1;
            ask(protocol, host, (node, line), WRITE, now);
        }
    }
    protocol.serve(host, node, now);
}

/// The line that `node` had to ask for is there.
pub(super) fn write_asked<H: Host>(protocol: &mut Protocol, host: &mut H, node: usize, now: Time) {
    write_line(protocol, host, node, Time::ZERO, now);
}

/// No cache has the line: the packet's data are written; the cache takes `after` longer.
fn write_line<H: Host>(protocol: &mut Protocol, host: &mut H, node: usize, after: Time, now: Time) {
    let line_bytes = protocol.times.line_bytes;
    let unit = &mut protocol.transfers.units[node];
    let Writing { packet: id, line } = unit.writing.take().expect("a line is written");
    unit.arrived.pop_front();
    let packet = protocol.transfers.packets.get_mut(id);
    let hold = packet.hold.take();
    let mut at = 0;
    for run in &packet.runs {
        let data = &packet.data[at..at + run.bytes as usize];
        host.write(line + run.destination % line_bytes, data);
        at += run.bytes as usize;
    }
    let is_part = (packet.data.len() as u64) < line_bytes;
    let statistics = &mut protocol.transfers.statistics[node];
    statistics.received_bytes += packet.data.len() as u64;
    statistics.lines_written += 1;
    if is_part {
        statistics.lines_merged += 1;
        protocol.memory(node, now);
    }
    let end = protocol.memory(node, now);
    protocol.transfers.units[node].own_until = end;
    host.schedule(end + after, Step::Transfer(TransferStep::Written(id)));
    if let Some(hold) = hold {
        release(protocol, host, hold, now);
    }
    protocol.go_on(host, node, now);
}

/// Memory has a packet's data.
pub(super) fn written<H: Host>(protocol: &mut Protocol, host: &mut H, id: u32, now: Time) {
    let packet = protocol.transfers.packets.remove(id);
    count(protocol, host, (packet.transfer, packet.data.len() as u64), Counts::Written, now);
}
