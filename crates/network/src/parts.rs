//! A fabric in parts, which are partitions of the engine each: one for each zone of the network. Together they do what
//! the whole would do.

use chasqui_counters::Counters as _;
use chasqui_engine::PartitionId;

use crate::Fabric;
use crate::router::Router;
use crate::topology::Neighbour;
use crate::zones::Zones;

impl Fabric {
    /// Divides the network into as many zones as are `wanted`, if their sizes can be about even. It comes before
    /// [`Fabric::node_port`].
    pub fn divide(&mut self, wanted: u32) {
        self.zones = Zones::new(&self.wiring, wanted);
    }

    /// Zones of the network.
    pub fn zones(&self) -> u32 {
        self.zones.count
    }

    /// Where a node is.
    pub fn zone_of_node(&self, node: u32) -> u32 {
        self.zones.of(self.wiring.topology.attachment(node).router)
    }

    /// This fabric, which has not run, in parts, one for each zone; partition `first + zone` of the engine will be that of
    /// `zone`.
    pub fn split(self, first: PartitionId) -> Vec<Fabric> {
        match self.zones.count {
            1 => vec![self],
            count => (0..count).map(|zone| self.part(zone, first)).collect(),
        }
    }

    /// The routers of `zone`, and what stands for the others.
    fn part(&self, zone: u32, first: PartitionId) -> Fabric {
        let (wiring, attachments) = (self.wiring.clone(), self.attachments.clone());
        let networks = self.channels.networks;
        let faults = self.faults.clone();
        let mut part =
            Fabric::without_routers(wiring, &self.parameters, networks, faults, attachments, self.first_port);
        part.zones = self.zones.clone();
        part.faulty = self.faulty.like();
        part.traffic = self.traffic.like();
        part.routers = self.wiring.routers().map(|router| Router::elsewhere(router, self.channels)).collect();
        for router in self.wiring.routers().filter(|&router| self.zones.of(router) == zone) {
            part.routers[router as usize] = self.router(router);
            for at in self.wiring.ports(router) {
                if let Neighbour::Router(far) = self.wiring.far_end(at) {
                    let to = self.zones.of(far.router);
                    part.elsewhere[self.wiring.link_at(at)] = (to != zone).then_some(first + to);
                }
            }
        }
        part
    }

    /// What [`Fabric::split`] has made, when all have run, as the whole that would have run in their place. None: there are
    /// no parts.
    pub fn join(parts: impl IntoIterator<Item = Fabric>) -> Option<Fabric> {
        parts.into_iter().reduce(|mut whole, part| {
            for (router, other) in whole.routers.iter_mut().zip(part.routers) {
                if router.is_elsewhere() {
                    *router = other;
                }
            }
            whole.statistics.add(&part.statistics);
            whole.events += part.events;
            whole.traffic.add(part.traffic);
            part.broken.into_iter().for_each(|error| whole.note_broken(error));
            part.queue.iter().for_each(|&event| whole.queue.push(event));
            whole.transits.extend(part.transits);
            whole.free_slots.extend(part.free_slots);
            whole
        })
    }
}
