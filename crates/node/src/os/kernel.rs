//! A kernel image under a process: how it is put into a node's memory, and what it asks of the simulator.
//!
//! The kernel is in the upper half of the process's address space, in pages that are its own and global (Sv39). The hart
//! begins in it. What traps goes to it, and what it does not do itself it forwards by an `ecall`, which is
//! served functionally, in no time but the ecall's: see `chasqui_abi::kernel`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use chasqui_abi::NiPlacement;
use chasqui_abi::kernel::{self, KernelBoot};
use chasqui_counters::counters;
use chasqui_engine::{Clock, Time};
use chasqui_hart::supervisor::halt_of;
use chasqui_hart::{Halt, State};
use chasqui_linux::space::Backing;
use chasqui_linux::{Elf, ElfError, Outcome};
use chasqui_memory::{DEVICE_BASE, Fault, FlatMemory, PAGE_BYTES, pte};
use chasqui_watch::{Registers, trapped};

use super::position::Position;
use super::scheduler::{HART, phase};
use super::{Ended, NodeProcess, Os, SIGABRT};
use crate::events::Events;
use crate::harts::{Activity, Core, Harts};
use crate::io::controller_address;
use crate::parameters::NodeConfiguration;

/// What an entry of a root page table maps, and one of a table below it (Sv39) [bytes].
const GIGAPAGE: u64 = 1 << 30;
/// See [`GIGAPAGE`].
pub(crate) const MEGAPAGE: u64 = 1 << 21;
/// What the kernel may do with its pages: everything, since they are large.
const RIGHTS: u64 = pte::V | pte::R | pte::W | pte::X | pte::G | pte::A | pte::D;

counters! {
    /// Counters of a kernel that has several harts or processes.
    pub(crate) struct KernelStatistics {
        /// Processes that came to a hart in the place of another.
        switches: "count";
    }
}

/// A kernel image in a node's memory.
#[derive(Clone)]
pub struct Kernel {
    /// The image.
    image: Arc<Elf>,
    /// Address of the processes' [`KernelBoot`]s, which the placement follows.
    boot: u64,
    /// How many processes there are.
    processes: usize,
    node: KernelNode,
    /// Processes have memory in common: what one that waits looks at, another may have written in its turn.
    shares_memory: bool,
    /// Addresses of [`kernel::KernelProcess`]es, by hart and place of the process in the node's table, once it has told.
    told: BTreeMap<(usize, usize), u64>,
    /// Of each hart the address of a word that is 1 while its timer is set for the end of a turn alone.
    only_turns: BTreeMap<usize, u64>,
    /// Events so far that a process could see, whoever was on its hart.
    pub(super) events: u64,
    /// Whose registers are in a hart where another process is shown, when all is over.
    registers_of: BTreeMap<usize, usize>,
    statistics: KernelStatistics,
}

/// What a kernel is told of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelNode {
    /// Harts of the node.
    pub harts: usize,
    /// Harts of each process. The first process has those from 0 on, the others those that follow; where there are no more,
    /// from 0 on again.
    pub harts_each: usize,
    /// Processes of a node, at most: here there may be fewer.
    pub places: usize,
    /// Devices of the node.
    pub devices: usize,
    /// Turn of a process whose hart others share [ticks of `time`].
    pub quantum: u64,
    /// When the first turn begins [ticks of `time`].
    pub phase: u64,
}

