//! The virtual networks in which messages wait for room.

use chasqui_coherence::{Kind, Network};

/// Virtual networks in which messages wait for room.
pub(super) const WAITING: usize = 3;

/// Virtual networks by number.
pub(super) const REQUEST: usize = 0;
pub(super) const INTERVENTION: usize = 1;
pub(super) const ACKNOWLEDGEMENT: usize = 2;

/// Which of them a message takes; `None`: there is always room.
pub(super) fn channel(kind: Kind) -> Option<usize> {
    match kind.network() {
        Network::Request => Some(REQUEST),
        Network::Intervention => Some(INTERVENTION),
        Network::Acknowledgement => Some(ACKNOWLEDGEMENT),
        Network::Reply => None,
    }
}
