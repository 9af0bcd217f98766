//! Damaged machine files and settings, of every machine of the catalogue: what is wrong is said with its place and its
//! parameter, and what is right builds a machine whose nodes run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chasqui_config::{Catalogue, MachineSummary, Parameter, Resolved, Schema, machines};
use chasqui_engine::{Threads, Time};
use chasqui_linux::testing::executable;
use chasqui_linux::{Elf, Refused, Stream};
use chasqui_machine::{Job, Machine, Program, Workload, library_settings, shared_bytes};
use chasqui_node::Output;
use chasqui_placement::{Placement, Rank};
use chasqui_random::{Random, damage};
use chasqui_record::Keep;
use chasqui_watch::{TraceOutput, WatchPlan};

use crate::CATALOGUE;

/// Nothing takes as long but what goes on for ever.
const LONGEST: Duration = Duration::from_secs(20);
/// Rounds of the engine after which a run has shown that it goes on.
const ROUNDS: u32 = 40;
/// Words of machine files.
const WORDS: [&str; 18] = [
    "\"",
    "[",
    "]",
    "{",
    "}",
    "=",
    ".",
    "#",
    "\n",
    "-",
    "0",
    "inf",
    "nan",
    " ns",
    " GHz",
    " KiB",
    "true",
    "extends = ",
];

/// The catalogue, with another text of one machine's file.
struct With<'a> {
    name: &'a str,
    text: &'a str,
}

impl Catalogue for With<'_> {
    fn machine_file<'a>(&'a self, name: &str) -> Option<(&'a str, &'a str)> {
        if name == self.name { Some((self.text, self.name)) } else { CATALOGUE.machine_file(name) }
    }

    fn names(&self) -> Vec<&str> {
        CATALOGUE.names()
    }

    fn part_file<'a>(&'a self, name: &str) -> Option<(&'a str, &'a str)> {
        CATALOGUE.part_file(name)
    }

    fn part_names(&self) -> Vec<&str> {
        CATALOGUE.part_names()
    }

    fn schema(&self, name: &str) -> Schema {
        CATALOGUE.schema(name)
    }
}

struct Unheard;

impl TraceOutput for Unheard {}

