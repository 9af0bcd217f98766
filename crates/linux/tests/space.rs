//! Address spaces against a model that keeps one entry a page, and page tables against a walker
//! that shares no code with the crate.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::support::walk;
use chasqui_linux::errno::Errno;
use chasqui_linux::space::{Backing, PAGE_BYTES, Placement, Protection, STACK_TOP, USER_END};
use chasqui_linux::{Access, AddressSpace, FaultCause, Flush};
use chasqui_memory::FlatMemory;
use chasqui_random::{Random, seed_of_test};

const PAGE: u64 = PAGE_BYTES;
const LOW: u64 = 16 * PAGE;
const STACK: u64 = 8 << 20;
const RW: Protection = Protection::READ_WRITE;

fn space(bytes: u64) -> (FlatMemory, AddressSpace) {
    let mut memory = FlatMemory::new(bytes).unwrap();
    let space = AddressSpace::new(&mut memory, std::slice::from_ref(&(LOW..bytes)), STACK, false).unwrap();
    (memory, space)
}

#[test]
fn pages_appear_when_they_are_used_and_allow_what_their_area_allows() {
    let (mut memory, mut space) = space(1 << 20);
    let anywhere = Placement::Anywhere(0);
    for (protection, flags) in [(1, 0x53), (2, 0xd7), (3, 0xd7), (4, 0x59), (5, 0x5b), (7, 0xdf)] {
        let backing = Backing::Anonymous;
        let at = space.map(&mut memory, anywhere, PAGE, Protection(protection), backing).unwrap();
        assert_eq!(walk(&memory, space.root(), at), None);
        let access = if protection == 4 { Access::Execute } else { Access::Read };
        space.fault(&mut memory, at + 8, access).unwrap();
        let (physical, found) = walk(&memory, space.root(), at).unwrap();
        // D A G U X W R V: A always, D where writing is allowed, never G.
        assert_eq!(found, flags, "protection {protection}");
        assert!((LOW..memory.bytes()).contains(&physical));
        assert_eq!(space.translate(&memory, at + 8), Some(physical + 8));
        let write = space.fault(&mut memory, at, Access::Write);
        assert_eq!(write.is_ok(), protection & 2 != 0);
    }
    assert_eq!(space.take_flush(), Flush::None, "nothing that was valid has changed");
}

/// What mprotect, munmap and a page that has not been used leave a device of it.
#[test]
fn a_device_finds_what_the_process_may_do() {
    let (mut memory, mut space) = space(1 << 20);
    let at = space.map(&mut memory, Placement::Anywhere(0), 2 * PAGE, RW, Backing::Anonymous).unwrap();
    let found = |memory: &FlatMemory, space: &AddressSpace| {
        [Access::Read, Access::Write, Access::Execute]
            .map(|access| space.physical(memory, at + 8, access).is_some())
    };
    assert_eq!(found(&memory, &space), [false; 3], "it has not been used");
    space.fault(&mut memory, at, Access::Write).unwrap();
    assert_eq!(found(&memory, &space), [true, true, false]);
    for (protection, expected) in
        [(1, [true, false, false]), (0, [false; 3]), (5, [true, false, true]), (3, [true, true, false])]
    {
        space.protect(&mut memory, at, PAGE, Protection(protection)).unwrap();
        assert_eq!(found(&memory, &space), expected, "protection {protection}");
    }
    space.unmap(&mut memory, at, PAGE).unwrap();
    assert_eq!(found(&memory, &space), [false; 3]);
}

#[test]
fn faults_say_why() {
    let (mut memory, mut space) = space(1 << 20);
    let mut cause = |address, access| space.fault(&mut memory, address, access).err().map(|f| f.cause);
    assert_eq!(cause(0, Access::Read), Some(FaultCause::Unmapped));
    assert_eq!(cause(USER_END, Access::Read), Some(FaultCause::Unmapped));
    assert_eq!(cause(u64::MAX, Access::Write), Some(FaultCause::Unmapped));
    assert_eq!(cause(STACK_TOP - 1, Access::Write), None);
    assert_eq!(cause(STACK_TOP - STACK, Access::Write), None);
    assert_eq!(cause(STACK_TOP - STACK - 1, Access::Write), Some(FaultCause::StackOverflow));
    assert_eq!(cause(STACK_TOP, Access::Write), Some(FaultCause::Unmapped));
    assert_eq!(cause(STACK_TOP - 1, Access::Execute), Some(FaultCause::Protection));
    let null = space.fault(&mut memory, 8, Access::Write).unwrap_err();
    assert_eq!((null.to_string().as_str(), null.signal()), ("write to 0x8: null pointer", 11));
}

