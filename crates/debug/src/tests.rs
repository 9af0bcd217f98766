//! Sessions with a debugger of few words, over a machine of one variable.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use chasqui_random::Random;

use crate::{Debuggee, End, Left, Registers, Resume, Stop, ThreadId, listen, serve, wait};

/// Length of the memory, which begins at address 0x1000 [bytes].
const MEMORY: usize = 256;
const START: u64 = 0x1000;

/// What is debugged: it stops at each breakpoint in turn, then ends.
struct Fake {
    registers: Registers,
    memory: [u8; MEMORY],
    runs: usize,
    /// It runs until it is interrupted.
    is_endless: bool,
    interrupted: Arc<AtomicBool>,
    interrupts: Arc<AtomicUsize>,
    /// How often registers were read.
    reads: Arc<AtomicUsize>,
}

impl Fake {
    fn new(is_endless: bool) -> Fake {
        let registers = Registers { x: [7; 32], pc: START, f: [0; 32], fcsr: 1 };
        let (interrupted, interrupts, reads) = Default::default();
        Fake { registers, memory: [5; MEMORY], runs: 0, is_endless, interrupted, interrupts, reads }
    }

    fn place(&self, address: u64) -> Option<usize> {
        address.checked_sub(START).and_then(|at| usize::try_from(at).ok()).filter(|&at| at < MEMORY)
    }
}

const ONLY: ThreadId = NonZeroUsize::MIN;

impl Debuggee for Fake {
    fn threads(&mut self) -> Vec<ThreadId> {
        vec![ONLY]
    }

    fn name(&self, _: ThreadId) -> String {
        "rank 0".into()
    }

    fn registers(&mut self, thread: ThreadId) -> Option<Registers> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        (thread == ONLY).then(|| self.registers.clone())
    }

    fn set_registers(&mut self, thread: ThreadId, registers: &Registers) -> bool {
        self.registers = registers.clone();
        thread == ONLY
    }

    fn read(&mut self, _: ThreadId, address: u64, bytes: &mut [u8]) -> usize {
        let Some(at) = self.place(address) else { return 0 };
        let count = bytes.len().min(MEMORY - at);
        bytes[..count].copy_from_slice(&self.memory[at..at + count]);
        count
    }

    fn write(&mut self, _: ThreadId, address: u64, bytes: &[u8]) -> bool {
        let Some(at) = self.place(address).filter(|at| at + bytes.len() <= MEMORY) else { return false };
        self.memory[at..at + bytes.len()].copy_from_slice(bytes);
        true
    }

    fn run(&mut self, resume: &Resume) -> Stop {
        self.runs += 1;
        if self.is_endless {
            while !self.interrupted.swap(false, Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            return Stop::Interrupted;
        }
        match resume.stops.breakpoints.get(self.runs - 1) {
            Some(&pc) => {
                self.registers.pc = pc;
                Stop::Breakpoint(ONLY)
            }
            None => Stop::Ended(End::Exited(3), "over\n".into()),
        }
    }

    fn interrupter(&self) -> Arc<dyn Fn() + Send + Sync> {
        let (interrupted, count) = (self.interrupted.clone(), self.interrupts.clone());
        Arc::new(move || {
            count.fetch_add(1, Ordering::SeqCst);
            interrupted.store(true, Ordering::SeqCst);
        })
    }
}

/// A debugger's end of the connection.
struct Client(TcpStream);

impl Client {
    fn send(&mut self, body: &str) {
        let sum = body.bytes().fold(0u8, u8::wrapping_add);
        self.0.write_all(format!("${body}#{sum:02x}").as_bytes()).expect("it listens");
    }

    /// The next packet's body, which is acknowledged.
    fn receive(&mut self) -> String {
        let mut bytes = vec![];
        let mut byte = [0];
        loop {
            self.0.read_exact(&mut byte).expect("an answer");
            match byte[0] {
                b'+' => {}
                b'$' => break,
                other => panic!("{other:#x}"),
            }
        }
        loop {
            self.0.read_exact(&mut byte).expect("an answer");
            if byte[0] == b'#' {
                break;
            }
            bytes.push(byte[0]);
        }
        self.0.read_exact(&mut [0; 2]).expect("a checksum");
        // Of the last packet nobody takes it.
        let _ = self.0.write_all(b"+");
        String::from_utf8(bytes).expect("text")
    }

