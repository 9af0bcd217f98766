//! Two NESs and a router: stores and loads at given times, as the processors' buses would bring them, and the
//! times from the parameters at which a message can be read.

use std::sync::{Arc, Mutex};

use chasqui_config::{Catalogue, Resolved, Schema, resolve};
use chasqui_engine::{
    Class, Ended, Engine, Event, EventQueue, Lookahead, Outbox, Packet, Partition, Port, Time,
};
use chasqui_machine::Machine;
use chasqui_memory::FlatMemory;
use chasqui_network::{Attachment, FABRIC, Fabric, NODES, NetworkParameters};
use chasqui_ni::{ACCEPTED, Context, NetworkInterface, Outputs, Pager, RETRY};
use chasqui_node::NodeConfiguration;
use chasqui_placement::{Placement, ProcessId};
use chasqui_record::Recorder;

use super::{EXPRESS_RECEIVE, EXPRESS_WINDOW, Nes, NesPlan, TAG_WINDOW};
use crate::VOYAGER;
use crate::registers as r;

/// An access of the processor.
#[derive(Clone, Copy)]
enum Access {
    Store(u64, u64),
    Store64(u64, [u64; 8]),
    Load(u64),
}

/// What the loads returned, and faults, in the order of time.
type Log = Arc<Mutex<Vec<Result<u64, String>>>>;

struct NoPages;

impl Pager for NoPages {
    fn hart(&self, _: ProcessId) -> Option<usize> {
        None
    }

    fn physical(&self, _: &FlatMemory, _: ProcessId, _: u64, _: bool) -> Option<u64> {
        None
    }

    fn page_in(&mut self, _: &mut FlatMemory, _: ProcessId, _: u64, _: bool) -> bool {
        false
    }
}

/// A site whose processor is a list of accesses.
struct Site {
    nes: Nes,
    memory: FlatMemory,
    recorder: Recorder,
    script: Vec<Access>,
    queue: EventQueue,
    own: Port,
    packets: Vec<Option<Box<Packet>>>,
    log: Log,
}

const ACCESS: u32 = 0;
const OWN: u32 = 1;
const NETWORK: u32 = 2;

impl Site {
    fn dispatch(&mut self, event: Event, out: &mut Outbox<'_>) {
        let mut outputs = Outputs::default();
        let mut context = Context {
            hart: 0,
            now: event.time,
            memory: &mut self.memory,
            ports: &mut [],
            pager: &mut NoPages,
            recorders: std::slice::from_mut(&mut self.recorder),
            out,
            alone: event.time,
            outputs: &mut outputs,
        };
        let mut log = self.log.lock().unwrap();
        match event.target {
            ACCESS => match self.script[event.payload[0] as usize] {
                Access::Store(address, value) => self.nes.write(&mut context, address, 4, value),
                Access::Store64(address, words) => {
                    let reply = self.nes.store_64(&mut context, address, &words, true);
                    log.push(Ok(reply.value));
                }
                Access::Load(address) => log.push(Ok(self.nes.read(&mut context, address, 8).value)),
            },
            OWN => self.nes.event(&mut context, event.payload),
            _ => {
                let packet = self.packets.get_mut((event.payload[1] >> 32) as usize).and_then(Option::take);
                self.nes.network(&mut context, event, packet);
            }
        }
        assert!(outputs.bus.is_empty(), "flush: the NES needs no bus");
        log.extend(outputs.faults.into_iter().map(|(_, text)| Err(text)));
        for (time, payload) in outputs.events {
            let order = self.own.next(Class::Internal);
            self.queue.push(Event { time, order, target: OWN, payload });
        }
    }
}

impl Partition for Site {
    fn next(&self) -> Time {
        self.queue.next_time()
    }

    fn run(&mut self, out: &mut Outbox<'_>) -> u64 {
        let mut events = 0;
        while let Some(event) = self.queue.pop_before(out.limit()) {
            events += 1;
            self.dispatch(event, out);
        }
        events
    }

