//! What gdb asks, in the words of the crate `gdbstub`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::LazyLock;

use gdbstub::common::{Signal, Tid};
use gdbstub::stub::MultiThreadStopReason;
use gdbstub::target::ext::base::BaseOps;
use gdbstub::target::ext::base::multithread as threads;
use gdbstub::target::ext::base::single_register_access::{SingleRegisterAccess, SingleRegisterAccessOps};
use gdbstub::target::ext::breakpoints as stops;
use gdbstub::target::ext::breakpoints::WatchKind;
use gdbstub::target::ext::target_description_xml_override as description;
use gdbstub::target::ext::thread_extra_info::{ThreadExtraInfo, ThreadExtraInfoOps};
use gdbstub::target::{Target, TargetError, TargetResult};
use gdbstub_arch::riscv::Riscv64;
use gdbstub_arch::riscv::reg::RiscvCoreRegs;
use gdbstub_arch::riscv::reg::id::RiscvRegId;

use crate::{Access, Debuggee, Registers, Resume, Stop, Stops, Watch};

/// Breakpoints and watchpoints that a debugger may have, of each.
const STOPS_MAX: usize = 1 << 12;
/// The thread that is named where there is none any more.
const FIRST: Tid = Tid::MIN;

type Done<T> = TargetResult<T, Session<'static>>;

/// What gdb has asked for so far.
pub(crate) struct Session<'a> {
    pub debuggee: &'a mut dyn Debuggee,
    software: BTreeSet<u64>,
    hardware: BTreeSet<u64>,
    watches: BTreeSet<Watch>,
    /// Where threads stopped when all last went on.
    before: Stops,
    step: Option<(Tid, Range<u64>)>,
    /// The thread that is to go on, or to make a step.
    one: Option<Tid>,
    /// No other is to go on.
    alone: bool,
    /// What stopped another thread meanwhile: gdb takes it when the step is over.
    pending: Option<Stop>,
    /// The thread whose step was put off for that.
    stands: Option<Tid>,
    /// The thread that has stopped last.
    latest: Option<Tid>,
}

