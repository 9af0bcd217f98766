//! Packets that events from other partitions bring, while the events wait.

use chasqui_engine::{Event, Packet};

/// Packets, by what is noted in the high half of the second word of their events' payloads.
#[derive(Default)]
pub(crate) struct Packets {
    places: Vec<Option<Box<Packet>>>,
    free: Vec<u32>,
}

/// Bits of a payload's second word that are the event's own.
const OWN_BITS: u32 = 32;

impl Packets {
    /// Keeps the packet that `event` brings, if there is one.
    pub fn keep(&mut self, event: &mut Event, packet: Option<Box<Packet>>) {
        let place = packet.map_or(u32::MAX, |packet| self.put(packet));
        event.payload[1] = event.payload[1] & ((1 << OWN_BITS) - 1) | u64::from(place) << OWN_BITS;
    }

    fn put(&mut self, packet: Box<Packet>) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = Some(packet);
                place
            }
            None => {
                self.places.push(Some(packet));
                self.places.len() as u32 - 1
            }
        }
    }

    /// The packet that `event` brings.
    pub fn take(&mut self, event: &Event) -> Option<Box<Packet>> {
        let place = (event.payload[1] >> OWN_BITS) as u32;
        let packet = self.places.get_mut(place as usize)?.take();
        self.free.push(place);
        packet
    }
}
