//! The pieces of worms, where they begin.

use chasqui_engine::Packet;

use crate::Switching;

/// What a source has begun to send on one virtual network: the ends of a worm of which pieces are still to come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OpenWorm(Option<(u32, u32)>);

impl OpenWorm {
    /// `packet` is the next that the source sends, into a network of this `switching`.
    ///
    /// # Panics
    /// When it is another's than that of the worm that is open; when more is to follow and routers hold no links: bugs of the
    /// network interface.
    #[inline]
    pub fn follow(&mut self, packet: &Packet, switching: Switching) {
        let &Packet { source, destination, more, .. } = packet;
        assert!(
            !more || switching == Switching::Wormhole,
            "node {source} sends a worm, but switching is {switching}"
        );
        let ends = (source, destination);
        if let Some(open) = self.0 {
            assert_eq!(ends, open, "source and destination of a packet within a worm");
        }
        self.0 = more.then_some(ends);
    }
}