impl Output for Unheard {
    fn write(&self, _: Rank, _: Time, _: Stream, _: &[u8]) {}
    fn unknown_call(&self, _: Rank, _: Time, _: u64) {}
    fn no_hart(&self, _: Rank, _: Time, _: u32) {}
    fn no_files(&self, _: Rank, _: Time) {}
    fn refused(&self, _: Rank, _: Time, _: &Refused<'_>) {}
    fn may_write(&self, _: u64) -> bool {
        true
    }
    fn executed(&self, _: u64) {}
}

/// A program that stores into its stack and leaves.
fn program() -> Elf {
    let code: [u32; 5] = [0xfe11_3c23, 0xff81_3503, 0x0000_0513, 0x05d0_0893, 0x0000_0073];
    let code: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    Elf::parse("program", executable(0x1_0000, &code)).expect("a program")
}

/// Firmware that waits for events and does nothing about them.
fn firmware() -> Elf {
    let base = 0x8000_0000;
    // lui a0, 0x40000; ld a1, 0(a0); j .-4
    let code: [u32; 3] = [0x4000_0537, 0x0005_3583, 0xffdf_f06f];
    let code: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    Elf::parse_within("firmware", executable(base, &code), base..base << 1).expect("a program")
}

/// Two nodes of a machine with a program that does next to nothing.
fn work(resolved: &Resolved) -> Workload {
    let (elf, arguments) = (Arc::new(program()), vec!["program".into()]);
    let job = Job {
        programs: vec![Program { ranks: 2, elf, text: None, arguments }],
        firmware: [(String::new(), Arc::new(firmware()))].into_iter().collect(),
        kernel: None,
        environment: vec![],
        mounts: Arc::default(),
        input: Arc::new(vec![]),
        seed: 1,
        jitter: Time::ZERO,
        timeline_max: 0,
        mpi_settings: library_settings(resolved),
        fast_forward: false,
        watch: WatchPlan::default(),
        keep: Keep::Nothing,
        trace: None,
        replay: None,
        output: Arc::new(Unheard),
    };
    let placement = Placement::one_a_node(vec![2]);
    Workload { jobs: vec![job], shared_bytes: shared_bytes(resolved, placement.per_node()), placement }
}

/// Builds it, if it is said to fit together, and lets it run. Whether there was something to run.
fn build(machine: &dyn Machine, resolved: &Resolved) -> bool {
    let mistakes = machine.mistakes(resolved);
    for text in &mistakes {
        let first = text.split([',', ' ', ':']).next().unwrap_or_default();
        let is_named = |p: &Parameter| p.path.starts_with(first) && !first.is_empty();
        assert!(resolved.parameters().iter().any(is_named), "no parameter is named: {text}");
    }
    if !mistakes.is_empty() || machine.nodes_max(resolved) < 2 {
        return false;
    }
    for bytes in [0, 1, 1 << 20] {
        machine.warm_up(resolved, bytes);
    }
    match machine.build(resolved, &work(resolved), 1) {
        Ok(mut built) => {
            let mut rounds = 0;
            let mut go_on = |_| {
                rounds += 1;
                rounds < ROUNDS
            };
            let _ = built.engine.run(Threads::Exactly(1), &mut go_on);
            true
        }
        Err(text) => {
            assert!(!text.is_empty());
            false
        }
    }
}

/// Values for a parameter: its ends and words, its own damaged, a number.
fn setting(random: &mut Random, resolved: &Resolved) -> String {
    let parameters = resolved.parameters();
    let p = &parameters[random.below(parameters.len() as u64) as usize];
    let words = p.declaration.alternatives;
    let value = match (random.below(8), &p.declaration.range) {
        (0..3, Some((least, _))) => least.plain(),
        (3..6, Some((_, most))) => most.plain(),
        (6, _) => damage::number(random).to_string(),
        (7, _) => damage::text(random, &p.value.plain(), &WORDS),
        _ if words.is_empty() => p.value.plain(),
        _ => words[random.below(words.len() as u64) as usize].word.to_string(),
    };
    format!("{}={value}", p.path)
}

/// Everything that may be asked for by name: machines and variants.
fn names() -> Vec<(String, String)> {
    let mut found = vec![];
    for MachineSummary { name, variants, .. } in machines(&CATALOGUE).unwrap_or_else(|e| panic!("{e}")) {
        found.push((name.clone(), name.clone()));
        found.extend(variants.iter().map(|variant| (name.clone(), format!("{name}/{}", variant.name))));
    }
    found
}

#[test]
fn damaged_machines_are_refused_in_words_or_run() {
    let names = names();
    let (mut ran, mut wrong) = (0, 0);
    let all = damage::repeat(1, 800, |random| {
        let (name, variant) = &names[random.below(names.len() as u64) as usize];
        let whole = chasqui_config::resolve(&CATALOGUE, variant, &[]).unwrap_or_else(|e| panic!("{e}"));
        let original = match random.below(3) {
            0 => whole.to_toml(),
            _ => CATALOGUE.find(name).expect("a machine").file().to_string(),
        };
        let is_file = random.once_in(3);
        let text = if is_file { damage::text(random, &original, &WORDS) } else { original };
        let count = if is_file { 0 } else { 1 + random.below(3) };
        let sets: Vec<String> = (0..count).map(|_| setting(random, &whole)).collect();
        let begin = Instant::now();
        match chasqui_config::resolve(
            &With { name, text: &text },
            if is_file { name } else { variant },
            &sets,
        ) {
            Err(error) => {
                wrong += 1;
                assert!(!error.problems.is_empty());
                assert!(
                    error.problems.iter().all(|p| !p.place.is_empty() && !p.message.is_empty()),
                    "{error}"
                );
            }
            Ok(resolved) => {
                let machine = CATALOGUE.find(resolved.base()).expect("a machine");
                ran += u32::from(build(machine, &resolved));
            }
        }
        assert!(begin.elapsed() < LONGEST, "{variant} {sets:?} took {:?}", begin.elapsed());
    });
    println!("{ran} ran, {wrong} were refused at once");
    assert!(!all || (ran > 50 && wrong > 50), "{ran} ran, {wrong} were refused at once");
}