    fn ask(&mut self, body: &str) -> String {
        self.send(body);
        self.receive()
    }
}

/// Serves `debuggee` while `act` is the debugger.
fn session(debuggee: &mut Fake, act: impl FnOnce(Client) + Send) -> Left {
    session_until(debuggee, &|| false, act)
}

/// The same, until `is_to_end`.
fn session_until(debuggee: &mut Fake, is_to_end: &dyn Fn() -> bool, act: impl FnOnce(Client) + Send) -> Left {
    let listener = listen(0).expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let stream = TcpStream::connect(address).expect("it listens");
            stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
            act(Client(stream));
        });
        let stream = wait(listener, &|| false).expect("it can be waited for").expect("somebody connects");
        serve(stream, debuggee, is_to_end)
    })
}

#[test]
fn registers_and_memory_are_read_and_written() {
    let mut fake = Fake::new(false);
    let left = session(&mut fake, |mut gdb| {
        assert!(gdb.ask("qSupported:swbreak+;hwbreak+").contains("PacketSize"));
        assert!(gdb.ask("?").starts_with('T'));
        let all = gdb.ask("g");
        assert_eq!(all.len(), 33 * 16);
        assert!(all.ends_with("0010000000000000"), "{all}");
        // a0, then fa0 and fcsr, by their numbers.
        assert_eq!(gdb.ask("Pa=0800000000000000"), "OK");
        assert_eq!(gdb.ask("P2b=000000000000f03f"), "OK");
        assert_eq!(gdb.ask("p2b"), "000000000000f03f");
        assert_eq!(gdb.ask("p44"), "0100000000000000");
        assert_eq!(gdb.ask("p1000"), "E79", "a register that gdb was not told of");
        assert_eq!(gdb.ask("m1000,4"), "05050505");
        assert_eq!(gdb.ask("m10fe,4"), "0505", "as much as there is");
        assert_eq!(gdb.ask("m2000,4"), "E79");
        assert_eq!(gdb.ask("M1001,2:0102"), "OK");
        assert_eq!(gdb.ask("M10ff,2:0102"), "E79");
        assert_eq!(gdb.ask("m1000,4"), "05010205");
        assert!(gdb.ask("qXfer:features:read:target.xml:0,fff").contains("org.gnu.gdb.riscv.cpu"));
        assert_eq!(gdb.ask("D"), "OK");
    });
    assert_eq!((left, fake.registers.x[10], fake.registers.f[10]), (Left::Detached, 8, 0x3ff0 << 48));
}

#[test]
fn it_goes_from_breakpoint_to_breakpoint_and_ends() {
    let mut fake = Fake::new(false);
    let left = session(&mut fake, |mut gdb| {
        gdb.ask("?");
        assert_eq!(gdb.ask("Z0,1004,2"), "OK");
        assert_eq!(gdb.ask("Z1,1008,4"), "OK");
        assert_eq!(gdb.ask("Z2,1010,0"), "E16", "nothing is watched");
        assert!(gdb.ask("vCont;c").contains("swbreak"));
        assert!(gdb.ask("vCont;c").contains("hwbreak"));
        assert_eq!(gdb.ask("vCont;c"), "O6f7665720a");
        assert_eq!(gdb.receive(), "W03");
    });
    assert_eq!(left, Left::Ended);
}

#[test]
fn an_interrupt_stops_the_run_and_a_closed_connection_is_a_detach() {
    let mut fake = Fake::new(true);
    let interrupts = fake.interrupts.clone();
    let left = session(&mut fake, |mut gdb| {
        gdb.ask("?");
        gdb.send("vCont;c");
        std::thread::sleep(Duration::from_millis(50));
        gdb.0.write_all(&[3]).expect("it listens");
        assert!(gdb.receive().starts_with("T02"));
        gdb.send("vCont;c");
        std::thread::sleep(Duration::from_millis(50));
    });
    assert!(matches!(left, Left::Lost(_)), "{left:?}");
    assert_eq!(interrupts.load(Ordering::SeqCst), 2);
}

