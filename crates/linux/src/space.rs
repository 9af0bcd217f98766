//! The address space of a process: its areas, and the Sv39 page tables in simulated memory that
//! the hart walks. Pages appear when they are first used.
//!
//! Invariants: a valid leaf entry lies in an area and allows exactly what the area allows; except
//! in device areas its frame is the process's own and belongs to one page only.

use std::fmt;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use chasqui_memory::FlatMemory;

use crate::errno::Errno;

use area::Areas;
pub use area::{Area, Backing};
use banks::Banks;
pub use page::{PAGE_BYTES, Protection};
pub use policy::{Nodes, Policy, Relation};
pub use table::bits::EXPOSED;
use table::{PageTable, bits};

mod access;
mod area;
mod banks;
mod frames;
mod numa;
mod page;
mod policy;
mod table;

/// First address that is not the user's: half of Sv39 (Linux `TASK_SIZE_64`,
/// arch/riscv/include/asm/pgtable.h).
pub const USER_END: u64 = 1 << 38;
/// Lowest address of a mapping: a null pointer must fault.
pub const USER_START: u64 = PAGE_BYTES;
/// Highest address of the stack; the last page of the user's half stays empty.
pub const STACK_TOP: u64 = USER_END - PAGE_BYTES;
/// Unmapped below the stack, so that an overflow is seen (Linux `stack_guard_gap`: 256 pages).
pub const STACK_GUARD_BYTES: u64 = 256 * PAGE_BYTES;
/// Mappings start at least this far below the stack's top (Linux `MIN_GAP`, mm/util.c).
const MMAP_GAP_BYTES: u64 = 128 << 20;
/// What one last-level table maps [bytes]: mappings begin at such a boundary, to need few tables.
const TABLE_SPAN: u64 = 512 * PAGE_BYTES;
/// Areas a process may have (Linux `DEFAULT_MAX_MAP_COUNT`).
const AREAS_MAX: usize = 65530;
/// More changed pages than this are reported as "all".
const FLUSH_PAGES_MAX: usize = 64;

/// What a hart or a system call does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A load.
    Read,
    /// A store or an atomic.
    Write,
    /// An instruction fetch.
    Execute,
}

impl Access {
    fn allowed(self, protection: Protection) -> bool {
        match self {
            Access::Read => protection.0 & (Protection::READ_WRITE.0) != 0,
            Access::Write => protection.allows(Protection::WRITE),
            Access::Execute => protection.allows(Protection::EXECUTE),
        }
    }

    fn bit(self) -> u64 {
        match self {
            Access::Read => bits::R,
            Access::Write => bits::W,
            Access::Execute => bits::X,
        }
    }
}

/// Why an access cannot be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultCause {
    /// Nothing is mapped there.
    Unmapped,
    /// The page does not allow it.
    Protection,
    /// Just below the stack.
    StackOverflow,
    /// Beyond the end of a mapped file, or the file cannot be read.
    BeyondFile,
    /// A system call was to touch registers of a device.
    Device,
    /// All memory that the process may use is in use.
    OutOfMemory {
        /// That much [bytes].
        limit_bytes: u64,
    },
    /// The area's or the thread's policy is `MPOL_BIND`, and the nodes that it names have no memory left.
    NodesFull {
        /// Those, bits of a mask.
        nodes: u64,
        /// The memory of all of them [bytes].
        limit_bytes: u64,
    },
    /// A page table is needed, and a device was told where all is that is free: there it may still write.
    NoPageTable {
        /// That much [bytes].
        free_bytes: u64,
    },
}

/// An access that cannot be done: a guest fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The address.
    pub address: u64,
    /// What was tried.
    pub access: Access,
    /// Why it cannot be done.
    pub cause: FaultCause,
}

impl Fault {
    /// Memory ran out.
    pub fn is_out_of_memory(&self) -> bool {
        use FaultCause::{NoPageTable, NodesFull, OutOfMemory};
        matches!(self.cause, OutOfMemory { .. } | NodesFull { .. } | NoPageTable { .. })
    }

