//! Ranks on SPEs: their programs are in pages, which the kernel puts into the local store one by one, and stop for what the
//! kernel serves. Here is what of a processor it accesses for that: registers, the map of pages, and why it has stopped.

use std::mem::offset_of;
use std::sync::Arc;

use chasqui_abi::{Envelope, mark};
use chasqui_counters::counters;
use chasqui_element::{LocalStore, Transfer, TransferKind, channel, opcode};
use chasqui_engine::Time;
use chasqui_hart::supervisor::cause::USER_CALL;
use chasqui_linux::Elf;
use chasqui_memory::{PAGE_BYTES, pte};
use chasqui_ni::{FirmwareProcessor, RankMark, Trap};
use chasqui_placement::ProcessId;
use chasqui_record::MessageId;

use crate::registers;

counters! {
    /// Counters of an SPE's programs in pages.
    pub struct RankStatistics {
        /// Pages of text and constants that the local store has got.
        pages_text: "count";
        /// Pages of the program's variables.
        pages_data: "count";
        /// Pages of heap and stack, and of the area that messages come into.
        pages_other: "count";
        /// System calls that the program has stopped for.
        calls: "count";
    }
}

/// What is beside the processor of a program in pages.
#[derive(Clone, Debug, Default)]
pub struct Rank {
    /// Counters.
    pub statistics: RankStatistics,
    /// Pages of the local store that are mapped.
    mapped: Vec<u64>,
    /// Address in the local store of the next command, and its length.
    local: u32,
    bytes: u32,
    /// The message that the first command after so many accesses to channels carries, and what carries those that are under way.
    carries: Option<(MessageId, u64)>,
    under_way: Vec<Carrier>,
    process: u32,
    /// Why it has stopped: `scause` and `stval`.
    trap: (u64, u64),
    /// Virtual address of the page that is mapped next.
    page: u64,
    is_mapped: bool,
}

/// A command that carries a message.
#[derive(Clone, Copy, Debug)]
struct Carrier {
    id: MessageId,
    /// The message leaves this local store; or comes into it, by the receiver's command.
    leaves: bool,
    /// Address in the local store, and length. A message that leaves is in the first of the command's transfers, its slot's first line.
    local: u32,
    bytes: u32,
}

impl Carrier {
    fn has(&self, transfer: &Transfer) -> bool {
        if self.leaves {
            return !transfer.kind.is_read() && self.local == transfer.local;
        }
        transfer.kind == TransferKind::Get && (self.local..self.local + self.bytes).contains(&transfer.local)
    }

    /// That is the last of it.
    fn ends_with(&self, transfer: &Transfer) -> bool {
        self.leaves || transfer.local + transfer.bytes >= self.local + self.bytes
    }
}

impl Rank {
    /// A page of the local store is mapped so from now on.
    fn count(&mut self, page: u64, rights: u64) {
        let before = self.mapped.len();
        self.mapped.retain(|&mapped| mapped != page);
        if rights == 0 {
            return;
        }
        if self.mapped.len() == before {
            let RankStatistics { pages_text, pages_data, pages_other, .. } = &mut self.statistics;
            *(if rights & registers::CORE_LOCAL_OTHER != 0 {
                pages_other
            } else if rights & pte::W == 0 {
                pages_text
            } else {
                pages_data
            }) += 1;
        }
        self.mapped.push(page);
    }

    /// Number of its process on the node.
    pub fn process(&self) -> usize {
        self.process as usize
    }

    /// Its program has stored `value` to channel `number`, its access number `access`. The message that leaves by that.
    pub fn stored(&mut self, (number, value): (u64, u32), access: u64) -> Option<MessageId> {
        match number {
            channel::MFC_LSA => self.local = value,
            channel::MFC_SIZE => self.bytes = value,
            channel::MFC_CMD => {
                let (id, _) = self.carries.take_if(|(_, before)| *before < access)?;
                let leaves = value & 0xffff != opcode::GET;
                self.under_way.push(Carrier { id, leaves, local: self.local, bytes: self.bytes });
                return Some(id);
            }
            _ => {}
        }
        None
    }

    /// A load from a register of its processor's.
    pub fn loads(&self, at: u64, processor: &FirmwareProcessor<LocalStore>) -> u64 {
        match at {
            registers::CORE_CAUSE => self.trap.0,
            registers::CORE_VALUE => self.trap.1,
            registers::CORE_LOCAL => self.is_mapped.into(),
            _ if at < registers::CORE_CAUSE => processor.register((at / 8) as usize),
            _ => 0,
        }
    }

    /// A store to it, at `now`; `programs` are those of the node's processes. What the register CORE_FULL gets is for the
    /// caller.
    pub fn stores(
        &mut self,
        (at, value): (u64, u64),
        processor: &mut FirmwareProcessor<LocalStore>,
        programs: &[Arc<Elf>],
        now: Time,
    ) {
        match at {
            registers::CORE_PROCESS => {
                *self = Rank { process: value as u32, statistics: self.statistics, ..Rank::default() };
                processor.memory.unmap_pages();
                processor.serve_traps(now, programs.get(value as usize).cloned());
            }
            registers::CORE_PAGE => self.page = value,
            registers::CORE_LOCAL => {
                let (page, rights) = (value / PAGE_BYTES * PAGE_BYTES, value % PAGE_BYTES);
                self.is_mapped = processor.memory.map_page(self.page, page, rights);
                processor.flush_translations();
                self.count(page, rights);
            }
            _ if at < registers::CORE_CAUSE && processor.is_trapped() => {
                processor.set_register((at / 8) as usize, value);
            }
            _ => {}
        }
    }

