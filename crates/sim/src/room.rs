//! Whether the host has room for a run of many nodes. What a few nodes take is measured; nothing is known beforehand of
//! what the programs ask for, so this is what all take at least.

use std::fs;
use std::path::Path;

use chasqui_machine::Built;

use crate::input_error::InputError;

/// Runs of fewer nodes are not asked about.
const NODES_MIN: u32 = 512;
/// Nodes that are measured. What the first of a process take besides, they take once.
const FIRST: u32 = 4;
const MEASURED: u32 = 32;
/// Of the host's memory that is available, other things may take this part, 1 / 16.
const SPARE: u64 = 16;

/// Bytes as powers of two.
const MIB: u32 = 20;

/// What the host has only so much of.
#[derive(Clone, Copy, Debug)]
struct Room {
    /// Memory [bytes].
    resident: u64,
    /// Address space [bytes].
    addresses: u64,
    /// Mappings of a process.
    mappings: u64,
}

/// For each: what it is, its unit, and why there is not more.
const KINDS: [(&str, &str, &str); 3] = [
    ("of the host's memory", " MiB", "are available"),
    ("of address space", " MiB", "are left of this process's limit (ulimit -v)"),
    ("mappings", "", "are left of a process's (vm.max_map_count)"),
];

impl Room {
    /// What this process has taken (Linux); `None`: it can't be said.
    fn taken() -> Option<Room> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let mappings = fs::read_to_string("/proc/self/maps").ok()?.lines().count() as u64;
        let bytes = |name| value(&status, name).map(|kib| kib << 10);
        Some(Room { resident: bytes("VmRSS:")?, addresses: bytes("VmSize:")?, mappings })
    }

    /// What it may still take.
    fn left(taken: Room) -> Option<Room> {
        let memory = fs::read_to_string("/proc/meminfo").ok()?;
        let limits = fs::read_to_string("/proc/self/limits").ok()?;
        let mappings = fs::read_to_string("/proc/sys/vm/max_map_count").ok()?.trim().parse::<u64>().ok()?;
        let available = value(&memory, "MemAvailable:")? << 10;
        Some(Room {
            resident: available - available / SPARE,
            // "unlimited" is no number.
            addresses: value(&limits, "Max address space")
                .unwrap_or(u64::MAX)
                .saturating_sub(taken.addresses),
            mappings: mappings.saturating_sub(taken.mappings),
        })
    }

    fn parts(self) -> [u64; 3] {
        [self.resident, self.addresses, self.mappings]
    }
}

/// The number behind `name` at a line's start.
fn value(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Refuses a run of `nodes` for which the host has no room; `build` makes so many of them.
///
/// # Errors
/// What there is not enough of, and for how many nodes it would do.
pub(crate) fn check(
    nodes: u32,
    name: &str,
    mut build: impl FnMut(u32) -> Result<Built, InputError>,
) -> Result<(), InputError> {
    if nodes < NODES_MIN || !Path::new("/proc/self/maps").exists() {
        return Ok(());
    }
    // A machine that is right for all of the nodes may be none for so few: it is not measured.
    let Ok(_first) = build(FIRST) else { return Ok(()) };
    let before = Room::taken();
    let Ok(_measured) = build(MEASURED) else { return Ok(()) };
    let (Some(before), Some(after)) = (before, Room::taken()) else { return Ok(()) };
    let Some(left) = Room::left(after) else { return Ok(()) };
    let parts = before.parts().into_iter().zip(after.parts()).zip(left.parts());
    for (((before, after), left), (kind, unit, why)) in parts.zip(KINDS) {
        let all = u64::from(nodes) * after.saturating_sub(before) / u64::from(MEASURED);
        if all > left {
            let fit = u128::from(left) * u128::from(nodes) / u128::from(all);
            let shift = if unit.is_empty() { 0 } else { MIB };
            let [all, left] = [all, left].map(|n| n >> shift);
            return Err(InputError(format!(
                "{nodes} nodes of {name} take at least {all}{unit} {kind}, and {left}{unit} {why}: about {fit} \
                 nodes fit"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_behind_their_names() {
        let text =
            "VmPeak:\t  5 kB\nVmRSS:\t  12345 kB\nMax address space         unlimited   unlimited  bytes\n";
        assert_eq!(value(text, "VmRSS:"), Some(12345));
        assert_eq!(value(text, "Max address space"), None);
        assert_eq!(value(text, "nosuch"), None);
    }

    #[test]
    fn the_host_says_what_is_taken_and_left() {
        let taken = Room::taken().expect("this is Linux");
        let left = Room::left(taken).expect("this is Linux");
        assert!(taken.parts().into_iter().chain(left.parts()).all(|n| n > 0), "{taken:?} {left:?}");
        let map: Vec<u8> = vec![1; 64 << 20];
        let then = Room::taken().expect("this is Linux");
        assert!(then.resident >= taken.resident + (map.len() as u64) / 2);
    }
}