impl<'a> Session<'a> {
    pub fn new(debuggee: &'a mut dyn Debuggee) -> Session<'a> {
        let (software, hardware, watches) = Default::default();
        Session {
            debuggee,
            software,
            hardware,
            watches,
            before: Stops::default(),
            step: None,
            one: None,
            alone: false,
            pending: None,
            stands: None,
            latest: None,
        }
    }

    fn stops(&self) -> Stops {
        let breakpoints = self.software.union(&self.hardware).copied().collect();
        Stops { breakpoints, watches: self.watches.iter().copied().collect() }
    }

    /// The thread that is to go on alone.
    fn alone(&self) -> Option<Tid> {
        self.one.filter(|_| self.alone)
    }

    /// Goes on as was asked. To step over a breakpoint gdb takes it away, and has that thread alone go on, to another behind
    /// the instruction; others of a simulation have to go on, too, as far as the order of time says, and the breakpoint is
    /// there for them.
    pub fn run(&mut self) -> Stop {
        let stops = self.stops();
        let alone = self.alone();
        if alone.is_none() {
            if let Some(stop) = self.pending.take() {
                return stop;
            }
            self.before = stops.clone();
        }
        let others = alone.map(|tid| (tid, self.before.clone()));
        self.debuggee.run(&Resume { stops, step: self.step.clone(), others, stands: self.stands.take() })
    }

    /// `stop` is of another thread than the one that is to go on alone, of which alone gdb takes a stop now: it is told of a
    /// signal of that thread's that is for its program, has all go on, and takes the other stop.
    fn put_off(&mut self, stop: &Stop) -> Option<MultiThreadStopReason<u64>> {
        let alone = self.alone()?;
        let is_other = match *stop {
            Stop::Breakpoint(tid) | Stop::Watch(tid, ..) | Stop::Step(tid) | Stop::Signal(tid, _) => {
                tid != alone
            }
            Stop::Interrupted | Stop::Ended(..) => false,
        };
        is_other.then(|| {
            (self.pending, self.stands) = (Some(stop.clone()), Some(alone));
            MultiThreadStopReason::SignalWithThread { tid: alone, signal: Signal::SIGURG }
        })
    }

    /// What gdb is told of `stop`; `None`: the run goes on, or has ended.
    pub fn reason(&mut self, stop: Stop) -> Option<MultiThreadStopReason<u64>> {
        if let Some(reason) = self.put_off(&stop) {
            return Some(reason);
        }
        let (tid, reason) = match stop {
            Stop::Breakpoint(tid) => {
                let pc = self.debuggee.registers(tid).map_or(0, |registers| registers.pc);
                let is_hardware = self.hardware.contains(&pc) && !self.software.contains(&pc);
                let reason =
                    if is_hardware { MultiThreadStopReason::HwBreak } else { MultiThreadStopReason::SwBreak };
                (tid, reason(tid))
            }
            Stop::Watch(tid, access, addr) => {
                let kind = match access {
                    Access::Read => WatchKind::Read,
                    Access::Write => WatchKind::Write,
                    Access::Any => WatchKind::ReadWrite,
                };
                (tid, MultiThreadStopReason::Watch { tid, kind, addr })
            }
            Stop::Step(tid) => {
                (tid, MultiThreadStopReason::SignalWithThread { tid, signal: Signal::SIGTRAP })
            }
            Stop::Signal(tid, number) => {
                (tid, MultiThreadStopReason::SignalWithThread { tid, signal: signal(number) })
            }
            Stop::Interrupted | Stop::Ended(..) => return None,
        };
        self.latest = Some(tid);
        Some(reason)
    }

    /// What gdb is told when it has interrupted the run: of the thread that stopped last, or the first.
    pub fn interrupted(&mut self) -> MultiThreadStopReason<u64> {
        let threads = self.debuggee.threads();
        let latest = self.latest.filter(|tid| threads.contains(tid));
        let tid = latest.or(threads.first().copied()).unwrap_or(FIRST);
        MultiThreadStopReason::SignalWithThread { tid, signal: Signal::SIGINT }
    }

    fn registers(&mut self, tid: Tid) -> Done<Registers> {
        self.debuggee.registers(tid).ok_or(TargetError::NonFatal)
    }

    fn change_registers(&mut self, tid: Tid, change: impl FnOnce(&mut Registers)) -> Done<()> {
        let mut registers = self.registers(tid)?;
        change(&mut registers);
        if self.debuggee.set_registers(tid, &registers) { Ok(()) } else { Err(TargetError::NonFatal) }
    }
}

/// The number that gdb has for Linux's signal `number`: others but for one that is found here (gdb, include/gdb/signals.def).
pub(crate) fn signal(number: u8) -> Signal {
    const LINUX_SIGBUS: u8 = 7;
    if number == LINUX_SIGBUS { Signal::SIGBUS } else { Signal(number) }
}

/// The registers, as gdb numbers them (gdb, features/riscv, and riscv-tdep.h): those of gdbstub's description, and the
/// floating-point unit's.
static DESCRIPTION: LazyLock<String> = LazyLock::new(|| {
    let mut text = String::from(
        "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target version=\"1.0\">\
         <architecture>riscv:rv64</architecture><feature name=\"org.gnu.gdb.riscv.cpu\">",
    );
    for number in 0..33 {
        let (name, kind) = match number {
            0 => ("zero".into(), "int"),
            1 => ("ra".into(), "code_ptr"),
            2 => ("sp".into(), "data_ptr"),
            3 => ("gp".into(), "data_ptr"),
            4 => ("tp".into(), "data_ptr"),
            8 => ("fp".into(), "data_ptr"),
            32 => ("pc".into(), "code_ptr"),
            _ => (integer_name(number), "int"),
        };
        let _ = write!(text, "<reg name=\"{name}\" bitsize=\"64\" type=\"{kind}\" regnum=\"{number}\"/>");
    }
    text += "</feature><feature name=\"org.gnu.gdb.riscv.fpu\"><union id=\"riscv_double\">\
             <field name=\"float\" type=\"ieee_single\"/><field name=\"double\" type=\"ieee_double\"/></union>";
    for number in 0..32 {
        let (name, at) = (float_name(number), 33 + number);
        let _ = write!(text, "<reg name=\"{name}\" bitsize=\"64\" type=\"riscv_double\" regnum=\"{at}\"/>");
    }
    for (name, number) in [("fflags", FFLAGS), ("frm", FRM), ("fcsr", FCSR)] {
        let at = FIRST_CSR + number;
        let _ = write!(text, "<reg name=\"{name}\" bitsize=\"64\" type=\"int\" regnum=\"{at}\"/>");
    }
    text + "</feature></target>"
});

/// gdb's number of the first control and status register.
const FIRST_CSR: u16 = 65;
/// Control and status registers of the floating-point unit (RISC-V ISA, volume I, *F*).
const FFLAGS: u16 = 1;
const FRM: u16 = 2;
const FCSR: u16 = 3;

/// Names of integer registers 5 to 31 in the calling convention.
fn integer_name(number: u16) -> String {
    match number {
        5..=7 => format!("t{}", number - 5),
        9 => "s1".into(),
        10..18 => format!("a{}", number - 10),
        18..28 => format!("s{}", number - 16),
        _ => format!("t{}", number - 25),
    }
}

/// The same of floating-point registers.
fn float_name(number: u16) -> String {
    match number {
        0..8 => format!("ft{number}"),
        8..10 => format!("fs{}", number - 8),
        10..18 => format!("fa{}", number - 10),
        18..28 => format!("fs{}", number - 16),
        _ => format!("ft{}", number - 20),
    }
}

impl Target for Session<'_> {
    type Arch = Riscv64;
    type Error = std::convert::Infallible;

