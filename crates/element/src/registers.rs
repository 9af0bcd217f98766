//! Numbers and places of registers: defined here alone, for the simulator and the guest's headers.

/// What the core's own program accesses: Cell's channels (CBEA 1.02, SPU channels; numbers as GCC's header for SPUs and
/// Linux's switch.c have them), of 32 bits each, at [`channel::ADDRESS_BYTES`] times its number. A load of a channel that
/// has nothing, and a store to one that has no room, waits; [`channel::COUNTS`] beyond it is how often it would not.
pub mod channel {
    chasqui_abi::guest_constants! {
        /// Bytes from one channel to the next (ours: the original has instructions for them).
        pub const ADDRESS_BYTES: u64 = 8;
        /// From a channel to its count: how many accesses would not wait.
        pub const COUNTS: u64 = 0x400;
        /// Reads the events that have come and are enabled.
        pub const RD_EVENT_STAT: u64 = 0;
        /// Enables events.
        pub const WR_EVENT_MASK: u64 = 1;
        /// Clears events.
        pub const WR_EVENT_ACK: u64 = 2;
        /// Takes the first signal register.
        pub const RD_SIG_NOTIFY_1: u64 = 3;
        /// Takes the second signal register.
        pub const RD_SIG_NOTIFY_2: u64 = 4;
        /// Sets the decrementer.
        pub const WR_DEC: u64 = 7;
        /// Reads the decrementer.
        pub const RD_DEC: u64 = 8;
        /// Reads which events are enabled.
        pub const RD_EVENT_MASK: u64 = 11;
        /// Reads the tag groups that are asked about.
        pub const RD_TAG_MASK: u64 = 12;
        /// Address in the local store of the next DMA command.
        pub const MFC_LSA: u64 = 16;
        /// Its effective address, upper half.
        pub const MFC_EAH: u64 = 17;
        /// Its effective address, lower half, or its list's address in the local store.
        pub const MFC_EAL: u64 = 18;
        /// Its length, or its list's [bytes].
        pub const MFC_SIZE: u64 = 19;
        /// Its tag group.
        pub const MFC_TAG_ID: u64 = 20;
        /// Enters it: what it is.
        pub const MFC_CMD: u64 = 21;
        /// Sets the tag groups that are asked about, a bit each.
        pub const WR_TAG_MASK: u64 = 22;
        /// Asks about them.
        pub const WR_TAG_UPDATE: u64 = 23;
        /// Takes the answer: those of them of which no command is left.
        pub const RD_TAG_STAT: u64 = 24;
        /// Takes the tag groups whose lists wait for the core, a bit each.
        pub const RD_LIST_STALL_STAT: u64 = 25;
        /// The lists of this tag group go on.
        pub const WR_LIST_STALL_ACK: u64 = 26;
        /// Takes how the last atomic command ended.
        pub const RD_ATOMIC_STAT: u64 = 27;
        /// Puts into the outbound mailbox.
        pub const WR_OUT_MBOX: u64 = 28;
        /// Takes from the inbound mailbox.
        pub const RD_IN_MBOX: u64 = 29;
        /// Puts into the outbound interrupt mailbox.
        pub const WR_OUT_INTR_MBOX: u64 = 30;
        /// Asked of tag groups: whatever it is now.
        pub const TAG_UPDATE_IMMEDIATE: u64 = 0;
        /// Asked of tag groups: once any has no command left.
        pub const TAG_UPDATE_ANY: u64 = 1;
        /// Asked of tag groups: once none has any left.
        pub const TAG_UPDATE_ALL: u64 = 2;
    }
}