    /// The signal that Linux would send.
    pub fn signal(&self) -> i32 {
        match self.cause {
            FaultCause::BeyondFile => crate::signal::SIGBUS,
            _ if self.is_out_of_memory() => crate::signal::SIGKILL,
            _ => crate::signal::SIGSEGV,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.access {
            Access::Read => "read from",
            Access::Write => "write to",
            Access::Execute => "jump to",
        };
        write!(f, "{what} {:#x}: ", self.address)?;
        match self.cause {
            FaultCause::Unmapped if self.address < PAGE_BYTES => write!(f, "null pointer"),
            FaultCause::Unmapped => write!(f, "nothing is mapped there"),
            FaultCause::Protection => write!(f, "the page does not allow it"),
            FaultCause::StackOverflow => write!(f, "stack overflow"),
            FaultCause::BeyondFile => write!(f, "beyond the end of the mapped file"),
            FaultCause::Device => write!(f, "a system call cannot use device registers"),
            FaultCause::OutOfMemory { limit_bytes } => {
                let (amount, unit) = amount(limit_bytes);
                write!(f, "out of memory: all {amount} {unit} of the rank are in use")
            }
            FaultCause::NodesFull { nodes, limit_bytes } => {
                let (amount, unit) = amount(limit_bytes);
                let named: Vec<_> =
                    (0..64).filter(|node| nodes >> node & 1 != 0).map(|n| n.to_string()).collect();
                let plural = if named.len() == 1 { "" } else { "s" };
                write!(
                    f,
                    "out of memory: the page may be at node{plural} {} alone (MPOL_BIND), of which all {amount} {unit} of the \
                     rank are in use",
                    named.join(", ")
                )
            }
            FaultCause::NoPageTable { free_bytes } => {
                let (amount, unit) = amount(free_bytes);
                write!(
                    f,
                    "out of memory for a page table: a device was told where all of the {amount} {unit} are that \
                     the rank has free"
                )
            }
        }
    }
}

fn amount(bytes: u64) -> (u64, &'static str) {
    match bytes {
        0..1024 => (bytes, "bytes"),
        1024..0x10_0000 => (bytes >> 10, "KiB"),
        _ => (bytes >> 20, "MiB"),
    }
}

impl std::error::Error for Fault {}

/// Translations that changed since the last [`AddressSpace::take_flush`]: TLB entries and decoded
/// code for them are stale. Pages that merely appeared are not reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Flush {
    /// None.
    #[default]
    None,
    /// These pages' addresses.
    Pages(Vec<u64>),
    /// Any.
    All,
}

impl Flush {
    fn add(&mut self, page: u64) {
        match self {
            Flush::None => *self = Flush::Pages(vec![page]),
            Flush::Pages(pages) if pages.len() < FLUSH_PAGES_MAX => pages.push(page),
            _ => *self = Flush::All,
        }
    }
}

/// Where a new mapping goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Anywhere; at this address if it is free (0: no hint).
    Anywhere(u64),
    /// Here; what was there goes.
    Fixed(u64),
    /// Here, if it is free.
    FixedIfFree(u64),
}

/// The memory of one process.
pub struct AddressSpace {
    areas: Areas,
    table: PageTable,
    frames: Banks,
    /// What counts where an area has no policy: the thread's that is about to need pages, or the machine's.
    policy: Policy,
    flush: Flush,
    heap_start: u64,
    heap_end: u64,
    stack_start: u64,
    /// New mappings end at or below this.
    mmap_top: u64,
    faults: u64,
}

/// First address of the page that holds `address`.
pub fn page_down(address: u64) -> u64 {
    address & !(PAGE_BYTES - 1)
}

/// First page boundary at or after `address`; none beyond the last.
pub fn page_up(address: u64) -> Option<u64> {
    address.checked_next_multiple_of(PAGE_BYTES)
}

