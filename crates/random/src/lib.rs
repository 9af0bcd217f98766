//! Numbers that stand for chance: SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number
//! Generators", OOPSLA 2014). The same seed gives the same numbers on any host and in any version.

pub mod damage;

use std::ops::Range;

/// The seed of a test: `CHASQUI_SEED` if that is set, else `default`. It is printed, so that a failure can
/// be repeated.
///
/// # Panics
/// If `CHASQUI_SEED` is not a decimal number.
pub fn seed_of_test(default: u64) -> u64 {
    let seed = match std::env::var("CHASQUI_SEED") {
        Ok(text) => text.parse().expect("CHASQUI_SEED: a decimal number"),
        Err(_) => default,
    };
    println!("seed {seed} (CHASQUI_SEED={seed} repeats it)");
    seed
}

/// Of `all` random cases of a test those that it takes: the first fifth, or with `CHASQUI_SWEEP` (`make nightly`) every one.
pub fn share(all: u64) -> u64 {
    if std::env::var_os("CHASQUI_SWEEP").is_some() { all } else { all.div_ceil(5) }
}

/// Random numbers that depend on the seed only.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts from a seed.
    pub const fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The generator of a test, from [`seed_of_test`].
    pub fn for_test(default: u64) -> Random {
        Random(seed_of_test(default))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Fills `buffer`.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        for part in buffer.chunks_mut(8) {
            part.copy_from_slice(&self.bits().to_le_bytes()[..part.len()]);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_sequence() {
        // The first numbers of the reference program (Vigna, splitmix64.c) from the seed 1234567.
        let mut random = Random::new(1_234_567);
        let found: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(found, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn numbers_stay_in_their_bounds() {
        let mut random = Random::for_test(1);
        for _ in 0..1_000 {
            assert!(random.below(3) < 3);
            assert!((-5..7).contains(&random.within(-5..7)));
            assert!([2, 4].contains(&random.pick(&[2, 4])));
        }
        assert!((0..1_000).filter(|_| random.once_in(4)).count().abs_diff(250) < 60);
    }
}
