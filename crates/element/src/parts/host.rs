//! The host's side: registers in memory.

use std::fmt;

use chasqui_engine::Time;
use chasqui_memory::{Access, PAGE_BYTES, Translation, pte};

use super::tags::Condition;
use super::{Element, SignalMode};
use crate::registers::{event, hypervisor, privileged, problem};
use crate::{MfcFault, Reason, Source};

/// An area of a core's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// Problem state ([`problem`]): programs', as far as they have it mapped.
    Problem,
    /// [`privileged`]: a kernel's.
    Privileged,
    /// [`hypervisor`]: a kernel's.
    Hypervisor,
}

impl Area {
    /// Length [bytes].
    pub fn bytes(self) -> u64 {
        match self {
            Area::Problem => problem::BYTES,
            Area::Privileged => privileged::BYTES,
            Area::Hypervisor => hypervisor::BYTES,
        }
    }
}

/// A part of problem state that a kernel may map for a program without the others: its pages hold nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// What it is, as Linux's spufs calls it.
    pub name: &'static str,
    /// Offset in problem state of its first page.
    pub offset: u64,
    /// Length [bytes].
    pub bytes: u64,
}

impl Window {
    /// All of them.
    pub const ALL: [Window; 4] = [
        Window { name: "mfc", offset: 0x3000, bytes: PAGE_BYTES },
        Window { name: "cntl", offset: 0x4000, bytes: PAGE_BYTES },
        Window { name: "signal1", offset: 0x14000, bytes: PAGE_BYTES },
        Window { name: "signal2", offset: 0x1c000, bytes: PAGE_BYTES },
    ];
}

/// Why an access to a register is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is a kernel's.
    Privileged,
    /// There is no such register of this length, or it can't be read, or not be written.
    NoRegister,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Privileged => "the register is a kernel's",
            Refusal::NoRegister => "there is no such register to access so",
        })
    }
}

/// Number of a reason in [`hypervisor::COMMAND_ERROR`].
fn number(reason: Reason) -> u64 {
    1 + reason as u64
}

impl Element {
    /// The host reads the register of `bytes` at `offset` of `area`, a kernel if `kernel`.
    ///
    /// # Errors
    /// It may not, or there is none.
    pub fn read(
        &mut self,
        (area, offset, bytes): (Area, u64, u32),
        kernel: bool,
        now: Time,
    ) -> Result<u64, Refusal> {
        self.look(now);
        match area {
            Area::Problem if bytes == 4 => self.read_problem(offset),
            Area::Privileged | Area::Hypervisor if !kernel => Err(Refusal::Privileged),
            Area::Privileged if bytes == 8 => self.read_privileged(offset),
            Area::Hypervisor if bytes == 8 => self.read_hypervisor(offset),
            _ => Err(Refusal::NoRegister),
        }
    }

    /// The host writes `value` to the register of `bytes` at `offset` of `area`, a kernel if `kernel`. What follows at the MFC
    /// is asked with [`Element::step`].
    ///
    /// # Errors
    /// It may not, or there is none: nothing has happened.
    pub fn write(
        &mut self,
        (area, offset, bytes): (Area, u64, u32),
        value: u64,
        kernel: bool,
        now: Time,
    ) -> Result<(), Refusal> {
        match area {
            Area::Problem if (offset, bytes) == (problem::MFC_EAH, 8) => self.staged[1].effective = value,
            Area::Problem if bytes == 4 => self.write_problem(offset, value as u32, now)?,
            Area::Privileged | Area::Hypervisor if !kernel => return Err(Refusal::Privileged),
            Area::Privileged if bytes == 8 => self.write_privileged(offset, value)?,
            Area::Hypervisor if bytes == 8 => self.write_hypervisor(offset, value)?,
            _ => return Err(Refusal::NoRegister),
        }
        self.look(now);
        Ok(())
    }