impl AddressSpace {
    /// An empty space that uses the physical memory in `physical`, by nodes, and nothing else, with a stack
    /// of at most `stack_bytes`.
    ///
    /// # Errors
    /// When there is no frame for the root table.
    ///
    /// # Panics
    /// When `physical` lies outside `memory`, or the stack would fill the user's half.
    pub fn new(
        memory: &mut FlatMemory,
        physical: &[Range<u64>],
        stack_bytes: u64,
        executable_stack: bool,
    ) -> Result<AddressSpace, Fault> {
        let end = physical.iter().map(|range| range.end).max().unwrap_or(0);
        assert!(end <= memory.bytes(), "frames {physical:x?} in memory of {:#x}", memory.bytes());
        assert!(stack_bytes <= USER_END / 4, "stack of {stack_bytes} bytes");
        let mut frames = Banks::new(physical);
        let stack_start = STACK_TOP - page_up(stack_bytes).expect("checked above");
        let limit_bytes = frames.total() * PAGE_BYTES;
        let cause = FaultCause::OutOfMemory { limit_bytes };
        let none = Fault { address: STACK_TOP, access: Access::Write, cause };
        let root = frames.take_for_table(memory).ok_or(none)?;
        let mut areas = Areas::default();
        let execute = if executable_stack { Protection::EXECUTE.0 } else { 0 };
        let protection = Protection(Protection::READ_WRITE.0 | execute);
        areas.insert(stack_start, Area::new(STACK_TOP, protection, Backing::Anonymous));
        let mmap_top = (stack_start - STACK_GUARD_BYTES).min(STACK_TOP - MMAP_GAP_BYTES) & !(TABLE_SPAN - 1);
        Ok(AddressSpace {
            areas,
            table: PageTable { root },
            frames,
            policy: Policy::Default,
            flush: Flush::None,
            heap_start: 0,
            heap_end: 0,
            stack_start,
            mmap_top,
            faults: 0,
        })
    }

    /// Physical address of the root table, for `satp`.
    pub fn root(&self) -> u64 {
        self.table.root
    }

    /// Memory in use, page tables included [bytes].
    pub fn used_bytes(&self) -> u64 {
        self.frames.used() * PAGE_BYTES
    }

    /// Memory that may be used [bytes].
    pub fn limit_bytes(&self) -> u64 {
        self.frames.total() * PAGE_BYTES
    }

    /// Length that the stack may reach [bytes].
    pub fn stack_bytes(&self) -> u64 {
        STACK_TOP - self.stack_start
    }

    /// Pages that appeared on a fault.
    pub fn faults(&self) -> u64 {
        self.faults
    }

    /// The areas by first address.
    pub fn areas(&self) -> impl Iterator<Item = (u64, &Area)> {
        self.areas.iter()
    }

    /// What the area that holds `address` is filled from.
    pub fn backing(&self, address: u64) -> Option<&Backing> {
        self.areas.find(address).map(|(_, area)| &area.backing)
    }

    /// Which translations changed since the last call.
    pub fn take_flush(&mut self) -> Flush {
        std::mem::take(&mut self.flush)
    }

    /// Reports every translation as changed (`riscv_flush_icache`).
    pub fn flush_all(&mut self) {
        self.flush = Flush::All;
    }

    /// There is no frame for a page, of which `policy` says where it may be.
    fn no_frame(&self, address: u64, access: Access, policy: Policy) -> Fault {
        let Policy::Bind(nodes) = policy else { return self.no_table(address, access) };
        let nodes = nodes.mask();
        let cause = FaultCause::NodesFull { nodes, limit_bytes: self.frames.total_at(nodes) * PAGE_BYTES };
        Fault { address, access, cause }
    }

    /// There is no frame for a page table.
    fn no_table(&self, address: u64, access: Access) -> Fault {
        let free_bytes = self.limit_bytes() - self.used_bytes();
        let cause = match free_bytes {
            0 => FaultCause::OutOfMemory { limit_bytes: self.limit_bytes() },
            _ => FaultCause::NoPageTable { free_bytes },
        };
        Fault { address, access, cause }
    }

