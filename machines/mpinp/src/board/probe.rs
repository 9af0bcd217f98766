//! Two cards and a switch: loads and stores at given times, as the hosts' buses would bring them, firmware of a few
//! instructions, and the times from the parameters at which something can be seen.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use chasqui_config::{Catalogue, Resolved, Schema, resolve};
use chasqui_engine::{
    Class, Clock, Ended, Engine, Event, EventQueue, Lookahead, Outbox, Packet, Partition, Port, Time,
};
use chasqui_hart::{Insn, Op};
use chasqui_machine::{Firmware, Machine, ni_memory_base};
use chasqui_memory::{DEVICE_BASE, FlatMemory, PAGE_BYTES};
use chasqui_network::{Attachment, FABRIC, Fabric, NODES, NetworkParameters, VirtualNetworks};
use chasqui_ni::testing::image;
use chasqui_ni::{BusOperation, BusRequest, Context, NetworkInterface, Outputs, Pager, Uncached};
use chasqui_node::NodeConfiguration;
use chasqui_placement::{MapBy, Placement, ProcessId};
use chasqui_record::Recorder;

use super::Board;
use crate::np_registers as np;
use crate::{MPINP, board, registers, requests};

/// An access of the host, to an address of the first process's window.
#[derive(Clone, Copy)]
enum Access {
    Store(u64, u64),
    Load(u64, u32),
    /// To the window of that process.
    Store64(u64),
}

/// What was seen, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Loaded(u64),
    /// A load was to be tried again.
    NotYet,
    Fault(u32, String),
    /// The card has written so many bytes to memory.
    Written(u32),
    /// The interrupt line is asserted from now on, or not.
    Line(bool),
}

type Log = Arc<Mutex<Vec<(Time, Seen)>>>;

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

/// From a request of the bridge to its place in the order of memory, and from there to its end.
const GRANT: Time = Time(30_000);
const MEMORY: Time = Time(60_000);

struct Site {
    board: Board,
    window: u64,
    memory: FlatMemory,
    recorder: Recorder,
    script: Vec<Access>,
    queue: EventQueue,
    own: Port,
    packets: Vec<Option<Box<Packet>>>,
    /// Transactions that are under way, in their order.
    granted: VecDeque<BusRequest>,
    done: VecDeque<BusRequest>,
    log: Log,
}

const ACCESS: u32 = 0;
const OWN: u32 = 1;
const NETWORK: u32 = 2;
const GRANTED: u32 = 3;
const DONE: u32 = 4;

impl Site {
    fn dispatch(&mut self, event: Event, out: &mut Outbox<'_>) {
        let mut outputs = Outputs::default();
        let mut context = Context {
            hart: 0,
            now: event.time,
            alone: event.time,
            memory: &mut self.memory,
            ports: &mut [],
            pager: &mut NoPages,
            recorders: std::slice::from_mut(&mut self.recorder),
            out,
            outputs: &mut outputs,
        };
        let (c, board) = (&mut context, &mut self.board);
        let mut seen = vec![];
        match event.target {
            ACCESS => match self.script[event.payload[0] as usize] {
                Access::Store(at, value) => {
                    assert_eq!(board.retry(c, (self.window + at, 8), Uncached::Store), None, "there is room");
                    board.write(c, self.window + at, 8, value);
                }
                Access::Store64(process) => {
                    let window = registers::SLOT_BYTES + process * 32 * 1024;
                    assert_eq!(board.retry(c, (self.window + window, 64), Uncached::Store), None);
                    board.store_64(c, self.window + window, &[0; 8], false);
                }
                Access::Load(at, bytes) => {
                    seen.push(match board.retry(c, (self.window + at, bytes), Uncached::Load) {
                        Some(_) => Seen::NotYet,
                        None => Seen::Loaded(board.read(c, self.window + at, bytes).value),
                    })
                }
            },
            OWN => board.event(c, event.payload),
            GRANTED => {
                let request = self.granted.pop_front().expect("it was asked for");
                board.bus_granted(c, request);
                self.done.push_back(request);
            }
            DONE => {
                let request = self.done.pop_front().expect("it was granted");
                if request.operation == BusOperation::Write {
                    seen.push(Seen::Written(request.bytes));
                }
                board.bus_done(c, request);
            }
            _ => {
                let packet = self.packets.get_mut((event.payload[1] >> 32) as usize).and_then(Option::take);
                board.network(c, event, packet);
            }
        }
        assert_eq!(outputs.broken, None);
        seen.extend(outputs.faults.into_iter().map(|(process, text)| Seen::Fault(process.0, text)));
        seen.extend(outputs.interrupts.into_iter().map(|(_, asserted)| Seen::Line(asserted)));
        self.log.lock().unwrap().extend(seen.into_iter().map(|seen| (event.time, seen)));
        for (time, payload) in outputs.events {
            self.push(time, OWN, payload);
        }
        for request in outputs.bus {
            self.granted.push_back(request);
            self.push(event.time + GRANT, GRANTED, [0; 2]);
            self.push(event.time + GRANT + MEMORY, DONE, [0; 2]);
        }
    }

