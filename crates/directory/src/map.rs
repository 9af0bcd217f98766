//! A table by line addresses. It is never iterated, so its order shows nowhere.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Of addresses: a multiplication spreads them (Knuth's, by the golden section). Nothing outside chooses them, so no key is
/// needed.
#[derive(Default)]
pub struct LineHasher(u64);

impl Hasher for LineHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }
}

/// By line address.
pub type LineMap<T> = HashMap<u64, T, BuildHasherDefault<LineHasher>>;
