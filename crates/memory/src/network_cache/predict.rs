//! Predictors of message consumption (Afsahi and Dimopoulos, "Efficient communication using message prediction for
//! cluster of multiprocessors", CANPC 2000; Afsahi, dissertation, University of Victoria, 2000): from the receive calls
//! so far they say which message is consumed next. What repeats is not a message's name but its envelope, so they
//! learn keys: context, source and tag.
//!
//! *Single-cycle*: the keys between two occurrences of one key, the head, are taken to be a cycle that repeats. The
//! first key that differs from it is a miss, and the head of the next attempt.
//!
//! *Tagging*: a receive call in the program's text consumes what it consumed before. The call's tag is the address
//! that it binds to: `remap` is executed in a library, so that its own address says nothing (ours). To look further
//! ahead than one call, each tag also keeps which came after it (ours).
//!
//! Replacement asks which of several waiting messages is consumed last: [`Predictor::distance`].

use super::parameters::Replacement;

/// What a call consumed, and which call came next.
#[derive(Clone, Copy, Debug)]
struct Call {
    tag: u64,
    key: u64,
    next: Option<u64>,
}

/// A predictor. Without one (`Replacement::Lru`) it learns nothing.
#[derive(Debug)]
pub(super) struct Predictor {
    kind: Replacement,
    /// Keys of a cycle, or calls, that it can keep.
    entries: usize,
    /// The cycle, or what has come since the head; the head first.
    cycle: Vec<u64>,
    /// `cycle` is complete, and this of its keys is expected next.
    expected: Option<usize>,
    /// Calls, the most recent first.
    calls: Vec<Call>,
}

impl Predictor {
    pub fn new(kind: Replacement, entries: usize) -> Predictor {
        Predictor { kind, entries, cycle: vec![], expected: None, calls: vec![] }
    }

    /// A message of `key` is consumed by the call `tag`. Says whether that was predicted; `None`: nothing was.
    pub fn consumed(&mut self, key: u64, tag: u64) -> Option<bool> {
        match self.kind {
            Replacement::Lru => None,
            Replacement::SingleCycle => self.follow_cycle(key),
            Replacement::Tagging => self.follow_calls(key, tag),
        }
    }

    fn follow_cycle(&mut self, key: u64) -> Option<bool> {
        if let Some(at) = self.expected {
            let right = self.cycle[at] == key;
            self.expected = right.then_some((at + 1) % self.cycle.len());
            if !right {
                self.cycle = vec![key];
            }
            return Some(right);
        }
        if self.cycle.first() == Some(&key) {
            self.expected = Some(1 % self.cycle.len());
        } else {
            if self.cycle.len() == self.entries {
                self.cycle.clear();
            }
            self.cycle.push(key);
        }
        None
    }

    fn follow_calls(&mut self, key: u64, tag: u64) -> Option<bool> {
        if let Some(last) = self.calls.first_mut() {
            last.next = Some(tag);
        }
        let at = self.calls.iter().position(|call| call.tag == tag);
        let old = at.map(|at| self.calls.remove(at));
        self.calls.truncate(self.entries - 1);
        self.calls.insert(0, Call { tag, key, next: old.and_then(|call| call.next) });
        old.map(|call| call.key == key)
    }

    /// How many messages are consumed before the one of `key` that `earlier` others of this key precede. `None`:
    /// nothing is predicted; the largest number: it is not among what is.
    pub fn distance(&self, key: u64, earlier: usize) -> Option<u64> {
        match self.kind {
            Replacement::Lru => None,
            Replacement::SingleCycle => {
                let from = self.expected?;
                let turn = self.cycle[from..].iter().chain(&self.cycle[..from]);
                let places: Vec<u64> =
                    (0..).zip(turn).filter(|&(_, &k)| k == key).map(|(at, _)| at).collect();
                let turns = earlier.checked_div(places.len()).map_or(0, |turns| turns * self.cycle.len());
                Some(places.get(earlier % places.len().max(1)).map_or(u64::MAX, |at| at + turns as u64))
            }
            Replacement::Tagging => {
                self.calls.first()?.next?;
                let mut same = self.calls_to_come().zip(0..).filter(|&(k, _)| k == key).map(|(_, at)| at);
                Some(same.nth(earlier).unwrap_or(u64::MAX))
            }
        }
    }

    /// Keys of the calls that are expected, as far as the calls that are known lead.
    fn calls_to_come(&self) -> impl Iterator<Item = u64> + '_ {
        let find = |tag: Option<u64>| self.calls.iter().find(|call| Some(call.tag) == tag);
        let first = self.calls.first().and_then(|call| find(call.next));
        std::iter::successors(first, move |call| find(call.next)).take(2 * self.entries).map(|call| call.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(kind: Replacement, entries: usize, calls: &[(u64, u64)]) -> (usize, usize) {
        let mut predictor = Predictor::new(kind, entries);
        let found: Vec<bool> = calls.iter().filter_map(|&(key, tag)| predictor.consumed(key, tag)).collect();
        (found.iter().filter(|&&right| right).count(), found.len())
    }

    #[test]
    fn a_cycle_is_known_after_one_turn_and_its_first_repeated_key() {
        let calls: Vec<(u64, u64)> = [1, 2, 3].repeat(10).into_iter().map(|key| (key, 0)).collect();
        assert_eq!(hits(Replacement::SingleCycle, 8, &calls), (30 - 4, 30 - 4));
        assert_eq!(hits(Replacement::SingleCycle, 2, &calls), (0, 0), "a longer cycle than it can keep");
        // A key twice in a turn: the cycle found from it is wrong at once, the one from what follows is not.
        let twice: Vec<(u64, u64)> = [1, 1, 2].repeat(4).into_iter().map(|key| (key, 0)).collect();
        assert_eq!(hits(Replacement::SingleCycle, 8, &twice), (12 - 3 - 3, 12 - 3 - 2));
    }

    #[test]
    fn a_call_consumes_what_it_consumed() {
        let calls: Vec<(u64, u64)> = [(1, 10), (2, 20), (1, 30)].repeat(5);
        assert_eq!(hits(Replacement::Tagging, 8, &calls), (12, 12));
        assert_eq!(hits(Replacement::Tagging, 2, &calls), (0, 0), "more calls than it can keep");
        let changing = [(1, 10), (2, 10), (1, 10), (1, 10)];
        assert_eq!(hits(Replacement::Tagging, 8, &changing), (1, 3));
    }

    #[test]
    fn distances_are_those_of_the_calls_to_come() {
        for kind in [Replacement::SingleCycle, Replacement::Tagging] {
            let mut predictor = Predictor::new(kind, 8);
            assert_eq!(predictor.distance(1, 0), None);
            for (key, tag) in [(1, 10), (2, 20), (3, 30), (2, 40)].into_iter().cycle().take(9) {
                predictor.consumed(key, tag);
            }
            // Key 1 was the last, so 2, 3, 2, 1 are next.
            let distance = |key, earlier| predictor.distance(key, earlier).unwrap();
            assert_eq!(
                [distance(2, 0), distance(3, 0), distance(2, 1), distance(1, 0)],
                [0, 1, 2, 3],
                "{kind:?}"
            );
            assert_eq!([distance(2, 2), distance(3, 1), distance(9, 0)], [4, 5, u64::MAX], "{kind:?}");
        }
        assert_eq!(Predictor::new(Replacement::Lru, 8).distance(1, 0), None);
    }
}
