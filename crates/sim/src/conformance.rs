//! One test of a conformance suite: a static user-level program runs twice on one node, by the fast loop and
//! by the reference. Both must end alike, at the same time and in the same state; the program must exit with
//! status 0, and leave the signature that is expected of it.
//!
//! The signature is the memory from the symbol `begin_signature` to `end_signature`. In its file each line is
//! a little-endian number in hexadecimal, of 4 bytes or as many as its digits say (riscv-arch-test: Test Format
//! Specification, "Test Signature").

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chasqui_engine::Time;
use chasqui_hart::{State, Text};
use chasqui_linux::{Elf, Refused, Stream};
use chasqui_machine::{Job, Program, Workload};
use chasqui_node::{Ended, NodePartition, Output};
use chasqui_placement::{JobId, Placement, Rank};
use chasqui_record::Keep;
use chasqui_watch::{TraceOutput, WatchPlan};
use serde::{Deserialize, Serialize};

use crate::images::{firmware, kernel};
use crate::input_error::{InputError, input};
use crate::run::{build, resolve};

/// What is asked of one test.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Path of the program.
    pub program: PathBuf,
    /// Machine, as for a run.
    pub machine: String,
    /// Parameters set on the command line, `a.b=c`.
    #[serde(default)]
    pub sets: Vec<String>,
    /// Folder with the firmware of machines, `<machine>.elf`, or `<machine>/<image>.elf` each, and kernel images.
    #[serde(default)]
    pub firmware: Option<PathBuf>,
    /// Path of the expected signature.
    pub signature: Option<PathBuf>,
    /// A program that executes more instructions, and a few million, has failed.
    pub instructions_max: u64,
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Why the test has failed; nothing: it has passed.
    pub why: Option<String>,
    /// Where: `pc` at the end, or the first wrong word of the signature.
    pub address: u64,
    /// The symbol that holds it, and the offset.
    pub place: String,
    /// Instructions executed by the fast loop.
    pub instructions: u64,
    /// Simulated time [ps].
    pub time_ps: u64,
    /// Words of 4 bytes of the signature that were compared.
    pub signature_words: u64,
}

/// Swallows what programs write, and stops them when they have executed enough.
#[derive(Default)]
struct Counter(AtomicU64);

impl TraceOutput for Counter {}

impl Output for Counter {
    fn write(&self, _: Rank, _: Time, _: Stream, _: &[u8]) {}

    fn unknown_call(&self, _: Rank, _: Time, _: u64) {}

    fn no_hart(&self, _: Rank, _: Time, _: u32) {}

    fn no_files(&self, _: Rank, _: Time) {}

