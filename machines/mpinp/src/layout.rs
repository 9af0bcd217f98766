//! Where what processes share with the card lies: in the card's memory a window for each, between the firmware's image and
//! buffers below and its stack above; in the host's memory what the card writes, and nobody else does. What the kernel writes
//! for the card no process maps: a page table on the host, and behind the windows the addresses of what lies in one page.

use std::ops::Range;

use chasqui_memory::{DEVICE_BASE, PAGE_BYTES};
use chasqui_ni::Region;
use chasqui_placement::ProcessId;

use crate::registers::DOORBELL;
use crate::requests::{INTERRUPT_ASKED, INTERRUPT_CAUSE, MpinpEntry, NAMES, PAGED, WINDOW_REASON};

/// The firmware's stack, at the end of the card's memory.
const STACK_BYTES: u64 = 2 * PAGE_BYTES;
/// What the kernel stores at a time.
const WORD: u64 = size_of::<u64>() as u64;

/// What the kernel and the card of a node have in common.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PageTable {
    /// Entries of each process; 0: there is no table.
    pub entries: u64,
    /// Those of them whose pages stay pinned.
    pub kept: u64,
    /// Slots of the card's TLB, which has such alone.
    pub tlb: u64,
    /// For what the card interrupts the host.
    pub line: Line,
}

/// For what the card interrupts the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Line {
    /// Never.
    #[default]
    None,
    /// A process waits and has something.
    Waits,
    /// A thread of the kernel has pages to name.
    Pages,
}

impl PageTable {
    /// Bytes of the card's memory with words for what lies in one page, of so many processes.
    fn pinned_bytes(self, processes: u32) -> u64 {
        if self.entries > 0 { u64::from(processes) * NAMES * WORD } else { 0 }
    }

    /// Bytes of a word for the records, and of stamps.
    fn kept_bytes(self) -> u64 {
        if self.kept > 0 { (1 + self.tlb) * WORD } else { 0 }
    }

    /// Bytes of the interrupt's words: its register's, and one for each process, or for each of its names.
    fn interrupt_bytes(self, processes: u32) -> u64 {
        match self.line {
            Line::None => 0,
            Line::Waits => INTERRUPT_ASKED + u64::from(processes) * WORD,
            Line::Pages => PAGED + u64::from(processes) * NAMES * WORD,
        }
    }

    /// All that the kernel stores there, one behind the other, whole pages [bytes].
    fn words_bytes(self, processes: u32) -> u64 {
        let all = self.pinned_bytes(processes) + self.kept_bytes() + self.interrupt_bytes(processes);
        all.next_multiple_of(PAGE_BYTES)
    }
}

/// The layout of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Processes of the node.
    pub processes: u32,
    /// Address in the card's memory of the first window, and length of each [bytes].
    pub windows: u64,
    pub window_bytes: u64,
    /// Physical address of the first process's memory on the host, and length of each [bytes].
    pub host: u64,
    pub host_bytes: u64,
    /// The page table, which lies behind that.
    pub table: PageTable,
}

impl Layout {
    /// That of `processes` on a card of `sram` bytes, of which firmware has the first `firmware`, and [`STACK_BYTES`] at the end,
    /// and a host that has what it shares behind `host`: a page table, too.
    ///
    /// # Errors
    /// It does not fit: in words.
    pub fn new(
        processes: u32,
        (sram, firmware): (u64, u64),
        window_bytes: u64,
        (host, host_bytes): (u64, u64),
        table: PageTable,
    ) -> Result<Layout, String> {
        let all = u64::from(processes) * window_bytes + table.words_bytes(processes);
        let windows = sram.checked_sub(all + STACK_BYTES).filter(|&windows| windows >= firmware).ok_or_else(|| {
            format!(
                "mpinp.card.sram = {sram} B: {processes} processes have windows of {window_bytes} B each, and firmware takes \
                 {firmware} B; at least {} B are needed",
                all + firmware + STACK_BYTES
            )
        })?;
        Ok(Layout { processes, windows, window_bytes, host, host_bytes, table })
    }

    /// Address in the card's memory of what lies in one page: a word for each name of the first process; the others' follow.
    pub fn pinned(&self) -> u64 {
        self.windows + u64::from(self.processes) * self.window_bytes
    }

    /// Address in the card's memory of a word for the records: entries that stay pinned are others.
    pub fn count(&self) -> u64 {
        self.pinned() + self.table.pinned_bytes(self.processes)
    }