#[test]
fn memory_runs_out_as_a_value_and_comes_back() {
    let (mut memory, mut space) = space(LOW + 16 * PAGE);
    let at = space.map(&mut memory, Placement::Anywhere(0), 1 << 30, RW, Backing::Anonymous).unwrap();
    // The root, two tables, and 13 pages.
    for page in 0..13 {
        space.fault(&mut memory, at + page * PAGE, Access::Write).unwrap();
    }
    let full = space.fault(&mut memory, at + 13 * PAGE, Access::Write).unwrap_err();
    assert_eq!(full.cause, FaultCause::OutOfMemory { limit_bytes: 16 * PAGE });
    assert_eq!(space.used_bytes(), space.limit_bytes());
    memory.write(space.translate(&memory, at + PAGE).unwrap(), 8, 0xdead).unwrap();
    space.discard(&mut memory, at + PAGE, PAGE).unwrap();
    space.fault(&mut memory, at + 13 * PAGE, Access::Write).unwrap();
    let physical = space.translate(&memory, at + 13 * PAGE).unwrap();
    assert_eq!(memory.read(physical, 8), Ok(0), "a frame that is used again is zero");
}

/// Before, tables came from memory that no page ever had, and that ran out.
#[test]
fn memory_that_came_back_has_tables_unless_a_device_was_told_where_it_is() {
    let pages = 40;
    for is_exposed in [false, true] {
        let (mut memory, mut space) = space(LOW + pages * PAGE);
        let at =
            space.map(&mut memory, Placement::Anywhere(0), pages * PAGE, RW, Backing::Anonymous).unwrap();
        let mut fill = |page| space.fault(&mut memory, at + page * PAGE, Access::Write);
        let filled = (0..pages).take_while(|&page| fill(page).is_ok()).count() as u64;
        for page in 0..filled * u64::from(is_exposed) {
            space.expose(&mut memory, at + page * PAGE);
        }
        // Another protection does not make a device forget.
        space.protect(&mut memory, at, filled * PAGE, Protection::NONE).unwrap();
        space.protect(&mut memory, at, filled * PAGE, RW).unwrap();
        space.unmap(&mut memory, at, pages * PAGE).unwrap();
        // Each needs a table of its own.
        let far = |number: u64| Placement::Fixed((1 << 32) + (number << 21));
        let mut touch = |number| {
            let at = space.map(&mut memory, far(number), PAGE, RW, Backing::Anonymous).unwrap();
            space.fault(&mut memory, at, Access::Write).map_err(|fault| fault.cause)
        };
        let found: Vec<_> = (0..8).map(&mut touch).collect();
        assert!(filled > 16);
        let out = |result: &Result<(), FaultCause>| matches!(result, Err(FaultCause::NoPageTable { .. }));
        assert_eq!(found.iter().any(out), is_exposed, "{found:?}");
    }
}

#[test]
fn huge_mappings_cost_nothing_until_they_are_used() {
    let (mut memory, mut space) = space(1 << 20);
    let before = space.used_bytes();
    let at = space.map(&mut memory, Placement::Anywhere(0), 200 << 30, RW, Backing::Anonymous).unwrap();
    assert_eq!(space.used_bytes(), before);
    space.fault(&mut memory, at + (150 << 30), Access::Write).unwrap();
    assert_eq!(space.used_bytes(), before + 3 * PAGE);
    space.unmap(&mut memory, at, 200 << 30).unwrap();
    assert_eq!(space.take_flush(), Flush::Pages(vec![at + (150 << 30)]));
    assert_eq!(
        space.map(&mut memory, Placement::Anywhere(0), 300 << 30, RW, Backing::Anonymous),
        Err(Errno::ENOMEM)
    );
}