impl KernelNode {
    /// Of node `number` with so many `places` for processes, which have `harts_each` of its harts; it has so many `devices`.
    pub fn of(
        c: &NodeConfiguration,
        number: u32,
        (places, harts_each): (usize, usize),
        devices: usize,
    ) -> KernelNode {
        let timebase = Clock::new(c.core.timebase.hz());
        let ticks = |time: Time| timebase.edge_at_or_after(time);
        let quantum = Time(c.scheduler.quantum.ps());
        KernelNode {
            harts: c.harts(),
            harts_each,
            places,
            devices,
            quantum: ticks(quantum),
            phase: ticks(phase(quantum.0, c.scheduler.skew, number)),
        }
    }
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
    /// Puts `image` into `physical` of `memory`, and into the address spaces of `processes`; `placement` says where the first
    /// is. What is said of the kernel's own memory is filled in.
    ///
    /// # Errors
    /// It does not lie in its memory, or has no room for so many processes.
    pub fn new(
        image: Arc<Elf>,
        memory: &mut FlatMemory,
        physical: Range<u64>,
        (mut processes, placement): (Vec<KernelProcess>, NiPlacement),
        node: KernelNode,
    ) -> Result<Kernel, String> {
        assert!(node.harts as u64 <= kernel::HARTS_MAX, "node.harts allows as many as kernels");
        if processes.len() as u64 > kernel::PROCESSES_MAX {
            return Err(format!(
                "node.software.kernel: a kernel has {} processes at most, and the node has {}",
                kernel::PROCESSES_MAX,
                processes.len()
            ));
        }
        // The table that maps the image, and what the kernel is told, are at the end.
        let table = physical.end - PAGE_BYTES;
        let told_bytes = processes.len() * size_of::<KernelBoot>() + size_of::<NiPlacement>();
        let told = table - (told_bytes as u64).next_multiple_of(PAGE_BYTES);
        image.place(memory, kernel::IMAGE, physical.start..told)?;
        let first = &mut processes[0].boot;
        first.memory = physical.start + (image.end() - kernel::IMAGE).next_multiple_of(PAGE_BYTES);
        first.memory_bytes = told - first.memory;
        for process in &processes {
            map(memory, process.root, table, &physical, controller_address(node.devices));
        }
        let boots = processes.iter().flat_map(|process| process.boot.to_bytes());
        let bytes: Vec<u8> = boots.chain(placement.to_bytes()).collect();
        memory.slice_mut(told, bytes.len()).expect("the kernel's memory").copy_from_slice(&bytes);
        let count = processes.len();
        Ok(Kernel {
            image,
            boot: kernel::DIRECT + told,
            processes: count,
            node,
            shares_memory: placement.shared_bytes > 0,
            told: BTreeMap::new(),
            only_turns: BTreeMap::new(),
            events: 0,
            registers_of: BTreeMap::new(),
            statistics: KernelStatistics::default(),
        })
    }

    /// It is the image for several harts, or for several processes of one hart: it outlives its processes.
    pub(super) fn is_for_several(&self) -> bool {
        self.node.harts > 1 || self.node.places > 1
    }

    /// It has one process.
    pub fn is_of_one(&self) -> bool {
        self.processes == 1
    }

    /// Its counters, if it has several harts or processes.
    pub(crate) fn statistics(&self) -> Option<&KernelStatistics> {
        self.is_for_several().then_some(&self.statistics)
    }

    /// The registers in hart `index` are those of `process`, which is on it.
    fn has_registers(&self, index: usize, process: usize) -> bool {
        self.registers_of.get(&index).is_none_or(|&owner| owner == process)
    }

    /// The image.
    pub(crate) fn image(&self) -> &Arc<Elf> {
        &self.image
    }

    /// How the first hart begins: its number, 0, in a0; the others as [`KernelBoot`] says.
    pub(crate) fn start(&self) -> State {
        let mut state = State::new(self.image.entry());
        let KernelNode { harts, harts_each, quantum, phase, .. } = self.node;
        let told = [self.boot, self.processes as u64, harts_each as u64, harts as u64, quantum, phase];
        state.x[11..17].copy_from_slice(&told);
        state
    }
}