    fn receive(&mut self, mut event: Event, packet: Option<Box<Packet>>) {
        event.target = NETWORK;
        self.nes.announce(&event);
        event.payload[1] = event.payload[1] & 0xffff_ffff | (self.packets.len() as u64) << 32;
        self.packets.push(packet);
        self.queue.push(event);
    }

    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any> {
        self
    }
}

/// The machine alone.
struct Own;

impl Catalogue for Own {
    fn machine_file<'a>(&'a self, _: &str) -> Option<(&'a str, &'a str)> {
        Some((VOYAGER.file(), "machine.toml"))
    }
    fn names(&self) -> Vec<&str> {
        vec!["voyager"]
    }
    fn schema(&self, _: &str) -> Schema {
        VOYAGER.schema()
    }
}

/// The machine, whose Express queue 1 has high priority.
fn resolved() -> Resolved {
    let sets = ["voyager.queues.high_express=1".to_string()];
    resolve(&Own, "voyager", &sets).expect("the machine's own file")
}

/// Runs the accesses of two sites, each with its time [ps], and returns what site 1 read and its faults, then
/// those of site 0.
fn run(scripts: [Vec<(u64, Access)>; 2]) -> Vec<Result<u64, String>> {
    let resolved = resolved();
    let network: NetworkParameters = resolved.read("network");
    let (to_fabric, to_node) = network.lookahead();
    let never = Time::NEVER;
    let mut engine = Engine::new(Lookahead::new(vec![vec![never, to_fabric], vec![to_node, never]]));
    let attachments = (0..2).map(|partition| Attachment { partition, target: 0 }).collect();
    let fabric = Fabric::new(&network, crate::NETWORKS, attachments, 4).unwrap();
    let logs = [Log::default(), Log::default()];
    for (rank, script) in scripts.into_iter().enumerate() {
        let port = fabric.node_port(rank as u32, 2);
        // Without firmware: what finds no room waits in the network.
        let nes = Nes::new(NesPlan::read(&resolved, &Placement::one_a_node(vec![2]), 0, port, None))
            .expect("no firmware");
        let mut queue = EventQueue::default();
        // Accesses come after what the NES does at the same time.
        let mut accesses = Port::new(2 * rank as u32 + 1);
        for (index, &(at, _)) in script.iter().enumerate() {
            let order = accesses.next(Class::Internal);
            queue.push(Event { time: Time(at), order, target: ACCESS, payload: [index as u64, 0] });
        }
        let site = Site {
            memory: FlatMemory::new(nes.memory_bytes()).unwrap(),
            nes,
            recorder: Recorder::new(rank as u16, 1),
            script: script.into_iter().map(|(_, access)| access).collect(),
            queue,
            own: Port::new(2 * rank as u32),
            packets: Vec::new(),
            log: logs[rank].clone(),
        };
        engine.add(NODES, Box::new(site));
    }
    engine.add(FABRIC, Box::new(fabric));
    assert_eq!(engine.run(chasqui_engine::Threads::Exactly(1), &mut |_| true), Ended::Idle);
    let [zero, one] = logs.map(|log| log.lock().unwrap().clone());
    one.into_iter().chain(zero).collect()
}

/// When a message with `data` bytes behind its header, whose store reaches the NES at `at`, can be read [ps].
/// Control and I-bus; a router between two links; the tail behind the head; at the next edge of the bus
/// clock control and I-bus again.
fn readable(at: u64, data: u64) -> u64 {
    let resolved = resolved();
    let nes: crate::parameters::Nes = resolved.read("voyager.nes");
    let network: NetworkParameters = resolved.read("network");
    let clock = NodeConfiguration::read(&resolved).bus.clock();
    let ibus = data.div_ceil(nes.ibus_width.bytes());
    let injected = clock.after(Time(at), nes.transmit.cycles() + ibus);
    let bytes = (data + nes.packet_overhead.bytes()) as u32;
    let arrived = injected + network.unloaded_head_latency(1, bytes);
    let landed = arrived + network.link().serialization(bytes);
    clock.after(landed, nes.receive.cycles() + ibus).0
}

