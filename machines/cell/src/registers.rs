//! What the host's software, the SPEs' and the chip agree on. What a core has is in crates/element; here is where it stands,
//! what is the chip's own, and what the driver is asked.

use chasqui_abi::header::{DeviceHeader, GuestStruct, INCLUDE_ABI, defines};
use chasqui_element::{channel, event, hypervisor, opcode, privileged, problem};

chasqui_abi::guest_constants! {
    /// Number of the device, by which the kernel's driver knows it.
    pub const DEVICE: u64 = 11;
    /// Number of the device to the MPI library, where messages may go other ways than by slot and put (ways/device.c).
    pub const WAYS_DEVICE: u64 = 13;
    /// Setting: SPEs.
    pub const SETTING_SPES: u64 = 0;
    /// Setting: bytes of a local store.
    pub const SETTING_STORE_BYTES: u64 = 1;
    /// Setting: bytes from one SPE to the next, seen from the device's begin. Its local store comes first, then its areas.
    pub const SETTING_STRIDE: u64 = 2;
    /// Setting: offset of problem state there.
    pub const SETTING_PROBLEM: u64 = 3;
    /// Setting: offset of the second privileged area.
    pub const SETTING_PRIVILEGED: u64 = 4;
    /// Setting: offset of the first privileged area.
    pub const SETTING_HYPERVISOR: u64 = 5;
    /// Setting: 1: the kernel gives the MFCs all translations.
    pub const SETTING_SOFT_TLB: u64 = 6;
    /// Setting: 1: the shortest messages go by mailbox.
    pub const SETTING_MAILBOX: u64 = 7;
    /// Setting: how longer messages go, LONG_.
    pub const SETTING_LONG: u64 = 8;

    /// Of SETTING_LONG: the sender puts them to where the receive wants them.
    pub const LONG_PUT: u64 = 0;
    /// Of SETTING_LONG: the receiver gets them.
    pub const LONG_GET: u64 = 1;
    /// Of SETTING_LONG: through buffers in main memory, if they fit. The region behind those of the SPEs has the buffers, by sender.
    pub const LONG_MEMORY: u64 = 2;
    /// Buffers in main memory that each sender has.
    pub const BUFFERS: u64 = 4;
    /// Longest message that goes through one [bytes].
    pub const BUFFER_BYTES: u64 = 0x4000;
    /// From one buffer to the next [bytes]: a message begins at the place in a quadword at which the sender has it.
    pub const BUFFER_STRIDE: u64 = 0x4080;

    /// Of the device: registers of the chip's own, for the kernel, of 64 bits.
    pub const CHIP: u64 = 0x1000_0000;
    /// Stored: a process ends with what is wrong with this SPE. The process's number is in the upper 32 bits.
    pub const CHIP_REPORT: u64 = 0x0;
    /// Stored: virtual address of the image that the next SPE has, for whoever looks at what it does.
    pub const CHIP_IMAGE: u64 = 0x8;
    /// Stored: its length [bytes], and the SPE in the upper 16 bits.
    pub const CHIP_IMAGE_BYTES: u64 = 0x10;

    /// Of the chip's own registers: those of SPE 0's processor, for the kernel, of 64 bits; the others' follow. They are accessed while it has stopped (ours: a kernel of the original's has a program of the SPE's put them into the local store).
    pub const CORE: u64 = 0x1000;
    /// From one SPE's to the next [bytes].
    pub const CORE_BYTES: u64 = 0x1000;
    /// Its program counter, and x1 to x31 behind it.
    pub const CORE_PC: u64 = 0x0;
    /// Why its program has stopped, with STOP_TRAP: `scause` of RISC-V. Loaded.
    pub const CORE_CAUSE: u64 = 0x100;
    /// What at: `stval` of RISC-V. Loaded.
    pub const CORE_VALUE: u64 = 0x108;
    /// Stored: what is started next is a program of the process of this number, in pages, which stops for each system call, page that is not there, and other exception. All registers are 0, no page is mapped.
    pub const CORE_PROCESS: u64 = 0x110;
    /// Virtual address of the page that is mapped next. Stored.
    pub const CORE_PAGE: u64 = 0x118;
    /// Stored: it is the page of the local store at this address, with the rights that the lowest bits say, as an entry of Sv39 has them (2: read, 4: written, 8: executed; none: it is not mapped; 256: it is none of the program's text and data, for the counters). Loaded: 1 if that could be.
    pub const CORE_LOCAL: u64 = 0x120;
    /// Of CORE_LOCAL: the page is heap, stack or the area of messages.
    pub const CORE_LOCAL_OTHER: u64 = 0x100;
    /// Stored: the process ends, since its program does not fit into the local store. There are so many pages: of text (bits 0 to 15), data (16 to 31), heap (32 to 47) and stack (48 to 63).
    pub const CORE_FULL: u64 = 0x128;

    /// Address at which SPE programs find their local store: they are linked there (firmware processors' memory).
    pub const STORE_ADDRESS: u64 = 0x8000_0000;
    /// Address of an SPE's channels.
    pub const CHANNELS: u64 = 0x4000_0000;
    /// From the channels: a load at this and 8 times a code stops the program with that code; it goes on behind the load (ours: the original has an instruction).
    pub const STOP: u64 = 0x10_0000;
    /// Codes of a stop.
    pub const STOP_CODES: u64 = 0x4000;
    /// Code of a stop: the program is over; its status is in the lowest 8 bits (as libspe has it).
    pub const STOP_EXIT: u64 = 0x2000;
    /// Code of a stop: the PPE is to serve a call, whose block is named by the word at CALL_PLACE.
    pub const STOP_CALL: u64 = 0x2100;
    /// Code of a stop: of a program in pages, for what CORE_CAUSE says.
    pub const STOP_TRAP: u64 = 0x2101;
    /// From a program's entry: three words of 64 bits that it is started with.
    pub const START_WORDS: u64 = 16;
    /// From a program's entry: address in the local store of the block of the call that it asks for.
    pub const CALL_PLACE: u64 = 40;
    /// Call: writes bytes to a file. Arguments: file, address in the local store, length.
    pub const CALL_WRITE: u64 = 1;

    /// ioctl: takes an SPE. The result is its number.
    pub const CONTROL_TAKE: u64 = 0x7101;
    /// ioctl: gives the SPE of this number back.
    pub const CONTROL_GIVE: u64 = 0x7102;
    /// ioctl: says which image an SPE has (struct chasqui_cell_image).
    pub const CONTROL_IMAGE: u64 = 0x7103;
    /// ioctl: waits until one of the SPEs of this mask has something to say, and takes it. The result has the mask of those that have stopped, from WAIT_COMMANDS on of those whose MFC has at a command, from WAIT_ERRORS on of those whose program has made an error.
    pub const CONTROL_WAIT: u64 = 0x7104;
    /// ioctl: takes a word from the outbound interrupt mailbox of an SPE (struct chasqui_cell_word), and waits until there is one.
    pub const CONTROL_READ: u64 = 0x7105;
    /// ioctl: what an SPE does wrong is the program's affair from now on, not the process's end.
    pub const CONTROL_KEEP: u64 = 0x7106;
    /// ioctl: has pages present (struct chasqui_cell_pages).
    pub const CONTROL_PIN: u64 = 0x7107;
    /// ioctl: drops the commands of the SPE of this number and has its MFC go on.
    pub const CONTROL_PURGE: u64 = 0x7108;
    /// ioctl: whether signal registers collect bits (struct chasqui_cell_word: bits 0 and 1).
    pub const CONTROL_SIGNALS: u64 = 0x7109;
    /// ioctl: puts a word into the inbound mailbox of an SPE (struct chasqui_cell_word), and waits for room.
    pub const CONTROL_MAILBOX_PUT: u64 = 0x710a;
    /// ioctl: takes a word from the outbound mailbox of an SPE (struct chasqui_cell_word). The result is 1 if there was one.
    pub const CONTROL_MAILBOX_TAKE: u64 = 0x710b;
    /// ioctl: whether the MFC of the SPE of this number has stopped at a wrong command. The result is 1 if so.
    pub const CONTROL_STUCK: u64 = 0x710c;
    /// ioctl: the calling thread goes on on an SPE, that of its process's number on the node, and stays there (struct chasqui_cell_move). The result is the SPE.
    pub const CONTROL_MOVE: u64 = 0x710d;
    /// Of CONTROL_WAIT: the first bit of the mask of SPEs whose MFC has stopped at a command.
    pub const WAIT_COMMANDS: u64 = 8;
    /// Of CONTROL_WAIT: the first bit of the mask of SPEs whose program has made an error.
    pub const WAIT_ERRORS: u64 = 16;
}

