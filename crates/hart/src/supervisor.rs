//! Supervisor level, as far as a kernel needs it (RISC-V Privileged ISA 20240411, chapter "Supervisor-Level ISA").
//!
//! There is what a kernel of one hart uses: its CSRs, traps, `sret`, `wfi`, `sfence.vma`, Sv39 and the timer of Sstc.
//! Where the ISA leaves a choice: traps go to `stvec` (direct mode alone), `sstatus.FS` is always Dirty, a hart has
//! no address-space numbers, so that writing `satp` forgets all translations, and what `stval` may leave out is 0.
//! Machine level is the simulator: an `ecall` of the supervisor halts the hart, as every `ecall` does without one.

use chasqui_engine::Time;
use chasqui_memory::{Access, Fault, Privilege};

use crate::class::{Class, class};
use crate::csr::NoAccess;
use crate::handlers::Handlers;
use crate::hart::{Halt, Hart};
use crate::insn::Op;

/// Supervisor status.
pub const SSTATUS: u16 = 0x100;
/// Interrupts that are enabled.
pub const SIE: u16 = 0x104;
/// Where traps go.
pub const STVEC: u16 = 0x105;
/// For the kernel's own use.
pub const SSCRATCH: u16 = 0x140;
/// The pc that a trap came from.
pub const SEPC: u16 = 0x141;
/// Why it came.
pub const SCAUSE: u16 = 0x142;
/// The address, or the bits of the instruction, that it is about.
pub const STVAL: u16 = 0x143;
/// Interrupts that are pending.
pub const SIP: u16 = 0x144;
/// When the timer's interrupt becomes pending, in ticks of `time` (Sstc).
pub const STIMECMP: u16 = 0x14d;
/// Root of the page tables.
pub const SATP: u16 = 0x180;

/// Bits of `sstatus`.
pub mod sstatus {
    /// Interrupts are enabled at supervisor level.
    pub const SIE: u64 = 1 << 1;
    /// What SIE was before the trap.
    pub const SPIE: u64 = 1 << 5;
    /// The trap came from supervisor level.
    pub const SPP: u64 = 1 << 8;
    /// Floating-point state: Dirty, for ever.
    pub const FS: u64 = 3 << 13;
    /// The supervisor may use the user's pages.
    pub const SUM: u64 = 1 << 18;
    /// Some state is dirty: FS is.
    pub const SD: u64 = 1 << 63;
}

/// Interrupts, as bits of `sip` and `sie`.
pub mod interrupt {
    /// Software: set and cleared in `sip`.
    pub const SOFTWARE: u64 = 1 << 1;
    /// Timer: `time` has reached `stimecmp`.
    pub const TIMER: u64 = 1 << 5;
    /// External: the line is asserted.
    pub const EXTERNAL: u64 = 1 << 9;
    /// In the order of their priority, highest first ("Supervisor Interrupt Registers").
    pub(super) const ORDER: [u64; 3] = [EXTERNAL, SOFTWARE, TIMER];
    pub(super) const ALL: u64 = SOFTWARE | TIMER | EXTERNAL;
}

/// Values of `scause`.
pub mod cause {
    /// An interrupt, with its bit's number.
    pub const INTERRUPT: u64 = 1 << 63;
    /// The bits at pc are no instruction, or one that is not allowed.
    pub const ILLEGAL: u64 = 2;
    /// `ebreak`.
    pub const BREAKPOINT: u64 = 3;
    /// A load from a device across its alignment.
    pub const LOAD_ACCESS: u64 = 5;
    /// An atomic operation that is not aligned.
    pub const STORE_MISALIGNED: u64 = 6;
    /// A store that a device, or memory, does not take.
    pub const STORE_ACCESS: u64 = 7;
    /// `ecall` of a user.
    pub const USER_CALL: u64 = 8;
    /// The page tables do not allow the fetch.
    pub const FETCH_PAGE: u64 = 12;
    /// The page tables do not allow the load.
    pub const LOAD_PAGE: u64 = 13;
    /// The page tables do not allow the store.
    pub const STORE_PAGE: u64 = 15;
}