/// Section 3: 4x4 routers, half of whose links lead up.
#[test]
fn routers_have_four_links_each_way() {
    let network: NetworkParameters = resolved().read("network");
    let tree = network.build_topology(32).unwrap();
    assert!((0..tree.routers()).all(|router| tree.ports(router) == 4));
    assert_eq!(tree.switches(0, 31), 9, "a tree of five levels");
}

const AT: u64 = 10_000_000;
const QUEUE_0: Access = Access::Load(EXPRESS_RECEIVE);
/// To rank 1, from queue 0: five bits 21.
const STORE: Access = Access::Store(EXPRESS_WINDOW + (1 << 7 | 21 << 2), 0x1234_5678);
const ALONE: u64 = r::CAME_ALONE << r::EXPRESS_CAME_SHIFT;
const DATA: u64 = 21 << 32 | 0x1234_5678;
const MESSAGE: u64 = ALONE | DATA;

#[test]
fn an_express_message_can_be_read_when_the_parameters_say() {
    let ready = readable(AT, 8);
    let loads = vec![(ready - 1, QUEUE_0), (ready, QUEUE_0), (ready + 1, QUEUE_0)];
    assert_eq!(run([vec![(AT, STORE)], loads]), [Ok(0), Ok(MESSAGE), Ok(0)]);
}

/// Phantom queue 0 looks at these queues; the second half of the word ends the order.
fn order(first: u64, second: u64) -> Access {
    Access::Store(EXPRESS_RECEIVE + r::ONEPOLL_ORDER, first | second << 16 | r::ONEPOLL_NONE << 32)
}

const ONEPOLL: Access = Access::Load(EXPRESS_RECEIVE + r::ONEPOLL);

#[test]
fn one_poll_finds_a_message_when_its_queue_does() {
    let ready = readable(AT, 8);
    let loads = vec![(0, order(1, 0)), (ready - 1, ONEPOLL), (ready, ONEPOLL), (ready + 1, ONEPOLL)];
    assert_eq!(run([vec![(AT, STORE)], loads]), [Ok(0), Ok(MESSAGE), Ok(0)]);
}

#[test]
fn one_poll_takes_the_first_of_the_order_that_was_set_last() {
    // Queue 1 is above the destinations of queue 0: 32 of 128 bytes.
    let low = Access::Store(EXPRESS_WINDOW + (1 << 12 | 1 << 7), 7);
    let from_1 = ALONE | 1 << r::EXPRESS_QUEUE_SHIFT | 7;
    let later = |i| 2 * AT + i;
    let stores = vec![(AT, STORE), (AT, STORE), (AT, low), (AT, low)];
    let loads = vec![
        (later(0), ONEPOLL),
        (later(1), order(0, 1)),
        (later(2), ONEPOLL),
        (later(3), order(1, 0)),
        (later(4), ONEPOLL),
        (later(5), ONEPOLL),
        (later(6), ONEPOLL),
        (later(7), ONEPOLL),
    ];
    let expected = [0, MESSAGE, from_1, from_1, MESSAGE, 0];
    assert_eq!(run([stores, loads]), expected.map(Ok), "no order: nothing is looked at");
}

#[test]
fn one_poll_of_a_queue_that_the_process_has_not_is_a_fault() {
    let found = run([vec![], vec![(AT, order(0, 3)), (AT + 1, ONEPOLL)]]);
    let fault = found[0].as_ref().unwrap_err();
    assert!(fault.starts_with("protection: OnePoll is to look at queue 3"), "{fault}");
    assert_eq!(found[1], Ok(0));
}

#[test]
fn a_tag_on_message_takes_its_data_along() {
    for (above, data, came) in [(0, 48, r::CAME_SHORT), (r::TAG_LONG, 80, r::CAME_LONG)] {
        // A page of addresses for each value above the destination: 32 destinations of 128 bytes.
        let store = Access::Store(TAG_WINDOW + (above << 12 | 1 << 7), 9);
        let ready = readable(AT, 8 + data);
        let found = run([vec![(AT, store)], vec![(ready - 1, QUEUE_0), (ready, QUEUE_0)]]);
        assert_eq!(found, [Ok(0), Ok(came << r::EXPRESS_CAME_SHIFT | 9)]);
    }
}

