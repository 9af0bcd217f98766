//! A small reproducible generator (SplitMix64; Steele, Lea, Flood: "Fast Splittable Pseudorandom Number
//! Generators", OOPSLA 2014).

use std::ops::Range;

/// Random numbers that depend on the seed only.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts from a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The generator of a test: the seed is taken from `CHASQUI_SEED` if set, and is printed, so that a
    /// failure can be repeated.
    pub fn for_test(default_seed: u64) -> Self {
        let seed = match std::env::var("CHASQUI_SEED") {
            Ok(text) => text.parse().expect("CHASQUI_SEED: a decimal number"),
            Err(_) => default_seed,
        };
        println!("seed {seed} (CHASQUI_SEED={seed} repeats it)");
        Self(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        assert!(limit > 0);
        ((u128::from(self.bits()) * u128::from(limit)) >> 64) as u64
    }

    /// A number in a range.
    pub fn within(&mut self, range: Range<i64>) -> i64 {
        range.start + self.below((range.end - range.start) as u64) as i64
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}