/// `satp.MODE`: Sv39.
const SV39: u64 = 8 << 60;
/// `satp.PPN`.
const SATP_PAGE: u64 = (1 << 44) - 1;

/// The state of supervisor level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supervisor {
    /// The hart is at supervisor level.
    pub is_current: bool,
    /// SIE, SPIE, SPP and SUM of `sstatus`.
    status: u64,
    enabled: u64,
    /// `sip.SSIP`.
    software: u64,
    vector: u64,
    scratch: u64,
    epc: u64,
    cause: u64,
    value: u64,
    timer: u64,
    satp: u64,
}

impl Supervisor {
    /// At supervisor level, interrupts off, with the page tables at physical address `root`.
    fn new(root: u64) -> Supervisor {
        Supervisor {
            is_current: true,
            status: 0,
            enabled: 0,
            software: 0,
            vector: 0,
            scratch: 0,
            epc: 0,
            cause: 0,
            value: 0,
            timer: u64::MAX,
            satp: SV39 | root >> 12,
        }
    }

    /// What `sepc` holds: where the user is that the kernel works for, while its trap is dealt with.
    pub fn epc(&self) -> u64 {
        self.epc
    }

    fn privilege(&self) -> Privilege {
        let sum = self.status & sstatus::SUM != 0;
        if self.is_current { Privilege::Supervisor { sum } } else { Privilege::User }
    }

    /// Pending interrupts at platform time `time`, while the external line is `asserted` or not.
    fn pending(&self, time: u64, asserted: bool) -> u64 {
        let external = if asserted { interrupt::EXTERNAL } else { 0 };
        let timer = if time >= self.timer { interrupt::TIMER } else { 0 };
        self.software | timer | external
    }

    /// Interrupts that are enabled may trap.
    fn may_trap(&self) -> bool {
        !self.is_current || self.status & sstatus::SIE != 0
    }

    /// Value of a CSR at platform time `time`, while the external line is `asserted` or not.
    fn read(&self, number: u16, time: u64, asserted: bool) -> Result<u64, NoAccess> {
        Ok(match number {
            SSTATUS => self.status | sstatus::FS | sstatus::SD,
            SIE => self.enabled,
            STVEC => self.vector,
            SSCRATCH => self.scratch,
            SEPC => self.epc,
            SCAUSE => self.cause,
            STVAL => self.value,
            SIP => self.pending(time, asserted),
            STIMECMP => self.timer,
            SATP => self.satp,
            _ => return Err(NoAccess),
        })
    }

    /// Sets a CSR. What a register can't hold is dropped (WARL).
    fn write(&mut self, number: u16, value: u64) {
        use sstatus::{SIE as ENABLE, SPIE, SPP, SUM};
        match number {
            SSTATUS => self.status = value & (ENABLE | SPIE | SPP | SUM),
            SIE => self.enabled = value & interrupt::ALL,
            STVEC => self.vector = value & !3,
            SSCRATCH => self.scratch = value,
            SEPC => self.epc = value & !1,
            SCAUSE => self.cause = value,
            STVAL => self.value = value,
            SIP => self.software = value & interrupt::SOFTWARE,
            STIMECMP => self.timer = value,
            // Another mode leaves the register as it is.
            SATP if value & 15 << 60 == SV39 => self.satp = value & (SV39 | SATP_PAGE),
            _ => {}
        }
    }
}

/// `scause` and `stval` of what has halted the hart; `None`: that is not for the kernel. Of an access to a device across
/// its alignment they are a load's.
fn exception(halt: Halt, is_supervisor: bool) -> Option<(u64, u64)> {
    exception_of(halt).filter(|&(cause, _)| cause != cause::USER_CALL || !is_supervisor)
}