const _: () = assert!(kernel::DEVICE_PHYSICAL == DEVICE_BASE);

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
const _: () = assert!(kernel::PAGE_EXPOSED == chasqui_linux::space::EXPOSED);
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
            (kernel::SBI_PROCESS, kernel::PROCESS_EXPOSE) => {
                self.on_mut(harts, index).process.space.expose(memory, args[0]);
                Some(OK)
            }
            (kernel::SBI_PROCESS, kernel::PROCESS_EXCEPTION) => self.exception(harts, index, args, memory),
            (kernel::SBI_PROCESS, kernel::PROCESS_WATCH) => self.watch_process(harts, index, args[0]),
            (kernel::SBI_PROCESS, kernel::PROCESS_SWITCH) => self.switch_process(harts, index, args),
            (kernel::SBI_PROCESS, kernel::PROCESS_HAS_ENDED) => {
                let process = self.processes.get(args[0] as usize);
                Some([0, process.is_some_and(NodeProcess::is_over).into(), 0])
            }
            (kernel::SBI_PROCESS, kernel::PROCESS_UNSERVED) => self.does_not_serve(harts, index, args[0]),
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
        let lives_on = !is_broken && self.kernel.as_ref().is_some_and(Kernel::is_for_several);
        let Some(answer) = answer.or(lives_on.then_some([kernel::ENDED, 0, 0])) else { return };
        if lives_on && extension == kernel::SBI_LINUX {
            let woken = self.share_memory(harts, index);
            harts[index].hart.state.x[13] = woken.into_iter().fold(0, |mask, hart| mask | 1 << hart);
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
        if self.on(harts, index).is_over() {
            return None;
        }
        let outcome = self.serve(harts, index, number, args, memory);
        self.flush_translations(harts, index, memory);
        let is_sole = !self.kernel.as_ref().is_some_and(Kernel::is_for_several);
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
            Outcome::TooMuchOutput => {
                self.end(harts, index, Ended::TooMuchOutput);
                None
            }
            Outcome::Signal(signal) => self.die(harts, index, signal, &super::call::raised(signal)),
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

    /// The kernel on hart `index` has process a0 there from now on.
    fn switch_process(
        &mut self,
        harts: &mut Harts,
        index: usize,
        [process, told, only_turns, ..]: [u64; 6],
    ) -> Option<Answer> {
        let process = process as usize;
        if !self.processes.get(process).is_some_and(|process| process.harts.contains(&index)) {
            return Some([kernel::INVALID_PARAMETER as u64, 0, 0]);
        }
        if harts[index].process != process {
            self.comes(harts, index, process);
            self.set_timed(harts, index);
            self.kernel.as_mut().expect("a kernel calls").statistics.switches += 1;
        }
        let kernel = self.kernel.as_mut().expect("a kernel calls");
        kernel.told.insert((index, process), told);
        kernel.only_turns.insert(index, only_turns);
        Some([0, self.processes[process].process.space.root(), 0])
    }

    /// A process of `own` harts has ended at `now`, unless it is their kernel's to say so: that is told by an interrupt.
    /// False: there is no kernel that outlives it.
    pub(super) fn tell_kernel(&self, harts: &mut Harts, own: &Range<usize>, now: Time) -> bool {
        let outlives = self.kernel.as_ref().is_some_and(Kernel::is_for_several);
        let with_kernel = |core: &&mut Core| outlives && core.hart.supervisor().is_some();
        for core in harts.of_mut(own).filter(with_kernel) {
            core.interrupt_software(now);
        }
        outlives
    }

    /// The timer of hart `index` is set for the end of a turn, and nothing else.
    pub(super) fn only_turns(&self, harts: &Harts, index: usize) -> bool {
        let address = self.kernel.as_ref().and_then(|kernel| kernel.only_turns.get(&index));
        address.is_some_and(|&address| self.word(harts, index, address) == Some(1))
    }

    /// Every process repeats itself, or sleeps for what does not come by itself, and they have turns under a kernel: see
    /// [`Os::rests`]. Of several harts others might store what they look at, and so might processes that share memory.
    pub(super) fn rests_under_kernel(&self, harts: &Harts, events: &Events) -> bool {
        let is_private = |kernel: &&Kernel| kernel.node.harts == 1 && !kernel.shares_memory;
        let Some(kernel) = self.kernel.as_ref().filter(is_private) else { return false };
        let stuck = |(number, process): (usize, &NodeProcess)| match &process.descheduled {
            None => true,
            Some(_)
                if process.is_over() || self.word_told(harts, HART, number, 1).is_some_and(|at| at != 0) =>
            {
                true
            }
            Some(left) => left.spin.repeats() && left.events == kernel.events,
        };
        kernel.processes > 1
            && harts[HART].is_idle()
            && events.len() == 0
            && self.only_turns(harts, HART)
            && self.processes.iter().enumerate().all(stuck)
    }

    /// The process has ended, but not its kernel.
    fn outlive(&mut self, harts: &mut Harts, index: usize, status: u64) -> Option<Answer> {
        let now = harts[index].hart.now();
        self.note_end_of(harts[index].process, now, Ended::Exit(status as i32 & 0xff));
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
        [cause, pc, value, return_address, ..]: [u64; 6],
        memory: &mut FlatMemory,
    ) -> Option<Answer> {
        let registers = self.trapped_registers(harts, index);
        let position = Position { pc, return_address: Some(return_address), registers };
        match halt_of(cause, value) {
            Some(halt) => self.end_by_fault(harts, index, halt, position, memory),
            None => {
                let what = format!("exception {cause:#x} of the process");
                let now = harts[index].hart.now();
                self.fault_at(harts, index, (SIGABRT, &what), position.where_code_is(), now);
            }
        }
        None
    }

    fn does_not_serve(&mut self, harts: &Harts, index: usize, number: u64) -> Option<Answer> {
        let NodeProcess { process, rank, output, .. } = self.on_mut(harts, index);
        if process.refuses(number) {
            output.unknown_call(*rank, harts[index].hart.now(), number);
        }
        Some(OK)
    }

    fn watch_process(&mut self, harts: &Harts, index: usize, address: u64) -> Option<Answer> {
        let process = harts[index].process;
        self.kernel.as_mut().expect("a kernel calls").told.insert((index, process), address);
        Some(OK)
    }

    fn panic(&mut self, harts: &mut Harts, index: usize, [address, bytes, ..]: [u64; 6]) -> Option<Answer> {
        const TEXT_MAX: u64 = 1000;
        let mut text = vec![0; bytes.min(TEXT_MAX) as usize];
        harts[index].hart.port.peek_virtual(address, &mut text);
        let text = format!("the kernel gives up: {}", String::from_utf8_lossy(&text));
        let pc = harts[index].hart.state.pc;
        let now = harts[index].hart.now();
        self.fault_at(harts, index, (SIGABRT, &text), Position::at(pc), now);
        // Without their kernel no process of the node goes on.
        for number in 0..self.processes.len() {
            let process = &self.processes[number];
            if !process.is_over() {
                let text = format!("{} at {now}: {text}", process.rank);
                self.note_end_of(number, now, Ended::Fault { signal: SIGABRT, text });
            }
        }
        harts.iter_mut().for_each(|core| core.activity = Activity::Ended);
        None
    }

    /// A word of what the kernel on hart `index` tells of `process`.
    fn word_told(&self, harts: &Harts, index: usize, process: usize, word: u64) -> Option<u64> {
        let at = self.kernel.as_ref()?.told.get(&(index, process))? + 8 * word;
        self.word(harts, index, at)
    }

    /// Where `process`, which shares hart `index` and is not on it, is, as its kernel tells; `None`: there is no kernel.
    pub(crate) fn told_place(&self, harts: &Harts, index: usize, process: usize) -> Option<u64> {
        self.kernel.as_ref()?;
        Some(self.word_told(harts, index, process, 0).unwrap_or(0))
    }

    /// The word at `address` of the kernel on hart `index`.
    fn word(&self, harts: &Harts, index: usize, address: u64) -> Option<u64> {
        let mut value = [0; 8];
        harts[index].hart.port.peek_virtual(address, &mut value).then(|| u64::from_le_bytes(value))
    }

    /// `process`, which is on hart `index` or shares it, is looked at, when all is over, while another's registers are in the
    /// hart.
    pub(super) fn is_elsewhere(&self, index: usize, process: usize) -> bool {
        self.kernel.as_ref().is_some_and(|kernel| !kernel.has_registers(index, process))
    }

    /// Process `incoming` is shown on hart `index`, when all is over.
    pub(super) fn show_under_kernel(&mut self, harts: &mut Harts, index: usize, incoming: usize) {
        let owner = harts[index].process;
        self.comes(harts, index, incoming);
        harts[index].hart.port.set_root(self.processes[incoming].process.space.root());
        let kernel = self.kernel.as_mut().expect("processes under a kernel");
        kernel.registers_of.entry(index).or_insert(owner);
    }

    /// Where `process` of hart `index` is, if the kernel there deals with its trap, or has interrupted it.
    pub(crate) fn trapped_at(&self, harts: &Harts, index: usize, process: usize) -> Option<u64> {
        self.is_kernels(harts, index, process).then(|| self.word_told(harts, index, process, 0)).flatten()
    }

    /// The registers in hart `index` are not those of its `process`: they are a kernel's, or another process's.
    pub(crate) fn is_kernels(&self, harts: &Harts, index: usize, process: usize) -> bool {
        harts[index].hart.supervisor().is_some_and(|s| s.is_current) || self.is_elsewhere(index, process)
    }

    /// The registers of the process whose trap the kernel on hart `index` deals with, as it has saved them, if they are found.
    pub(crate) fn trapped_registers(&self, harts: &Harts, index: usize) -> Option<Registers> {
        if self.is_elsewhere(index, harts[index].process) {
            return None;
        }
        let (symbols, hart) = (&self.on(harts, index).symbols, &harts[index].hart);
        trapped(symbols, &Registers::of(hart), &mut |at, bytes| hart.port.peek_virtual(at, bytes))
    }

    /// What the kernel on hart `index` says that `process` sleeps for.
    pub(super) fn sleeps_for(&self, harts: &Harts, index: usize, process: usize) -> Option<String> {
        const TEXT_MAX: u64 = 100;
        let at = self.word_told(harts, index, process, 1).filter(|&at| at != 0)?;
        let port = &harts[index].hart.port;
        let mut byte = |at| {
            let mut byte = [0];
            (port.peek_virtual(at, &mut byte) && byte[0] != 0).then_some(byte[0])
        };
        let text: Vec<u8> = (at..at + TEXT_MAX).map_while(&mut byte).collect();
        Some(String::from_utf8_lossy(&text).into_owned())
    }
}