    fn push(&mut self, time: Time, target: u32, payload: [u64; 2]) {
        let order = self.own.next(Class::Internal);
        self.queue.push(Event { time, order, target, payload });
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
        Some((MPINP.file(), "machine.toml"))
    }
    fn names(&self) -> Vec<&str> {
        vec!["mpinp"]
    }
    fn schema(&self, _: &str) -> Schema {
        MPINP.schema()
    }
}

fn resolved(sets: &[&str]) -> Resolved {
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    resolve(&Own, "mpinp", &sets).expect("the machine's own file")
}

/// Runs `code` on both cards, and the accesses of two hosts with two processes each, each with its time: what each saw.
fn run(resolved: &Resolved, code: &[Insn], scripts: [Vec<(Time, Access)>; 2]) -> [Vec<(Time, Seen)>; 2] {
    let network: NetworkParameters = resolved.read("network");
    let (to_fabric, to_node) = network.lookahead();
    let never = Time::NEVER;
    let mut engine = Engine::new(Lookahead::new(vec![vec![never, to_fabric], vec![to_node, never]]));
    let attachments = (0..2).map(|partition| Attachment { partition, target: 0 }).collect();
    let fabric = Fabric::new(&network, VirtualNetworks::ONE, attachments, 4).unwrap();
    let configuration = NodeConfiguration::read(resolved);
    let images = ["mcp", "mcp-interrupt"].map(|name| (name.to_string(), image(code)));
    let firmware: Firmware = images.into_iter().collect();
    let placement = Placement::new(vec![4], 2, MapBy::Slot);
    let logs = [Log::default(), Log::default()];
    for (rank, script) in scripts.into_iter().enumerate() {
        let port = fabric.node_port(rank as u32, 2);
        let board = board(resolved, &configuration, (&firmware, None), (&placement, port)).unwrap();
        let regions = board.regions(ProcessId(0));
        let mut site = Site {
            window: regions[registers::REGION_WINDOW as usize].physical - DEVICE_BASE,
            memory: FlatMemory::new(ni_memory_base(&configuration) + board.host_memory()).unwrap(),
            board,
            recorder: Recorder::new(rank as u16, 1),
            script: script.iter().map(|&(_, access)| access).collect(),
            queue: EventQueue::default(),
            own: Port::new(2 * rank as u32),
            packets: vec![],
            granted: [].into(),
            done: [].into(),
            log: logs[rank].clone(),
        };
        if let Some(first) = site.board.first_event() {
            site.push(Time::ZERO, OWN, first);
        }
        // Accesses come after what the card does at the same time.
        let mut accesses = Port::new(2 * rank as u32 + 1);
        for (index, (time, _)) in script.into_iter().enumerate() {
            let order = accesses.next(Class::Internal);
            site.queue.push(Event { time, order, target: ACCESS, payload: [index as u64, 0] });
        }
        engine.add(NODES, Box::new(site));
    }
    engine.add(FABRIC, Box::new(fabric));
    assert_eq!(engine.run(chasqui_engine::Threads::Exactly(1), &mut |_| true), Ended::Idle);
    logs.map(|log| log.lock().unwrap().clone())
}

const NOTHING: Insn = Insn { op: Op::Addi, rd: 0, rs1: 0, rs2: 0, rs3: 0, rm: 0, length: 4, imm: 0 };
const DEVICE: u8 = 5;
const VALUE: u8 = 6;

/// The device's address.
const BEGIN: Insn = Insn { op: Op::Lui, rd: DEVICE, imm: chasqui_ni::FIRMWARE_DEVICE as i64, ..NOTHING };