#[test]
fn the_heap_grows_shrinks_and_stops_at_the_next_mapping() {
    let (mut memory, mut space) = space(1 << 20);
    space.start_heap(0x20001);
    assert_eq!(space.brk(&mut memory, 0), 0x21000);
    assert_eq!(space.brk(&mut memory, 0x21010), 0x21010);
    space.write_user(&mut memory, 0x21000, &[7; 100]).unwrap();
    assert!(space.write_user(&mut memory, 0x22000, &[7]).is_err());
    assert_eq!(space.brk(&mut memory, 0x20fff), 0x21010, "below the start");
    space.map(&mut memory, Placement::Fixed(0x24000), PAGE, RW, Backing::Anonymous).unwrap();
    assert_eq!(space.brk(&mut memory, 0x24001), 0x21010, "into a mapping");
    assert_eq!(space.brk(&mut memory, 0x24000), 0x24000);
    assert_eq!(space.brk(&mut memory, 0x21000), 0x21000);
    assert!(space.write_user(&mut memory, 0x21000, &[7]).is_err());
    assert_eq!(space.take_flush(), Flush::Pages(vec![0x21000]));
    assert_eq!(space.brk(&mut memory, 0x22000), 0x22000);
    let mut byte = [1];
    space.read_user(&mut memory, 0x21000, &mut byte).unwrap();
    assert_eq!(byte, [0]);
}

#[test]
fn devices_are_mapped_at_once_and_registers_are_not_for_system_calls() {
    let (mut memory, mut space) = space(1 << 20);
    let registers = Backing::Device { physical: 0x40_0000_0000, uncached: true };
    let at = space.map(&mut memory, Placement::Anywhere(0), 3 * PAGE, RW, registers).unwrap();
    for page in 0..3 {
        let found = walk(&memory, space.root(), at + page * PAGE);
        assert_eq!(found, Some((0x40_0000_0000 + page * PAGE, 0xd7)));
    }
    assert_eq!(space.read_user(&mut memory, at, &mut [0]).unwrap_err().cause, FaultCause::Device);
    let ring = Backing::Device { physical: 2 * PAGE, uncached: false };
    let at = space.map(&mut memory, Placement::Anywhere(0), 2 * PAGE, RW, ring).unwrap();
    space.write_user(&mut memory, at + PAGE - 2, b"ring").unwrap();
    assert_eq!(memory.slice(3 * PAGE - 2, 4), Ok(&b"ring"[..]));
    let used = space.used_bytes();
    space.unmap(&mut memory, at + PAGE, PAGE).unwrap();
    assert_eq!(walk(&memory, space.root(), at + PAGE), None);
    assert_eq!(walk(&memory, space.root(), at), Some((2 * PAGE, 0xd7)));
    assert_eq!(space.used_bytes(), used, "a device's pages are not ours to free");
}

#[test]
fn mapped_files_end() {
    let path = std::env::temp_dir().join(format!("chasqui-linux-space-{}", std::process::id()));
    std::fs::write(&path, vec![9; 5000]).unwrap();
    let file = Arc::new(std::fs::File::open(&path).unwrap());
    std::fs::remove_file(&path).unwrap();
    let (mut memory, mut space) = space(1 << 20);
    let backing = Backing::File { file, offset: 0 };
    let at = space.map(&mut memory, Placement::Anywhere(0), 3 * PAGE, RW, backing).unwrap();
    let mut two = [1; 2];
    space.read_user(&mut memory, at + 4999, &mut two).unwrap();
    assert_eq!(two, [9, 0]);
    let beyond = space.read_user(&mut memory, at + 2 * PAGE, &mut two).unwrap_err();
    assert_eq!((beyond.cause, beyond.signal()), (FaultCause::BeyondFile, 7));
    space.write_user(&mut memory, at, &[4]).unwrap();
    space.discard(&mut memory, at, PAGE).unwrap();
    space.read_user(&mut memory, at, &mut two).unwrap();
    assert_eq!(two, [9, 9], "a discarded page is read again");
}

/// What the model knows of a page: its protection, its first byte, and whether the page, when it is
/// discarded, starts over with this byte.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Page {
    protection: u8,
    byte: u8,
    origin: u8,
}

struct Model {
    pages: BTreeMap<u64, Page>,
    /// A TLB that never forgets by itself: what a hart could still believe.
    tlb: BTreeMap<u64, (u64, u64)>,
}

