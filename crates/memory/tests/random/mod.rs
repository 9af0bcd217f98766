//! Random numbers and random caches, for tests.

use chasqui_memory::{Geometry, PortParameters};

/// SplitMix64 (Steele, Lea, Flood 2014).
pub struct Random(pub u64);

impl Random {
    /// From `seed`, or from `CHASQUI_SEED`.
    pub fn for_test(seed: u64) -> Random {
        let seed = std::env::var("CHASQUI_SEED").map_or(seed, |s| s.parse().expect("CHASQUI_SEED: a number"));
        println!("seed {seed} (CHASQUI_SEED={seed} repeats it)");
        Random(seed)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit
    }

    pub fn cache(&mut self, line_log: u64, sets_log_max: u64) -> Geometry {
        let (line_bytes, ways) = (1 << line_log, 1 + self.below(4));
        let sets = 1 << (1 + self.below(sets_log_max));
        Geometry { bytes: sets * ways * line_bytes, ways: ways as u32, line_bytes: line_bytes as u32 }
    }
}

/// A port with random caches.
pub fn parameters(random: &mut Random) -> PortParameters {
    let (i, d) = (4 + random.below(3), 4 + random.below(3));
    let outer = (i.max(d) + random.below(2)).min(7);
    let tlb = [(1, 1), (2, 1), (2, 2), (8, 4)];
    PortParameters {
        l1i: random.cache(i, 3),
        l1d: random.cache(d, 4),
        l2: (random.below(3) > 0).then(|| random.cache(outer, 5)),
        itlb: tlb[random.below(4) as usize],
        dtlb: tlb[random.below(4) as usize],
        write_buffer_entries: 1 + random.below(6) as usize,
        posted_entries: 1 + random.below(3) as usize,
        ..super::rig::parameters()
    }
}