/// Events of a core, a bit each (Linux, asm/spu.h, "Events for Channels 0-2").
pub mod event {
    chasqui_abi::guest_constants! {
        /// An answer about tag groups has come.
        pub const TAG_STATUS: u64 = 0x1;
        /// A list waits for the core.
        pub const LIST_STALL: u64 = 0x2;
        /// The queue of commands has room again.
        pub const QUEUE_AVAILABLE: u64 = 0x8;
        /// The inbound mailbox has something.
        pub const IN_MBOX: u64 = 0x10;
        /// The decrementer has passed zero.
        pub const DECREMENTER: u64 = 0x20;
        /// The outbound interrupt mailbox has room.
        pub const OUT_INTR_MBOX: u64 = 0x40;
        /// The outbound mailbox has room.
        pub const OUT_MBOX: u64 = 0x80;
        /// The second signal register has something.
        pub const SIGNAL_2: u64 = 0x100;
        /// The first signal register has something.
        pub const SIGNAL_1: u64 = 0x200;
        /// A reservation was lost.
        pub const RESERVATION_LOST: u64 = 0x400;
    }
}

/// Problem state: what programs of the host may access, each facility in pages of its own (Linux, asm/spu.h, struct
/// spu_problem). Registers have 32 bits but for those that say otherwise.
pub mod problem {
    chasqui_abi::guest_constants! {
        /// Bytes of the area.
        pub const BYTES: u64 = 0x20000;
        /// Address in the local store of the next proxy command. Written.
        pub const MFC_LSA: u64 = 0x3004;
        /// Its effective address: in 32 bits the upper half, in 64 all of it. Written.
        pub const MFC_EAH: u64 = 0x3008;
        /// Its effective address, lower half. Written.
        pub const MFC_EAL: u64 = 0x300c;
        /// Its length, upper 16 bits, and tag group. Written.
        pub const MFC_SIZE_TAG: u64 = 0x3010;
        /// Written: enters it, the lower 16 bits being what it is. Read: what came of the last one.
        pub const MFC_CLASS_CMD: u64 = 0x3014;
        /// Places in the proxy queue; bit 31: it is empty. Read.
        pub const MFC_QSTATUS: u64 = 0x3104;
        /// An interrupt comes once any (1) or none (2) of the tag groups asked about has commands left; 0 then.
        pub const PRXY_QUERY_TYPE: u64 = 0x3204;
        /// Tag groups that are asked about, a bit each.
        pub const PRXY_QUERY_MASK: u64 = 0x321c;
        /// Those of them of which no command is left. Read.
        pub const PRXY_TAG_STATUS: u64 = 0x322c;
        /// Takes from the outbound mailbox; 0 if there is nothing. Read.
        pub const OUT_MBOX: u64 = 0x4004;
        /// Puts into the inbound mailbox, in place of the newest if there is no room. Written.
        pub const IN_MBOX: u64 = 0x400c;
        /// Entries of the outbound mailbox (bits 0 to 7), room of the inbound (8 to 15), entries of the outbound interrupt mailbox (16 to 23). Read.
        pub const MBOX_STAT: u64 = 0x4014;
        /// 1: the core runs; 0: it stops.
        pub const RUN_CONTROL: u64 = 0x401c;
        /// Whether it runs, and why not. Read.
        pub const STATUS: u64 = 0x4024;
        /// Where its program goes on.
        pub const NPC: u64 = 0x4034;
        /// The first signal register. Read without taking it.
        pub const SIG_NOTIFY_1: u64 = 0x1400c;
        /// The second signal register. Read without taking it.
        pub const SIG_NOTIFY_2: u64 = 0x1c00c;
        /// What came of a proxy command: it is in the queue.
        pub const CMD_ENTERED: u64 = 0;
        /// What came of a proxy command: there was no room.
        pub const CMD_NO_ROOM: u64 = 2;
        /// Status: it runs.
        pub const STATUS_RUNNING: u64 = 1;
        /// Status: its program has stopped, with a code in the upper 16 bits.
        pub const STATUS_STOPPED: u64 = 2;
        /// Status: its program has halted.
        pub const STATUS_HALTED: u64 = 4;
        /// Status: its program waits for a channel.
        pub const STATUS_WAITING: u64 = 8;
        /// Status: its program was not right.
        pub const STATUS_INVALID: u64 = 0x20;
        /// Status: it accessed a channel that there is not.
        pub const STATUS_CHANNEL: u64 = 0x40;
    }
}

