//! How a process begins: its stack and its segments, read back word by word.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::machine::{BYTES, LOW, Machine};
use crate::support::{DATA, DATA_FILE_BYTES, DATA_MEMORY_BYTES, ENTRY, TEXT, elf, walk};
use chasqui_linux::{Access, Elf, FaultCause, Options, Process, StartError};
use chasqui_memory::FlatMemory;

fn text(machine: &mut Machine, address: u64) -> String {
    let bytes = machine.get(address, 64.min((0x3f_ffff_f000 - address) as usize));
    String::from_utf8(bytes.split(|&byte| byte == 0).next().unwrap().to_vec()).unwrap()
}

#[test]
fn the_stack_is_as_the_abi_says() {
    let mut machine = Machine::new(|_| ());
    let sp = machine.process.stack_pointer();
    assert_eq!((sp % 16, machine.process.entry()), (0, ENTRY));
    let words = machine.words(sp, 7 + 2 * 18);
    assert_eq!(words[0], 2, "argc");
    assert_eq!(text(&mut machine, words[1]), "prog", "the base name");
    assert_eq!(text(&mut machine, words[2]), "one");
    assert_eq!((words[3], words[5]), (0, 0));
    assert_eq!(text(&mut machine, words[4]), "A=1");
    let auxiliary: BTreeMap<u64, u64> = words[6..].chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    // AT_NULL, PHDR, PHENT, PHNUM, PAGESZ, ENTRY, UID, HWCAP (imafdc), CLKTCK, SECURE
    for (key, value) in [(0, 0), (3, TEXT + 64), (4, 56), (5, 3), (6, 4096), (9, ENTRY), (11, 1000)] {
        assert_eq!(auxiliary.get(&key), Some(&value), "key {key}");
    }
    assert_eq!((auxiliary[&16], auxiliary[&17], auxiliary[&23]), (0x112d, 100, 0));
    assert_eq!(text(&mut machine, auxiliary[&31]), "prog");
    let random = machine.get(auxiliary[&25], 16);
    let again = Machine::new(|_| ()).get(auxiliary[&25], 16);
    let other = Machine::new(|options| options.rank = 1).get(auxiliary[&25], 16);
    let third = Machine::new(|options| options.seed = 1).get(auxiliary[&25], 16);
    assert!(random == again && random != other && random != third && other != third);
}

#[test]
fn segments_hold_the_file_and_then_zeros() {
    let mut machine = Machine::new(|_| ());
    let file = elf("rv64gc");
    assert_eq!(machine.get(TEXT, 0x140), file[..0x140]);
    let data = machine.get(DATA, DATA_MEMORY_BYTES as usize);
    let (filled, zeros) = data.split_at(DATA_FILE_BYTES as usize);
    assert_eq!(filled, &file[0xe00..0x1100]);
    assert!(zeros.iter().all(|&byte| byte == 0), "symbols behind the data in the file must not show");
    let root = machine.process.space.root();
    assert_eq!(walk(&machine.memory, root, TEXT).unwrap().1, 0x5b, "D A G U X W R V");
    assert_eq!(walk(&machine.memory, root, DATA).unwrap().1, 0xd7);
    let space = &mut machine.process.space;
    let mut cause =
        |address, access| space.fault(&mut machine.memory, address, access).err().map(|f| f.cause);
    assert_eq!(cause(TEXT, Access::Write), Some(FaultCause::Protection));
    assert_eq!(cause(DATA, Access::Execute), Some(FaultCause::Protection));
    assert_eq!(cause(TEXT - 1, Access::Read), Some(FaultCause::Unmapped));
    let end = (DATA + DATA_MEMORY_BYTES).next_multiple_of(4096);
    assert_eq!(cause(end - 1, Access::Read), None);
    assert_eq!(cause(end, Access::Read), Some(FaultCause::Unmapped));
    assert_eq!(machine.call(214, &[0]), end as i64, "the heap begins behind the image");
}

#[test]
fn a_process_that_cannot_start_says_why() {
    let start = |physical, arguments: &[String]| {
        let mut memory = FlatMemory::new(BYTES).unwrap();
        let elf = Arc::new(Elf::parse("prog", elf("rv64gc")).unwrap());
        Process::new(&mut memory, elf, arguments, &[], Options::new(physical)).err()
    };
    let small = start(LOW..LOW + 3 * 4096, &[]).unwrap();
    assert_eq!(small.to_string(), "prog: does not fit into the 12 KiB of memory of its rank");
    assert!(matches!(start(LOW..LOW, &[]), Some(StartError::Memory { .. })));
    let long = start(LOW..BYTES, &["prog".into(), "x".repeat(3 << 20)]).unwrap();
    assert!(matches!(long, StartError::Arguments { limit_bytes: 0x20_0000, .. }), "{long}");
    assert_eq!(start(LOW..LOW + 16 * 4096, &[]), None);
}

#[test]
fn processes_can_move_between_host_threads() {
    fn sends<T: Send>() {}
    sends::<Process>();
}