fn load(register: u64) -> Insn {
    Insn { op: Op::Ld, rd: VALUE, rs1: DEVICE, imm: register as i64, ..NOTHING }
}

fn store(register: u64) -> Insn {
    Insn { op: Op::Sd, rs1: DEVICE, rs2: VALUE, imm: register as i64, ..NOTHING }
}

/// `value` is stored to `register`: up to 11 bits, shifted.
fn set(register: u64, value: i64, shift: i64) -> [Insn; 3] {
    let small = Insn { op: Op::Addi, rd: VALUE, imm: value, ..NOTHING };
    [small, Insn { op: Op::Slli, rd: VALUE, rs1: VALUE, imm: shift, ..NOTHING }, store(register)]
}

/// It waits for something to happen, again and again: nothing does but what the engines do.
const IDLE: [Insn; 2] = [
    Insn { op: Op::Ld, rd: VALUE, rs1: DEVICE, imm: np::EVENT as i64, ..NOTHING },
    Insn { op: Op::Jal, imm: -4, ..NOTHING },
];

/// It says that process 0 has done wrong: the time is seen.
fn fault() -> [Insn; 3] {
    set(np::FAULT, 2, 32)
}

fn pci(resolved: &Resolved) -> Clock {
    Clock::new(resolved.read::<crate::parameters::Pci>("mpinp.pci").clock.hz())
}

/// From a host's load to its answer [clocks]. Both buses have one clock: arbitration and an address; the card asks its memory
/// and has the first access of a clock, and a word each clock; at the next edge the words cross the bus.
fn load_clocks(resolved: &Resolved, bytes: u64) -> u64 {
    let p: crate::parameters::Pci = resolved.read("mpinp.pci");
    let card: crate::parameters::Card = resolved.read("mpinp.card");
    let words = |width: u64| bytes.div_ceil(width);
    let address = p.arbitration.cycles() + p.address.cycles();
    let memory = card.lead.cycles() + words(card.width.bytes());
    address + memory.max(p.target_wait.cycles()) + words(p.width.bytes())
}

/// Before, a load of four bytes took as long as one of eight.
#[test]
fn a_load_is_answered_when_the_parameters_say() {
    for sets in [&[][..], &["mpinp.pci.target_wait=7"], &["mpinp.card.lead=6"], &["mpinp.pci.width=8 B"]] {
        let resolved = resolved(sets);
        for bytes in [4, 8] {
            let begin = pci(&resolved).edge(1000);
            let ready = pci(&resolved).edge(1000 + load_clocks(&resolved, bytes));
            let load = Access::Load(0x100, bytes as u32);
            let script = vec![(begin, load), (Time(ready.0 - 1), load), (ready, load)];
            let [seen, _] = run(&resolved, &[&[BEGIN][..], &IDLE].concat(), [script, vec![]]);
            let times: Vec<_> = seen.into_iter().map(|(_, seen)| seen).collect();
            assert_eq!(times, [Seen::NotYet, Seen::NotYet, Seen::Loaded(0)], "{sets:?} {bytes}");
        }
    }
}

/// 2.2.6: by level. A load of the register takes what it finds.
#[test]
fn the_line_is_asserted_until_the_host_looks_why() {
    let resolved = resolved(&["mpinp.shared.wait=interrupt"]);
    // Behind the windows of two processes and what lies in one page of each.
    let cause = Access::Load(2 * (32 * 1024 + requests::NAMES * 8) + requests::INTERRUPT_CAUSE, 8);
    let at = |clock| pci(&resolved).edge(clock);
    let takes = load_clocks(&resolved, 8);
    let script = [1000, 1000 + takes, 2000, 2000 + takes].map(|clock| (at(clock), cause)).to_vec();
    let code = [&[BEGIN][..], &set(np::INTERRUPT, 1, 0), &IDLE].concat();
    let [seen, _] = run(&resolved, &code, [script, vec![]]);
    let times: Vec<_> = seen.iter().map(|(_, seen)| seen.clone()).collect();
    let first = [Seen::Line(true), Seen::NotYet, Seen::Line(false), Seen::Loaded(2)];
    assert_eq!(times, [&first[..], &[Seen::NotYet, Seen::Loaded(0)]].concat());
    assert!(seen[0].0 < at(1000) && at(1000) < seen[2].0 && seen[2].0 < at(1000 + takes));
}

