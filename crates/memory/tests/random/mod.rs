//! Random caches, for tests.

use chasqui_memory::{Geometry, PortParameters};
use chasqui_random::Random;

fn cache(random: &mut Random, line_log: u64, sets_log_max: u64) -> Geometry {
    let (line_bytes, ways) = (1 << line_log, 1 + random.below(4));
    let sets = 1 << (1 + random.below(sets_log_max));
    Geometry { bytes: sets * ways * line_bytes, ways: ways as u32, line_bytes: line_bytes as u32 }
}

/// A port with random caches.
pub fn parameters(random: &mut Random) -> PortParameters {
    let (i, d) = (4 + random.below(3), 4 + random.below(3));
    let outer = (i.max(d) + random.below(2)).min(7);
    let tlb = [(1, 1), (2, 1), (2, 2), (8, 4)];
    PortParameters {
        l1i: cache(random, i, 3),
        l1d: cache(random, d, 4),
        l2: (random.below(3) > 0).then(|| cache(random, outer, 5)),
        itlb: tlb[random.below(4) as usize],
        dtlb: tlb[random.below(4) as usize],
        write_buffer_entries: 1 + random.below(6) as usize,
        posted_entries: 1 + random.below(3) as usize,
        ..super::rig::parameters()
    }
}