/// The same of a user's: `None`: it is no exception.
pub fn exception_of(halt: Halt) -> Option<(u64, u64)> {
    Some(match halt {
        Halt::Call => (cause::USER_CALL, 0),
        Halt::Illegal(bits) => (cause::ILLEGAL, u64::from(bits)),
        Halt::Breakpoint => (cause::BREAKPOINT, 0),
        Halt::Fault(Fault::Page { address, access }) => match access {
            Access::Execute => (cause::FETCH_PAGE, address),
            Access::Read => (cause::LOAD_PAGE, address),
            Access::Write => (cause::STORE_PAGE, address),
        },
        Halt::Fault(Fault::Atomic { address }) => (cause::STORE_MISALIGNED, address),
        Halt::Fault(Fault::NotDevice { address }) => (cause::STORE_ACCESS, address),
        Halt::Fault(Fault::DeviceAlignment { address }) => (cause::LOAD_ACCESS, address),
        _ => return None,
    })
}

/// What a user's exception is where no kernel runs: the inverse of what the hart does on a trap. `None`: `cause` is
/// no exception of a user's, or an `ecall`.
pub fn halt_of(cause: u64, value: u64) -> Option<Halt> {
    let page = |access| Halt::Fault(Fault::Page { address: value, access });
    Some(match cause {
        cause::ILLEGAL => Halt::Illegal(value as u32),
        cause::BREAKPOINT => Halt::Breakpoint,
        cause::LOAD_ACCESS | cause::STORE_ACCESS => Halt::Fault(Fault::DeviceAlignment { address: value }),
        cause::STORE_MISALIGNED => Halt::Fault(Fault::Atomic { address: value }),
        cause::FETCH_PAGE => page(Access::Execute),
        cause::LOAD_PAGE => page(Access::Read),
        cause::STORE_PAGE => page(Access::Write),
        _ => return None,
    })
}

impl Hart {
    /// From now on the hart has a supervisor level, and is at it: with the page tables at physical address
    /// `root`, interrupts off.
    pub fn begin_supervisor(&mut self, root: u64) {
        self.supervisor = Some(Box::new(Supervisor::new(root)));
        self.port.set_root(root);
        self.privilege_changed();
    }

    /// The state of supervisor level, if the hart has it.
    pub fn supervisor(&self) -> Option<&Supervisor> {
        self.supervisor.as_deref()
    }

    /// The external interrupt line of supervisor level is asserted from now on, or not.
    pub fn set_external(&mut self, asserted: bool) {
        self.lines.supervisor = asserted;
    }

    /// A software interrupt is pending from now on.
    ///
    /// # Panics
    /// When the hart has no supervisor level.
    pub fn interrupt_software(&mut self) {
        self.supervisor.as_mut().expect("a hart with a supervisor level").software = interrupt::SOFTWARE;
    }

    /// At supervisor level.
    pub(crate) fn is_supervisor(&self) -> bool {
        self.supervisor.as_ref().is_some_and(|s| s.is_current)
    }

    fn privilege_changed(&mut self) {
        let supervisor = self.supervisor.as_ref().expect("a hart with a supervisor level");
        self.port.set_privilege(supervisor.privilege());
        self.recheck = true;
    }

    /// The cycle at which the timer's interrupt is pending.
    fn timer_cycle(&self, supervisor: &Supervisor) -> u64 {
        if supervisor.timer == u64::MAX {
            return u64::MAX;
        }
        // A timer that is set for later than all simulated time is set, none the less.
        self.cycle_at(self.timebase().edge(supervisor.timer).min(Time::END))
    }

    /// The first cycle, from the present on, at which an enabled interrupt is pending if nothing else happens.
    pub fn interrupt_cycle(&self) -> u64 {
        let Some(supervisor) = &self.supervisor else { return u64::MAX };
        if supervisor.enabled & supervisor.pending(0, self.lines.supervisor) != 0 {
            return self.cycle;
        }
        match supervisor.enabled & interrupt::TIMER {
            0 => u64::MAX,
            _ => self.timer_cycle(supervisor).max(self.cycle),
        }
    }

