//! Flags: words in memory that are set when all of a transfer's data are there.
//!
//! The destination's controller tells the flag's home, which asks for the line as its processor would, so that whoever polls it
//! loses its copy, sets the word, and gives the line up.

use chasqui_engine::Time;

use super::super::links::way;
use super::super::{Host, Protocol, Step};
use super::line::{FLAG, ask};
use super::{TransferStep, end, fail};
use crate::registers::TRANSFER_ADD;

/// Length of a flag [bytes].
const FLAG_BYTES: u64 = 8;

/// Memory has all data of a transfer.
pub(super) fn all_written<H: Host>(protocol: &mut Protocol, host: &mut H, id: u32, now: Time) {
    let transfer = protocol.transfers.transfers.get(id);
    if transfer.command.flag == 0 {
        return end(protocol, id, now);
    }
    let Some(home) = flag_home(protocol, host, id, now) else { return };
    let from = protocol.transfers.transfers.get(id).destination;
    if home == from {
        return flag_comes(protocol, host, id, now);
    }
    let made = now + protocol.times.construct;
    let way = way(protocol, (from, home), FLAG_BYTES, made);
    host.schedule(made + way, Step::Transfer(TransferStep::Flag(id)));
}

/// Physical address of a transfer's flag. `None`: its page is not there any more.
fn flag_place<H: Host>(protocol: &mut Protocol, host: &mut H, id: u32, now: Time) -> Option<u64> {
    let transfer = protocol.transfers.transfers.get(id);
    let address = transfer.command.flag;
    let physical = host.physical(transfer.owner, address, true);
    if physical.is_none() {
        fail(protocol, host, id, &format!("there is no page at {address:#x} any more, of its flag"), now);
    }
    physical
}

fn flag_home<H: Host>(protocol: &mut Protocol, host: &mut H, id: u32, now: Time) -> Option<usize> {
    let place = flag_place(protocol, host, id, now)?;
    Some(host.home(place))
}

/// The home of a flag is told to set it.
pub(super) fn flag_comes<H: Host>(protocol: &mut Protocol, host: &mut H, id: u32, now: Time) {
    let Some(home) = flag_home(protocol, host, id, now) else { return };
    protocol.transfers.units[home].flags.push_back(id);
    next_flag(protocol, host, home, now);
}

/// The next flag of `node` is set, if none is being.
pub(super) fn next_flag<H: Host>(protocol: &mut Protocol, host: &mut H, node: usize, now: Time) {
    while protocol.transfers.units[node].flag_line.is_none() {
        let Some(&id) = protocol.transfers.units[node].flags.front() else { return };
        let Some(place) = flag_place(protocol, host, id, now) else {
            protocol.transfers.units[node].flags.pop_front();
            continue;
        };
        let line = place / protocol.times.line_bytes * protocol.times.line_bytes;
        protocol.transfers.units[node].flag_line = Some(line);
        return ask(protocol, host, (node, line), FLAG, now);
    }
}

/// No cache has the line of the first flag of `node`: it is set.
pub(super) fn set_flag<H: Host>(protocol: &mut Protocol, host: &mut H, node: usize, now: Time) {
    let unit = &mut protocol.transfers.units[node];
    let line = unit.flag_line.take();
    let id = unit.flags.pop_front().expect("a flag is to be set");
    let Some(place) = flag_place(protocol, host, id, now) else { return };
    if line != Some(place / protocol.times.line_bytes * protocol.times.line_bytes) {
        return fail(protocol, host, id, "the page of its flag has been moved", now);
    }
    let command = protocol.transfers.transfers.get(id).command;
    let mut value = command.flag_value;
    if command.has(TRANSFER_ADD) {
        let mut bytes = [0; FLAG_BYTES as usize];
        host.read(place, &mut bytes);
        value = value.wrapping_add(u64::from_le_bytes(bytes));
    }
    host.write(place, &value.to_le_bytes());
    protocol.transfers.statistics[node].flags += 1;
    end(protocol, id, now);
}
