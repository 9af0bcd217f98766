//! What must hold of a port between accesses, for tests.

use super::fast::NOTHING;
use super::{Access, Port, PortKind};
use crate::PAGE_BYTES;
use crate::cache::{Cache, State};

/// Whether the invariants of `port` hold ([`Port::check_invariants`]).
pub(super) fn invariants(port: &Port) -> Result<(), String> {
    let (l1i, l1d, l2) = (port.l1i.cache(), port.l1d.cache(), port.l2.cache());
    for (name, cache) in [("L1I", Some(l1i)), ("L1D", Some(l1d)), ("L2", l2)] {
        let mut lines: Vec<u64> = cache.iter().flat_map(|c| c.lines()).map(|(line, _)| line).collect();
        let all = lines.len();
        lines.sort_unstable();
        lines.dedup();
        if lines.len() != all {
            return Err(format!("a line is in {name} twice"));
        }
    }
    if let Some(l2) = l2 {
        includes(l2, l1i, "L1I")?;
        includes(l2, l1d, "L1D")?;
    }
    network(port)?;
    if port.parameters.kind == PortKind::Scratchpad {
        return Ok(());
    }
    port.l1i.check_owners()?;
    port.l1d.check_owners()?;
    if port.is_cached() {
        fast_data(port)?;
        fast_instructions(port)?;
    }
    Ok(())
}

/// No line of the data cache holds what is bound in the network cache.
fn network(port: &Port) -> Result<(), String> {
    let Some(network) = &port.network.cache else { return Ok(()) };
    network.check()?;
    match network.sectors().find(|&sector| port.l1d.find(port.line(sector)).is_some()) {
        Some(sector) => Err(format!("sector {sector:#x} is bound, its line is in L1D")),
        None => Ok(()),
    }
}

fn fast_data(port: &Port) -> Result<(), String> {
    for (entry, line, way) in port.l1d.fast_lines() {
        let Some(translation) = port.mmu.peek(entry.load & !(PAGE_BYTES - 1), Access::Read) else {
            return Err(format!("{:#x} is fast, its page is not in the TLB", entry.load));
        };
        let physical = translation.physical_page | entry.load & (PAGE_BYTES - 1);
        if physical != line || entry.load.wrapping_add(entry.delta) != port.memory.host(physical) {
            return Err(format!("{:#x} leads to another line than {line:#x}", entry.load));
        }
        if port.write_buffer.has_line(line) {
            return Err(format!("line {physical:#x} is fast and has a buffered store"));
        }
        if entry.store != NOTHING && way.state != State::Modified || way.stale {
            return Err(format!("line {physical:#x} is fast as {entry:?}, its way is {way:?}"));
        }
    }
    Ok(())
}

fn fast_instructions(port: &Port) -> Result<(), String> {
    for (va, line) in port.l1i.fast_lines() {
        let translation = port.mmu.peek(va & !(PAGE_BYTES - 1), Access::Execute);
        let physical = translation.map(|t| t.physical_page | va & (PAGE_BYTES - 1));
        if physical != Some(line) {
            return Err(format!("code at {va:#x} is fast, its translation is {physical:?}"));
        }
    }
    Ok(())
}

/// Every line of `l1` is in `l2`, with no less right.
fn includes(l2: &Cache, l1: &Cache, name: &str) -> Result<(), String> {
    for (line, state) in l1.lines() {
        let outer = l2.state(l2.line_of(line));
        if outer == State::Invalid || state >= State::Exclusive && outer < State::Exclusive {
            return Err(format!("line {line:#x} is {state:?} in {name} and {outer:?} in the L2"));
        }
    }
    Ok(())
}