    fn refused(&self, _: Rank, _: Time, _: &Refused<'_>) {}

    fn may_write(&self, _: u64) -> bool {
        true
    }

    fn executed(&self, instructions: u64) {
        self.0.fetch_add(instructions, Ordering::Relaxed);
    }
}

/// All that two executions of a program must agree in.
#[derive(Clone, Debug, PartialEq)]
struct Outcome {
    ended: Option<(Time, Ended)>,
    state: State,
    instructions: u64,
    cycle: u64,
    signature: Option<Vec<u8>>,
}

/// Runs a test.
///
/// # Errors
/// What the user must mend: the machine, the executable, the file of the signature.
pub fn conformance(test: &Test) -> Result<Verdict, InputError> {
    let elf = Arc::new(Elf::load(&test.program).map_err(input)?);
    let expected = test.signature.as_deref().map(read_signature).transpose()?;
    let fast = execute(test, &elf, false)?;
    let mut verdict =
        Verdict { instructions: fast.instructions, time_ps: time_of(&fast).0, ..Verdict::default() };
    let at = |verdict: &mut Verdict, address: u64| {
        verdict.address = address;
        verdict.place = match elf.symbolize(address) {
            Some((name, 0)) => name.to_string(),
            Some((name, offset)) => format!("{name}+{offset:#x}"),
            None => String::new(),
        };
    };
    at(&mut verdict, fast.state.pc);
    verdict.why = not_ended_well(&fast, test.instructions_max);
    // One that never ends would take the reference ten times as long.
    if fast.ended.is_some() {
        let reference = execute(test, &elf, true)?;
        if let Some(text) = disagreement(&fast, &reference) {
            verdict.why = Some(text);
        }
    }
    if verdict.why.is_some() {
        return Ok(verdict);
    }
    match (&fast.signature, &expected) {
        (None, None) => {}
        (None, Some(_)) => verdict.why = Some("no begin_signature and end_signature in the program".into()),
        (Some(_), None) => verdict.why = Some("there is no file with the expected signature".into()),
        (Some(found), Some(expected)) => {
            verdict.signature_words = found.len() as u64 / 4;
            if let Some((offset, text)) = wrong_word(found, expected) {
                let begin = elf.symbol(BEGIN).expect("there is a signature");
                at(&mut verdict, begin + offset);
                verdict.why = Some(text);
            }
        }
    }
    Ok(verdict)
}

const BEGIN: &str = "begin_signature";
const END: &str = "end_signature";

/// Executes the program once.
fn execute(test: &Test, elf: &Arc<Elf>, reference: bool) -> Result<Outcome, InputError> {
    let mut sets = test.sets.clone();
    sets.push(format!("check.executor={}", if reference { "reference" } else { "translated" }));
    if !reference {
        // Everything that is executed more than once.
        sets.push("check.translate_after=1".into());
    }
    let (machine, resolved) = resolve(&test.machine, &sets)?;
    let counter = Arc::new(Counter::default());
    let text = elf.text().map(|range| Text::new(range, 1));
    let arguments = vec![elf.name().to_string()];
    let job = Job {
        programs: vec![Program { ranks: 1, elf: elf.clone(), text, arguments }],
        firmware: firmware(test.firmware.as_deref(), machine)?,
        kernel: kernel(test.firmware.as_deref(), machine, &resolved, 1)?,
        environment: vec![],
        mounts: Arc::default(),
        input: Arc::new(vec![]),
        seed: 1,
        jitter: Time::ZERO,
        timeline_max: 0,
        mpi_settings: vec![],
        fast_forward: false,
        watch: WatchPlan::default(),
        keep: Keep::Nothing,
        trace: None,
        replay: None,
        output: counter.clone(),
    };
    let work = Workload { jobs: vec![job], placement: Placement::one_a_node(vec![1]), shared_bytes: 0 };
    let mut built = build(machine, &resolved, &work, 1)?;
    built.engine.run(chasqui_engine::Threads::Exactly(1), &mut |_| {
        counter.0.load(Ordering::Relaxed) < test.instructions_max
    });
    let nodes =
        built.engine.partitions().into_iter().filter_map(|p| p.into_any().downcast::<NodePartition>().ok());
    let mut node = nodes.last().expect("one rank has one node");
    let signature = elf.symbol(BEGIN).zip(elf.symbol(END)).and_then(|(begin, end)| {
        let bytes = usize::try_from(end.checked_sub(begin)?).ok()?;
        node.read_process(begin, bytes)
    });
    let process = node.processes(JobId(0)).next().expect("one process");
    // Tests have one thread.
    let hart = &process.harts().next().expect("it has a hart").hart;
    let mut state = hart.state.clone();
    // The destination that stands for x0 holds what nobody reads.
    state.x[32] = 0;
    Ok(Outcome {
        ended: process.ended().cloned(),
        state,
        instructions: hart.statistics.instructions,
        cycle: hart.cycle,
        signature,
    })
}

fn time_of(outcome: &Outcome) -> Time {
    outcome.ended.as_ref().map_or(Time::ZERO, |(time, _)| *time)
}

/// Why a test has failed by the way it ended.
fn not_ended_well(outcome: &Outcome, instructions_max: u64) -> Option<String> {
    match &outcome.ended {
        Some((_, Ended::Exit(0))) => None,
        Some((_, Ended::Exit(status))) => Some(format!("exit status {status}")),
        Some((_, Ended::Abort { status, by, .. })) => Some(format!("status {status} by {by}")),
        Some((_, Ended::TooMuchOutput)) => Some("too much output".into()),
        Some((_, Ended::Fault { text, .. })) => {
            let text = text.split_once(": ").map_or(text.as_str(), |(_, what)| what);
            Some(text.rsplit_once(", pc").map_or(text, |(what, _)| what).to_string())
        }
        None if outcome.instructions >= instructions_max => {
            Some(format!("no end after {} instructions", outcome.instructions))
        }
        None => Some("it waits for ever".into()),
    }
}

/// What the fast loop and the reference disagree in, in words.
fn disagreement(fast: &Outcome, reference: &Outcome) -> Option<String> {
    let (a, b) = (&fast.state, &reference.state);
    let register = |name: char, a: &[u64], b: &[u64]| {
        let i = a.iter().zip(b).position(|(a, b)| a != b)?;
        Some(format!("{name}{i} is {:#x}, by the reference {:#x}", a[i], b[i]))
    };
    let number = |what: &str, a: u64, b: u64| (a != b).then(|| format!("{what} {a}, by the reference {b}"));
    let found = register('x', &a.x, &b.x)
        .or_else(|| register('f', &a.f, &b.f))
        .or_else(|| number("instructions", fast.instructions, reference.instructions))
        .or_else(|| number("cycles", fast.cycle, reference.cycle));
    match found {
        None if fast == reference => None,
        None => Some("another end, or another signature, than by the reference".into()),
        found => found,
    }
}

/// The bytes that a file of a signature says.
fn read_signature(path: &Path) -> Result<Vec<u8>, InputError> {
    let wrong = |what: String| InputError(format!("{}: {what}", path.display()));
    let text = chasqui_files::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
    let mut bytes = vec![];
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line = line.trim();
        let hexadecimal = line.len().is_multiple_of(8) && line.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !hexadecimal {
            return Err(wrong(format!(
                "line {}: '{line}' (8 hexadecimal digits, or a multiple, are allowed)",
                number + 1
            )));
        }
        let digits = line.as_bytes().rchunks(2).map(|pair| std::str::from_utf8(pair).expect("ASCII"));
        bytes.extend(digits.map(|pair| u8::from_str_radix(pair, 16).expect("digits")));
    }
    Ok(bytes)
}

/// The first word that differs: its offset, and what is wrong with it. The file may be longer, by what aligns
/// the region's end.
fn wrong_word(found: &[u8], expected: &[u8]) -> Option<(u64, String)> {
    if expected.len() < found.len() {
        let text = format!("signature of {} bytes, expected {}", found.len(), expected.len());
        return Some((expected.len() as u64, text));
    }
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word: u64, &byte| word << 8 | u64::from(byte));
    let differs = |(a, b): (&[u8], &[u8])| a != b;
    let index = found.chunks(4).zip(expected.chunks(4)).position(differs)?;
    let [a, b] = [found, expected].map(|bytes| word(bytes.chunks(4).nth(index).expect("a word")));
    Some((index as u64 * 4, format!("signature word {index} is {a:08x}, expected {b:08x}")))
}
