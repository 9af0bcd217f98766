//! A kernel image under a process: how it is put into a node's memory, and what it asks of the simulator.
//!
//! The kernel is in the upper half of the process's address space, in pages that are its own and global (Sv39). The hart
//! begins in it. What traps goes to it, and what it does not do itself it forwards by an `ecall`, which is
//! served functionally, in no time but the ecall's: see `chasqui_abi::kernel`.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use chasqui_abi::kernel::{self, KernelBoot};
use chasqui_engine::{Clock, Time};
use chasqui_hart::supervisor::halt_of;
use chasqui_hart::{Halt, State};
use chasqui_linux::space::Backing;
use chasqui_linux::{Elf, ElfError, Outcome};
use chasqui_memory::{DEVICE_BASE, Fault, FlatMemory, PAGE_BYTES, pte};

use super::{Ended, NodeProcess, Os, SIGABRT};
use crate::harts::{Activity, Harts};
use crate::io::controller_address;

/// What an entry of a root page table maps, and one of a table below it (Sv39) [bytes].
const GIGAPAGE: u64 = 1 << 30;
/// See [`GIGAPAGE`].
pub(crate) const MEGAPAGE: u64 = 1 << 21;
/// What the kernel may do with its pages: everything, since they are large.
const RIGHTS: u64 = pte::V | pte::R | pte::W | pte::X | pte::G | pte::A | pte::D;

/// A kernel image in a node's memory.
#[derive(Clone)]
pub struct Kernel {
    /// The image.
    image: Arc<Elf>,
    /// Address of the processes' [`KernelBoot`]s.
    boot: u64,
    /// How many processes there are, and harts of each.
    processes: (usize, usize),
    /// Address of the [`kernel::KernelProcess`] of each hart, once it has told.
    told: Vec<Option<u64>>,
}

/// A process, as its kernel gets to know it.
pub struct KernelProcess {
    /// Physical address of its root page table.
    pub root: u64,
    /// What the kernel is told of it.
    pub boot: KernelBoot,
}

/// Reads the kernel image at `path`.
///
/// # Errors
/// As for [`Elf::load`].
pub fn load_kernel(path: &Path) -> Result<Elf, ElfError> {
    Elf::load_within(path, kernel::IMAGE..kernel::IMAGE + GIGAPAGE)
}

/// Where in main memory of `dram_bytes` a kernel has `bytes` for itself: at the end.
pub fn kernel_memory(dram_bytes: u64, bytes: u64) -> Range<u64> {
    let start = (dram_bytes - bytes) / MEGAPAGE * MEGAPAGE;
    start..start + bytes / MEGAPAGE * MEGAPAGE
}

impl Kernel {
    /// Puts `image` into `physical` of `memory`, and into the address spaces of `processes`. The node has `harts`, each
    /// process `harts_each` of them; it has so many `devices`. What is told of the kernel's own memory is filled in.
    ///
    /// # Errors
    /// It does not lie in its memory.
    pub fn new(
        image: Arc<Elf>,
        memory: &mut FlatMemory,
        physical: Range<u64>,
        mut processes: Vec<KernelProcess>,
        (harts, harts_each): (usize, usize),
        devices: usize,
    ) -> Result<Kernel, String> {
        assert!(harts as u64 <= kernel::HARTS_MAX, "node.harts allows as many as kernels");
        // The table that maps the image, and what the kernel is told, are at the end.
        let table = physical.end - PAGE_BYTES;
        let told_bytes = processes.len() * size_of::<KernelBoot>();
        let told = table - (told_bytes as u64).next_multiple_of(PAGE_BYTES);
        image.place(memory, kernel::IMAGE, physical.start..told)?;
        let first = &mut processes[0].boot;
        first.memory = physical.start + (image.end() - kernel::IMAGE).next_multiple_of(PAGE_BYTES);
        first.memory_bytes = told - first.memory;
        for process in &processes {
            map(memory, process.root, table, &physical, controller_address(devices));
        }
        let bytes: Vec<u8> = processes.iter().flat_map(|process| process.boot.to_bytes()).collect();
        memory.slice_mut(told, bytes.len()).expect("the kernel's memory").copy_from_slice(&bytes);
        let count = processes.len();
        Ok(Kernel {
            image,
            boot: kernel::DIRECT + told,
            processes: (count, harts_each),
            told: vec![None; harts],
        })
    }