const WINDOW: u64 = 0x1000_0000;
/// Straddles two last-level tables.
const WINDOW_START: u64 = WINDOW + (512 - 24) * PAGE;
const PAGES: u64 = 48;
/// The file that is mapped: each page's bytes are its number and this.
const FIRST_BYTE: u8 = 100;
const IMAGE_PAGES: u64 = 64;

impl Model {
    fn range(random: &mut Random) -> (u64, u64) {
        let first = random.below(PAGES);
        let count = 1 + random.below((PAGES - first).min(9));
        (WINDOW_START + first * PAGE, count)
    }

    fn all_mapped(&self, start: u64, count: u64) -> bool {
        (0..count).all(|i| self.pages.contains_key(&(start + i * PAGE)))
    }

    fn check(&mut self, memory: &FlatMemory, space: &mut AddressSpace, what: &str) {
        match space.take_flush() {
            Flush::None => (),
            Flush::Pages(pages) => self.tlb.retain(|page, _| !pages.contains(page)),
            Flush::All => self.tlb.clear(),
        }
        let mut frames = HashSet::new();
        for i in 0..PAGES {
            let va = WINDOW_START + i * PAGE;
            let found = walk(memory, space.root(), va);
            if let Some((physical, flags)) = found {
                assert!(frames.insert(physical), "{what}: two pages share the frame {physical:#x}");
                let page = self.pages.get(&va).unwrap_or_else(|| panic!("{what}: {va:#x} is not mapped"));
                let (r, w, x) =
                    (page.protection & 3 != 0, page.protection & 2 != 0, page.protection & 4 != 0);
                let wanted =
                    0x51 | u64::from(r) << 1 | u64::from(w) << 2 | u64::from(x) << 3 | u64::from(w) << 7;
                assert_eq!(flags, wanted, "{what}: flags of {va:#x}, {page:?}");
                assert_eq!(memory.read(physical, 1), Ok(u64::from(page.byte)), "{what}: byte at {va:#x}");
            }
            if let Some(believed) = self.tlb.get(&va) {
                assert_eq!(Some(*believed), found, "{what}: a stale translation of {va:#x} was not reported");
            }
            if let Some(found) = found {
                self.tlb.insert(va, found);
            }
        }
    }
}

fn random_case(seed: u64) {
    let mut random = Random::new(seed);
    let (mut memory, mut space) = space(4 << 20);
    let mut model = Model { pages: BTreeMap::new(), tlb: BTreeMap::new() };
    let image: Arc<[u8]> = (0..IMAGE_PAGES * PAGE).map(|at| (at / PAGE) as u8 + FIRST_BYTE).collect();
    for step in 0..200 {
        let (start, count) = Model::range(&mut random);
        let bytes = count * PAGE - random.below(PAGE);
        let protection = random.below(8) as u8;
        let what = format!("seed {seed} step {step}");
        match random.below(8) {
            0 => {
                let free = (0..count).all(|i| !model.pages.contains_key(&(start + i * PAGE)));
                let (anonymous, careful) = (random.below(2) == 0, random.below(2) == 0);
                let offset = random.below(50) * PAGE;
                let limit = IMAGE_PAGES * PAGE;
                let backing = if anonymous {
                    Backing::Anonymous
                } else {
                    Backing::Image { bytes: image.clone(), offset, limit }
                };
                let placement = if careful { Placement::FixedIfFree(start) } else { Placement::Fixed(start) };
                let got = space.map(&mut memory, placement, bytes, Protection(protection), backing);
                assert_eq!(got, if careful && !free { Err(Errno::EEXIST) } else { Ok(start) }, "{what}");
                for i in (0..count).filter(|_| got.is_ok()) {
                    let byte = if anonymous { 0 } else { (offset / PAGE + i) as u8 + FIRST_BYTE };
                    model.pages.insert(start + i * PAGE, Page { protection, byte, origin: byte });
                }
            }
            1 => {
                space.unmap(&mut memory, start, bytes).unwrap();
                model.pages.retain(|&page, _| page < start || page >= start + count * PAGE);
            }
            2 => {
                let got = space.protect(&mut memory, start, bytes, Protection(protection));
                let mapped = model.all_mapped(start, count);
                assert_eq!(got, if mapped { Ok(()) } else { Err(Errno::ENOMEM) }, "{what}");
                for i in (0..count).filter(|_| mapped) {
                    model.pages.get_mut(&(start + i * PAGE)).unwrap().protection = protection;
                }
            }
            3 => {
                let got = space.discard(&mut memory, start, bytes);
                let mapped = model.all_mapped(start, count);
                assert_eq!(got, if mapped { Ok(()) } else { Err(Errno::ENOMEM) }, "{what}");
                for (_, page) in model.pages.range_mut(start..start + count * PAGE) {
                    page.byte = page.origin;
                }
            }
            4 => remap(&mut random, &mut memory, &mut space, &mut model, &what),
            5 | 6 => {
                let byte = random.bits() as u8;
                let page = model.pages.get_mut(&start);
                let allowed = page.as_ref().is_some_and(|page| page.protection & 2 != 0);
                assert_eq!(space.write_user(&mut memory, start, &[byte]).is_ok(), allowed, "{what}");
                if allowed {
                    page.unwrap().byte = byte;
                }
            }
            _ => {
                let mut byte = [0];
                let page = model.pages.get(&start);
                let readable = page.filter(|page| page.protection & 3 != 0);
                let got = space.read_user(&mut memory, start, &mut byte);
                assert_eq!(got.ok().map(|()| byte[0]), readable.map(|page| page.byte), "{what}");
                let access = space.fault(&mut memory, start, Access::Execute);
                assert_eq!(access.is_ok(), page.is_some_and(|page| page.protection & 4 != 0), "{what}");
            }
        }
        model.check(&memory, &mut space, &what);
    }
    space.unmap(&mut memory, WINDOW_START, PAGES * PAGE).unwrap();
    // The root, one table above and two below are all that is left.
    assert!(space.used_bytes() <= 4 * PAGE, "seed {seed}: {} bytes leaked", space.used_bytes());
}

