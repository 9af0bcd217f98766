//! Control packets: what NESs tell each other (ours), without data or nearly so. Each crosses the I-bus to the TxU as messages do.

use chasqui_ni::Context;
use chasqui_placement::ProcessId;

use super::senders::Flow;
use super::table::Destination;
use super::transmit::{HEADER, packet_bytes, push_packet};
use super::{NesEvent, Shared};
use crate::service_registers::{PACKET_ABSENT, PACKET_ENDED, PACKET_GO_ON, PACKET_REFUSAL, PACKET_WAIT};

/// A process that sends a block, and its site before it.
pub(super) type Sender = (u32, ProcessId);

/// What a site is told.
#[derive(Clone, Copy)]
pub(super) enum Control {
    /// A block of its process can't be written to the address.
    Refused(Sender, u64),
    /// The process, of this site, is over.
    Absent { site: u32, process: ProcessId },
    /// Blocks from there for the process's job wait, or go on.
    Turn { site: u32, process: ProcessId, flow: Flow },
    /// This site has no more blocks for the process there: none is left, or one has broken off.
    Ended { site: u32, process: ProcessId },
}

impl Control {
    /// The site that is told, and the process in whose queue's name.
    fn to(self) -> Sender {
        match self {
            Control::Refused(sender, _) => sender,
            Control::Absent { site, process }
            | Control::Turn { site, process, .. }
            | Control::Ended { site, process } => (site, process),
        }
    }

    /// Kind and data of the packet.
    fn content(self) -> (u64, Vec<u8>) {
        match self {
            Control::Refused(_, address) => (PACKET_REFUSAL, address.to_le_bytes().to_vec()),
            Control::Absent { .. } => (PACKET_ABSENT, vec![]),
            Control::Turn { flow: Flow::Stop, .. } => (PACKET_WAIT, vec![]),
            Control::Turn { flow: Flow::Go, .. } => (PACKET_GO_ON, vec![]),
            Control::Ended { .. } => (PACKET_ENDED, vec![]),
        }
    }
}

/// The unit that sends them, one after the other.
#[derive(Default)]
pub(super) struct ControlSender {
    /// The first crosses the I-bus.
    is_crossing: bool,
}

impl ControlSender {
    #[inline]
    pub fn go_on(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let Some(control) = s.control.front() else { return };
        let (_, process) = control.to();
        if !self.is_crossing && s.txu_has_room(s.homes.names.first_basic(process)) {
            self.is_crossing = true;
            let bytes = HEADER + control.content().1.len();
            c.at(s.cross(c.now, s.nes.transmit.cycles(), bytes as u64), NesEvent::Told.into());
        }
    }

    /// The first is in the TxU: it becomes a packet.
    pub fn crossed(&mut self, s: &mut Shared) {
        let control = s.control.pop_front().expect("a control packet crosses");
        let ((site, process), (kind, data)) = (control.to(), control.content());
        self.is_crossing = false;
        // Names of queues are the same at all sites.
        let queue = s.homes.names.first_basic(process);
        let to = Destination { site, queue, source: 0 };
        push_packet(s, (queue, site), packet_bytes(kind, to, 0, [&data, &[]]), data.len() as u64, None);
    }
}