    /// Its node has several harts: it outlives its processes.
    fn is_of_several_harts(&self) -> bool {
        self.told.len() > 1
    }

    /// The image.
    pub(crate) fn image(&self) -> &Arc<Elf> {
        &self.image
    }

    /// How the first hart begins: its number, 0, in a0.
    pub(crate) fn start(&self) -> State {
        let mut state = State::new(self.image.entry());
        let (processes, harts_each) = self.processes;
        (state.x[11], state.x[12], state.x[13]) = (self.boot, processes as u64, harts_each as u64);
        state
    }
}

/// Maps the image, which begins at `physical`, by the table at `table`; all memory; the device; and the interrupt
/// controller.
fn map(memory: &mut FlatMemory, root: u64, table: u64, physical: &Range<u64>, controller: u64) {
    let page = |address: u64| address >> 12 << 10;
    let slot = |address: u64| root + address / GIGAPAGE % 512 * 8;
    let mut entries = vec![(slot(kernel::IMAGE), page(table) | pte::V)];
    let pages = physical.clone().step_by(MEGAPAGE as usize);
    entries.extend((table..).step_by(8).zip(pages).map(|(at, address)| (at, page(address) | RIGHTS)));
    for address in (0..memory.bytes()).step_by(GIGAPAGE as usize) {
        entries.push((slot(kernel::DIRECT + address), page(address) | RIGHTS));
    }
    entries.push((slot(kernel::DEVICE), page(DEVICE_BASE) | RIGHTS & !pte::X));
    entries.push((slot(kernel::CONTROLLER), page(controller) | RIGHTS & !pte::X));
    for (at, entry) in entries {
        memory.write(at, 8, entry).expect("page tables lie in memory");
    }
}

/// What an `ecall` of the kernel's returns: a0, a1, a2.
type Answer = [u64; 3];

const OK: Answer = [0; 3];
const NOT_SUPPORTED: Answer = [kernel::NOT_SUPPORTED as u64, 0, 0];
const INVALID: Answer = [kernel::INVALID_ADDRESS as u64, 0, 0];

/// The first tick of a clock of `timebase` at or after `time`.
fn tick(timebase: Clock, time: Time) -> u64 {
    if time == Time::NEVER { u64::MAX } else { timebase.edge_at_or_after(time) }
}

/// The kernel on hart `by` interrupts the harts in `mask`.
fn interrupt(harts: &mut Harts, by: usize, mask: u64) -> Option<Answer> {
    let now = harts[by].hart.now();
    let several = harts.iter_mut().enumerate().filter(|&(index, _)| index < 64 && mask >> index & 1 != 0);
    for (_, core) in several.filter(|(_, core)| core.hart.supervisor().is_some()) {
        core.interrupt_software(now);
    }
    Some(OK)
}

impl Os {
    /// The kernel on hart `index` asks something of the simulator.
    pub(super) fn kernel_call(&mut self, harts: &mut Harts, index: usize, memory: &mut FlatMemory) {
        let x = &harts[index].hart.state.x;
        let (extension, function) = (x[17], x[16]);
        let args = [x[10], x[11], x[12], x[13], x[14], x[15]];
        let answer = match (extension, function) {
            (kernel::SBI_LINUX, number) => self.forwarded(harts, index, number, args, memory),
            (kernel::SBI_PROCESS, kernel::PROCESS_PAGE_FAULT) => self.page_in(harts, index, args, memory),
            (kernel::SBI_PROCESS, kernel::PROCESS_EXCEPTION) => self.exception(harts, index, args, memory),
            (kernel::SBI_PROCESS, kernel::PROCESS_WATCH) => self.watch_process(index, args[0]),
            (kernel::SBI_PROCESS, kernel::PROCESS_TIME_OUT) => {
                Some([0, self.time_out(harts, index) as u64, 0])
            }
            (kernel::SBI_IPI, kernel::IPI_SEND) => interrupt(harts, index, args[0]),
            (kernel::SBI_HSM, kernel::HSM_START) => self.start_hart(harts, index, args),
            (kernel::SBI_PROCESS, kernel::PROCESS_PANIC) => self.panic(harts, index, args),
            (kernel::SBI_PROCESS, kernel::PROCESS_EXIT) => self.outlive(harts, index, args[0]),
            _ => Some(NOT_SUPPORTED),
        };
        // There is none if the process has ended. A kernel that others need lives on, unless it is broken.
        let is_broken = (extension, function) == (kernel::SBI_PROCESS, kernel::PROCESS_PANIC);
        let lives_on = !is_broken && self.kernel.as_ref().is_some_and(Kernel::is_of_several_harts);
        let Some(answer) = answer.or(lives_on.then_some([kernel::ENDED, 0, 0])) else { return };
        if lives_on {
            self.on_several(harts, index, extension);
        }
        let cycles = self.costs.machine_call.cycles();
        let core = &mut harts[index];
        core.charge(cycles);
        core.hart.state.x[10..13].copy_from_slice(&answer);
        core.hart.state.pc += 4;
    }

