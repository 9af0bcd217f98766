//! The list of tags: receives that the card matches by itself, without its processor or the host (as the tag matching of
//! ConnectX, and of BXI).
//!
//! Each process has a list of entries, the receives that its software has appended, oldest first: what must match, and where
//! data go. A message is looked up in the list of its process and takes the oldest entry that matches out of it; if there is
//! none, it is *unexpected*, and goes to the software. The list is bounded; what does not fit the software keeps.
//!
//! *Two lists, one order.* A receive that is appended may have crossed a message of its that the card found unexpected before.
//! Were it in the list, it would take a later message. So the list counts the unexpected messages of a process, each append
//! says how many of them its software had dealt with, and one that did not know of all of them has no effect
//! (ibv_post_srq_ops(3): `unexpected_cnt`). With each message its software hears how many requests had been taken before: so
//! it knows which of its appends had no effect, without asking.
//!
//! Operations are done one after the other. A look goes over the entries in their order; each takes a step.

use std::collections::VecDeque;

use chasqui_counters::counters;
use chasqui_engine::Time;
use chasqui_placement::ProcessId;

use crate::np_registers as np;
use crate::parameters::Tags;

/// Where the data of a receive go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Buffer {
    pub process: ProcessId,
    /// Virtual address.
    pub address: u64,
    /// Room [bytes].
    pub bytes: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    number: u16,
    key: u64,
    buffer: Buffer,
}

/// What is asked of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// A receive: its number, its key, its buffer, and the unexpected messages that its software had dealt with.
    Append(u16, u64, Buffer, u32),
    /// The entry of this number is not wanted any more.
    Remove(ProcessId, u16),
    /// A message of this key has come.
    Look(ProcessId, u64),
}

counters! {
    /// What became of receives and messages.
    pub(super) struct TagStatistics {
        /// Receives that were appended.
        appended: "count";
        /// Receives that had not heard of all unexpected messages, and were not.
        refused: "count";
        /// Receives that were taken out again by their software.
        removed: "count";
        /// Messages that met an entry.
        matched: "count";
        /// Messages that met none.
        unexpected: "count";
        /// Entries that looks went over.
        steps: "count";
        /// Time for which it did something.
        busy_ps: "ps";
    }
}

/// A process's list.
#[derive(Clone, Debug, Default)]
struct List {
    entries: Vec<Entry>,
    /// Messages that met no entry, and requests that were taken, of all.
    unexpected: u32,
    requests: u32,
}

/// The list of tags of a card.
pub(super) struct TagList {
    timing: Tags,
    lists: Vec<List>,
    /// What was asked for, oldest first, and when the oldest is over.
    asked: VecDeque<Operation>,
    ends: Time,
    /// What came of looks and removals, oldest first, and the buffer that a look found.
    results: VecDeque<(u64, Buffer)>,
    pub statistics: TagStatistics,
}

impl TagList {
    /// Empty lists of `processes`.
    pub fn new(timing: Tags, processes: u32) -> TagList {
        TagList {
            timing,
            lists: vec![List::default(); processes as usize],
            asked: [].into(),
            ends: Time::ZERO,
            results: [].into(),
            statistics: TagStatistics::default(),
        }
    }

    fn list(&mut self, process: ProcessId) -> &mut List {
        &mut self.lists[process.0 as usize]
    }

    /// Asks for an operation; if it begins at once: when it is over ([`TagList::is_over`]).
    ///
    /// # Errors
    /// The entry is there already, or there is no such process: in words.
    pub fn ask(&mut self, operation: Operation, now: Time) -> Result<Option<Time>, String> {
        let (Operation::Append(_, _, Buffer { process, .. }, _)
        | Operation::Remove(process, _)
        | Operation::Look(process, _)) = operation;
        if process.0 as usize >= self.lists.len() {
            return Err(format!("the list of tags has no process {}", process.0));
        }
        self.asked.push_back(operation);
        Ok((self.asked.len() == 1).then(|| self.begin(now)))
    }

    /// The oldest operation begins: when it is over. Nothing changes the lists meanwhile.
    fn begin(&mut self, now: Time) -> Time {
        let takes = match self.asked[0] {
            Operation::Append(..) => self.timing.update.ps(),
            Operation::Remove(process, number) => {
                let steps = self.steps(process, |entry| entry.number == number);
                self.timing.update.ps() + steps * self.timing.step.ps()
            }
            Operation::Look(process, key) => {
                let steps = self.steps(process, |entry| entry.key == key);
                self.statistics.steps += steps;
                self.timing.lookup.ps() + steps * self.timing.step.ps()
            }
        };
        self.statistics.busy_ps += takes;
        self.ends = Time(now.0 + takes);
        self.ends
    }