    /// Every page of `range` is there, filled from an image, and can be executed but not written to.
    pub fn is_text(&self, memory: &FlatMemory, range: &Range<u64>) -> bool {
        let is_code = |area: &Area| {
            let image = matches!(area.backing, Backing::Image { .. });
            image && area.protection.allows(Protection::EXECUTE) && !area.protection.allows(Protection::WRITE)
        };
        let mut pages = (page_down(range.start)..range.end).step_by(PAGE_BYTES as usize);
        let is_there = |page| {
            let entry = self.table.find(memory, page).map(|at| table::load(memory, at));
            entry.is_some_and(|entry| entry & bits::V != 0)
        };
        self.areas.covers(range) && self.areas.within(range).all(|(_, a)| is_code(a)) && pages.all(is_there)
    }

    /// Physical address of the process's `address`, if its page is there and allows `access`.
    pub fn physical(&self, memory: &FlatMemory, address: u64, access: Access) -> Option<u64> {
        let entry = table::load(memory, self.table.find(memory, page_down(address))?);
        let right = match access {
            Access::Read => bits::R,
            Access::Write => bits::W,
            Access::Execute => bits::X,
        };
        let is_allowed = address < USER_END && entry & bits::V != 0 && entry & right != 0;
        is_allowed.then(|| table::physical(entry) | (address & (PAGE_BYTES - 1)))
    }

    /// A device is told where the page at `address` is, if it is there.
    pub fn expose(&mut self, memory: &mut FlatMemory, address: u64) {
        let Some(at) = self.table.find(memory, page_down(address)) else { return };
        let entry = table::load(memory, at);
        if entry & bits::V != 0 {
            table::store(memory, at, entry | bits::EXPOSED);
        }
    }

    /// Serves a page fault: makes the page at `address` usable for `access`. It may be so already
    /// (a hart's stale translation): walk again.
    ///
    /// # Errors
    /// When the access is not allowed, or memory is full.
    pub fn fault(&mut self, memory: &mut FlatMemory, address: u64, access: Access) -> Result<(), Fault> {
        let refuse = |cause| Err(Fault { address, access, cause });
        let Some((_, area)) = self.areas.find(address) else {
            let guard = self.stack_start - STACK_GUARD_BYTES..self.stack_start;
            return refuse(if guard.contains(&address) {
                FaultCause::StackOverflow
            } else {
                FaultCause::Unmapped
            });
        };
        // No instruction comes from an NI's registers, whatever `mmap` was asked for.
        let fetches_register = access == Access::Execute && area.backing.is_device();
        if fetches_register || !access.allowed(area.protection) {
            return refuse(FaultCause::Protection);
        }
        self.appear(memory, address, access, Banks::take)
    }

    /// Makes the pages of `text`, which is mapped, appear.
    ///
    /// # Errors
    /// When memory is full.
    pub fn populate_text(&mut self, memory: &mut FlatMemory, text: Range<u64>) -> Result<(), Fault> {
        for page in (page_down(text.start)..text.end).step_by(PAGE_BYTES as usize) {
            self.appear(memory, page, Access::Execute, |frames, _| frames.take_for_text())?;
        }
        Ok(())
    }

    /// Makes the page at `address`, which an area allows, appear in a frame from `take`.
    fn appear(
        &mut self,
        memory: &mut FlatMemory,
        address: u64,
        access: Access,
        take: fn(&mut Banks, &mut FlatMemory) -> Option<u64>,
    ) -> Result<(), Fault> {
        let page = page_down(address);
        let (start, area) = self.areas.find(address).expect("checked before");
        let (backing, protection) = (area.backing.advanced(page - start), area.protection);
        let policy = if area.policy == Policy::Default { self.policy } else { area.policy };
        self.frames.choose(policy.choose(page / PAGE_BYTES, self.frames.here()));
        let entry_at = self.table.make(memory, &mut self.frames, page);
        let entry_at = entry_at.ok_or_else(|| self.no_table(address, access))?;
        if table::load(memory, entry_at) & bits::V != 0 {
            return Ok(());
        }
        let frame = take(&mut self.frames, memory).ok_or_else(|| self.no_frame(address, access, policy))?;
        if !fill(frames::page_mut(memory, frame), &backing) {
            self.frames.give(frame, false);
            return Err(Fault { address, access, cause: FaultCause::BeyondFile });
        }
        table::store(memory, entry_at, table::leaf(frame, protection));
        self.faults += 1;
        Ok(())
    }

