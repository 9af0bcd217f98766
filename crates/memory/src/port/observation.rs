//! What is remembered of a polling loop, so that its repetitions can be skipped.

/// Changes of memory that one observation follows; a polling loop makes a few, on its stack.
const OVERWRITTEN_MAX: usize = 64;

/// What is remembered of a polling loop since [`Port::observe`](crate::Port::observe). Opaque: it can be taken along with
/// the process ([`Port::exchange_observation`](crate::Port::exchange_observation)).
#[derive(Debug, Default)]
pub struct Observation {
    /// `None`: nothing is observed.
    observed: Option<Observed>,
    /// What stores changed, in their order, each place once.
    overwritten: Vec<Overwritten>,
}

#[derive(Clone, Copy, Debug)]
struct Observed {
    silent: bool,
}

/// Bytes of memory that a store changed.
#[derive(Clone, Copy, Debug)]
struct Overwritten {
    address: u64,
    bytes: u32,
    /// What was there before.
    old: [u8; 8],
}

impl Observation {
    /// Begins anew (`true`), or stops.
    pub(super) fn start(&mut self, on: bool) {
        self.overwritten.clear();
        self.observed = on.then_some(Observed { silent: true });
    }

    /// Stores are observed, and none has told enough yet.
    #[inline]
    pub(super) fn is_watched(&self) -> bool {
        self.observed.is_some_and(|o| o.silent)
    }

    /// Stores have changed something, for a while at least.
    pub(super) fn has_changed_memory(&self) -> bool {
        !self.overwritten.is_empty()
    }

    /// There is an effect outside that a repetition would have again.
    pub(super) fn disturb(&mut self) {
        if let Some(o) = &mut self.observed {
            o.silent = false;
        }
    }

    /// The `bytes` at physical address `address`, which were `old`, become `value`.
    pub(super) fn store(&mut self, address: u64, bytes: u32, old: u64, value: u64) {
        let unused = 64 - 8 * bytes;
        if (old ^ value) << unused == 0 {
            return;
        }
        // A counter changes often: what it held first counts.
        if self.overwritten.iter().any(|o| (o.address, o.bytes) == (address, bytes)) {
            return;
        }
        if self.overwritten.len() < OVERWRITTEN_MAX {
            self.overwritten.push(Overwritten { address, bytes, old: old.to_le_bytes() });
        } else {
            self.disturb();
        }
    }

    /// Nothing was disturbed, and every byte that was changed is what it was at first. `byte` gives what is there now.
    pub(super) fn is_silent(&self, byte: impl Fn(u64) -> Option<u8>) -> bool {
        if !self.is_watched() {
            return false;
        }
        let mut checked: Vec<u64> = vec![];
        for o in &self.overwritten {
            for (address, &old) in (o.address..).zip(&o.old[..o.bytes as usize]) {
                // Of a byte that was overwritten twice, what it held first counts.
                if checked.contains(&address) {
                    continue;
                }
                checked.push(address);
                if byte(address) != Some(old) {
                    return false;
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_must_be_again_what_it_was_at_first() {
        let mut loops = Observation::default();
        assert!(!loops.is_silent(|_| None), "nothing is observed");
        loops.start(true);
        loops.store(8, 4, 7, 7);
        assert!(loops.is_silent(|_| None), "what is stored was there");
        loops.store(8, 4, 7, 1);
        loops.store(9, 1, 5, 2);
        // Byte 9 is of the first store: there was 0.
        assert!(loops.is_silent(|at| Some(if at == 8 { 7 } else { 0 })));
        assert!(!loops.is_silent(|at| Some(if at == 8 { 1 } else { 0 })));
        assert!(!loops.is_silent(|at| Some(if at == 8 { 7 } else { 5 })));
    }

    #[test]
    fn more_changes_than_are_followed_are_an_effect() {
        let mut loops = Observation::default();
        loops.start(true);
        for at in 0..OVERWRITTEN_MAX as u64 {
            loops.store(at * 8, 8, 0, 1);
        }
        assert!(loops.is_watched());
        loops.store(1 << 20, 8, 0, 1);
        assert!(!loops.is_watched());
        loops.start(true);
        assert!(loops.is_silent(|_| None), "a new observation");
    }
}