    /// Entries that are looked at until `is_it` holds.
    fn steps(&mut self, process: ProcessId, is_it: impl Fn(&Entry) -> bool) -> u64 {
        let entries = &self.list(process).entries;
        entries.iter().position(is_it).map_or(entries.len(), |place| place + 1) as u64
    }

    /// The oldest operation is over, at `now`: when the next is, if there is one.
    pub fn is_over(&mut self, now: Time) -> Option<Time> {
        debug_assert_eq!(now, self.ends);
        match self.asked.pop_front().expect("an operation is over") {
            Operation::Append(number, key, buffer, known) => self.append(number, key, buffer, known),
            Operation::Remove(process, number) => self.remove(process, number),
            Operation::Look(process, key) => self.look(process, key),
        }
        (!self.asked.is_empty()).then(|| self.begin(now))
    }

    fn append(&mut self, number: u16, key: u64, buffer: Buffer, known: u32) {
        let list = self.list(buffer.process);
        list.requests = list.requests.wrapping_add(1);
        // A number that is in use is the software's mistake: it has no second entry.
        let is_used = list.entries.iter().any(|entry| entry.number == number);
        if known == list.unexpected && !is_used {
            list.entries.push(Entry { number, key, buffer });
            self.statistics.appended += 1;
        } else {
            self.statistics.refused += 1;
        }
    }

    fn remove(&mut self, process: ProcessId, number: u16) {
        let list = self.list(process);
        list.requests = list.requests.wrapping_add(1);
        let place = list.entries.iter().position(|entry| entry.number == number);
        let found = place.map(|place| list.entries.remove(place));
        self.statistics.removed += u64::from(found.is_some());
        self.result(process, np::TAG_REMOVED, found);
    }

    fn look(&mut self, process: ProcessId, key: u64) {
        let list = self.list(process);
        let place = list.entries.iter().position(|entry| entry.key == key);
        let found = place.map(|place| list.entries.remove(place));
        if found.is_some() {
            self.statistics.matched += 1;
        } else {
            list.unexpected = list.unexpected.wrapping_add(1);
            self.statistics.unexpected += 1;
        }
        self.result(process, 0, found);
    }

    fn result(&mut self, process: ProcessId, kind: u64, found: Option<Entry>) {
        let requests = u64::from(self.list(process).requests) << np::TAG_REQUESTS_SHIFT;
        let process = u64::from(process.0) << np::TAG_PROCESS_SHIFT;
        let number = found.map_or(0, |entry| u64::from(entry.number) + 1);
        let buffer = found.map(|entry| entry.buffer).unwrap_or_default();
        self.results.push_back((requests | np::TAG_IS_THERE | kind | process | number, buffer));
    }

    /// A process is over: it has no entries any more.
    pub fn close(&mut self, process: ProcessId) {
        self.list(process).entries.clear();
    }

