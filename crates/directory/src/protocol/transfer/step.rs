//! Events of block transfers.

use chasqui_engine::Payload;

/// An event of block transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferStep {
    /// A node's part in transfers may go on.
    GoOn(usize),
    /// The request for a transfer comes to the source.
    Requested(u32),
    /// A transfer has been prepared at its source.
    Started(u32),
    /// The state of the line that a node reads has been looked up.
    ReadLookedUp(usize),
    /// The line that a node reads is in its controller.
    LineRead(usize),
    /// A node's packet has left.
    Pushed(usize),
    /// A packet comes into a controller.
    Arrive(u32),
    /// The state of the line that a node writes has been looked up.
    WriteLookedUp(usize),
    /// Memory has a packet's data.
    Written(u32),
    /// A transfer's flag is to be set, at its home.
    Flag(u32),
    /// A line that was asked for is a node's, for its access of this number.
    Owned(usize, u8),
}

/// The first kind of payload that is a transfer's.
const FIRST: u64 = 16;

impl From<TransferStep> for Payload {
    fn from(step: TransferStep) -> Payload {
        use TransferStep::*;
        let (kind, number) = match step {
            GoOn(node) => (0, node as u64),
            Requested(id) => (1, id.into()),
            Started(id) => (2, id.into()),
            ReadLookedUp(node) => (3, node as u64),
            LineRead(node) => (4, node as u64),
            Pushed(node) => (5, node as u64),
            Arrive(id) => (6, id.into()),
            WriteLookedUp(node) => (7, node as u64),
            Written(id) => (8, id.into()),
            Flag(id) => (9, id.into()),
            Owned(node, slot) => (10, (node as u64) << 8 | u64::from(slot)),
        };
        [FIRST + kind, number]
    }
}

impl TryFrom<Payload> for TransferStep {
    type Error = Payload;

    fn try_from(payload: Payload) -> Result<TransferStep, Payload> {
        use TransferStep::*;
        let [kind, number] = payload;
        let (node, id) = (number as usize, number as u32);
        Ok(match kind.wrapping_sub(FIRST) {
            0 => GoOn(node),
            1 => Requested(id),
            2 => Started(id),
            3 => ReadLookedUp(node),
            4 => LineRead(node),
            5 => Pushed(node),
            6 => Arrive(id),
            7 => WriteLookedUp(node),
            8 => Written(id),
            9 => Flag(id),
            10 => Owned((number >> 8) as usize, number as u8),
            _ => return Err(payload),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_survive_the_round_trip() {
        use TransferStep::*;
        let steps = [GoOn(63), Requested(1), Started(2), ReadLookedUp(3), LineRead(4), Pushed(5)];
        let others = [Arrive(u32::MAX), WriteLookedUp(6), Written(7), Flag(8), Owned(63, 5)];
        for step in steps.into_iter().chain(others) {
            assert_eq!(TransferStep::try_from(Payload::from(step)), Ok(step));
        }
        assert_eq!(TransferStep::try_from([FIRST + 11, 0]), Err([FIRST + 11, 0]));
        assert_eq!(TransferStep::try_from([6, 0]), Err([6, 0]));
    }
}