    fn base_ops(&mut self) -> BaseOps<'_, Riscv64, Self::Error> {
        BaseOps::MultiThread(self)
    }

    /// Its replies would have to be checked for what gdb takes for a length.
    fn use_rle(&self) -> bool {
        false
    }

    fn support_breakpoints(&mut self) -> Option<stops::BreakpointsOps<'_, Self>> {
        Some(self)
    }

    fn support_target_description_xml_override(
        &mut self,
    ) -> Option<description::TargetDescriptionXmlOverrideOps<'_, Self>> {
        Some(self)
    }
}

impl description::TargetDescriptionXmlOverride for Session<'_> {
    fn target_description_xml(
        &self,
        annex: &[u8],
        offset: u64,
        length: usize,
        buf: &mut [u8],
    ) -> TargetResult<usize, Self> {
        if annex != b"target.xml" {
            return Err(TargetError::NonFatal);
        }
        let rest = usize::try_from(offset).ok().and_then(|offset| DESCRIPTION.as_bytes().get(offset..));
        let rest = rest.unwrap_or_default();
        let count = rest.len().min(length).min(buf.len());
        buf[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

impl threads::MultiThreadBase for Session<'_> {
    fn read_registers(&mut self, to: &mut RiscvCoreRegs<u64>, tid: Tid) -> TargetResult<(), Self> {
        let Registers { x, pc, .. } = self.registers(tid)?;
        (to.x, to.pc) = (x, pc);
        Ok(())
    }

    fn write_registers(&mut self, from: &RiscvCoreRegs<u64>, tid: Tid) -> TargetResult<(), Self> {
        self.change_registers(tid, |to| (to.x, to.pc) = (from.x, from.pc))
    }

    fn support_single_register_access(&mut self) -> Option<SingleRegisterAccessOps<'_, Tid, Self>> {
        Some(self)
    }

    fn read_addrs(&mut self, address: u64, data: &mut [u8], tid: Tid) -> TargetResult<usize, Self> {
        match self.debuggee.read(tid, address, data) {
            0 if !data.is_empty() => Err(TargetError::NonFatal),
            read => Ok(read),
        }
    }

    fn write_addrs(&mut self, address: u64, data: &[u8], tid: Tid) -> TargetResult<(), Self> {
        if self.debuggee.write(tid, address, data) { Ok(()) } else { Err(TargetError::NonFatal) }
    }

    fn list_active_threads(&mut self, is_active: &mut dyn FnMut(Tid)) -> Result<(), Self::Error> {
        self.debuggee.threads().into_iter().for_each(is_active);
        Ok(())
    }

    fn support_resume(&mut self) -> Option<threads::MultiThreadResumeOps<'_, Self>> {
        Some(self)
    }

    fn support_thread_extra_info(&mut self) -> Option<ThreadExtraInfoOps<'_, Self>> {
        Some(self)
    }
}

impl ThreadExtraInfo for Session<'_> {
    fn thread_extra_info(&self, tid: Tid, buf: &mut [u8]) -> Result<usize, Self::Error> {
        let name = self.debuggee.name(tid);
        let count = name.len().min(buf.len());
        buf[..count].copy_from_slice(&name.as_bytes()[..count]);
        Ok(count)
    }
}

impl SingleRegisterAccess<Tid> for Session<'_> {
    fn read_register(
        &mut self,
        tid: Tid,
        register: RiscvRegId<u64>,
        buf: &mut [u8],
    ) -> TargetResult<usize, Self> {
        let registers = self.registers(tid)?;
        let value = match register {
            RiscvRegId::Gpr(number) => registers.x[usize::from(number)],
            RiscvRegId::Fpr(number) => registers.f[usize::from(number)],
            RiscvRegId::Pc => registers.pc,
            RiscvRegId::Csr(FFLAGS) => u64::from(registers.fcsr & 0x1f),
            RiscvRegId::Csr(FRM) => u64::from(registers.fcsr >> 5 & 7),
            RiscvRegId::Csr(FCSR) => u64::from(registers.fcsr & 0xff),
            _ => return Err(TargetError::NonFatal),
        };
        let bytes = value.to_le_bytes();
        buf.get_mut(..bytes.len()).ok_or(TargetError::NonFatal)?.copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    fn write_register(&mut self, tid: Tid, register: RiscvRegId<u64>, val: &[u8]) -> TargetResult<(), Self> {
        let value = u64::from_le_bytes(val.try_into().map_err(|_| TargetError::NonFatal)?);
        if matches!(register, RiscvRegId::Csr(number) if !(FFLAGS..=FCSR).contains(&number)) {
            return Err(TargetError::NonFatal);
        }
        let low = value as u32;
        self.change_registers(tid, |to| match register {
            RiscvRegId::Gpr(number) => to.x[usize::from(number)] = value,
            RiscvRegId::Fpr(number) => to.f[usize::from(number)] = value,
            RiscvRegId::Csr(FFLAGS) => to.fcsr = to.fcsr & !0x1f | low & 0x1f,
            RiscvRegId::Csr(FRM) => to.fcsr = to.fcsr & 0x1f | (low & 7) << 5,
            RiscvRegId::Csr(_) => to.fcsr = low & 0xff,
            RiscvRegId::Pc => to.pc = value,
            // gdb is told of no other.
            _ => {}
        })
    }
}