/// Section 5.2: the header names the slot, and any slot may be given back. Section 4.2: all Express queues are Tag-On's.
#[test]
fn headers_name_slots_which_are_given_back_in_any_order() {
    let tags = resolved().read::<crate::parameters::Express>("voyager.express").tags;
    // Queue 1 has the second half of the slots.
    let store = Access::Store(TAG_WINDOW + (1 << 12 | 1 << 7), 9);
    let release = |slot: u64| Access::Store(r::TAG_RELEASE + slot / 32 * 4, 1 << (slot % 32));
    let queue_1 = Access::Load(EXPRESS_RECEIVE + 8);
    let header = |slot: u64| {
        let came = r::CAME_SHORT << r::EXPRESS_CAME_SHIFT | slot << r::EXPRESS_SLOT_SHIFT;
        Ok(came | 1 << r::EXPRESS_QUEUE_SHIFT | 9)
    };
    let late = |i: u64| 20 * AT + i * 1_000_000;
    // One more than there are slots: it waits until a slot is free, which is not the oldest.
    let stores = (0..=tags).map(|i| (AT + i * 1_000_000, store)).collect();
    let mut loads: Vec<_> = (0..=tags).map(|i| (late(i), queue_1)).collect();
    let third = tags + 2;
    loads.extend([(late(tags + 1), release(third)), (late(tags + 2), queue_1)]);
    loads.extend([(late(tags + 3), release(third)), (late(tags + 4), release(third))]);
    let mut expected: Vec<_> = (0..tags).map(|i| header(tags + i)).collect();
    expected.extend([Ok(0), header(third)]);
    let found = run([stores, loads]);
    assert_eq!(found[..found.len() - 1], expected);
    let fault = found.last().unwrap().as_ref().unwrap_err();
    assert!(fault.contains(&format!("slot {third} of tagged data was given back")), "{fault}");
}

/// To rank 1, from queue 0: five bits 21, and `count` words.
fn wide(count: u64) -> Access {
    let first = 0x1234_5678 | 21 << 32 | count << r::WIDE_COUNT_SHIFT;
    Access::Store64(EXPRESS_WINDOW + (1 << 7), [first, 1, 2, 3, 4, 5, 6, 7])
}

#[test]
fn a_64_byte_store_takes_along_as_many_words_as_it_says() {
    for count in 0..=r::WIDE_WORDS {
        let ready = readable(AT, 8 + 8 * count);
        let found = run([vec![(AT, wide(count))], vec![(ready - 1, QUEUE_0), (ready, QUEUE_0)]]);
        let came = if count == 0 { r::CAME_ALONE } else { r::CAME_WIDE | count };
        let message = DATA | came << r::EXPRESS_CAME_SHIFT;
        assert_eq!(found, [Ok(0), Ok(message), Ok(ACCEPTED)], "{count} words");
    }
}

#[test]
fn a_64_byte_store_that_finds_no_room_is_refused_and_nothing_is_sent() {
    let slots: crate::parameters::Express = resolved().read("voyager.express");
    // At once: one is being sent, the queue takes as many as it has places.
    let taken = slots.slots as usize + 1;
    let burst = vec![(AT, wide(0)); taken + 3];
    let loads = (0..taken as u64 + 1).map(|i| (AT * 10 + i * 1_000_000, QUEUE_0)).collect();
    let found = run([burst, loads]);
    let mut expected = vec![Ok(MESSAGE); taken];
    expected.push(Ok(r::EXPRESS_EMPTY));
    expected.extend(vec![Ok(ACCEPTED); taken]);
    expected.extend(vec![Ok(RETRY); 3]);
    assert_eq!(found, expected);
}

