//! MPI-NP (UBC, 1999): a network interface with a network processor on the host's I/O bus, and Myrinet.
//!
//! Reading order: `registers.rs`, `np_registers.rs`, `layout.rs`, `board/mod.rs`, `board/local.rs`, `board/host.rs`,
//! `board/io.rs`, `board/wire.rs`, then the firmware.

mod board;
mod control;
mod layout;
pub mod np_registers;
pub mod parameters;
pub mod registers;
pub mod requests;

use chasqui_config::{Resolved, Schema};
use chasqui_engine::Clock;
use chasqui_hart::{CLASSES, Timing};
use chasqui_machine::{Built, Firmware, Machine, OnNetwork, Workload, build_on_network, ni_memory_base};
use chasqui_memory::{L2Parameters, PortKind, PortParameters};
use chasqui_network::{NetworkParameters, NodePort, Switching, VirtualNetworks};
use chasqui_ni::{FIRMWARE_MEMORY, FirmwareProcessor, FirmwareSpec, NetworkInterface, SharedSram};
use chasqui_node::NodeConfiguration;
use chasqui_placement::Placement;

use board::{Board, BoardPlan};
use control::{Control, Program, Room};
use layout::{Layout, Line, PageTable};
use parameters::{Card, Io, Pci, PcieLink, Processor, Shared, Tags, Ways};

/// A machine with such a card at each node.
pub struct MpinpMachine {
    name: &'static str,
    file: &'static str,
}

/// MPI-NP.
pub const MPINP: MpinpMachine = MpinpMachine { name: "mpinp", file: include_str!("../machine.toml") };

/// The same mechanisms on a node of today.
pub const MPINP_MODERN: MpinpMachine =
    MpinpMachine { name: "mpinp-modern", file: include_str!("../modern.toml") };

impl Machine for MpinpMachine {
    fn name(&self) -> &'static str {
        self.name
    }

    fn folder(&self) -> &'static str {
        MPINP.name
    }

    fn file(&self) -> &'static str {
        self.file
    }

    fn schema(&self) -> Schema {
        Schema::new()
            .with::<Io>("mpinp.io")
            .with::<Pci>("mpinp.pci")
            .with::<PcieLink>("mpinp.pcie")
            .with::<Card>("mpinp.card")
            .with::<Processor>("mpinp.np")
            .with::<Shared>("mpinp.shared")
            .with::<Tags>("mpinp.tags")
            .with::<Control>("mpinp.control")
            .with::<NetworkParameters>("network")
            .with_part("", chasqui_node::schema())
    }

    fn mistakes(&self, resolved: &Resolved) -> Vec<String> {
        let network: NetworkParameters = resolved.read("network");
        let card: Card = resolved.read("mpinp.card");
        let node = NodeConfiguration::read(resolved);
        let mut found = node.mistakes();
        let image = resolved.read::<Control>("mpinp.control").image;
        if image.matches() && !node.software.kernel {
            found.push(format!(
                "mpinp.control.image: \"{image}\" needs a kernel, which pins pages: node.software.kernel = true"
            ));
        }
        found.extend(Ways::read(resolved).mistakes());
        found.extend(card.mistakes());
        found.extend(resolved.read::<Processor>("mpinp.np").mistakes());
        let shared: Shared = resolved.read("mpinp.shared");
        found.extend(shared.mistakes());
        found.extend(resolved.read::<Control>("mpinp.control").mistakes(&shared));
        found.extend(network.mistakes(resolved, self.copes_with(resolved)));
        if network.switching != Switching::Wormhole {
            found
                .push(format!("network.switching: the card sends worms; {} is allowed", Switching::Wormhole));
        }
        let longest = card.flit.bytes() + card.packet_header.bytes() + card.packet_tail.bytes();
        if network.packet_max.bytes() < longest {
            found.push(format!("network.packet_max: at least {longest} B are needed, a flit"));
        }
        found
    }

    fn nodes_max(&self, resolved: &Resolved) -> u32 {
        resolved.read::<Card>("mpinp.card").nodes as u32
    }

    fn ranks_per_node_max(&self, resolved: &Resolved) -> u32 {
        resolved.read::<Shared>("mpinp.shared").processes as u32
    }

    fn jobs_max(&self) -> usize {
        np_registers::JOBS_MAX as usize
    }

    fn kernel_image(&self, resolved: &Resolved) -> Option<&'static str> {
        match resolved.read::<Shared>("mpinp.shared").line() {
            Line::None => None,
            Line::Waits => Some("interrupt"),
            Line::Pages => Some("thread"),
        }
    }

    fn waits_by_polling(&self, resolved: &Resolved, _: usize) -> bool {
        !resolved.read::<Shared>("mpinp.shared").interrupts()
    }

    /// With the thin firmware each message takes a slot at least of the window and of the ring on the host; with the other one
    /// it has an event at each end.
    fn warm_up(&self, resolved: &Resolved, bytes: u64) -> u64 {
        let shared: Shared = resolved.read("mpinp.shared");
        if resolved.read::<Control>("mpinp.control").image.matches() {
            return requests::EVENTS;
        }
        let slots = shared.window.bytes().max(shared.host.bytes()) / registers::SLOT_BYTES;
        slots.div_ceil(bytes.div_ceil(registers::SLOT_DATA_BYTES).max(1))
    }

    fn build(&self, resolved: &Resolved, work: &Workload, threads: usize) -> Result<Built, String> {
        let on = OnNetwork {
            networks: VirtualNetworks::ONE,
            packet_bytes_min: 1,
            copes_with: self.copes_with(resolved),
        };
        let shared: Shared = resolved.read("mpinp.shared");
        let control: Control = resolved.read("mpinp.control");
        let kernel = NodeConfiguration::read(resolved).software.kernel;
        control.check(&work.placement, &shared, kernel)?;
        control.check_recording(work.jobs[0].keep)?;
        build_on_network(resolved, work, on, threads, |configuration, port| {
            let job = &work.jobs[0];
            let profiled = job.watch.profile.then_some(port.node());
            let board = board(resolved, configuration, (&job.firmware, profiled), (&work.placement, port))?;
            Ok((board.host_memory(), Box::new(board) as Box<dyn NetworkInterface>))
        })
    }
}