    /// The first cycle, from the present on, at which an interrupt traps, or enters a handler, if nothing else happens.
    pub fn trap_cycle(&self) -> u64 {
        if self.enters_handler() { self.cycle } else { self.supervisor_trap_cycle() }
    }

    fn supervisor_trap_cycle(&self) -> u64 {
        match &self.supervisor {
            Some(supervisor) if supervisor.may_trap() => self.interrupt_cycle(),
            _ => u64::MAX,
        }
    }

    /// Takes an interrupt, if one traps or enters a handler now; the higher level's first.
    #[inline]
    pub(crate) fn take_interrupt(&mut self) -> bool {
        let taken = self.has_levels() && (self.trap_by_interrupt() || self.enter_handler());
        self.interrupts += u64::from(taken);
        taken
    }

    /// Traps, if an interrupt does so now. An instruction that has begun, because it waits, is finished first.
    fn trap_by_interrupt(&mut self) -> bool {
        if self.begun || self.supervisor_trap_cycle() > self.cycle {
            return false;
        }
        let time = self.time_csr();
        let supervisor = self.supervisor.as_ref().expect("looked at above");
        let taken = supervisor.enabled & supervisor.pending(time, self.lines.supervisor);
        let bit = interrupt::ORDER.into_iter().find(|bit| taken & bit != 0).expect("one traps");
        self.trap(cause::INTERRUPT | u64::from(bit.trailing_zeros()), 0);
        true
    }

    /// A halt that the kernel handles is delivered to it: `None`. A trap vector that can't be fetched is not
    /// delivered.
    pub(crate) fn delivered(&mut self, halt: Halt) -> Option<Halt> {
        let Some((is_current, vector)) = self.supervisor.as_ref().map(|s| (s.is_current, s.vector)) else {
            return Some(halt);
        };
        let Some((mut cause, value)) = exception(halt, is_current) else { return Some(halt) };
        if cause == cause::LOAD_ACCESS && self.stores() {
            cause = cause::STORE_ACCESS;
        }
        if cause == cause::FETCH_PAGE && is_current && self.state.pc == vector {
            return Some(halt);
        }
        let from = self.state.pc;
        self.trap(cause, value);
        if matches!(halt, Halt::Call) {
            self.has_called(from);
        }
        None
    }

    /// The instruction at `pc` stores.
    fn stores(&mut self) -> bool {
        let insn = self.instruction(self.state.pc);
        insn.is_ok_and(|insn| matches!(class(insn.op), Class::Store | Class::Store64 | Class::Amo))
    }

    fn trap(&mut self, cause: u64, value: u64) {
        let s = self.supervisor.as_mut().expect("a hart with a supervisor level");
        let before = if s.status & sstatus::SIE != 0 { sstatus::SPIE } else { 0 };
        let from = if s.is_current { sstatus::SPP } else { 0 };
        s.status = s.status & sstatus::SUM | before | from;
        (s.epc, s.cause, s.value) = (self.state.pc, cause, value);
        s.is_current = true;
        self.state.pc = s.vector;
        (self.fetched, self.begun) = (0, false);
        if self.port.is_timed() {
            self.cycle += u64::from(self.timing.trap);
        }
        self.privilege_changed();
    }

    /// `sret` of the supervisor: where it goes.
    fn return_from_trap(&mut self) -> u64 {
        let s = self.supervisor.as_mut().expect("a hart with a supervisor level");
        let enable = if s.status & sstatus::SPIE != 0 { sstatus::SIE } else { 0 };
        s.is_current = s.status & sstatus::SPP != 0;
        s.status = s.status & sstatus::SUM | enable | sstatus::SPIE;
        let target = s.epc;
        self.privilege_changed();
        target
    }

    /// `wfi`: an interrupt is pending that is enabled, whether it may trap or not.
    pub(crate) fn has_interrupt(&self) -> bool {
        self.interrupt_cycle() <= self.cycle
    }