    /// Maps `bytes` (rounded up to pages) of `backing`; gives the first address.
    ///
    /// # Errors
    /// EINVAL: no length, or an address that is no page's; ENOMEM: no room, or more than all
    /// memory; EEXIST: not free.
    pub fn map(
        &mut self,
        memory: &mut FlatMemory,
        placement: Placement,
        bytes: u64,
        protection: Protection,
        backing: Backing,
    ) -> Result<u64, Errno> {
        if bytes == 0 {
            return Err(Errno::EINVAL);
        }
        let bytes = page_up(bytes).filter(|&bytes| bytes <= USER_END).ok_or(Errno::ENOMEM)?;
        let start = self.place(placement, bytes)?;
        if self.areas.len() >= AREAS_MAX {
            return Err(Errno::ENOMEM);
        }
        if let Backing::Device { physical, .. } = backing {
            // Before anything changes: the tables for pages that appear at once.
            for page in (start..start + bytes).step_by(PAGE_BYTES as usize) {
                self.table.make(memory, &mut self.frames, page).ok_or(Errno::ENOMEM)?;
            }
            self.remove(memory, start..start + bytes);
            for page in (start..start + bytes).step_by(PAGE_BYTES as usize) {
                let at = self.table.find(memory, page).expect("made above");
                table::store(memory, at, table::leaf(physical + (page - start), protection));
            }
        } else {
            self.remove(memory, start..start + bytes);
        }
        self.areas.insert(start, Area::new(start + bytes, protection, backing));
        Ok(start)
    }

    fn place(&self, placement: Placement, bytes: u64) -> Result<u64, Errno> {
        let range = |start: u64| {
            let end = start.checked_add(bytes).filter(|&end| end <= STACK_TOP);
            end.filter(|_| start >= USER_START).map(|end| start..end)
        };
        match placement {
            Placement::Anywhere(hint) => {
                let hint = range(page_down(hint)).filter(|range| self.areas.is_free(range));
                let gap = || self.areas.gap_below(self.heap_floor()..self.mmap_top, bytes);
                hint.map(|range| range.start).or_else(gap).ok_or(Errno::ENOMEM)
            }
            Placement::Fixed(start) | Placement::FixedIfFree(start) => {
                if !start.is_multiple_of(PAGE_BYTES) {
                    return Err(Errno::EINVAL);
                }
                let range = range(start).ok_or(Errno::ENOMEM)?;
                if matches!(placement, Placement::FixedIfFree(_)) && !self.areas.is_free(&range) {
                    return Err(Errno::EEXIST);
                }
                Ok(start)
            }
        }
    }

    /// New mappings stay above this, so that they never take the heap's next page.
    fn heap_floor(&self) -> u64 {
        page_up(self.heap_end).unwrap_or(USER_START).max(USER_START)
    }

    /// Removes what is mapped in `start..start + bytes` (rounded up to pages).
    ///
    /// # Errors
    /// EINVAL: not a page's address, no length, or beyond the user's half.
    pub fn unmap(&mut self, memory: &mut FlatMemory, start: u64, bytes: u64) -> Result<(), Errno> {
        if bytes == 0 {
            return Err(Errno::EINVAL);
        }
        let range = user_pages(start, bytes).ok_or(Errno::EINVAL)?;
        if self.areas.len() + 2 > AREAS_MAX {
            return Err(Errno::ENOMEM);
        }
        self.remove(memory, range);
        Ok(())
    }

    fn remove(&mut self, memory: &mut FlatMemory, range: Range<u64>) {
        for (start, area) in self.areas.remove(&range) {
            self.drop_pages(memory, start..area.end, area.backing.is_device());
        }
    }

    fn drop_pages(&mut self, memory: &mut FlatMemory, range: Range<u64>, device: bool) {
        let mut from = range.start;
        while let Some((page, at, entry)) = self.table.next(memory, from, range.end) {
            table::store(memory, at, 0);
            if !device {
                self.frames.give(table::physical(entry), entry & bits::EXPOSED != 0);
            }
            if entry & bits::V != 0 {
                self.flush.add(page);
            }
            from = page + PAGE_BYTES;
        }
    }

