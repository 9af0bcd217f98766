//! Commands of an MFC: what they are, and whether they may be.

use std::fmt;

use chasqui_memory::Access;

use super::reason::Reason;

/// Bytes of a line: what an atomic command moves, and what no transfer crosses (CBEA 1.02, MFC atomic update commands;
/// Linux, `asm/spu.h`).
pub const LINE_BYTES: u32 = 128;
/// Most bytes of a transfer (Khunjush, 8.2; Linux, `asm/spu.h`, `MFC_MAX_DMA_SIZE`).
pub const TRANSFER_BYTES_MAX: u32 = 16 << 10;
/// Bytes of an element of a list.
pub const ELEMENT_BYTES: u32 = 8;
/// Most bytes of a list (Linux, `asm/spu.h`, `MFC_MAX_DMA_LIST_SIZE`).
pub const LIST_BYTES_MAX: u32 = 16 << 10;
/// Tag groups of a queue.
pub const TAGS: u32 = 32;

/// Numbers of commands (Linux, `asm/spu.h`; GCC, `spu_mfcio.h`).
pub mod opcode {
    chasqui_abi::guest_constants! {
        /// Local store to memory.
        pub const PUT: u32 = 0x20;
        /// Memory to local store.
        pub const GET: u32 = 0x40;
        /// Four bytes of the local store to a signal register.
        pub const SNDSIG: u32 = 0xa0;
        /// With any of the above: nothing of the tag group goes past it, either way.
        pub const BARRIER_FLAG: u32 = 0x01;
        /// With any of the above: it goes past nothing of the tag group that is before it.
        pub const FENCE_FLAG: u32 = 0x02;
        /// With PUT and GET: by a list in the local store.
        pub const LIST_FLAG: u32 = 0x04;
        /// With PUT: a hint that the data are a result. It is ignored.
        pub const RESULT_FLAG: u32 = 0x10;
        /// Reads a line and reserves it.
        pub const GETLLAR: u32 = 0xd0;
        /// Writes a line if it is still reserved.
        pub const PUTLLC: u32 = 0xb4;
        /// Writes a line.
        pub const PUTLLUC: u32 = 0xb0;
        /// The same in its turn in the queue, behind what is before it of its tag group.
        pub const PUTQLLUC: u32 = 0xb8;
        /// Orders all commands of the queue.
        pub const BARRIER: u32 = 0xc0;
        /// Orders the commands of the tag group.
        pub const EIEIO: u32 = 0xc8;
        /// The same.
        pub const SYNC: u32 = 0xcc;
    }
}

/// A queue of an MFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The core's own immediate atomic commands, one at a time.
    Atomic,
    /// The core's.
    Core,
    /// Others', by the problem state.
    Proxy,
}

impl Source {
    /// All, in the order in which they are looked at.
    pub const ALL: [Source; 3] = [Source::Atomic, Source::Core, Source::Proxy];
}

/// A command as it is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// What, as [`opcode`] has it.
    pub opcode: u32,
    /// Address in the local store.
    pub local: u32,
    /// Effective address: virtual address of the process. With a list its upper half holds for all elements; its lower half
    /// is the list's address in the local store.
    pub effective: u64,
    /// Length [bytes]; with a list the list's.
    pub bytes: u32,
    /// Tag group.
    pub tag: u32,
}

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Get,
    Put,
    /// A put of four bytes.
    Signal,
    GetReserved,
    PutConditional,
    PutLine,
    /// Nothing but order: of all commands, or of the tag group.
    Order {
        all: bool,
    },
}

/// How a command is ordered among those of its queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ordering {
    /// It waits for all that are before it of its tag group.
    pub fence: bool,
    /// And those behind it wait for it.
    pub barrier: bool,
    /// The same for all commands of the queue.
    pub all: bool,
}