    fn read_problem(&mut self, offset: u64) -> Result<u64, Refusal> {
        let room = self.mfc.room(Source::Proxy) as u64;
        Ok(match offset {
            problem::MFC_CLASS_CMD => self.command_status,
            problem::MFC_QSTATUS => room | u64::from(self.mfc.is_empty(Source::Proxy)) << 31,
            problem::PRXY_QUERY_TYPE => self.queries[1].condition.map_or(0, |condition| condition as u64),
            problem::PRXY_QUERY_MASK => self.queries[1].mask.into(),
            problem::PRXY_TAG_STATUS => (self.queries[1].mask & self.mfc.tag_status(Source::Proxy)).into(),
            problem::OUT_MBOX => {
                let value = self.outbound.take();
                if value.is_some() {
                    self.event(event::OUT_MBOX);
                }
                value.unwrap_or(0).into()
            }
            problem::MBOX_STAT => {
                let counts = [self.outbound.count(), self.inbound.room(), self.outbound_interrupt.count()];
                counts.into_iter().rev().fold(0, |all, count| all << 8 | count as u64)
            }
            problem::RUN_CONTROL => u64::from(self.is_running()),
            problem::STATUS => self.run.status.into(),
            problem::NPC => self.run.npc.into(),
            problem::SIG_NOTIFY_1 => self.signals[0].value().into(),
            problem::SIG_NOTIFY_2 => self.signals[1].value().into(),
            _ => return Err(Refusal::NoRegister),
        })
    }

    fn write_problem(&mut self, offset: u64, value: u32, now: Time) -> Result<(), Refusal> {
        let staged = &mut self.staged[1];
        match offset {
            problem::MFC_LSA => staged.local = value,
            problem::MFC_EAH => staged.effective = staged.effective & 0xffff_ffff | u64::from(value) << 32,
            problem::MFC_EAL => staged.effective = staged.effective >> 32 << 32 | u64::from(value),
            problem::MFC_SIZE_TAG => (staged.bytes, staged.tag) = (value >> 16, value & 0xffff),
            problem::MFC_CLASS_CMD => {
                let command = staged.command(value);
                let entered = self.mfc.enter(command, Source::Proxy, now);
                self.command_status = if entered { problem::CMD_ENTERED } else { problem::CMD_NO_ROOM };
            }
            problem::PRXY_QUERY_TYPE => match Condition::of(value) {
                Some(Condition::Immediate) => self.queries[1].condition = None,
                Some(condition) => self.queries[1].ask(condition),
                None => return Err(Refusal::NoRegister),
            },
            problem::PRXY_QUERY_MASK => self.queries[1].mask = value,
            problem::IN_MBOX => self.put_inbound(value),
            problem::RUN_CONTROL => self.run_control(value & 1 != 0),
            problem::NPC if !self.is_running() => self.run.npc = value,
            // The program has its own while it runs.
            problem::NPC => {}
            problem::SIG_NOTIFY_1 => self.signal(0, event::SIGNAL_1, value),
            problem::SIG_NOTIFY_2 => self.signal(1, event::SIGNAL_2, value),
            _ => return Err(Refusal::NoRegister),
        }
        Ok(())
    }

    fn signal(&mut self, which: usize, event: u64, value: u32) {
        self.signals[which].write(value);
        self.event(event);
    }

    fn run_control(&mut self, runs: bool) {
        let running = problem::STATUS_RUNNING as u32;
        if runs && !self.is_running() {
            (self.run.status, self.run.starts) = (running, true);
        } else if !runs {
            self.run.status &= !running;
            self.run.starts = false;
        }
    }

    fn read_privileged(&mut self, offset: u64) -> Result<u64, Refusal> {
        Ok(match offset {
            privileged::MFC_CONTROL => {
                let empty = if self.mfc.is_idle() { privileged::CONTROL_EMPTY } else { 0 };
                empty | if self.mfc.stopped().is_some() { privileged::CONTROL_RESTART } else { 0 }
            }
            privileged::INTR_MBOX => {
                let value = self.outbound_interrupt.take();
                if value.is_some() {
                    self.event(event::OUT_INTR_MBOX);
                }
                value.unwrap_or(0).into()
            }
            privileged::CONFIGURATION => {
                let bit = |which: usize| u64::from(self.signals[which].mode == SignalMode::Collect) << which;
                bit(0) | bit(1)
            }
            _ => return Err(Refusal::NoRegister),
        })
    }