fn remap(
    random: &mut Random,
    memory: &mut FlatMemory,
    space: &mut AddressSpace,
    model: &mut Model,
    what: &str,
) {
    let (start, count) = Model::range(random);
    let (target, new_count) = Model::range(random);
    let before: Vec<Option<Page>> =
        (0..count).map(|i| model.pages.get(&(start + i * PAGE)).copied()).collect();
    let same_area = space.areas().any(|(s, a)| s <= start && start + count * PAGE <= a.end);
    let fixed = (random.below(2) == 0).then_some(target);
    let got = space.remap(memory, start, count * PAGE, new_count * PAGE, fixed.is_some(), fixed);
    let at = |i: u64| start + i * PAGE;
    // Beyond its end an image gives zeros.
    let origin = |page: Page, i: u64| match page.origin {
        0 => 0,
        first => Some(first + i as u8).filter(|&byte| byte < FIRST_BYTE + IMAGE_PAGES as u8).unwrap_or(0),
    };
    match (got, fixed) {
        (Ok(to), Some(target)) => {
            assert!(to == target && same_area, "{what}");
            model.pages.retain(|&page, _| page < start || page >= at(count));
            for i in 0..new_count {
                let page = before.get(i as usize).copied().flatten().unwrap_or_else(|| {
                    let byte = origin(before[0].unwrap(), i);
                    Page { byte, origin: byte, ..before[0].unwrap() }
                });
                model.pages.insert(target + i * PAGE, page);
            }
        }
        (Ok(to), None) => {
            assert!(to == start && same_area, "{what}");
            model.pages.retain(|&page, _| page < at(new_count) || page >= at(count));
            for i in count..new_count {
                let byte = origin(before[0].unwrap(), i);
                let grown = model.pages.insert(at(i), Page { byte, origin: byte, ..before[0].unwrap() });
                assert_eq!(grown, None, "{what}: grew into a mapping");
            }
        }
        (Err(Errno::EFAULT), _) => assert!(!same_area, "{what}"),
        (Err(Errno::EINVAL), Some(to)) => {
            assert!(to < start + count * PAGE && start < to + new_count * PAGE, "{what}: no overlap");
        }
        (Err(Errno::ENOMEM), None) => {
            let next = (count..new_count).any(|i| model.pages.contains_key(&at(i)));
            assert!(next, "{what}: there was room to grow");
        }
        other => panic!("{what}: {other:?}"),
    }
}

#[test]
fn any_sequence_of_changes_agrees_with_the_model() {
    let seed = seed_of_test(1);
    (seed..seed + 500).for_each(random_case);
}
