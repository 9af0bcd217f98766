//! The peers of a rank that is simulated alone: how messages are on the wire, and the line.

use chasqui_abi::Envelope;
use chasqui_config::Resolved;
use chasqui_engine::{Class, Engine, Event, Lookahead, Outbox, Packet, PartitionId, Port, Time};
use chasqui_machine::replay::{Datagrams, Line, Peers, Replay, Wire};
use chasqui_machine::{Built, NodePlan, Workload, build_node};
use chasqui_network::FromNode;
use chasqui_node::{NodeConfiguration, NodePartition};
use chasqui_placement::NodeId;

use crate::Loggp;
use crate::ni::{ENVELOPE, LoggpNi};

/// There is no rendezvous, and all else is an envelope with its data.
struct LoggpWire;

impl Wire for LoggpWire {
    fn eager_bytes_max(&self) -> u64 {
        u64::MAX
    }

    fn puts(&self) -> bool {
        false
    }

    fn message(&mut self, envelope: &Envelope, data: &[u8]) -> Packet {
        Packet {
            source: u32::from(envelope.source),
            destination: u32::from(envelope.destination),
            wire_bytes: data.len() as u32,
            bytes: [&envelope.to_bytes()[..], data].concat(),
            message: envelope.message(),
            ..Packet::default()
        }
    }

    fn put(&self, _: &Envelope, _: u64, _: &[u8]) -> Vec<Packet> {
        unreachable!("there is no rendezvous")
    }

    fn read<'a>(&self, packet: &'a Packet) -> Option<(Envelope, &'a [u8])> {
        let (envelope, data) = packet.bytes.split_at(ENVELOPE);
        Some((Envelope::from_bytes(envelope), data))
    }
}

/// Its latency is L. The gaps are kept by the NI that receives.
struct LoggpLine {
    latency: Time,
    node: PartitionId,
    port: Port,
}

impl Line for LoggpLine {
    fn latency(&self) -> Time {
        self.latency
    }

    fn can_send(&self, _: Time, _: u8) -> Result<(), Option<Time>> {
        Ok(())
    }

    fn send(&mut self, now: Time, packet: Box<Packet>, out: &mut Outbox<'_>) {
        let order = self.port.next(Class::Packet);
        let event = Event { time: now + self.latency, order, target: 0, payload: [0, 0] };
        out.send(now, self.node, event, Some(packet));
    }

    fn receive(&mut self, event: &Event, packet: Option<Box<Packet>>) -> FromNode {
        FromNode::Packet(packet.expect("a message"), event.time)
    }

    fn release(&mut self, _: Time, _: u8, _: &mut Outbox<'_>) {}
}

/// The node of the rank that `replay` is about, with its peers.
///
/// # Errors
/// What does not fit, in words for the user.
pub(crate) fn build_alone(resolved: &Resolved, work: &Workload, replay: &Replay) -> Result<Built, String> {
    const NODE: PartitionId = 0;
    const PEERS: PartitionId = 1;
    let configuration = NodeConfiguration::read(resolved);
    let loggp: Loggp = resolved.read("loggp");
    let latency = Time(loggp.latency.ps());
    let mut engine = Engine::new(Lookahead::new(vec![vec![latency]]));
    // One rank a node: see `Machine::build`.
    let number = NodeId(replay.rank);
    let plan = NodePlan {
        configuration: &configuration,
        number,
        ni: Box::new(LoggpNi::new(&loggp, number, &work.placement, NodePartition::PORTS).with_peers(PEERS)),
        ni_memory_bytes: 0,
        free_calls: true,
        first_port: 0,
    };
    let node = engine.add(0, Box::new(build_node(plan, work)?));
    let line = LoggpLine { latency, node: NODE, port: Port::new(NodePartition::PORTS + 1) };
    let peers =
        Peers::new(replay, Box::new(Datagrams::new(LoggpWire)), Box::new(line), NodePartition::PORTS + 2);
    engine.add(0, Box::new(peers));
    Ok(Built { engine, nodes: vec![node] })
}