    /// Its program has stopped for the kernel.
    pub fn trapped(&mut self, trap: Trap) {
        if let Trap::Exception { cause, value } = trap {
            self.trap = (cause, value);
            self.statistics.calls += u64::from(cause == USER_CALL);
        }
    }

    /// Its program has marked something. What is not about the next command is for the rank's records.
    pub fn marked(&mut self, mark: RankMark) -> Option<(ProcessId, RankMark)> {
        if mark.code == mark::CARRY {
            self.carries = message_of(&mark).map(|id| (id, mark.accesses));
            return None;
        }
        Some((ProcessId(self.process), mark))
    }

    /// What the transfer carries has landed.
    pub fn landed(&mut self, transfer: &Transfer) {
        if let Some(which) = self.under_way.iter().position(|carrier| carrier.has(transfer))
            && self.under_way[which].ends_with(transfer)
        {
            self.under_way.remove(which);
        }
    }

    /// The message that the transfer carries.
    pub fn carried(&self, transfer: &Transfer) -> Option<MessageId> {
        self.under_way.iter().find(|carrier| carrier.has(transfer)).map(|carrier| carrier.id)
    }
}

/// The message that a mark says is carried next.
fn message_of(mark: &RankMark) -> Option<MessageId> {
    let source = mark.there.get(offset_of!(Envelope, source)..)?.first_chunk()?;
    let sequence = u32::from_le_bytes(*mark.there.get(offset_of!(Envelope, sequence)..)?.first_chunk()?);
    (sequence != 0).then_some(MessageId { source: u16::from_le_bytes(*source), sequence })
}

/// The register of an SPE's processor at `offset` of the chip's: the SPE, and the offset there.
pub fn core(offset: u64) -> Option<(usize, u64)> {
    let offset = offset.checked_sub(registers::CORE)?;
    Some(((offset / registers::CORE_BYTES) as usize, offset % registers::CORE_BYTES))
}

/// That a program does not fit, with what of it has been touched so far.
pub fn does_not_fit(spe: usize, pages: u64, store_bytes: u64) -> String {
    let [text, data, heap, stack] = [0, 16, 32, 48].map(|shift| (pages >> shift & 0xffff) * PAGE_BYTES);
    format!(
        "the program does not fit into the local store of spe{spe}, {store_bytes} bytes: what it has used so far is text \
         and constants {text}, data {data}, heap {heap}, stack {stack} bytes, in pages of {PAGE_BYTES}, and it needs more"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(kind: TransferKind, local: u32, bytes: u32) -> Transfer {
        Transfer { slot: 0, kind, physical: 0, bytes, local }
    }

    /// A rank whose program has marked that the next command carries message `sequence`.
    fn rank_with(sequence: u32, command: u32, (local, bytes): (u32, u32)) -> Rank {
        let id = MessageId { source: 1, sequence };
        let mut rank = Rank { carries: Some((id, 0)), ..Rank::default() };
        for written in [(channel::MFC_LSA, local), (channel::MFC_SIZE, bytes)] {
            assert_eq!(rank.stored(written, 1), None);
        }
        assert_eq!(rank.stored((channel::MFC_CMD, command), 1), Some(id));
        rank
    }

    #[test]
    fn a_message_that_leaves_is_in_the_first_line_of_its_slot() {
        let mut rank = rank_with(3, opcode::PUT, (0x1000, 128));
        let (own, next) =
            (transfer(TransferKind::Put, 0x1000, 128), transfer(TransferKind::Put, 0x1080, 128));
        assert_eq!((rank.carried(&own).map(|id| id.sequence), rank.carried(&next)), (Some(3), None));
        assert_eq!(rank.carried(&transfer(TransferKind::Get, 0x1000, 128)), None);
        rank.landed(&own);
        assert_eq!(rank.carried(&own), None);
    }

    #[test]
    fn a_message_that_is_got_is_in_all_lines_of_its_command() {
        let mut rank = rank_with(4, opcode::GET, (0x1010, 0x100));
        let lines = [(0x1010, 0x70), (0x1080, 0x80), (0x1100, 0x10)]
            .map(|(local, bytes)| transfer(TransferKind::Get, local, bytes));
        for line in &lines {
            assert_eq!(rank.carried(line).map(|id| id.sequence), Some(4), "{line:?}");
            rank.landed(line);
        }
        // It is over with its last byte; and neither a page walk nor what is put is of it.
        assert_eq!(rank.carried(&lines[0]), None);
        let rank = rank_with(4, opcode::GET, (0, 0x100));
        for kind in [TransferKind::Table, TransferKind::Put] {
            assert_eq!(rank.carried(&transfer(kind, 0, 8)), None);
        }
    }
}
