//! A link: how long bytes take on it.

use chasqui_counters::counters;
use chasqui_engine::Time;

const PS_PER_S: u128 = 1_000_000_000_000;

/// One direction of a link between two routers, or between a node and a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    bandwidth_bytes_per_s: u64,
    latency: Time,
    /// Time of a byte [ps] where it is a whole number, else 0.
    ps_per_byte: u64,
}

impl Link {
    /// A link that moves `bandwidth_bytes_per_s` and whose first byte arrives `latency` after it left.
    ///
    /// # Panics
    /// When the bandwidth is zero or above 10^12 bytes/s, whose bytes picoseconds can't tell apart.
    pub fn new(bandwidth_bytes_per_s: u64, latency: Time) -> Link {
        let bandwidth = u128::from(bandwidth_bytes_per_s);
        assert!(bandwidth > 0 && bandwidth <= PS_PER_S, "link of {bandwidth} bytes/s");
        let whole = PS_PER_S.is_multiple_of(bandwidth);
        let ps_per_byte = if whole { (PS_PER_S / bandwidth) as u64 } else { 0 };
        Link { bandwidth_bytes_per_s, latency, ps_per_byte }
    }

    /// A link that all bytes cross at once, [`Link::latency`] after they left.
    pub fn without_bandwidth(latency: Time) -> Link {
        Link { bandwidth_bytes_per_s: u64::MAX, latency, ps_per_byte: 0 }
    }

    /// Bandwidth [bytes/s]; [`u64::MAX`]: bytes take no time.
    pub fn bandwidth_bytes_per_s(&self) -> u64 {
        self.bandwidth_bytes_per_s
    }

    /// Time from a byte's departure to its arrival.
    pub fn latency(&self) -> Time {
        self.latency
    }

    /// Time for which `bytes` occupy the link, rounded up to a whole picosecond.
    #[inline]
    pub fn serialization(&self, bytes: u32) -> Time {
        if self.ps_per_byte != 0 {
            Time(u64::from(bytes) * self.ps_per_byte)
        } else if self.bandwidth_bytes_per_s == u64::MAX {
            Time::ZERO
        } else {
            Time((u128::from(bytes) * PS_PER_S).div_ceil(u128::from(self.bandwidth_bytes_per_s)) as u64)
        }
    }
}

counters! {
    /// What one direction of a link did.
    pub struct LinkStatistics {
        /// Packets that started on the link.
        packets: "packets";
        /// Bytes of the packets that started on the link, headers and checks included.
        bytes: "bytes";
        /// Time for which the link carried bytes.
        busy_ps: "ps";
        /// Time for which the link was free and a packet waited, but none that waited had a credit, or its channel was
        /// held for another's worm.
        blocked_ps: "ps";
    }
}

impl LinkStatistics {
    pub(crate) fn count(&mut self, wire_bytes: u32, busy: Time) {
        self.packets += 1;
        self.bytes += u64::from(wire_bytes);
        self.busy_ps += busy.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialization_is_exact_or_rounded_up() {
        // Arctic: 16 bits at 80 MHz, a byte in 6250 ps.
        let arctic = Link::new(160_000_000, Time(1));
        assert_eq!(arctic.serialization(96), Time(600_000));
        // 3 bytes in a second: a byte takes 333 333 333 333.33 ps.
        let slow = Link::new(3, Time(1));
        assert_eq!(
            [1, 2, 3].map(|b| slow.serialization(b).0),
            [333_333_333_334, 666_666_666_667, PS_PER_S as u64]
        );
        // The whole and the fractional path agree where both apply: 12.5 GB/s is 80 ps a byte.
        assert_eq!(
            Link::new(12_500_000_000, Time(1)).serialization(u32::MAX),
            Time(u64::from(u32::MAX) * 80)
        );
    }

    #[test]
    #[should_panic(expected = "link of 0 bytes/s")]
    fn no_bandwidth_is_refused() {
        Link::new(0, Time(1));
    }
}
