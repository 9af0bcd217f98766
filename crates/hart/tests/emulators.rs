//! Random programs on our semantics, on a hart, and on independent emulators: registers, fcsr and memory must
//! agree at the end. The hart runs by each executor, with caches, TLBs and a bus.
//! `make conformance` takes more programs.

use crate::bench::{Bench, Setup};
use crate::machine::{Machine, WINDOW};
use chasqui_hart::csr::FCSR;
use chasqui_hart::testing::encode::encode;
use chasqui_hart::testing::program::Options;
use chasqui_hart::{Executor, Insn, Op, State};
use chasqui_memory::PAGE_BYTES;
use chasqui_random::Random;
use std::process::Command;

/// Programs, unless `CHASQUI_PROGRAMS` says how many.
const PROGRAMS: usize = 200;

/// The executable: one segment, headers and code first, then data.
const BASE: u64 = 0x1_0000;
const HEADERS: u64 = 64 + 56;
/// Registers as the program finds them, f0 to f31, then x0 to x31; the same, and fcsr, as it leaves them.
const INITIAL: u64 = 0x3_0000;
const FINAL: u64 = 0x3_1000;
const END: u64 = 0x3_2000;
/// Holds addresses before and after the program: not compared.
const T1: u8 = 6;

const SYS_WRITE: i64 = 64;
const SYS_EXIT: i64 = 93;

fn insn(op: Op, rd: u8, rs1: u8, imm: i64) -> Insn {
    Insn { op, rd, rs1, rs2: 0, rs3: 0, rm: 0, length: 4, imm }
}

fn store(op: Op, rs2: u8, imm: i64) -> Insn {
    Insn { rs2, ..insn(op, 0, T1, imm) }
}

fn words(list: &[Insn]) -> Vec<u8> {
    list.iter().flat_map(|insn| encode(insn).to_le_bytes()).collect()
}

/// Touches every page, then loads every register. Spike's kernel maps a page when it is used first; between
/// a load-reserved and its store-conditional that would cost the reservation.
fn prologue() -> Vec<u8> {
    let mut list = vec![insn(Op::Csrrw, 0, 0, FCSR.into())];
    for page in (BASE..END).step_by(PAGE_BYTES as usize) {
        list.extend([insn(Op::Lui, T1, 0, page as i64), insn(Op::Lb, 0, T1, 0)]);
    }
    list.push(insn(Op::Lui, T1, 0, INITIAL as i64));
    list.extend((0..32).map(|f| insn(Op::Fld, f, T1, i64::from(f) * 8)));
    list.extend((1..32).filter(|&x| x != T1).map(|x| insn(Op::Ld, x, T1, 256 + i64::from(x) * 8)));
    list.push(insn(Op::Ld, T1, T1, 256 + i64::from(T1) * 8));
    words(&list)
}

/// `li register, value`, for values that fit 31 bits.
fn constant(register: u8, value: i64) -> [Insn; 2] {
    let high = (value + 0x800) & !0xfff;
    [insn(Op::Lui, register, 0, high), insn(Op::Addiw, register, register, value - high)]
}

/// Stores every register, writes window and registers to standard output, exits.
fn epilogue(window_bytes: u64) -> Vec<u8> {
    let mut list = vec![insn(Op::Lui, T1, 0, FINAL as i64)];
    list.extend((0..32).map(|f| store(Op::Fsd, f, i64::from(f) * 8)));
    list.extend((0..32).map(|x| store(Op::Sd, x, 256 + i64::from(x) * 8)));
    list.extend([insn(Op::Csrrs, 5, 0, FCSR.into()), store(Op::Sd, 5, 512)]);
    for (address, bytes) in [(WINDOW, window_bytes), (FINAL, 520)] {
        for (register, value) in [(10, 1), (11, address as i64), (12, bytes as i64), (17, SYS_WRITE)] {
            list.extend(constant(register, value));
        }
        list.push(insn(Op::Ecall, 0, 0, 0));
    }
    for (register, value) in [(10, 0), (17, SYS_EXIT)] {
        list.extend(constant(register, value));
    }
    list.push(insn(Op::Ecall, 0, 0, 0));
    words(&list)
}

/// A static executable with one readable, writable and executable segment.
fn elf(contents: &[u8]) -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let half = |value: u16| value.to_le_bytes().to_vec();
    let word = |value: u32| value.to_le_bytes().to_vec();
    let double = |value: u64| value.to_le_bytes().to_vec();
    const RISCV: u16 = 243;
    const COMPRESSED_DOUBLE_FLOAT: u32 = 5;
    file.extend([half(2), half(RISCV), word(1), double(BASE + HEADERS), double(64), double(0)].concat());
    file.extend(
        [word(COMPRESSED_DOUBLE_FLOAT), half(64), half(56), half(1), half(64), half(0), half(0)].concat(),
    );
    let size = END - BASE;
    file.extend(
        [word(1), word(7), double(0), double(BASE), double(BASE), double(size), double(size)].concat(),
    );
    file.extend(double(0x1000));
    file.extend(contents);
    file
}