    /// `sfence.vma`: forgets the translation of the page at `address`, or all.
    pub(crate) fn fence_translations(&mut self, address: Option<u64>) {
        match address {
            Some(address) => self.port.forget_page(address & !(chasqui_memory::PAGE_BYTES - 1)),
            None => self.port.flush_translations(),
        }
        self.forget_code();
        self.port.disturb();
    }

    /// Value of a CSR of supervisor level.
    pub(crate) fn read_supervisor(&self, number: u16) -> Result<u64, NoAccess> {
        let supervisor = self.supervisor.as_ref().filter(|s| s.is_current).ok_or(NoAccess)?;
        supervisor.read(number, self.time_csr(), self.lines.supervisor)
    }

    /// Sets a CSR of supervisor level, which can be read.
    pub(crate) fn write_supervisor(&mut self, number: u16, value: u64) {
        let supervisor = self.supervisor.as_mut().expect("it was read");
        let root = supervisor.satp;
        supervisor.write(number, value);
        if supervisor.satp != root {
            let page = supervisor.satp & SATP_PAGE;
            self.port.set_root(page << 12);
            self.forget_code();
        }
        self.privilege_changed();
    }
}

/// Interrupts at user level (`handlers.rs`).
impl Hart {
    /// From now on the hart has user-level interrupts, with so many contexts for handlers.
    pub fn begin_handlers(&mut self, contexts: usize) {
        self.handlers = Some(Box::new(Handlers::new(contexts)));
        self.recheck = true;
    }

    /// The state of user-level interrupts, if the hart has them.
    pub fn handlers(&self) -> Option<&Handlers> {
        self.handlers.as_deref()
    }

    /// The external interrupt line of user level is asserted from now on, or not.
    pub fn set_user_external(&mut self, asserted: bool) {
        self.lines.user = asserted;
    }

    /// An external interrupt of user level enters a handler at the next instruction. A supervisor is not interrupted by it.
    fn enters_handler(&self) -> bool {
        self.lines.user && !self.is_supervisor() && self.handlers.as_ref().is_some_and(|h| h.may_enter())
    }

    /// Enters a handler, if an interrupt does so now. An instruction that has begun, because it waits, is finished first.
    fn enter_handler(&mut self) -> bool {
        if self.begun || !self.enters_handler() {
            return false;
        }
        self.handlers.as_mut().expect("looked at above").enter(&mut self.state);
        self.context_changed();
        if self.port.is_timed() {
            self.cycle += u64::from(self.timing.handler_entry);
        }
        true
    }

    /// Other registers are selected: what was fetched and reserved was the others'.
    fn context_changed(&mut self) {
        (self.fetched, self.begun) = (0, false);
        self.port.drop_reservation();
        self.recheck = true;
    }

    /// `sret` or `uret`: where it goes.
    pub(crate) fn return_by(&mut self, op: Op) -> Result<u64, Halt> {
        if op == Op::Sret && self.is_supervisor() {
            return Ok(self.return_from_trap());
        }
        let returns = op == Op::Uret && self.handlers.as_mut().is_some_and(|h| h.leave(&mut self.state));
        if !returns {
            return Err(Halt::Illegal(0));
        }
        self.context_changed();
        Ok(self.state.pc)
    }

    /// Executes a CSR instruction on `number`, one of user-level interrupts': what it held, and gets `written` from that.
    pub(crate) fn handler_csr(
        &mut self,
        number: u16,
        written: impl FnOnce(u64) -> Option<u64>,
    ) -> Result<u64, NoAccess> {
        let asserted = self.lines.user;
        let handlers = self.handlers.as_mut().ok_or(NoAccess)?;
        let old = handlers.read(number, asserted)?;
        if let Some(value) = written(old) {
            handlers.write(number, value);
            self.recheck = true;
        }
        Ok(old)
    }
}