/// 3.5.1.1: a card whose memory takes longer than 16 clocks has the load tried again, twice. Then the answer is there.
#[test]
fn a_slow_card_answers_a_load_that_comes_again() {
    let resolved = resolved(&["mpinp.card.lead=40"]);
    let begin = pci(&resolved).edge(1000);
    let late = pci(&resolved).edge(1000 + 2 * load_clocks(&resolved, 8));
    let store = Access::Store(0x100, 77);
    let load = Access::Load(0x100, 8);
    let script = vec![(Time(1_000_000), store), (begin, load), (late, load)];
    let [seen, _] = run(&resolved, &[&[BEGIN][..], &IDLE].concat(), [script, vec![]]);
    assert_eq!(seen[1].1, Seen::Loaded(77));
}

/// When the firmware, which waits, says that it has heard the doorbell.
fn heard(sets: &[&str]) -> Time {
    let code = [&[BEGIN, load(np::EVENT)][..], &fault(), &IDLE].concat();
    let resolved = resolved(sets);
    let begin = pci(&resolved).edge(1000);
    let [seen, _] = run(&resolved, &code, [vec![(begin, Access::Store(registers::DOORBELL, 1))], vec![]]);
    let [(time, Seen::Fault(0, text))] = &seen[..] else { panic!("a fault: {seen:?}") };
    assert!(text.starts_with("protection: a slot"), "{text}");
    *time - begin
}

/// What comes before it crosses the bus, and crosses: eight bytes are two words. Before, a doorbell was there up to two clocks
/// before it had crossed.
#[test]
fn a_doorbell_is_heard_when_it_has_crossed_the_bus() {
    let clock = |n: u64| Clock::new(33_333_333).edge(n);
    let plain = heard(&[]);
    // Arbitration 2, address 1, target 2, two words; then the second word's access, and no sooner a load of the register.
    assert!(plain > clock(2 + 1 + 2 + 2), "{plain:?}");
    for (set, clocks) in [
        ("mpinp.pci.target_wait=9", 7),
        ("mpinp.pci.arbitration=5", 3),
        ("mpinp.pci.address=3", 2),
        // Of memory that is slower to ask than the bus; the second word's access comes a clock after the first.
        ("mpinp.card.lead=5", 2),
    ] {
        let later = heard(&[set]) - plain;
        assert!(later.0.abs_diff(clock(clocks).0) <= 1, "{set}: {later:?}");
    }
    let earlier = plain - heard(&["mpinp.pci.width=8 B"]);
    assert!(
        earlier.0.abs_diff(clock(0).0) <= 1,
        "the second half is written a clock after the first: {earlier:?}"
    );
}

/// Before, it began with the first access of the host.
#[test]
fn the_firmware_begins_at_time_0() {
    let code = [&[BEGIN][..], &fault(), &IDLE].concat();
    let resolved = resolved(&[]);
    for seen in run(&resolved, &code, [vec![], vec![]]) {
        let [(time, Seen::Fault(0, _))] = &seen[..] else { panic!("a fault: {seen:?}") };
        // Three instructions before it, a clock each at least.
        assert!((pci(&resolved).edge(3)..pci(&resolved).edge(20)).contains(time), "{time:?}");
    }
}

#[test]
fn a_64_byte_store_is_the_fault_of_the_windows_owner() {
    for process in [0, 1] {
        let store = vec![(Time(1_000_000), Access::Store64(process))];
        let [seen, _] = run(&resolved(&[]), &[&[BEGIN][..], &IDLE].concat(), [store, vec![]]);
        let [(_, Seen::Fault(owner, text))] = &seen[..] else { panic!("a fault: {seen:?}") };
        assert_eq!(u64::from(*owner), process);
        assert!(text.starts_with("the card takes no 64-byte stores"), "{text}");
    }
}

/// From the card's own memory to the host's.
const HOST_ADDRESS: i64 = PAGE_BYTES as i64;