    fn write_privileged(&mut self, offset: u64, value: u64) -> Result<(), Refusal> {
        match offset {
            privileged::MFC_CONTROL => {
                if value & privileged::CONTROL_PURGE != 0 {
                    self.mfc.purge(Source::Core);
                    self.mfc.purge(Source::Proxy);
                }
                if value & privileged::CONTROL_RESTART != 0 {
                    self.mfc.restart();
                }
            }
            privileged::CONFIGURATION => {
                for (which, signal) in self.signals.iter_mut().enumerate() {
                    let collects = value >> which & 1 != 0;
                    signal.mode = if collects { SignalMode::Collect } else { SignalMode::Overwrite };
                }
            }
            privileged::RESET => self.reset(),
            _ => return Err(Refusal::NoRegister),
        }
        Ok(())
    }

    fn read_hypervisor(&mut self, offset: u64) -> Result<u64, Refusal> {
        let of_class = |first: u64| (offset - first) as usize / 8;
        Ok(match offset {
            hypervisor::INT_MASK..=0x110 if offset.is_multiple_of(8) => {
                self.interrupts[of_class(hypervisor::INT_MASK)].mask
            }
            hypervisor::INT_STATUS..=0x150 if offset.is_multiple_of(8) => {
                self.interrupts[of_class(hypervisor::INT_STATUS)].status
            }
            hypervisor::PAGE_TABLE => self.mfc.root(),
            hypervisor::TLB_VPN => self.page,
            hypervisor::DSISR => self.mfc.stopped().map_or(0, dsisr),
            hypervisor::DAR => self.mfc.stopped().map_or(0, |fault| fault.address),
            hypervisor::COMMAND_ERROR => self
                .mfc
                .stopped()
                .map_or(0, |fault| number(fault.reason) | u64::from(fault.source != Source::Proxy) << 31),
            _ => return Err(Refusal::NoRegister),
        })
    }

    fn write_hypervisor(&mut self, offset: u64, value: u64) -> Result<(), Refusal> {
        let of_class = |first: u64| (offset - first) as usize / 8;
        match offset {
            hypervisor::INT_MASK..=0x110 if offset.is_multiple_of(8) => {
                self.interrupts[of_class(hypervisor::INT_MASK)].mask = value;
            }
            hypervisor::INT_STATUS..=0x150 if offset.is_multiple_of(8) => {
                self.interrupts[of_class(hypervisor::INT_STATUS)].status &= !value;
            }
            hypervisor::PAGE_TABLE => self.mfc.set_root(value),
            hypervisor::TLB_VPN => self.page = value / PAGE_BYTES * PAGE_BYTES,
            hypervisor::TLB_RPN => {
                let (virtual_page, physical_page) = (self.page, pte::address(value));
                let permissions = value & (pte::R | pte::W | pte::X | pte::U);
                self.mfc.load_translation(Translation { virtual_page, physical_page, permissions });
            }
            hypervisor::TLB_FORGET => self.mfc.forget(value / PAGE_BYTES * PAGE_BYTES),
            hypervisor::TLB_FLUSH => self.mfc.flush(),
            _ => return Err(Refusal::NoRegister),
        }
        Ok(())
    }
}

/// Why the MFC has stopped, as far as translation is concerned.
fn dsisr(fault: &MfcFault) -> u64 {
    let why = match fault.reason {
        Reason::NoTranslation | Reason::Miss => hypervisor::DSISR_NOT_FOUND,
        Reason::Protection => hypervisor::DSISR_DENIED,
        _ => return 0,
    };
    let atomic = if fault.source == Source::Atomic { hypervisor::DSISR_ATOMIC } else { 0 };
    let put = if fault.access == Access::Write { hypervisor::DSISR_PUT } else { 0 };
    why | atomic | put
}
