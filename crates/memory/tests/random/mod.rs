//! Random caches, for tests.

use chasqui_memory::{
    CacheParameters, L2Parameters, PortKind, PortParameters, TlbParameters, WriteBufferParameters,
};
use chasqui_random::Random;

fn cache(random: &mut Random, line_log: u64, sets_log_max: u64) -> CacheParameters {
    let (line_bytes, ways) = (1 << line_log, 1 + random.below(4));
    let sets = 1 << (1 + random.below(sets_log_max));
    CacheParameters::new(sets * ways * line_bytes, ways, line_bytes)
}

/// A port with random caches.
pub fn parameters(random: &mut Random) -> PortParameters {
    let (i, d) = (4 + random.below(3), 4 + random.below(3));
    let outer = (i.max(d) + random.below(2)).min(7);
    let tlb = |random: &mut Random| {
        let (entries, ways) = random.pick(&[(1, 1), (2, 1), (2, 2), (8, 4)]);
        TlbParameters::new(entries, ways)
    };
    PortParameters {
        kind: PortKind::Caches,
        l1i: cache(random, i, 3),
        l1d: cache(random, d, 4),
        l2: (random.below(3) > 0)
            .then(|| cache(random, outer, 5))
            .map(L2Parameters::from)
            .unwrap_or_default(),
        itlb: tlb(random),
        dtlb: tlb(random),
        write_buffer: WriteBufferParameters { entries: 1 + random.below(6), posted: 1 + random.below(3) },
        ..super::rig::parameters()
    }
}
