//! How soon the fabric may reach nodes, and other parts of itself.

use chasqui_engine::{Event, Time};

use crate::lookahead::{FABRIC, GROUPS, NODES};
use crate::topology::{Neighbour, RouterPort};
use crate::{Fabric, FabricEvent, Switching};

impl Fabric {
    /// Lowers `earliest`, by groups of partitions near and in other zones, to the effects of `events`. `least`: the look-aheads.
    pub(crate) fn lower_earliest_outputs<'a>(
        &self,
        events: impl Iterator<Item = &'a Event>,
        least: &[Time],
        earliest: &mut [Time],
    ) {
        let (latency, waits) = (self.link.latency(), self.waits());
        for event in events {
            // Only what may come before the first found is looked at closely.
            if event.time + latency < earliest[NODES] {
                earliest[NODES] = earliest[NODES].min(event.time + self.to_nodes(event, waits));
            }
            if self.zones() > 1 {
                let (to_routers, to_nodes) = self.beyond(event, waits, least[GROUPS + FABRIC]);
                earliest[FABRIC] = earliest[FABRIC].min(event.time + to_routers);
                // If zones are on different host threads.
                if let [_, _, nodes, fabric] = earliest {
                    *nodes = (*nodes).min(event.time + to_nodes);
                    *fabric = (*fabric).min(event.time + to_routers);
                }
            }
        }
    }

    /// Some packet waits at a router: its event has been.
    fn waits(&self) -> bool {
        let is_packet = |event: &&Event| matches!(event.payload.into(), FabricEvent::Packet { .. });
        self.transits.len() - self.free_slots.len() > self.queue.iter().filter(is_packet).count()
    }

    /// The packet of an event may let another go that waits at its router: that which waits for the end of its worm.
    fn frees(&self, waits: bool) -> bool {
        waits && self.forwarding.switching == Switching::Wormhole
    }

    /// From `event` to its first effect on a node. `waits`: some packet waits at a router.
    fn to_nodes(&self, event: &Event, waits: bool) -> Time {
        let latency = self.link.latency();
        let FabricEvent::Packet { input, slot, .. } = event.payload.into() else {
            // It lets a packet go on.
            return if waits { latency } else { Time::NEVER };
        };
        let (router, transit) = (event.target, &self.transits[slot as usize]);
        let port = self.wiring.topology.route(router, input, &transit.header).port;
        if matches!(self.wiring.far_end(RouterPort { router, port }), Neighbour::Node(_)) {
            return latency;
        }
        // The packet has another router to pass; room for the next is known to the node that sent it when
        // the tail has left, and a router that has it may let another packet go to a node.
        let (onward, room) =
            (latency + self.forwarding.routing_delay + latency, transit.serialization + latency);
        match self.wiring.far_end(RouterPort { router, port: input }) {
            Neighbour::Node(_) => onward.min(room),
            // What waits for this packet's tail may have come from a node.
            _ if self.frees(waits) => onward.min(room),
            _ => onward.min(room + latency),
        }
    }

    /// From `event` to its first effects on a router of another zone, and on a node there. `waits`: some packet waits
    /// at a router. `onward`: from router to router at the soonest.
    fn beyond(&self, event: &Event, waits: bool, onward: Time) -> (Time, Time) {
        let latency = self.link.latency();
        let FabricEvent::Packet { input, slot, .. } = event.payload.into() else {
            return if waits { (onward, onward + latency) } else { (Time::NEVER, Time::NEVER) };
        };
        let (router, transit) = (event.target, &self.transits[slot as usize]);
        let port = self.wiring.topology.route(router, input, &transit.header).port;
        let (sent, came) = (RouterPort { router, port }, RouterPort { router, port: input });
        // What is near first: where the packet goes, or where its room is known, from where another goes on.
        let (mut to_routers, mut to_nodes) = (onward + onward, onward + onward + latency);
        if let (Some(_), Neighbour::Router(far)) = (self.elsewhere(sent), self.wiring.far_end(sent)) {
            let head = latency + self.forwarding.routing_delay;
            let from_there = if self.wiring.has_nodes(far.router) { Time::ZERO } else { onward };
            to_routers = to_routers.min(head);
            to_nodes = to_nodes.min(head + from_there + latency);
        }
        // What waits for this packet's tail may have come from another zone.
        if self.elsewhere(came).is_some() || self.frees(waits) {
            let room = transit.serialization + latency;
            to_routers = to_routers.min(room);
            to_nodes = to_nodes.min(room + latency);
        }
        (to_routers, to_nodes)
    }
}