    /// What came of the oldest look or removal of which nobody has heard, and the buffer that it found; 0: there is none.
    pub fn take_result(&mut self) -> (u64, Buffer) {
        self.results.pop_front().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use chasqui_config::Duration;
    use chasqui_random::Random;

    use super::*;

    const PROCESS: ProcessId = ProcessId(0);
    const OTHER: ProcessId = ProcessId(1);

    fn timing() -> Tags {
        let ns = |ns: u64| Duration::from_ps(ns * 1000);
        Tags { lookup: ns(20), step: ns(2), update: ns(10), ..Tags::default() }
    }

    fn buffer(process: ProcessId, address: u64) -> Buffer {
        Buffer { process, address, bytes: 64 }
    }

    /// Does `operations` one after the other from time 0 on: when the last is over [ns].
    fn run(list: &mut TagList, operations: &[Operation]) -> u64 {
        let mut next = None;
        for &operation in operations {
            next = list.ask(operation, Time::ZERO).unwrap().or(next);
        }
        let mut last = Time::ZERO;
        while let Some(now) = next {
            last = now;
            next = list.is_over(now);
        }
        last.0 / 1000
    }

    fn entry_of(result: u64) -> Option<u64> {
        (result & np::TAG_ENTRY).checked_sub(1)
    }

    #[test]
    fn a_look_takes_the_oldest_that_matches_and_a_step_for_each_before_it() {
        let mut list = TagList::new(timing(), 2);
        let appends = [
            Operation::Append(5, 1, buffer(PROCESS, 100), 0),
            Operation::Append(6, 2, buffer(PROCESS, 200), 0),
            Operation::Append(7, 2, buffer(PROCESS, 300), 0),
            Operation::Append(5, 2, buffer(OTHER, 400), 0),
        ];
        assert_eq!(run(&mut list, &appends), 4 * 10);
        let mut second = TagList::new(timing(), 2);
        run(&mut second, &appends);
        let looks = [2, 2, 2].map(|key| Operation::Look(PROCESS, key));
        // The second entry, then the second of those that are left, then none of one.
        assert_eq!(run(&mut list, &looks), (20 + 2 * 2) + (20 + 2 * 2) + (20 + 2));
        let results = [(); 3].map(|()| list.take_result());
        assert_eq!(results.map(|(result, _)| entry_of(result)), [Some(6), Some(7), None]);
        assert_eq!(results.map(|(_, buffer)| buffer.address), [200, 300, 0]);
        assert_eq!(results[0].0 >> np::TAG_REQUESTS_SHIFT, 3, "three requests of this process were taken");
        assert_eq!(list.take_result().0, 0, "that was all");
        assert_eq!((list.statistics.matched, list.statistics.unexpected, list.statistics.steps), (2, 1, 5));
        // The other process's list is its own.
        run(&mut second, &[Operation::Look(OTHER, 2)]);
        assert_eq!(second.take_result().1, buffer(OTHER, 400));
    }

    #[test]
    fn an_append_that_has_not_heard_of_a_message_has_no_effect() {
        let mut list = TagList::new(timing(), 1);
        run(&mut list, &[Operation::Look(PROCESS, 1), Operation::Append(0, 1, buffer(PROCESS, 100), 0)]);
        run(&mut list, &[Operation::Look(PROCESS, 1)]);
        let results = [(); 2].map(|()| list.take_result().0);
        assert_eq!(results.map(entry_of), [None, None], "the receive is the first message's");
        assert_eq!(results.map(|result| result >> np::TAG_REQUESTS_SHIFT), [0, 1], "one was taken between");
        run(&mut list, &[Operation::Append(0, 1, buffer(PROCESS, 100), 2), Operation::Look(PROCESS, 1)]);
        assert_eq!(entry_of(list.take_result().0), Some(0));
        assert_eq!((list.statistics.appended, list.statistics.refused), (1, 1));
    }

    #[test]
    fn what_is_removed_matches_nothing() {
        let mut list = TagList::new(timing(), 1);
        let appends = [0, 1].map(|number| Operation::Append(number, 1, buffer(PROCESS, 100), 0));
        run(&mut list, &appends);
        assert_eq!(run(&mut list, &[Operation::Remove(PROCESS, 1)]), 10 + 2 * 2);
        run(
            &mut list,
            &[Operation::Remove(PROCESS, 1), Operation::Look(PROCESS, 1), Operation::Look(PROCESS, 1)],
        );
        let results = [(); 4].map(|()| list.take_result().0);
        let removed = |result: u64| (result & np::TAG_REMOVED != 0, entry_of(result));
        assert_eq!(results.map(removed), [(true, Some(1)), (true, None), (false, Some(0)), (false, None)]);
    }

    #[test]
    fn a_number_has_one_entry() {
        let mut list = TagList::new(timing(), 1);
        let append = |key, address| Operation::Append(3, key, buffer(PROCESS, address), 0);
        run(&mut list, &[append(1, 100), append(2, 200), Operation::Look(PROCESS, 1)]);
        assert_eq!((entry_of(list.take_result().0), list.statistics.refused), (Some(3), 1));
        run(&mut list, &[append(2, 200)]);
        list.close(PROCESS);
        run(&mut list, &[Operation::Look(PROCESS, 2)]);
        assert_eq!(entry_of(list.take_result().0), None, "the process is over");
    }

    #[test]
    fn who_is_not_there_has_no_list() {
        let text = TagList::new(timing(), 1).ask(Operation::Look(OTHER, 1), Time::ZERO).unwrap_err();
        assert_eq!(text, "the list of tags has no process 1");
    }

    /// A software's side: its own list of receives, as of those of which it offers the list such as no earlier one could match.
    #[derive(Default)]
    struct Software {
        /// Posted, oldest first: number, key or all keys, number of its request if the list has it.
        posted: Vec<(u32, Option<u64>, Option<u32>)>,
        unexpected: Vec<u32>,
        dealt_with: u32,
        requests: u32,
    }

    impl Software {
        /// Posts receive `number`: what it asks of the list, or what it met.
        fn post(&mut self, number: u32, key: Option<u64>, keys: &[u64]) -> (Option<Operation>, Option<u32>) {
            let matches = |&message: &u32| key.is_none_or(|key| keys[message as usize] == key);
            if let Some(place) = self.unexpected.iter().position(matches) {
                return (None, Some(self.unexpected.remove(place)));
            }
            let is_first = |key: u64| {
                let mut others = self.posted.iter();
                others
                    .all(|&(_, other, request)| other.is_some() && (other != Some(key) || request.is_some()))
            };
            let operation = key.filter(|&key| is_first(key)).map(|key| {
                self.requests += 1;
                Operation::Append(number as u16, key, buffer(PROCESS, number.into()), self.dealt_with)
            });
            self.posted.push((number, key, operation.map(|_| self.requests)));
            (operation, None)
        }

        /// Hears of message `number`, which met `entry` of the list when `taken` requests were: the receive that it meets.
        fn hears(&mut self, number: u32, entry: Option<u64>, taken: u32, keys: &[u64]) -> Option<u32> {
            let key = keys[number as usize];
            let place = match entry {
                Some(entry) => self.posted.iter().position(|&(receive, ..)| u64::from(receive) == entry),
                None => {
                    self.dealt_with += 1;
                    // Those that the list had yet to take had not heard of it.
                    for (_, _, request) in &mut self.posted {
                        request.take_if(|request| *request > taken);
                    }
                    self.posted.iter().position(|&(_, other, _)| other.is_none_or(|other| other == key))
                }
            };
            if place.is_none() {
                self.unexpected.push(number);
            }
            place.map(|place| self.posted.remove(place).0)
        }
    }

    /// What receives and messages meet if each is dealt with at once: by receive, its message.
    fn expected(plan: &[(bool, u32, Option<u64>)], keys: &[u64]) -> Vec<(u32, u32)> {
        let (mut posted, mut there, mut met) = (vec![], vec![], vec![]);
        for &(is_message, number, key) in plan {
            if is_message {
                let key = keys[number as usize];
                let matches = |&(_, other): &(u32, Option<u64>)| other.is_none_or(|other| other == key);
                match posted.iter().position(matches) {
                    Some(place) => met.push((posted.remove(place).0, number)),
                    None => there.push(number),
                }
            } else {
                let matches = |&message: &u32| key.is_none_or(|key| keys[message as usize] == key);
                match there.iter().position(matches) {
                    Some(place) => met.push((number, there.remove(place))),
                    None => posted.push((number, key)),
                }
            }
        }
        met.sort_unstable();
        met
    }

    /// Receives, some for any message, and messages in random order; requests to the list and what the software hears are
    /// under way for random times. What meets what must be as if each were dealt with at once, messages when the software hears
    /// of them: a receive that is earlier than that takes the earliest message that matches.
    #[test]
    fn whatever_crosses_the_order_is_that_of_one_list() {
        for seed in 1..=2000 {
            let mut random = Random::new(seed);
            let count = 1 + random.below(24) as u32;
            let keys: Vec<u64> = (0..count).map(|_| random.below(3)).collect();
            let mut list = TagList::new(timing(), 1);
            let mut software = Software::default();
            // To the list, and from it; the order in which the software sees things.
            let (mut requests, mut heard, mut plan) = (VecDeque::new(), VecDeque::new(), vec![]);
            let (mut receives, mut messages, mut met) = (0, 0, vec![]);
            while receives < count || messages < count || !requests.is_empty() || !heard.is_empty() {
                match random.below(4) {
                    0 if receives < count => {
                        let key = (random.below(5) > 0).then(|| random.below(3));
                        plan.push((false, receives, key));
                        let (operation, found) = software.post(receives, key, &keys);
                        requests.extend(operation);
                        met.extend(found.map(|message| (receives, message)));
                        receives += 1;
                    }
                    1 => {
                        let Some(operation) = requests.pop_front() else { continue };
                        run(&mut list, &[operation]);
                    }
                    2 if messages < count => {
                        run(&mut list, &[Operation::Look(PROCESS, keys[messages as usize])]);
                        let (result, _) = list.take_result();
                        let taken = (result >> np::TAG_REQUESTS_SHIFT) as u32;
                        heard.push_back((messages, entry_of(result), taken));
                        messages += 1;
                    }
                    _ => {
                        let Some((number, entry, taken)) = heard.pop_front() else { continue };
                        plan.push((true, number, None));
                        met.extend(
                            software.hears(number, entry, taken, &keys).map(|receive| (receive, number)),
                        );
                    }
                }
            }
            met.sort_unstable();
            assert_eq!(met, expected(&plan, &keys), "seed {seed}: {plan:?} {keys:?}");
        }
    }
}