    /// Whether this word of the card's memory is that one.
    pub fn is_count(&self, address: u64) -> bool {
        self.table.kept > 0 && address == self.count()
    }

    /// Address in the card's memory of the stamps of its TLB's slots.
    pub fn stamps(&self) -> u64 {
        self.count() + WORD
    }

    /// Address in the card's memory of its interrupt's words (INTERRUPT_).
    pub fn interrupt(&self) -> u64 {
        self.count() + self.table.kept_bytes()
    }

    /// Whether this word of the card's memory is the interrupt's register.
    pub fn is_cause(&self, address: u64) -> bool {
        self.table.line != Line::None && address == self.interrupt() + INTERRUPT_CAUSE
    }

    /// Whether this word of the card's memory says that a process waits.
    pub fn is_asked(&self, address: u64) -> bool {
        let end = self.interrupt() + self.table.interrupt_bytes(self.processes);
        self.table.line == Line::Waits && (self.interrupt() + INTERRUPT_ASKED..end).contains(&address)
    }

    /// The process for one of whose names this word of the card's memory says what entries have named.
    fn paged_of(&self, address: u64) -> Option<ProcessId> {
        let words = (self.table.line == Line::Pages).then(|| self.interrupt() + PAGED)?;
        let number = address.checked_sub(words)? / (NAMES * WORD);
        (number < u64::from(self.processes)).then_some(ProcessId(number as u32))
    }

    /// Physical addresses of what processes and their kernel store to.
    pub fn stored(&self) -> Range<u64> {
        let end = self.pinned() + self.table.words_bytes(self.processes);
        DEVICE_BASE + self.windows..DEVICE_BASE + end
    }

    /// Physical address of the page table; each process has its entries, one behind the other's.
    pub fn page_table(&self) -> u64 {
        self.host + u64::from(self.processes) * self.host_bytes
    }

    /// What `process` maps, in the order of `REGION_`.
    pub fn regions(&self, process: ProcessId) -> Vec<Region> {
        let number = u64::from(process.0);
        vec![
            Region {
                physical: DEVICE_BASE + self.windows + number * self.window_bytes,
                bytes: self.window_bytes,
            },
            Region { physical: self.host + number * self.host_bytes, bytes: self.host_bytes },
        ]
    }

    /// Memory on the host, of all processes, whole pages [bytes].
    pub fn host_memory(&self) -> u64 {
        let each = self.host_bytes + self.table.entries * size_of::<MpinpEntry>() as u64;
        (u64::from(self.processes) * each).next_multiple_of(PAGE_BYTES)
    }

    /// The process in whose window `address` of the card's memory lies.
    pub fn window_of(&self, address: u64) -> Option<ProcessId> {
        let number = address.checked_sub(self.windows)? / self.window_bytes;
        (number < u64::from(self.processes)).then_some(ProcessId(number as u32))
    }

    /// Whether this word of the card's memory is a window's for the records of collectives.
    pub fn is_reason(&self, address: u64) -> bool {
        self.window_of(address).is_some_and(|process| {
            address == self.windows + u64::from(process.0) * self.window_bytes + WINDOW_REASON
        })
    }

    /// The processes whose doorbells are among the `bytes` from `address` on in the card's memory, a bit each; a word of the
    /// kernel's that says which pages entries name rings, too.
    pub fn doorbells_within(&self, address: u64, bytes: u64) -> u64 {
        let windows =
            (address..address + bytes).step_by(self.window_bytes as usize).chain([address + bytes - 1]);
        let rings = |&process: &ProcessId| {
            let doorbell = self.windows + u64::from(process.0) * self.window_bytes + DOORBELL;
            address < doorbell + WORD && doorbell < address + bytes
        };
        windows
            .filter_map(|within| self.window_of(within))
            .filter(rings)
            .chain(self.paged_of(address))
            .fold(0, |all, process| all | 1 << process.0)
    }
}

const _: () = assert!(DOORBELL + WORD == PAGE_BYTES);

#[cfg(test)]
mod tests {
    use super::*;

    fn table(kept: u64, tlb: u64) -> PageTable {
        PageTable { entries: 10, kept, tlb, line: Line::None }
    }