impl Command {
    /// What it does, if `source` has such a command (lists: CBEA 1.02, 7.1.1, not for proxies).
    pub(super) fn operation(&self, source: Source) -> Option<Operation> {
        let queue = source != Source::Atomic;
        match self.opcode {
            opcode::GETLLAR if !queue => Some(Operation::GetReserved),
            opcode::PUTLLC if !queue => Some(Operation::PutConditional),
            opcode::PUTLLUC if !queue => Some(Operation::PutLine),
            opcode::PUTQLLUC if source == Source::Core => Some(Operation::PutLine),
            opcode::BARRIER if queue => Some(Operation::Order { all: true }),
            opcode::EIEIO | opcode::SYNC if queue => Some(Operation::Order { all: false }),
            code if queue => {
                let flags = opcode::BARRIER_FLAG | opcode::FENCE_FLAG;
                if code & flags == flags || self.is_list() && source != Source::Core {
                    return None;
                }
                match code & !flags {
                    opcode::SNDSIG => Some(Operation::Signal),
                    code if code & !(opcode::LIST_FLAG | opcode::RESULT_FLAG) == opcode::PUT => {
                        Some(Operation::Put)
                    }
                    code if code & !opcode::LIST_FLAG == opcode::GET => Some(Operation::Get),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// How it uses memory.
    pub(super) fn access(&self) -> Access {
        let reads = self.opcode & 0xe0 == opcode::GET || self.opcode == opcode::GETLLAR;
        if reads { Access::Read } else { Access::Write }
    }

    /// It is one that goes past the queue.
    pub(super) fn is_immediate(&self) -> bool {
        matches!(self.opcode, opcode::GETLLAR | opcode::PUTLLC | opcode::PUTLLUC)
    }

    /// It has a list.
    pub(super) fn is_list(&self) -> bool {
        let code = self.opcode & !(opcode::BARRIER_FLAG | opcode::FENCE_FLAG | opcode::RESULT_FLAG);
        [opcode::PUT, opcode::GET].map(|code| code | opcode::LIST_FLAG).contains(&code)
    }

    pub(super) fn ordering(&self) -> Ordering {
        match self.opcode {
            opcode::BARRIER => Ordering { fence: true, barrier: true, all: true },
            opcode::EIEIO | opcode::SYNC => Ordering { fence: true, barrier: true, all: false },
            // CBEA 1.02, putqlluc: it has an implied fence (as remembered: we could not look at it).
            opcode::PUTQLLUC => Ordering { fence: true, ..Ordering::default() },
            code if self.is_immediate() || code >= opcode::GETLLAR => Ordering::default(),
            code => {
                let barrier = code & opcode::BARRIER_FLAG != 0;
                Ordering { fence: barrier || code & opcode::FENCE_FLAG != 0, barrier, all: false }
            }
        }
    }

    /// What is wrong with it, before it has moved anything, in a local store of so many bytes.
    pub(super) fn check(&self, source: Source, store_bytes: u32) -> Result<Operation, Reason> {
        let operation = self.operation(source).ok_or(Reason::Command)?;
        if self.tag >= TAGS {
            return Err(Reason::Tag);
        }
        match operation {
            Operation::Order { .. } => {}
            _ if self.is_list() => {
                let list = self.effective as u32;
                if self.bytes > LIST_BYTES_MAX || !self.bytes.is_multiple_of(ELEMENT_BYTES) {
                    return Err(Reason::Size);
                }
                if !list.is_multiple_of(ELEMENT_BYTES) {
                    return Err(Reason::Alignment);
                }
                within(list, self.bytes, store_bytes)?;
            }
            Operation::GetReserved | Operation::PutConditional | Operation::PutLine => {
                let aligned = |address: u64| address.is_multiple_of(u64::from(LINE_BYTES));
                if !aligned(self.effective) || !aligned(self.local.into()) {
                    return Err(Reason::Alignment);
                }
                within(self.local, LINE_BYTES, store_bytes)?;
            }
            Operation::Signal if self.bytes != 4 => return Err(Reason::Size),
            _ => check_transfer(self.local, self.effective, self.bytes, store_bytes)?,
        }
        Ok(operation)
    }
}

/// What is wrong with a transfer (Khunjush 8.2; specs/cell.md; CBEA 1.02, MFC commands): 1, 2, 4, 8 or 16 bytes, naturally
/// aligned and with the same low four bits of both addresses, or a multiple of 16 up to 16 KB, aligned to 16. Nothing, 0
/// bytes, is moved without a look at the addresses.
pub(super) fn check_transfer(local: u32, effective: u64, bytes: u32, store_bytes: u32) -> Result<(), Reason> {
    if !matches!(bytes, 0 | 1 | 2 | 4 | 8) && (!bytes.is_multiple_of(16) || bytes > TRANSFER_BYTES_MAX) {
        return Err(Reason::Size);
    }
    let aligned = effective.is_multiple_of(u64::from(bytes.clamp(1, 16)));
    if bytes > 0 && (!aligned || effective % 16 != u64::from(local) % 16) {
        return Err(Reason::Alignment);
    }
    within(local, bytes, store_bytes)
}

/// The local store has these bytes. The original wraps around its end (CBEA, local-storage limit register); ours is an error,
/// as specs/cell.md has it.
fn within(local: u32, bytes: u32, store_bytes: u32) -> Result<(), Reason> {
    let end = u64::from(local) + u64::from(bytes);
    if end <= u64::from(store_bytes) { Ok(()) } else { Err(Reason::LocalStore) }
}

/// As assembly language has it.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.opcode {
            opcode::GETLLAR => "getllar",
            opcode::PUTLLC => "putllc",
            opcode::PUTLLUC => "putlluc",
            opcode::PUTQLLUC => "putqlluc",
            opcode::BARRIER => "barrier",
            opcode::EIEIO => "mfceieio",
            opcode::SYNC => "mfcsync",
            code => match code & !0x1f {
                opcode::PUT if code & 8 == 0 => "put",
                opcode::GET if code & 0x18 == 0 => "get",
                opcode::SNDSIG if code & 0x1c == 0 => "sndsig",
                _ => return write!(f, "command {code:#x}, tag {}", self.tag),
            },
        };
        f.write_str(name)?;
        let is_plain = self.opcode < opcode::PUTLLUC;
        for (flag, letter) in [
            (opcode::RESULT_FLAG, "r"),
            (opcode::LIST_FLAG, "l"),
            (opcode::FENCE_FLAG, "f"),
            (opcode::BARRIER_FLAG, "b"),
        ] {
            if is_plain && self.opcode & flag != 0 {
                f.write_str(letter)?;
            }
        }
        if matches!(self.opcode, opcode::BARRIER | opcode::EIEIO | opcode::SYNC) {
            return write!(f, ", tag {}", self.tag);
        }
        let Command { local, effective, bytes, tag, .. } = self;
        let what = if self.is_list() { " of a list" } else { "" };
        write!(f, " of {bytes} bytes{what}, local store {local:#x}, address {effective:#x}, tag {tag}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: u32 = 256 << 10;

    fn get(local: u32, effective: u64, bytes: u32) -> Result<Operation, Reason> {
        Command { opcode: opcode::GET, local, effective, bytes, tag: 0 }.check(Source::Core, STORE)
    }

    /// Of all lengths up to beyond the longest, at all low bits of both addresses, those pass that the rule names.
    #[test]
    fn transfers_are_as_long_and_aligned_as_the_rule_has_it() {
        for bytes in 0..=TRANSFER_BYTES_MAX + 32 {
            for (local, effective) in (0..17).flat_map(|l| (0..17).map(move |e| (l, e))) {
                let small = [1, 2, 4, 8, 16].contains(&bytes);
                let long = bytes % 16 == 0 && bytes <= 16384;
                let expected = if bytes == 0 {
                    Ok(Operation::Get)
                } else if !small && !long {
                    Err(Reason::Size)
                } else if local % 16 != effective % 16
                    || effective % bytes.min(16) != 0
                    || long && effective % 16 != 0
                {
                    Err(Reason::Alignment)
                } else {
                    Ok(Operation::Get)
                };
                assert_eq!(get(local, effective.into(), bytes), expected, "{bytes} {local} {effective}");
            }
        }
    }

    #[test]
    fn the_local_store_ends() {
        assert_eq!(get(STORE - 16, 0, 16), Ok(Operation::Get));
        assert_eq!(get(STORE - 16, 0, 32), Err(Reason::LocalStore));
        assert_eq!(get(STORE, 0, 16), Err(Reason::LocalStore));
        assert_eq!(get(0xffff_fff0, 0, 16), Err(Reason::LocalStore));
        let list = |effective, bytes| Command { opcode: 0x44, local: 0, effective, bytes, tag: 0 };
        let check = |effective, bytes| list(effective, bytes).check(Source::Core, STORE);
        assert_eq!(check(u64::from(STORE) - 8, 8), Ok(Operation::Get));
        assert_eq!(check(u64::from(STORE) - 8, 16), Err(Reason::LocalStore));
        assert_eq!((check(4, 8), check(8, 12)), (Err(Reason::Alignment), Err(Reason::Size)));
        assert_eq!((check(0, 16 << 10), check(0, (16 << 10) + 8)), (Ok(Operation::Get), Err(Reason::Size)));
    }

    #[test]
    fn queues_have_their_commands() {
        let may = |code: u32| {
            let command = Command { opcode: code, local: 0, effective: 0, bytes: 0, tag: 0 };
            Source::ALL.map(|source| command.operation(source).is_some())
        };
        for code in [0x20, 0x21, 0x22, 0x30, 0x31, 0x32, 0x40, 0x41, 0x42, 0xa0, 0xa1, 0xa2, 0xc0, 0xc8, 0xcc]
        {
            assert_eq!(may(code), [false, true, true], "{code:#x}");
        }
        for code in [0x24, 0x25, 0x26, 0x34, 0x35, 0x36, 0x44, 0x45, 0x46, 0xb8] {
            assert_eq!(may(code), [false, true, false], "{code:#x}");
        }
        for code in [0xd0, 0xb4, 0xb0] {
            assert_eq!(may(code), [true, false, false], "{code:#x}");
        }
        // Both flags; those that start the core; storage control; nothing at all.
        for code in [0x23, 0x28, 0x43, 0x48, 0x50, 0x80, 0x89, 0xa3, 0xa4, 0xc1, 0xd1, 0, 0x140] {
            assert_eq!(may(code), [false; 3], "{code:#x}");
        }
    }

    #[test]
    fn commands_are_said_in_words() {
        let command = Command { opcode: 0x36, local: 0x80, effective: 0x1_0000, bytes: 16, tag: 3 };
        let text = "putrlf of 16 bytes of a list, local store 0x80, address 0x10000, tag 3";
        assert_eq!(command.to_string(), text);
        assert_eq!(Command { opcode: 0xcc, ..command }.to_string(), "mfcsync, tag 3");
        assert_eq!(Command { opcode: 0x28, ..command }.to_string(), "command 0x28, tag 3");
    }
}
