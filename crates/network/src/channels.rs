//! What shares a link: virtual networks, and the virtual channels of each.
//!
//! A virtual network has buffers and credits of its own on every link, so that its packets never wait for room that
//! another's take: requests and replies of a protocol, or messages of unlike urgency. A virtual channel is the same
//! within a virtual network, and breaks cycles among the links of a topology (W. Dally and C. Seitz, "Deadlock-free
//! message routing in multiprocessor interconnection networks", IEEE Trans. Computers C-36(5), 1987; W. Dally and
//! B. Towles, "Principles and Practices of Interconnection Networks", sections 13.3 and 14.2).

/// Which virtual network goes first on a link that several need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arbitration {
    /// The one of the highest number that has room at the far end. It may keep lower ones from the link for ever.
    Priority,
    /// The next after the one that went last, of those that have room at the far end.
    RoundRobin,
}

/// The virtual networks that a machine uses. They are numbered from 0 on, which is [`chasqui_engine::Packet::priority`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualNetworks {
    /// How many, from 1 on.
    pub count: u8,
    /// Which goes first.
    pub arbitration: Arbitration,
}

impl VirtualNetworks {
    /// A single one.
    pub const ONE: VirtualNetworks = VirtualNetworks { count: 1, arbitration: Arbitration::Priority };

    /// `count` of them; the highest number goes first.
    pub const fn by_priority(count: u8) -> VirtualNetworks {
        VirtualNetworks { count, arbitration: Arbitration::Priority }
    }

    /// `count` of them, which take turns.
    pub const fn round_robin(count: u8) -> VirtualNetworks {
        VirtualNetworks { count, arbitration: Arbitration::RoundRobin }
    }
}

/// All channels of a link, numbered by virtual network, then by virtual channel within it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Channels {
    pub networks: VirtualNetworks,
    /// Virtual channels of each network.
    pub virtual_channels: u8,
}

impl Channels {
    /// # Panics
    /// When there is none, or there are more than a byte can number.
    pub fn new(networks: VirtualNetworks, virtual_channels: u8) -> Channels {
        let channels = u16::from(networks.count) * u16::from(virtual_channels);
        assert!((1..=u16::from(u8::MAX)).contains(&channels), "{channels} channels of a link");
        Channels { networks, virtual_channels }
    }

    /// How many.
    pub fn count(self) -> usize {
        usize::from(self.networks.count) * usize::from(self.virtual_channels)
    }

    /// Channel of virtual channel `virtual_channel` of a network.
    #[inline]
    pub fn of(self, network: u8, virtual_channel: u8) -> u8 {
        network * self.virtual_channels + virtual_channel
    }

    /// The virtual network of a channel.
    #[inline]
    pub fn network(self, channel: u8) -> u8 {
        // Most topologies need one virtual channel, and then nothing is divided.
        if self.virtual_channels == 1 { channel } else { channel / self.virtual_channels }
    }

    /// All, with their network and virtual channel.
    pub fn all(self) -> impl Iterator<Item = (u8, u8, u8)> {
        let of_network =
            move |network| (0..self.virtual_channels).map(move |v| (self.of(network, v), network, v));
        (0..self.networks.count).flat_map(of_network)
    }
}