/// The card of a node, with its firmware; with the node's number the cycles of that are counted.
///
/// # Errors
/// Something does not fit, or there is no firmware: in words.
fn board(
    resolved: &Resolved,
    configuration: &NodeConfiguration,
    firmware: (&Firmware, Option<u32>),
    (placement, port): (&Placement, NodePort),
) -> Result<Board, String> {
    let per_node = placement.processes();
    let (card, shared): (Card, Shared) = (resolved.read("mpinp.card"), resolved.read("mpinp.shared"));
    let control: Control = resolved.read("mpinp.control");
    let table = if control.has_pages(configuration.software.kernel) {
        PageTable {
            entries: shared.entries_each(per_node),
            kept: if control.image.matches() { shared.kept_each(per_node) } else { 0 },
            tlb: control.tlb,
            line: shared.line(),
        }
    } else {
        PageTable::default()
    };
    let layout = Layout::new(
        per_node,
        (card.sram.bytes(), shared.firmware.bytes()),
        shared.window.bytes(),
        (ni_memory_base(configuration), shared.host.bytes()),
        table,
    )?;
    let room = control.room(&shared, &layout, port.nodes(), placement.ranks_max());
    let name = control.firmware(&shared, placement.jobs().count());
    let processor = network_processor(resolved, configuration, firmware, (&card, name, room))?;
    Ok(Board::new(BoardPlan {
        ways: Ways::read(resolved),
        tags: resolved.read("mpinp.tags"),
        network: resolved.read("network"),
        line_bytes: configuration.longest_line().bytes(),
        card,
        port,
        layout,
        processor,
        per_node,
        program: Program::new(control, &shared, placement, configuration.harts() as u32 >= 2 * per_node)?,
    }))
}

/// The network processor, on the card's memory, with `room` for its firmware, of this name. With a node's number its cycles are counted.
///
/// # Errors
/// There is no firmware for it, or that does not fit.
fn network_processor(
    resolved: &Resolved,
    node: &NodeConfiguration,
    (firmware, profiled): (&Firmware, Option<u32>),
    (card, name, room): (&Card, &str, Room),
) -> Result<FirmwareProcessor<SharedSram>, String> {
    let np: Processor = resolved.read("mpinp.np");
    let image = firmware.named(name).map_err(|e| format!("mpinp: {e}"))?;
    room.check(name, image.end().saturating_sub(FIRMWARE_MEMORY))?;
    let mut class = [1; CLASSES];
    class[chasqui_hart::Class::IntMul as usize] = np.int_mul.cycles() as u16;
    class[chasqui_hart::Class::IntDiv as usize] = np.int_div.cycles() as u16;
    let spec = FirmwareSpec {
        name: "network processor",
        image,
        port: PortParameters {
            l1i: np.instruction_cache(),
            l2: L2Parameters::default(),
            check_coherence: false,
            ..node.port(PortKind::Cacheless)
        },
        timing: Timing { class, branch_taken: np.branch_taken.cycles() as u8, ..Timing::UNIT },
        clock: Clock::new(card.clock.hz() * np.clock_factor),
        timebase_hz: card.clock.hz(),
        execution: node.checks.execution(),
        profiled,
        keeps_marks: true,
    };
    FirmwareProcessor::new(spec, board::memory(card)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guest_headers_are_current() {
        let check = |name: &str, text: &str| {
            chasqui_abi::header::check(&format!("{}/{name}", env!("CARGO_MANIFEST_DIR")), text);
        };
        check("registers.h", &registers::HEADER.text());
        check("firmware/np.h", &np_registers::text());
    }

    #[test]
    fn declarations_are_right() {
        assert_eq!(MPINP.schema().mistakes(), Vec::<String>::new());
    }
}
