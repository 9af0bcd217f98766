//! What happens to nodes and routers, in sixteen bytes.

use chasqui_engine::{Payload, Time};

/// What the fabric sends to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeEvent {
    /// The head of a packet arrives at the time of the event; the packet comes with the message.
    Packet {
        /// When its last byte arrives.
        tail: Time,
        /// Its virtual network: which of the node's receive buffers it enters.
        priority: u8,
        /// For the node's own use: where it keeps the packet while the event waits. The fabric
        /// sends 0.
        slot: u32,
    },
    /// The router has room for one more packet of this virtual network.
    Credit {
        /// Whose credit.
        priority: u8,
    },
}

const _: () = assert!(size_of::<NodeEvent>() <= 16);

impl From<NodeEvent> for Payload {
    #[inline]
    fn from(event: NodeEvent) -> Payload {
        match event {
            NodeEvent::Packet { tail, priority, slot } => {
                [tail.0, u64::from(slot) << 32 | u64::from(priority) << 8]
            }
            NodeEvent::Credit { priority } => [0, u64::from(priority) << 8 | 1],
        }
    }
}

impl From<Payload> for NodeEvent {
    /// # Panics
    /// When the payload is of another kind of component.
    #[inline]
    fn from([a, b]: Payload) -> NodeEvent {
        let priority = (b >> 8) as u8;
        match b as u8 {
            0 => NodeEvent::Packet { tail: Time(a), priority, slot: (b >> 32) as u32 },
            1 => NodeEvent::Credit { priority },
            tag => panic!("node event {tag}"),
        }
    }
}

/// What happens to the router that is the event's target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FabricEvent {
    /// A packet may leave: its head has arrived and the routing delay has passed.
    Packet {
        /// Port at which it came.
        input: u16,
        /// Channel by which it came.
        channel: u8,
        /// Where the fabric keeps it; 0 from a node, whose message brings the packet.
        slot: u32,
    },
    /// The far end of an output has room for one more packet.
    Credit {
        /// Which output.
        output: u16,
        /// Whose credit.
        channel: u8,
    },
    /// The tail of a packet leaves: its input buffer may send the next, its output is free.
    Tail {
        /// Port at which it came.
        input: u16,
        /// Channel by which it came.
        channel: u8,
        /// Port by which it left.
        output: u16,
    },
    /// A credit for which a packet waits has come back.
    Retry {
        /// Which output.
        output: u16,
    },
}

const _: () = assert!(size_of::<FabricEvent>() <= 16);

impl From<FabricEvent> for Payload {
    #[inline]
    fn from(event: FabricEvent) -> Payload {
        let pack = |tag: u64, channel: u8, input: u16, output: u16| {
            tag | u64::from(channel) << 8 | u64::from(input) << 16 | u64::from(output) << 32
        };
        match event {
            FabricEvent::Packet { input, channel, slot } => [pack(0, channel, input, 0), u64::from(slot)],
            FabricEvent::Credit { output, channel } => [pack(1, channel, 0, output), 0],
            FabricEvent::Tail { input, channel, output } => [pack(2, channel, input, output), 0],
            FabricEvent::Retry { output } => [pack(3, 0, 0, output), 0],
        }
    }
}

impl From<Payload> for FabricEvent {
    /// # Panics
    /// When the payload is of another kind of component.
    #[inline]
    fn from([a, b]: Payload) -> FabricEvent {
        let (channel, input, output) = ((a >> 8) as u8, (a >> 16) as u16, (a >> 32) as u16);
        match a as u8 {
            0 => FabricEvent::Packet { input, channel, slot: b as u32 },
            1 => FabricEvent::Credit { output, channel },
            2 => FabricEvent::Tail { input, channel, output },
            3 => FabricEvent::Retry { output },
            tag => panic!("fabric event {tag}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_the_round_trip() {
        for event in [
            NodeEvent::Packet { tail: Time(u64::MAX - 1), priority: 1, slot: u32::MAX },
            NodeEvent::Packet { tail: Time(1), priority: 0, slot: 0 },
            NodeEvent::Credit { priority: 1 },
        ] {
            assert_eq!(NodeEvent::from(Payload::from(event)), event);
        }
        for event in [
            FabricEvent::Packet { input: u16::MAX, channel: 1, slot: u32::MAX },
            FabricEvent::Credit { output: u16::MAX, channel: 1 },
            FabricEvent::Tail { input: 1, channel: 0, output: u16::MAX },
            FabricEvent::Tail { input: u16::MAX, channel: 1, output: 2 },
            FabricEvent::Retry { output: 7 },
        ] {
            assert_eq!(FabricEvent::from(Payload::from(event)), event);
        }
    }
}