#[test]
fn a_64_byte_store_elsewhere_is_a_fault() {
    let found = run([vec![(AT, Access::Store64(TAG_WINDOW, [0; 8]))], vec![]]);
    let text = found[1].as_ref().unwrap_err();
    assert!(text.ends_with("the NES takes them in the Express window only"), "{text}");
}

/// Four low messages as long as they can be, stored at once, and a high one when three of them have begun. The high
/// one is next to cross the I-bus, next on the link and next in the RxU: it waits for one low message at each.
#[test]
fn a_high_message_passes_low_ones_that_wait() {
    let resolved = resolved();
    let nes: crate::parameters::Nes = resolved.read("voyager.nes");
    let network: NetworkParameters = resolved.read("network");
    let clock = NodeConfiguration::read(&resolved).bus.clock();
    let (transmit, receive) = (nes.transmit.cycles(), nes.receive.cycles());
    let long = r::EXPRESS_BYTES + r::TAG_LONG_BYTES;
    let ibus = long.div_ceil(nes.ibus_width.bytes());
    let on_link = |data: u64| network.link().serialization((data + nes.packet_overhead.bytes()) as u32);
    // The head's: the switching is cut-through, where all packets' heads take as long.
    let way = network.unloaded_head_latency(1, 0);

    let begun = clock.after(Time(AT), 2 * (transmit + ibus));
    let in_txu = clock.after(Time(AT), 3 * (transmit + ibus) + transmit + 1);
    // The first two on the link, one behind the other; the third waits in the TxU.
    let injected = clock.after(Time(AT), transmit + ibus) + on_link(long) + on_link(long);
    assert!(in_txu < injected);
    let taken = clock.after(injected + way, receive + ibus);
    assert!(injected + way + on_link(r::EXPRESS_BYTES) < taken, "it waits for the RxU");
    let ready = clock.after(taken, receive + 1).0;

    let low = Access::Store(TAG_WINDOW + (r::TAG_LONG << 12 | 1 << 7), 9);
    let high = Access::Store(EXPRESS_WINDOW + (1 << 12 | 1 << 7), 7);
    let mut stores = vec![(AT, low); 4];
    stores.push((begun.0 + 1, high));
    let queue_1 = Access::Load(EXPRESS_RECEIVE + 8);
    let found = run([stores, vec![(ready - 1, queue_1), (ready, queue_1)]]);
    assert_eq!(found, [Ok(0), Ok(ALONE | 1 << r::EXPRESS_QUEUE_SHIFT | 7)]);
}

#[test]
fn a_destination_that_is_not_in_the_table_is_a_fault_and_no_packet() {
    let store = Access::Store(EXPRESS_WINDOW + (2 << 7), 0);
    let found = run([vec![(AT, store)], vec![(2 * AT, QUEUE_0)]]);
    assert_eq!(found[0], Ok(0));
    let fault = found[1].as_ref().unwrap_err();
    assert!(fault.starts_with("protection: transmit queue 0 has no destination 2"), "{fault}");
}

#[test]
fn a_full_transmit_queue_is_a_fault_and_a_full_receive_queue_waits() {
    let slots: crate::parameters::Express = resolved().read("voyager.express");
    let slots = slots.slots;
    // At once: one is being sent, the queue takes as many as it has places.
    let burst = vec![(AT, STORE); slots as usize + 2];
    let found = run([burst, vec![]]);
    assert_eq!(found, [Err("a store into Express transmit queue 0, which is full".into())]);
    // Slowly: more than the receive queue holds wait in the network, and none is lost.
    let sent = slots + 3;
    let slowly = (0..sent).map(|i| (AT + i * 1_000_000, STORE)).collect();
    let loads = (0..sent + 1).map(|i| (AT * 100 + i * 1_000_000, QUEUE_0)).collect();
    let mut expected = vec![Ok(MESSAGE); sent as usize];
    expected.push(Ok(r::EXPRESS_EMPTY));
    assert_eq!(run([slowly, loads]), expected);
}