/// When the last of a block of `lines` lines is in the host's memory, seen from the first; the host's DMA begins at time 0.
fn lines_take(lines: i64, sets: &[&str]) -> (usize, Time) {
    let mut code = vec![BEGIN];
    code.extend(set(np::HOST_ADDRESS, 1, HOST_ADDRESS.ilog2().into()));
    code.extend(set(np::HOST_LOCAL, 1, 15));
    // HOST_TO_HOST is bit 32.
    let parts = [
        Insn { op: Op::Addi, rd: VALUE, imm: 1, ..NOTHING },
        Insn { op: Op::Slli, rd: VALUE, rs1: VALUE, imm: 32, ..NOTHING },
        Insn { op: Op::Addi, rd: VALUE, rs1: VALUE, imm: 32 * lines, ..NOTHING },
        store(np::HOST_START),
    ];
    code.extend(parts);
    code.extend(IDLE);
    let [seen, _] = run(&resolved(sets), &code, [vec![], vec![]]);
    assert!(seen.iter().all(|(_, seen)| *seen == Seen::Written(32)), "{seen:?}");
    let first = seen.first().expect("a line").0;
    (seen.len(), seen.last().expect("a line").0 - first)
}

/// Lines follow each other at the pace of the bus, eight words each, if the card's FIFO has room for those that its memory is
/// asked for meanwhile; the host's memory takes them as fast as they come. A line has its room until it has crossed: that is
/// two clocks until its first access, eight until its last, and eight on the bus. So room for two lines is short of it.
#[test]
fn the_hosts_dma_has_the_bandwidth_of_the_bus() {
    let clock = |n: u64| Clock::new(33_333_333).edge(n);
    assert_eq!(lines_take(49, &[]), (49, clock(48 / 2 * (2 + 8 + 8))));
    assert_eq!(lines_take(49, &["mpinp.card.host_fifo=3"]), (49, clock(48 * 8)));
    // Twice as wide on both sides.
    let wide = ["mpinp.pci.width=8 B", "mpinp.card.width=8 B", "mpinp.card.host_fifo=3"];
    assert_eq!(lines_take(49, &wide), (49, clock(48 * 4)));
}

/// A worm of 64 bytes from the window of site 0, which the doorbell starts, to site 1's memory.
fn worm(sets: &[&str]) -> Time {
    let mut code = vec![BEGIN];
    code.extend(set(np::RECEIVE_LOCAL, 1, 15));
    code.extend(set(np::RECEIVE_START, 64, 0));
    code.push(load(np::EVENT));
    // Site 0 hears its doorbell, site 1 that the place is filled: an odd number of words from here if it is.
    let filled = Insn { op: Op::Andi, rd: 7, rs1: VALUE, imm: np::EVENT_RECEIVED as i64, ..NOTHING };
    let mut send: Vec<Insn> = set(np::SEND_TO, 1, 0).into();
    send.extend([load(np::SETTING_WINDOWS), store(np::SEND_LOCAL)]);
    send.extend(set(np::SEND_START, 1, 32));
    let start = send.len() - 1;
    send.insert(start, Insn { op: Op::Addi, rd: VALUE, rs1: VALUE, imm: 64, ..NOTHING });
    send.extend(IDLE);
    code.push(filled);
    code.push(Insn { op: Op::Bne, rs1: 7, imm: 4 * (send.len() as i64 + 1), ..NOTHING });
    code.extend(send);
    code.extend(set(np::HOST_ADDRESS, 1, HOST_ADDRESS.ilog2().into()));
    code.extend(set(np::HOST_LOCAL, 1, 15));
    code.extend(set(np::HOST_START, 1, 32));
    let start = code.len() - 1;
    code.insert(start, Insn { op: Op::Addi, rd: VALUE, rs1: VALUE, imm: 64, ..NOTHING });
    code.extend(IDLE);
    let resolved = resolved(sets);
    let begin = pci(&resolved).edge(1000);
    let stores =
        vec![(Time(1_000_000), Access::Store(0x20, 7)), (begin, Access::Store(registers::DOORBELL, 1))];
    let [none, seen] = run(&resolved, &code, [stores, vec![]]);
    assert_eq!((none, seen.len()), (vec![], 2), "two lines: {seen:?}");
    seen[1].0 - begin
}

/// Two cables and a switch between them.
#[test]
fn a_worm_takes_as_long_as_its_way() {
    let plain = worm(&[]);
    // Cables are not the card's clock: what comes later is noticed at its next edge.
    let later = |set: &str| (worm(&[set]) - plain).0;
    let edge = Clock::new(33_333_333).edge(2).0;
    assert!(later("network.link_latency=1025 ns").abs_diff(2_000_000) <= edge);
    assert!(later("network.routing_delay=1300 ns").abs_diff(1_000_000) <= edge);
}