/// The second privileged area: what a kernel may access (Linux, asm/spu.h, struct spu_priv2). Registers have 64 bits.
pub mod privileged {
    chasqui_abi::guest_constants! {
        /// Bytes of the area.
        pub const BYTES: u64 = 0x20000;
        /// Commands of the MFC: see the bits.
        pub const MFC_CONTROL: u64 = 0x3000;
        /// Takes from the outbound interrupt mailbox; 0 if there is nothing. Read.
        pub const INTR_MBOX: u64 = 0x4000;
        /// Bit n: signal register n + 1 collects bits.
        pub const CONFIGURATION: u64 = 0x4078;
        /// Written: channels and mailboxes are as at first (ours: a kernel of the original's sets counts and data of channels one by one).
        pub const RESET: u64 = 0x4080;
        /// Control, read: the queues are empty.
        pub const CONTROL_EMPTY: u64 = 1 << 14;
        /// Control, written: drops the commands of both queues.
        pub const CONTROL_PURGE: u64 = 1 << 15;
        /// Control, written: goes on where it has stopped. Read: it has stopped.
        pub const CONTROL_RESTART: u64 = 1 << 32;
    }
}

/// The first privileged area: what a kernel, or a hypervisor, may access (Linux, asm/spu.h, struct spu_priv1). Registers
/// have 64 bits. Contents are ours where they say so: the original's are those of another page table.
pub mod hypervisor {
    chasqui_abi::guest_constants! {
        /// Bytes of the area.
        pub const BYTES: u64 = 0x2000;
        /// Interrupts that are enabled, of class 0; those of classes 1 and 2 follow.
        pub const INT_MASK: u64 = 0x100;
        /// Interrupts that have come, of class 0; those of classes 1 and 2 follow. What is written is cleared.
        pub const INT_STATUS: u64 = 0x140;
        /// Physical address of the root page table (ours). The TLB is emptied.
        pub const PAGE_TABLE: u64 = 0x400;
        /// Virtual address of the page of the next translation (ours).
        pub const TLB_VPN: u64 = 0x510;
        /// The TLB takes the translation to this page-table entry of Sv39 (ours). Written.
        pub const TLB_RPN: u64 = 0x518;
        /// The TLB forgets the page at this virtual address (ours). Written.
        pub const TLB_FORGET: u64 = 0x540;
        /// The TLB forgets everything. Written.
        pub const TLB_FLUSH: u64 = 0x548;
        /// Why the MFC has stopped: a bit each. Read.
        pub const DSISR: u64 = 0x610;
        /// Effective address at which it has stopped. Read.
        pub const DAR: u64 = 0x620;
        /// Number of the reason why it has stopped, from 1 on (ours); bit 31: at a command of the core's. Read.
        pub const COMMAND_ERROR: u64 = 0xc00;
        /// Class 0: an address is not aligned.
        pub const ALIGNMENT: u64 = 1;
        /// Class 0: a command is not right.
        pub const INVALID_COMMAND: u64 = 2;
        /// Class 0: the core's program has made an error.
        pub const CORE_ERROR: u64 = 4;
        /// Class 1: the TLB wants a translation from the kernel.
        pub const TRANSLATION: u64 = 1;
        /// Class 1: a page is not there, or may not be used so.
        pub const STORAGE: u64 = 2;
        /// Class 2: something has come into the outbound interrupt mailbox.
        pub const MAILBOX: u64 = 1;
        /// Class 2: the core's program has stopped.
        pub const STOPPED: u64 = 2;
        /// Class 2: it has halted.
        pub const HALTED: u64 = 4;
        /// Class 2: what was asked of proxies' tag groups is so.
        pub const TAG_GROUPS: u64 = 8;
        /// Class 2: the inbound mailbox has got room.
        pub const THRESHOLD: u64 = 0x10;
        /// Why: there is no translation.
        pub const DSISR_NOT_FOUND: u64 = 1 << 30;
        /// Why: the page does not allow it.
        pub const DSISR_DENIED: u64 = 1 << 27;
        /// ... by an atomic command.
        pub const DSISR_ATOMIC: u64 = 1 << 26;
        /// ... by what writes memory.
        pub const DSISR_PUT: u64 = 1 << 25;
    }
}