    /// Changes what may be done with `start..start + bytes`.
    ///
    /// # Errors
    /// EINVAL: not a page's address; ENOMEM: not all mapped.
    pub fn protect(
        &mut self,
        memory: &mut FlatMemory,
        start: u64,
        bytes: u64,
        protection: Protection,
    ) -> Result<(), Errno> {
        if !start.is_multiple_of(PAGE_BYTES) {
            return Err(Errno::EINVAL);
        }
        let range = user_pages(start, bytes).ok_or(Errno::ENOMEM)?;
        if !self.areas.covers(&range) || self.areas.len() + 2 > AREAS_MAX {
            return Err(Errno::ENOMEM);
        }
        for (start, area) in self.areas.remove(&range) {
            let end = area.end;
            self.areas.insert(start, Area { protection, ..area });
            let mut from = start;
            while let Some((page, at, entry)) = self.table.next(memory, from, end) {
                let changed = table::leaf(table::physical(entry), protection) | entry & bits::EXPOSED;
                if changed != entry {
                    table::store(memory, at, changed);
                    if entry & bits::V != 0 {
                        self.flush.add(page);
                    }
                }
                from = page + PAGE_BYTES;
            }
        }
        Ok(())
    }

    /// Forgets the contents of `start..start + bytes`: anonymous pages become zero, others are
    /// read again (`MADV_DONTNEED`).
    ///
    /// # Errors
    /// EINVAL: not a page's address; ENOMEM: not all mapped.
    pub fn discard(&mut self, memory: &mut FlatMemory, start: u64, bytes: u64) -> Result<(), Errno> {
        if !start.is_multiple_of(PAGE_BYTES) {
            return Err(Errno::EINVAL);
        }
        let range = user_pages(start, bytes).ok_or(Errno::EINVAL)?;
        let parts: Vec<(u64, u64, bool)> = self
            .areas
            .within(&range)
            .map(|(start, area)| (start.max(range.start), area.end.min(range.end), area.backing.is_device()))
            .collect();
        if parts.iter().any(|&(_, _, device)| device) {
            return Err(Errno::EINVAL);
        }
        for (start, end, _) in parts {
            self.drop_pages(memory, start..end, false);
        }
        if self.areas.covers(&range) { Ok(()) } else { Err(Errno::ENOMEM) }
    }

    /// Changes the length of a mapping; moves it if it must and `may_move`. Gives its address.
    ///
    /// # Errors
    /// EINVAL, EFAULT (not one mapping), ENOMEM, as `mremap(2)`.
    pub fn remap(
        &mut self,
        memory: &mut FlatMemory,
        start: u64,
        old_bytes: u64,
        new_bytes: u64,
        may_move: bool,
        fixed: Option<u64>,
    ) -> Result<u64, Errno> {
        let old = user_pages(start, old_bytes).filter(|old| !old.is_empty()).ok_or(Errno::EINVAL)?;
        let new_bytes = page_up(new_bytes).filter(|&n| n > 0 && n <= USER_END).ok_or(Errno::EINVAL)?;
        let (area_start, area) = self.areas.find(start).ok_or(Errno::EFAULT)?;
        if area.end < old.end || area.backing.is_device() {
            return Err(Errno::EFAULT);
        }
        let (protection, backing) = (area.protection, area.backing.advanced(start - area_start));
        let policy = area.policy;
        let old_bytes = old.end - old.start;
        if fixed.is_none() && new_bytes <= old_bytes {
            self.remove(memory, start + new_bytes..old.end);
            return Ok(start);
        }
        let more = old.end..start.saturating_add(new_bytes);
        if fixed.is_none() && more.end <= STACK_TOP && self.areas.is_free(&more) {
            self.areas.remove(&old);
            self.areas.insert(start, Area { policy, ..Area::new(more.end, protection, backing) });
            return Ok(start);
        }
        if !may_move {
            return Err(Errno::ENOMEM);
        }
        let to = self.place(fixed.map_or(Placement::Anywhere(0), Placement::Fixed), new_bytes)?;
        if to < old.end && start < to + new_bytes {
            return Err(Errno::EINVAL);
        }
        self.move_pages(memory, old, to, new_bytes)?;
        self.areas.insert(to, Area { policy, ..Area::new(to + new_bytes, protection, backing) });
        Ok(to)
    }