    /// A system call of the process.
    fn forwarded(
        &mut self,
        harts: &mut Harts,
        index: usize,
        number: u64,
        args: [u64; 6],
        memory: &mut FlatMemory,
    ) -> Option<Answer> {
        let outcome = self.serve(harts, index, number, args, memory);
        self.flush_translations(harts, index, memory);
        let is_sole = !self.kernel.as_ref().is_some_and(Kernel::is_of_several_harts);
        let first = self.on(harts, index).harts.start;
        let hart = &harts[index].hart;
        let sleep = |until, value: i64| Some([kernel::SLEEP, value as u64, tick(hart.timebase(), until)]);
        match outcome {
            Outcome::Return(value) => Some([0, value as u64, 0]),
            Outcome::Yield => Some(OK),
            Outcome::Sleep { until, value } => sleep(until, value),
            // Nobody else is there to wake it.
            Outcome::Block { until, .. } if is_sole => sleep(until, self.time_out(harts, index)),
            Outcome::Block { until, .. } => Some([kernel::BLOCK, 0, tick(hart.timebase(), until)]),
            Outcome::Clone { hart, id, .. } => Some([kernel::THREAD, id as u64, (first + hart) as u64]),
            Outcome::Exit { status, .. } => {
                self.end(harts, index, Ended::Exit(status));
                None
            }
            Outcome::Signal(signal) => self.die(harts, index, signal, "the process raised a signal"),
            Outcome::OutOfMemory(fault) => self.die(harts, index, fault.signal(), &fault.to_string()),
            Outcome::Leave => Some([kernel::ENDED, 0, 0]),
        }
    }

    /// The thread on hart `index` has waited for another for as long as it would: what its call returns.
    fn time_out(&mut self, harts: &Harts, index: usize) -> i64 {
        let NodeProcess { process, harts: own, .. } = self.on_mut(harts, index);
        process.time_out(index - own.start)
    }

    /// The kernel on hart `by` has another hart begin.
    fn start_hart(
        &mut self,
        harts: &mut Harts,
        by: usize,
        [number, pc, argument, ..]: [u64; 6],
    ) -> Option<Answer> {
        let index = number as usize;
        let Some(process) = self.processes.iter().position(|process| process.harts.contains(&index)) else {
            return Some([kernel::INVALID_PARAMETER as u64, 0, 0]);
        };
        let now = harts[by].hart.now();
        let root = self.processes[process].process.space.root();
        self.place(harts, index, process);
        // Threads are not fast-forwarded.
        if self.processes[process].region.is_some() && harts[by].process == process {
            self.change_timing(harts, by);
        }
        let mut state = State::new(pc);
        (state.x[10], state.x[11]) = (number, argument);
        let core = &mut harts[index];
        core.hart.state = state;
        core.hart.begin_supervisor(root);
        core.begin(now);
        self.set_timed(harts, index);
        Some(OK)
    }

    /// What the kernel of several harts finds beside the answer to its call on hart `index`.
    fn on_several(&mut self, harts: &mut Harts, index: usize, extension: u64) {
        // It was the process that ended there.
        if matches!(harts[index].activity, Activity::Ended) {
            harts[index].activity = Activity::Ready;
        }
        if extension == kernel::SBI_LINUX {
            let woken = self.share_memory(harts, index);
            harts[index].hart.state.x[13] = woken.into_iter().fold(0, |mask, hart| mask | 1 << hart);
        }
    }

