//! Frames of VIA's, as the kernel makes them where it is the NIC (`kernel/mvia.c`): a packet as VIA NICs have it, behind a
//! header that says how long it is, since frames are padded, and how much of its message is to come.

use chasqui_abi::{Envelope, packet};
use chasqui_ni::MessageKey;

use super::frame::address;
use super::registers::{HEADER_BYTES, TYPE_VIA};
use crate::mechanism::Mechanism;
use crate::via::packet::{SEND, ViaFrame, ViaHeader};

/// Longest data of a frame with packets of `mtu` bytes [bytes]: whole words, so that copies of the next are, too.
pub(crate) fn data_max(mtu: u64) -> u64 {
    (mtu - size_of::<ViaFrame>() as u64) & !7
}

/// The frame, from and to nodes; `left` bytes of its message are to come.
pub(crate) fn frame(
    (source, destination): (u32, u32),
    header: &ViaHeader,
    data: &[u8],
    left: u32,
) -> Vec<u8> {
    let head = ViaFrame { header: *header, bytes: data.len() as u32, left };
    let mut frame = [address(destination), address(source)].concat();
    frame.extend(TYPE_VIA.to_be_bytes());
    frame.extend(head.to_bytes());
    frame.extend_from_slice(data);
    frame
}

/// What is in a frame of VIA's: header and data, and how many bytes of the message are to come.
pub(crate) fn parse(frame: &[u8]) -> Option<(ViaFrame, &[u8])> {
    let (head, rest) = frame.split_at_checked(HEADER_BYTES as usize)?;
    let (header, rest) = rest.split_at_checked(size_of::<ViaFrame>())?;
    let header = ViaFrame::from_bytes(header);
    let data = rest.get(..header.bytes as usize)?;
    (head[12..] == TYPE_VIA.to_be_bytes()).then_some((header, data))
}

/// The message that a frame counts for, and by what it travels; `None`: it is not the first of a message of MPI's. Pieces of
/// RDMA writes do not say whose they are; what ends such a message does.
pub(super) fn message(frame: &[u8]) -> Option<(MessageKey, Mechanism)> {
    let (head, data) =
        parse(frame).filter(|(head, _)| head.header.kind == SEND && head.header.address == 0)?;
    let envelope = Envelope::from_bytes(data.get(..size_of::<Envelope>())?);
    let by_rdma = envelope.kind == packet::FINISHED;
    debug_assert_eq!(head.bytes as usize, data.len());
    Some((envelope.message(), if by_rdma { Mechanism::RdmaWrite } else { Mechanism::Vi }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::via::packet::WRITE;

    fn header(kind: u16, address: u64) -> ViaHeader {
        ViaHeader { kind, to: 3, from: 260, sequence: 7, address, ..ViaHeader::default() }
    }

    #[test]
    fn what_is_read_is_what_was_made() {
        for data in [&b""[..], b"hello"] {
            let made = frame((1, 260), &header(SEND, 0), data, 9);
            assert_eq!(super::super::node_of(&made), Some(260));
            let expected = ViaFrame { header: header(SEND, 0), bytes: data.len() as u32, left: 9 };
            assert_eq!(parse(&made), Some((expected, data)));
            assert_eq!(parse(&[&made[..], &[0; 20]].concat()), Some((expected, data)), "padding");
        }
        assert_eq!(parse(&frame((1, 2), &header(SEND, 0), b"hello", 0)[..58]), None, "it is cut off");
        assert_eq!(parse(&[0; 60]), None);
    }

    #[test]
    fn a_message_is_named_by_its_envelope() {
        let named = |kind, of: u8, address| {
            let envelope = Envelope { kind: of, source: 4, sequence: 5, ..Envelope::default() };
            message(&frame((0, 1), &header(kind, address), &envelope.to_bytes(), 0))
        };
        assert_eq!(named(SEND, packet::EAGER, 0), Some((Some((4, 5)), Mechanism::Vi)));
        assert_eq!(named(SEND, packet::FINISHED, 0), Some((Some((4, 5)), Mechanism::RdmaWrite)));
        assert_eq!(named(SEND, packet::EAGER, 1456), None, "a part of one");
        assert_eq!(named(WRITE, packet::EAGER, 0), None);
        assert_eq!(message(&frame((0, 1), &header(SEND, 0), b"short", 0)), None);
    }
}