    /// Moves the pages of `old` to `to`; what lay there, `bytes` long, and the area at `old` go.
    fn move_pages(
        &mut self,
        memory: &mut FlatMemory,
        old: Range<u64>,
        to: u64,
        bytes: u64,
    ) -> Result<(), Errno> {
        let kept = old.start..old.end.min(old.start + bytes);
        // Before anything changes: the tables at the new place.
        let mut from = kept.start;
        while let Some((page, ..)) = self.table.next(memory, from, kept.end) {
            let target = to + (page - old.start);
            self.table.make(memory, &mut self.frames, target).ok_or(Errno::ENOMEM)?;
            from = page + PAGE_BYTES;
        }
        self.remove(memory, to..to + bytes);
        let mut from = kept.start;
        while let Some((page, at, entry)) = self.table.next(memory, from, kept.end) {
            let target = self.table.find(memory, to + (page - old.start)).expect("made above");
            table::store(memory, target, entry);
            table::store(memory, at, 0);
            if entry & bits::V != 0 {
                self.flush.add(page);
            }
            from = page + PAGE_BYTES;
        }
        self.remove(memory, old);
        Ok(())
    }

    /// Starts the heap at `address`, rounded up to a page.
    pub fn start_heap(&mut self, address: u64) {
        self.heap_start = page_up(address).expect("the image ends far below the top");
        self.heap_end = self.heap_start;
    }

    /// Moves the heap's end to `address` where that is possible; gives the heap's end.
    pub fn brk(&mut self, memory: &mut FlatMemory, address: u64) -> u64 {
        let Some(new_top) = page_up(address).filter(|&top| address >= self.heap_start && top <= STACK_TOP)
        else {
            return self.heap_end;
        };
        let top = page_up(self.heap_end).expect("was accepted before");
        if new_top < top {
            self.remove(memory, new_top..top);
        } else if new_top > top {
            // As Linux: not into the next mapping, and not more than there is.
            if !self.areas.is_free(&(top..new_top)) || new_top - top > self.limit_bytes() {
                return self.heap_end;
            }
            self.areas.insert(top, Area::new(new_top, Protection::READ_WRITE, Backing::Anonymous));
        }
        self.heap_end = address;
        address
    }

    /// What is mapped of files and was not used yet is zero from now on: the files are closed.
    pub fn close_files(&mut self) {
        self.areas.close_files();
    }
}

/// The pages from `start` (which must be a page's address) over `bytes`, if they are the user's.
fn user_pages(start: u64, bytes: u64) -> Option<Range<u64>> {
    let end = page_up(start.checked_add(bytes)?)?;
    (start.is_multiple_of(PAGE_BYTES) && end <= USER_END).then_some(start..end)
}

/// Fills a page (zero until now) from the start of `backing`; whether that could be done.
fn fill(page: &mut [u8], backing: &Backing) -> bool {
    match backing {
        Backing::Anonymous => true,
        Backing::Image { bytes, offset, limit } => {
            let end = (*limit).min(bytes.len() as u64).min(offset + PAGE_BYTES);
            if let Some(part) = bytes.get(*offset as usize..end as usize) {
                page[..part.len()].copy_from_slice(part);
            }
            true
        }
        Backing::File { file, offset } => {
            let mut done = 0;
            while done < page.len() {
                match file.read_at(&mut page[done..], offset + done as u64) {
                    Ok(0) => break,
                    Ok(read) => done += read,
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => (),
                    Err(_) => return false,
                }
            }
            done > 0
        }
        Backing::Device { .. } => unreachable!("device pages appear when they are mapped"),
    }
}