chasqui_abi::guest_struct! {
    /// The image that an SPE has.
    pub struct CellImage {
        /// Its virtual address.
        pub address: u64,
        /// Length [bytes].
        pub bytes: u64,
        /// The SPE.
        pub spe: u64,
    }
}

chasqui_abi::guest_struct! {
    /// A word of an SPE's.
    pub struct CellWord {
        /// The SPE.
        pub spe: u64,
        /// The word.
        pub value: u64,
    }
}

chasqui_abi::guest_struct! {
    /// Pages that are to be there.
    pub struct CellPages {
        /// Virtual address.
        pub address: u64,
        /// Length [bytes].
        pub bytes: u64,
        /// 1: they are written, too.
        pub write: u64,
    }
}

chasqui_abi::guest_struct! {
    /// A thread that goes on on an SPE, with these registers; a0 is the result of the call.
    pub struct CellMove {
        /// Where.
        pub pc: u64,
        /// Register `sp`.
        pub stack_pointer: u64,
        /// Register `gp`.
        pub global_pointer: u64,
        /// Register `tp`.
        pub thread_pointer: u64,
        /// Virtual address of the memory that lies first in the local store, in the order of its pages. It begins with a list of the local store's pages, in its order, which the kernel keeps: their virtual addresses, 64 bits each; 0: it is free.
        pub area: u64,
        /// Length of it [bytes], whole pages.
        pub area_bytes: u64,
        /// End of the program's data, where its heap begins.
        pub data_end: u64,
    }
}

chasqui_abi::guest_struct! {
    /// A call that an SPE program has the PPE serve, in its local store.
    pub struct CellCall {
        /// What, CALL_.
        pub number: u32,
        /// The result.
        pub result: i32,
        /// The arguments.
        pub arguments: [u32; 4],
    }
}

/// `registers.h`.
pub static HEADER: DeviceHeader = DeviceHeader::new("CELL", "machines/cell/src/registers.rs", body);

fn body() -> String {
    [
        INCLUDE_ABI.into(),
        defines("CELL_", CONSTANTS),
        defines("CELL_CHANNEL_", channel::CONSTANTS),
        defines("CELL_EVENT_", event::CONSTANTS),
        defines("CELL_PROBLEM_", problem::CONSTANTS),
        defines("CELL_PRIVILEGED_", privileged::CONSTANTS),
        defines("CELL_HYPERVISOR_", hypervisor::CONSTANTS),
        defines("CELL_MFC_", opcode::CONSTANTS),
        CellImage::definition(),
        CellWord::definition(),
        CellPages::definition(),
        CellCall::definition(),
        CellMove::definition(),
    ]
    .join("\n")
}