/// The answers fill what the host keeps for who does not read.
#[test]
fn a_debugger_that_does_not_read_does_not_keep_the_run_from_its_end() {
    let (is_full, mut held) = (AtomicBool::new(false), None);
    let is_to_end = || is_full.load(Ordering::SeqCst);
    let how = session_until(&mut Fake::new(false), &is_to_end, |mut gdb| {
        gdb.0.set_write_timeout(Some(Duration::from_millis(500))).expect("a time");
        let many = b"$g#67".repeat(10_000);
        let is_filled = (0..1000).any(|_| gdb.0.write_all(&many).is_err());
        assert!(is_filled, "more than any host keeps");
        is_full.store(true, Ordering::SeqCst);
        // The connection stays.
        held = Some(gdb);
    });
    assert!(held.is_some());
    assert_eq!(how, Left::Stopped);
}

/// What a debugger has asked for and the host keeps is much: it is not answered before the run's end is seen.
#[test]
fn questions_that_wait_do_not_keep_the_run_from_its_end() {
    const QUESTIONS: usize = 4000;
    let mut fake = Fake::new(false);
    let reads = fake.reads.clone();
    let mut held = None;
    let is_to_end = || reads.load(Ordering::SeqCst) >= 20;
    let how = session_until(&mut fake, &is_to_end, |mut gdb| {
        gdb.0.write_all(&b"$g#67".repeat(QUESTIONS)).expect("room for a few");
        held = Some(gdb);
    });
    assert!(held.is_some());
    assert_eq!(how, Left::Stopped);
    let answered = reads.load(Ordering::SeqCst);
    assert!((20..40).contains(&answered), "{answered} of {QUESTIONS}");
}

#[test]
fn a_kill_ends_the_run() {
    let left = session(&mut Fake::new(false), |mut gdb| {
        gdb.ask("?");
        gdb.send("k");
    });
    assert_eq!(left, Left::Killed);
}

/// What packets of gdb's are made of.
const WORDS: &str = "? g G p P m M X H T Z0, z0, Z2, z4, vCont; vCont? s: c r qSupported qXfer:features:read: target.xml : , ; = \
    -1 0 1 ff 1000 ffffffffffffffff 7fffffffffffffff 10000000000000000 p1.1 p-1.-1 qfThreadInfo qsThreadInfo qC \
    qThreadExtraInfo, QStartNoAckMode vKill; vMustReplyEmpty qRcmd, ! R \u{3} } *";

/// Packets, in pieces and with other pieces, huge numbers, and bytes of any kind.
fn packets(random: &mut Random) -> Vec<u8> {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut packets = vec![];
    for _ in 0..1 + random.below(12) {
        let mut body = String::new();
        for _ in 0..1 + random.below(6) {
            body += random.pick(&words);
        }
        let sum = body.bytes().fold(0u8, u8::wrapping_add);
        let whole = format!("${body}#{sum:02x}");
        match random.below(100) {
            0 => packets.extend(std::iter::repeat_n(b'$', 1 << 16)),
            1..20 => {
                packets.extend_from_slice(&whole.as_bytes()[..random.below(whole.len() as u64) as usize])
            }
            20..40 => packets.extend((0..random.below(64)).map(|_| random.bits() as u8)),
            _ => packets.extend_from_slice(whole.as_bytes()),
        }
    }
    packets
}

#[test]
fn whatever_comes_ends_in_nothing_worse_than_a_lost_session() {
    let mut random = Random::for_test(0xfa22);
    for round in 0..300 {
        let packets = packets(&mut random);
        let left = session(&mut Fake::new(false), |mut gdb| {
            let _ = gdb.0.write_all(&packets);
            let _ = gdb.0.shutdown(std::net::Shutdown::Write);
            let _ = gdb.0.read_to_end(&mut vec![]);
        });
        assert_ne!(left, Left::Stopped, "round {round}");
    }
}