    /// The process has ended, but not its kernel.
    fn outlive(&mut self, harts: &mut Harts, index: usize, status: u64) -> Option<Answer> {
        self.note_end(harts, index, Ended::Exit(status as i32 & 0xff));
        Some(OK)
    }

    fn die(&mut self, harts: &mut Harts, index: usize, signal: i32, what: &str) -> Option<Answer> {
        self.fault(harts, index, signal, what);
        None
    }

    fn page_in(
        &mut self,
        harts: &mut Harts,
        index: usize,
        [address, cause, ..]: [u64; 6],
        memory: &mut FlatMemory,
    ) -> Option<Answer> {
        let Some(Halt::Fault(Fault::Page { access, .. })) = halt_of(cause, address) else {
            return Some(INVALID);
        };
        let before = self.on(harts, index).process.space.faults();
        if let Err(fault) = self.bring_in(harts, index, address, access, memory) {
            return match fault.is_out_of_memory() {
                true => self.die(harts, index, fault.signal(), &fault.to_string()),
                false => Some(INVALID),
            };
        }
        let space = &self.on(harts, index).process.space;
        let is_new = space.faults() > before;
        let is_zero = is_new && matches!(space.backing(address), Some(Backing::Anonymous));
        let frame = space.translate(memory, address & !(PAGE_BYTES - 1)).filter(|_| is_zero);
        Some([0, frame.unwrap_or(0), 0])
    }

    /// The process ends as it would without a kernel.
    fn exception(
        &mut self,
        harts: &mut Harts,
        index: usize,
        [cause, pc, value, ..]: [u64; 6],
        memory: &mut FlatMemory,
    ) -> Option<Answer> {
        match halt_of(cause, value) {
            Some(halt) => self.end_by_fault(harts, index, halt, pc, memory),
            None => self.fault_at(harts, index, SIGABRT, &format!("exception {cause:#x} of the process"), pc),
        }
        None
    }

    fn watch_process(&mut self, index: usize, address: u64) -> Option<Answer> {
        self.kernel.as_mut().expect("a kernel calls").told[index] = Some(address);
        Some(OK)
    }

    fn panic(&mut self, harts: &mut Harts, index: usize, [address, bytes, ..]: [u64; 6]) -> Option<Answer> {
        const TEXT_MAX: u64 = 1000;
        let mut text = vec![0; bytes.min(TEXT_MAX) as usize];
        harts[index].hart.port.peek_virtual(address, &mut text);
        let text = format!("the kernel gives up: {}", String::from_utf8_lossy(&text));
        let pc = harts[index].hart.state.pc;
        self.fault_at(harts, index, SIGABRT, &text, pc);
        None
    }

    /// A word of what the kernel on hart `index` tells of its process.
    fn told(&self, harts: &Harts, index: usize, word: u64) -> Option<u64> {
        let at = self.kernel.as_ref()?.told[index]? + 8 * word;
        let mut value = [0; 8];
        harts[index].hart.port.peek_virtual(at, &mut value).then(|| u64::from_le_bytes(value))
    }

    /// Where the process is whose trap the kernel on hart `index` deals with, if it does.
    pub(super) fn trapped_at(&self, harts: &Harts, index: usize) -> Option<u64> {
        let in_kernel = harts[index].hart.supervisor().is_some_and(|s| s.is_current);
        if in_kernel { self.told(harts, index, 0) } else { None }
    }

    /// What the kernel on hart `index` says that its process sleeps for.
    pub(super) fn sleeps_for(&self, harts: &Harts, index: usize) -> Option<String> {
        const TEXT_MAX: u64 = 100;
        let at = self.told(harts, index, 1).filter(|&at| at != 0)?;
        let port = &harts[index].hart.port;
        let mut byte = |at| {
            let mut byte = [0];
            (port.peek_virtual(at, &mut byte) && byte[0] != 0).then_some(byte[0])
        };
        let text: Vec<u8> = (at..at + TEXT_MAX).map_while(&mut byte).collect();
        Some(String::from_utf8_lossy(&text).into_owned())
    }
}