    #[test]
    fn the_kernels_words_lie_behind_the_windows() {
        let of = |table| Layout::new(4, (1 << 20, 0x10000), 0x4000, (0x1000_0000, 0x8000), table).unwrap();
        let (plain, kept, tlb) = (of(table(0, 0)), of(table(5, 0)), of(table(5, 511)));
        assert_eq!(plain.stored().end - DEVICE_BASE, plain.pinned() + 0x1000);
        assert_eq!(kept.stored().end - DEVICE_BASE, kept.pinned() + 0x2000);
        assert_eq!((kept.count(), kept.windows), (kept.pinned() + 0x1000, plain.windows - 0x1000));
        assert_eq!((plain.is_count(plain.count()), kept.is_count(kept.count())), (false, true));
        assert_eq!((tlb.stamps(), tlb.windows), (tlb.count() + 8, kept.windows));
        assert_eq!(of(table(5, 512)).windows, kept.windows - 0x1000);
        assert!(!plain.is_cause(plain.interrupt()) && !plain.is_asked(plain.interrupt() + INTERRUPT_ASKED));
        let both = of(PageTable { line: Line::Waits, ..table(5, 4) });
        let at = both.stamps() + 4 * WORD;
        assert_eq!((both.interrupt(), both.windows), (at, kept.windows));
        let words = [at, at + 8, at + 32, at + 40];
        assert_eq!(words.map(|word| both.is_cause(word)), [true, false, false, false]);
        assert_eq!(words.map(|word| both.is_asked(word)), [false, true, true, false]);
    }

    #[test]
    fn the_kernels_answers_ring() {
        let with = |line| {
            let table = PageTable { line, ..table(0, 0) };
            Layout::new(2, (1 << 20, 0x10000), 0x4000, (0x1000_0000, 0x8000), table).unwrap()
        };
        let layout = with(Line::Pages);
        let words = layout.interrupt() + PAGED;
        assert!(layout.is_cause(layout.interrupt()) && !layout.is_asked(words));
        let second = words + NAMES * WORD;
        for (address, rings) in
            [(words, 0b01), (second - 8, 0b01), (second, 0b10), (second + NAMES * WORD, 0), (words - 8, 0)]
        {
            assert_eq!(layout.doorbells_within(address, 8), rings, "{address:#x}");
        }
        assert!(second + NAMES * WORD <= layout.stored().end - DEVICE_BASE);
        let waits = with(Line::Waits);
        assert_eq!(waits.doorbells_within(waits.interrupt() + INTERRUPT_ASKED, 8), 0);
    }

    #[test]
    fn windows_lie_behind_the_firmware_and_have_doorbells() {
        let layout = Layout::new(2, (1 << 20, 0x10000), 0x4000, (0x1000_0000, 0x8000), table(0, 0)).unwrap();
        assert_eq!(layout.windows, 0xf5000);
        assert_eq!((layout.pinned(), layout.page_table()), (0xfd000, 0x1001_0000));
        assert_eq!(layout.host_memory(), 0x1_1000);
        let [window, host] = layout.regions(ProcessId(1))[..] else { panic!("two regions") };
        assert_eq!((window.physical, window.bytes), (DEVICE_BASE + 0xf9000, 0x4000));
        assert_eq!((host.physical, host.bytes), (0x1000_8000, 0x8000));
        for (address, bytes, rings) in [
            (0xf5ff8, 4, 0b01),
            (0xf9ff0, 16, 0b10),
            (0xf9ff0, 8, 0),
            (0xf6000, 8, 0),
            (0x100, 8, 0),
            // From the end of a window, or the middle, into the next one.
            (0xf8ffc, 0x1000, 0b10),
            (0xf8ff8, 0x1000, 0),
            (0xf5ff8, 0x4008, 0b11),
        ] {
            assert_eq!(layout.doorbells_within(address, bytes), rings, "{address:#x}");
        }
        let reasons = [0xf5800, 0xf9800, 0xf5808, 0xfd800];
        assert_eq!(reasons.map(|address| layout.is_reason(address)), [true, true, false, false]);
        assert_eq!(layout.window_of(0xf4fff), None);
        assert_eq!(
            (layout.window_of(0xf8fff), layout.window_of(0xf9000)),
            (Some(ProcessId(0)), Some(ProcessId(1)))
        );
        assert_eq!(layout.window_of(0xfd000), None, "the kernel's");
        let text = Layout::new(70, (1 << 20, 0x10000), 0x4000, (0, 0), PageTable::default()).unwrap_err();
        assert!(text.ends_with("at least 1220608 B are needed"), "{text}");
    }
}
