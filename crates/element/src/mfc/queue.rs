//! A queue of commands, and which of them may begin.

use chasqui_engine::Time;
use chasqui_memory::Access;

use super::command::{Command, Operation, Ordering, Source};
use super::fault::MfcFault;
use super::reason::Reason;

/// How far a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It waits for others, or its time.
    Waits,
    /// Its transfers are made.
    Begun,
    /// All are under way, or over.
    Drains,
    /// It waits for the core to say that its list goes on.
    Stalled,
    /// It is over then.
    Ends(Time),
}

/// What is left of a command, or an element of its list, to be made transfers of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Piece {
    pub effective: u64,
    pub local: u32,
    /// Length [bytes].
    pub left: u32,
}

/// Where a list is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct List {
    /// The element that comes next.
    pub next: u32,
    /// The next one's data go here, but for the low four bits.
    pub local: u32,
    /// The one before has the core say when the list goes on.
    pub notifies: bool,
}

/// A command in a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Commands are numbered as they come.
    pub number: u64,
    pub command: Command,
    pub ordering: Ordering,
    /// It goes on from then on.
    pub ready: Time,
    pub phase: Phase,
    /// What it does, once it has begun.
    pub operation: Option<Operation>,
    pub piece: Piece,
    pub list: List,
    /// Transfers that are under way.
    pub under_way: u32,
    /// A conditional write whose reservation was lost.
    pub is_lost: bool,
    /// It has been purged, and ends with what is under way.
    pub is_dropped: bool,
}

impl Entry {
    pub fn new(number: u64, command: Command, ready: Time) -> Entry {
        Entry {
            number,
            command,
            ordering: command.ordering(),
            ready,
            phase: Phase::Waits,
            operation: None,
            piece: Piece::default(),
            list: List::default(),
            under_way: 0,
            is_lost: false,
            is_dropped: false,
        }
    }

    /// It must not begin before `earlier`, of the same queue, is over.
    fn follows(&self, earlier: &Entry) -> bool {
        let same = self.command.tag == earlier.command.tag;
        self.ordering.all || earlier.ordering.all || same && (self.ordering.fence || earlier.ordering.barrier)
    }

    /// The command can't go on at effective address `address`.
    pub fn fault(&self, source: Source, reason: Reason, address: u64, access: Access) -> MfcFault {
        let element = self.command.is_list().then(|| self.list.next.checked_sub(1)).flatten();
        MfcFault { reason, source, command: self.command, element, address, access }
    }
}

/// A queue.
pub(super) struct Queue {
    capacity: usize,
    /// In the order in which they came.
    entries: Vec<Entry>,
}

impl Queue {
    pub fn new(capacity: usize) -> Queue {
        Queue { capacity, entries: Vec::with_capacity(capacity) }
    }

    /// Commands for which there is room.
    pub fn room(&self) -> usize {
        self.capacity - self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn push(&mut self, entry: Entry) {
        debug_assert!(self.room() > 0);
        self.entries.push(entry);
    }

    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.entries.iter_mut()
    }

    /// The command of that number.
    pub fn get(&mut self, number: u64) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.number == number)
    }

    /// The command whose transfers are made.
    pub fn begun(&mut self) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.phase == Phase::Begun)
    }

    /// The oldest command that may begin, as far as others are concerned.
    pub fn next(&self) -> Option<&Entry> {
        let mut entries = self.entries.iter().enumerate();
        let may = |(place, entry): &(usize, &Entry)| {
            entry.phase == Phase::Waits
                && (entry.operation.is_some() || !self.entries[..*place].iter().any(|e| entry.follows(e)))
        };
        entries.find(may).map(|(_, entry)| entry)
    }

    /// Takes the oldest of the commands that are over at `now`.
    pub fn retire(&mut self, now: Time) -> Option<Entry> {
        let is_over = |entry: &Entry| matches!(entry.phase, Phase::Ends(at) if at <= now);
        let place = self.entries.iter().position(is_over)?;
        Some(self.entries.remove(place))
    }

    /// Forgets those of which nothing is under way; the others end with what is.
    pub fn purge(&mut self) {
        self.entries.retain(|entry| entry.under_way > 0 || matches!(entry.phase, Phase::Ends(_)));
        for entry in self.entries.iter_mut().filter(|entry| entry.under_way > 0) {
            (entry.phase, entry.is_dropped) = (Phase::Drains, true);
        }
    }

    /// Bit t: a command of tag group t is in the queue.
    pub fn tags(&self) -> u32 {
        self.entries.iter().fold(0, |tags, entry| tags | 1_u32.checked_shl(entry.command.tag).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opcode;

    /// Which of these (command, tag) may begin first, and which once that is over, and so on, all of them taking as long.
    fn order(commands: &[(u32, u32)]) -> Vec<Vec<usize>> {
        let mut queue = Queue::new(16);
        for (number, &(opcode, tag)) in commands.iter().enumerate() {
            let command = Command { opcode, local: 0, effective: 0, bytes: 0, tag };
            queue.push(Entry::new(number as u64, command, Time::ZERO));
        }
        let mut rounds = vec![];
        while !queue.is_empty() {
            let mut round = vec![];
            while let Some(number) = queue.next().map(|entry| entry.number) {
                queue.get(number).unwrap().phase = Phase::Ends(Time::ZERO);
                round.push(number as usize);
            }
            while queue.retire(Time::ZERO).is_some() {}
            rounds.push(round);
        }
        rounds
    }

    const GET: u32 = opcode::GET;
    const GETF: u32 = GET | opcode::FENCE_FLAG;
    const GETB: u32 = GET | opcode::BARRIER_FLAG;

    #[test]
    fn fences_and_barriers_order_a_tag_group() {
        assert_eq!(order(&[(GET, 1), (GET, 1), (GET, 1)]), [vec![0, 1, 2]]);
        // Behind a fence others go past it, behind a barrier none.
        assert_eq!(order(&[(GET, 1), (GETF, 1), (GET, 1)]), [vec![0, 2], vec![1]]);
        assert_eq!(order(&[(GET, 1), (GETB, 1), (GET, 1)]), [vec![0], vec![1], vec![2]]);
        assert_eq!(order(&[(GET, 1), (GETB, 2), (GET, 1)]), [vec![0, 1, 2]], "another group");
        assert_eq!(order(&[(GET, 1), (opcode::SYNC, 1), (GET, 2), (GET, 1)]), [vec![0, 2], vec![1], vec![3]]);
        // A queued write of a line has a fence of its own.
        assert_eq!(order(&[(GET, 1), (opcode::PUTQLLUC, 1), (GET, 1)]), [vec![0, 2], vec![1]]);
    }

    #[test]
    fn a_barrier_command_orders_all_groups() {
        let found = order(&[(GET, 1), (GET, 2), (opcode::BARRIER, 3), (GET, 4)]);
        assert_eq!(found, [vec![0, 1], vec![2], vec![3]]);
    }
}