impl threads::MultiThreadResume for Session<'_> {
    /// [`Session::run`] does, when the packet has been dealt with.
    fn resume(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    fn clear_resume_actions(&mut self) -> Result<(), Self::Error> {
        (self.step, self.one, self.alone) = (None, None, false);
        Ok(())
    }

    /// No signal comes to a process.
    fn set_resume_action_continue(&mut self, tid: Tid, _: Option<Signal>) -> Result<(), Self::Error> {
        self.one.get_or_insert(tid);
        Ok(())
    }

    fn support_single_step(&mut self) -> Option<threads::MultiThreadSingleStepOps<'_, Self>> {
        Some(self)
    }

    fn support_range_step(&mut self) -> Option<threads::MultiThreadRangeSteppingOps<'_, Self>> {
        Some(self)
    }

    fn support_scheduler_locking(&mut self) -> Option<threads::MultiThreadSchedulerLockingOps<'_, Self>> {
        Some(self)
    }
}

impl threads::MultiThreadSingleStep for Session<'_> {
    fn set_resume_action_step(&mut self, tid: Tid, _: Option<Signal>) -> Result<(), Self::Error> {
        (self.step, self.one) = (Some((tid, 0..0)), Some(tid));
        Ok(())
    }
}

impl threads::MultiThreadRangeStepping for Session<'_> {
    fn set_resume_action_range_step(&mut self, tid: Tid, start: u64, end: u64) -> Result<(), Self::Error> {
        (self.step, self.one) = (Some((tid, start..end)), Some(tid));
        Ok(())
    }
}

impl threads::MultiThreadSchedulerLocking for Session<'_> {
    fn set_resume_action_scheduler_lock(&mut self) -> Result<(), Self::Error> {
        self.alone = true;
        Ok(())
    }
}

/// Adds `item` to `set`. False: there are too many.
fn add<T: Ord>(set: &mut BTreeSet<T>, item: T) -> bool {
    let has_room = set.len() < STOPS_MAX;
    if has_room {
        set.insert(item);
    }
    has_room
}

impl stops::Breakpoints for Session<'_> {
    fn support_sw_breakpoint(&mut self) -> Option<stops::SwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_breakpoint(&mut self) -> Option<stops::HwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_watchpoint(&mut self) -> Option<stops::HwWatchpointOps<'_, Self>> {
        Some(self)
    }
}

impl stops::SwBreakpoint for Session<'_> {
    fn add_sw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        Ok(add(&mut self.software, address))
    }

    fn remove_sw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        Ok(self.software.remove(&address))
    }
}

impl stops::HwBreakpoint for Session<'_> {
    fn add_hw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        Ok(add(&mut self.hardware, address))
    }

    fn remove_hw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        Ok(self.hardware.remove(&address))
    }
}

/// What gdb asks to watch; `None`: nothing, or what comes to the end of the addresses.
fn watch(first: u64, bytes: u64, kind: WatchKind) -> Option<Watch> {
    let of = match kind {
        WatchKind::Read => Access::Read,
        WatchKind::Write => Access::Write,
        WatchKind::ReadWrite => Access::Any,
    };
    let last = first.checked_add(bytes.checked_sub(1)?)?;
    Some(Watch { first, last, of })
}

impl stops::HwWatchpoint for Session<'_> {
    fn add_hw_watchpoint(&mut self, address: u64, bytes: u64, kind: WatchKind) -> TargetResult<bool, Self> {
        Ok(watch(address, bytes, kind).is_some_and(|watch| add(&mut self.watches, watch)))
    }

    fn remove_hw_watchpoint(
        &mut self,
        address: u64,
        bytes: u64,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        Ok(watch(address, bytes, kind).is_some_and(|watch| self.watches.remove(&watch)))
    }
}