/// The executable of a machine that has not started yet.
fn executable(machine: &Machine) -> Vec<u8> {
    let mut image = prologue();
    image.extend(&machine.code[..machine.code.len() - 4]); // without the ecall
    image.extend(epilogue(machine.window.len() as u64));
    assert!(image.len() as u64 + HEADERS < WINDOW - BASE, "the code ends below the window");
    let mut place = |address: u64, bytes: &[u8]| {
        image.resize(image.len().max((address - BASE - HEADERS) as usize + bytes.len()), 0);
        image[(address - BASE - HEADERS) as usize..][..bytes.len()].copy_from_slice(bytes);
    };
    place(WINDOW, &machine.window);
    let registers = machine.state.f.iter().chain(&machine.state.x[..32]);
    place(INITIAL, &registers.flat_map(|register| register.to_le_bytes()).collect::<Vec<_>>());
    place(END - 8, &[0; 8]);
    elf(&image)
}

/// Window, f0 to f31, x0 to x31 and fcsr, as the epilogue writes them.
fn outcome(machine: &Machine) -> Vec<u64> {
    words_of(&machine.window).into_iter().chain(registers(&machine.state)).collect()
}

/// The same of the hart, by `executor`, from where the machine starts.
fn outcome_on_hart(machine: &Machine, executor: Executor) -> Vec<u64> {
    let pages = (BASE..END).step_by(PAGE_BYTES as usize).map(|page| (page, page)).collect();
    let contents = vec![(machine.code_address, machine.code.clone()), (WINDOW, machine.window.clone())];
    let mut bench = Bench::new(&Setup::ordinary(machine.state.clone(), pages, contents));
    bench.run_to_call(executor);
    bench.run_to_idle();
    let window = bench.memory.slice(WINDOW, machine.window.len()).expect("memory").to_vec();
    words_of(&window).into_iter().chain(registers(&bench.hart.state)).collect()
}

fn words_of(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes"))).collect()
}

/// f0 to f31, x0 to x31 and fcsr.
fn registers(state: &State) -> Vec<u64> {
    let fcsr = u64::from(state.frm) << 5 | u64::from(state.flags.0);
    state.f.into_iter().chain(state.x[..32].iter().copied()).chain([fcsr]).collect()
}

/// What the emulator writes; a loader may have written something before.
fn emulate(command: &[&str], executable: &[u8], name: &str, words: usize) -> Vec<u64> {
    use std::os::unix::fs::PermissionsExt;
    let file = std::env::temp_dir().join(format!("chasqui-{}-{name}", std::process::id()));
    std::fs::write(&file, executable).expect("a temporary file");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("the temporary file");
    let output = Command::new(command[0]).args(&command[1..]).arg(&file).output().expect("an emulator");
    std::fs::remove_file(&file).expect("the temporary file");
    assert!(output.status.success(), "{name}: {} {}", output.status, String::from_utf8_lossy(&output.stderr));
    let begin = output.stdout.len().checked_sub(words * 8).expect("window and registers");
    words_of(&output.stdout[begin..])
}

/// Fails at the first difference; `what` says between whom.
fn compare(ours: &[u64], theirs: &[u64], what: &str) {
    let window = ours.len() - 65;
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (i, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        let place = match i.checked_sub(window) {
            None => format!("window + {}", i * 8),
            Some(f @ 0..32) => format!("f{f}"),
            Some(64) => "fcsr".into(),
            Some(x) if x - 32 == usize::from(T1) => continue,
            Some(x) => format!("x{}", x - 32),
        };
        assert_eq!(format!("{ours:#x}"), format!("{theirs:#x}"), "{what}: {place}");
    }
}

/// Random programs on our semantics, on the hart and on an emulator.
fn agree_with(command: &[&str]) {
    let programs = match std::env::var("CHASQUI_PROGRAMS") {
        Ok(text) => text.parse().expect("CHASQUI_PROGRAMS: a number"),
        Err(_) => PROGRAMS,
    };
    let emulator = command[0];
    if Command::new(emulator).arg("--help").output().is_err() {
        println!("SKIPPED: {programs} random programs ({emulator} not found)");
        return;
    }
    let mut random = Random::for_test(0x9e39);
    let mut executed = 0;
    for program in 0..programs {
        // The longest cross the ends of pages.
        let units = 20 + random.below(1200) as usize;
        let options = Options { units, misaligned: program % 2 == 1, ..Options::default() };
        let mut machine = Machine::new(&options, BASE + HEADERS + prologue().len() as u64, &mut random);
        let harts = Executor::ALL.iter().map(|&executor| (executor, outcome_on_hart(&machine, executor)));
        let harts: Vec<_> = harts.collect();
        let words = harts[0].1.len();
        let theirs = emulate(command, &executable(&machine), &format!("{emulator}-{program}"), words);
        while machine.step(machine.fetch()) {}
        executed += machine.executed;
        compare(&outcome(&machine), &theirs, &format!("program {program}, semantics and {emulator}"));
        for (executor, outcome) in &harts {
            compare(outcome, &theirs, &format!("program {program}, {executor:?} and {emulator}"));
        }
    }
    println!("{emulator}: {executed} instructions in {programs} programs");
}

#[test]
fn random_programs_agree_with_qemu() {
    agree_with(&["qemu-riscv64"]);
}

#[test]
fn random_programs_agree_with_spike() {
    agree_with(&["spike", "--isa=rv64gc", "pk"]);
}
