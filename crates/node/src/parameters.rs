//! What a node is made of.

use chasqui_config::{Bytes, Count, Cycles, Duration, Flag, Ratio, Resolved, Schema};
use chasqui_engine::{Clock, Time};
use chasqui_hart::{CoreParameters, Execution, Executor, Timing};
use chasqui_memory::{
    BURST_BYTES, BusParameters, CacheParameters, DramParameters, L2Parameters, NetworkCacheParameters,
    OrderParameters, PortKind, PortParameters, TlbParameters, WriteBufferParameters,
};

chasqui_config::parameters! {
    /// The node as a whole.
    pub struct NodeUnit {
        /// Harts, each with caches of its own on the node's bus. A process has one thread a hart at most.
        harts: Count = 1, range 1 ..= 64, source "assumption: one hart, unless a user says otherwise";
    }
}

chasqui_config::parameters! {
    /// System software: the simulator stands in for it, or a kernel image runs.
    pub struct SoftwareUnit {
        /// A kernel image runs under the process (guest/kernel): what traps and interrupts cost is its code's.
        /// `syscall` and `page_fault` count for nothing then.
        kernel: Flag = false, source "system calls are rare where the NI is mapped into processes";
        /// The end of main memory, which the kernel has for itself: image, stacks, heap; whole 2 MiB.
        kernel_memory: Bytes = "4 MiB", range "2 MiB" ..= "1 GiB", source "assumption: the image has some ten KiB; the rest is for buffers";
        /// A system call.
        syscall: Cycles = 300, range 0 ..= 1000000, source "assumption: trap, dispatch and return of a small call";
        /// A page fault that maps a page.
        page_fault: Cycles = 1000, range 0 ..= 10000000, source "assumption: trap, page allocation and clearing";
        /// From the call that wakes or makes a thread to the thread's first instruction.
        wake: Cycles = 300, range 0 ..= 10000000, source "assumption: as a system call";
        /// Having other harts forget translations, beside the call that changes a mapping.
        shootdown: Cycles = 300, range 0 ..= 10000000, source "assumption: as a system call";
        /// A fault of one process ends the job; else the others go on.
        fault_ends_job: Flag = true, source "as launchers of MPI programs have it";
        /// Length that a process's stack may reach.
        stack: Bytes = "8 MiB", range "64 KiB" ..= "1 GiB", source "Linux's default limit";
    }
}

chasqui_config::parameters! {
    /// The interrupt controller, which lies on the memory bus.
    pub struct InterruptsUnit {
        /// From an access's arrival to the value of a register.
        access: Duration = "20 ns", range "0 ns" ..= "10 us", source "assumption: as a register of a device on the bus";
    }
}

chasqui_config::parameters! {
    /// Time sharing, where a node has processes of several jobs. Each node goes by its own clock: there is no gang
    /// scheduling.
    pub struct SchedulerUnit {
        /// Turn of a process on the hart while others wait for theirs.
        quantum: Duration = "10 ms", range "20 us" ..= "10 s", source "assumption: a tick of 4.4BSD's and AIX's clock, 100 Hz";
        /// The quanta of each node begin so much of one later than those of the node before it. 0: all begin at once.
        skew: Ratio = 0.382, range 0 ..= 1, source "assumption: nodes' clocks are not in step; by the golden section no two nodes come near each other";
        /// Switching to another process: interrupt, choice, saving and restoring registers. What it does to caches
        /// and TLBs, which forget all translations, comes on top, from execution.
        switch: Cycles = 1500, range 0 ..= 10000000, source "assumption: five small system calls";
    }
}

chasqui_config::parameters! {
    /// How the simulator looks at the machine; none of these changes a figure.
    pub struct Checks {
        /// Report accesses that would go wrong without the functional memory's help: device reads of
        /// lines that are dirty in caches, hits on lines that a device has overwritten, device stores
        /// that pass older stores.
        coherence: Flag = false, source "costs host time; on in tests";
        /// Skip over the repetitions of polling loops, exactly.
        spin_skip: Flag = true, source "identical results, less host time";
        /// What executes instructions.
        executor: Executor = "translated", source "identical results; by reference some twenty times the host time";
        /// A block of instructions is translated when so many blocks have been executed in chains, of 128 at most, that began
        /// with it.
        translate_after: Count = 60000, range 1 ..= 1000000000, source "identical results; measured: to translate the 16 entries that so many blocks pay for takes one to three times as long as these";
        /// How far nodes run past the first of all before they meet, where they could go so far.
        window: Duration = "100 us", range "1 ns" ..= "100 us", source "identical results; a shorter one takes more host time";
    }
}

impl Checks {
    /// How harts execute instructions.
    pub fn execution(&self) -> Execution {
        Execution { executor: self.executor, translate_after: self.translate_after, ..Execution::DEFAULT }
    }
}

/// Declares the groups of a node's parameters: the structure that holds them, what a machine's schema has of them, and how
/// they are read.
macro_rules! configuration {
    ($( $name:literal $field:ident: $group:ty, )+) => {
        /// A node's parameters, in the groups of the machine file.
        #[derive(Clone, Debug)]
        pub struct NodeConfiguration {
            $( #[doc = concat!("`", $name, "`")] pub $field: $group, )+
        }

        /// The parameters of every node, for a machine's schema.
        pub fn schema() -> Schema {
            Schema::new() $( .with::<$group>($name) )+
        }

        impl NodeConfiguration {
            /// Reads the groups of [`schema`].
            pub fn read(r: &Resolved) -> NodeConfiguration {
                NodeConfiguration { $( $field: r.read($name), )+ }
            }
        }
    };
}

configuration! {
    "node" node: NodeUnit,
    "node.core" core: CoreParameters,
    "node.l1i" l1i: CacheParameters,
    "node.l1d" l1d: CacheParameters,
    "node.l2" l2: L2Parameters,
    "node.network_cache" network_cache: NetworkCacheParameters,
    "node.itlb" itlb: TlbParameters,
    "node.dtlb" dtlb: TlbParameters,
    "node.write_buffer" write_buffer: WriteBufferParameters,
    "node.order" order: OrderParameters,
    "node.bus" bus: BusParameters,
    "node.dram" dram: DramParameters,
    "node.software" software: SoftwareUnit,
    "node.interrupts" interrupts: InterruptsUnit,
    "node.scheduler" scheduler: SchedulerUnit,
    "check" checks: Checks,
}

impl NodeConfiguration {
    /// What does not fit together, each as a sentence that names its parameters.
    pub fn mistakes(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (name, cache) in [("node.l1i", &self.l1i), ("node.l1d", &self.l1d)] {
            found.extend(cache.check().err().map(|e| format!("{name}.size, {name}.ways, {name}.line: {e}")));
        }
        if let Some(l2) = self.l2.cache() {
            found.extend(l2.check().err().map(|e| format!("node.l2.size, node.l2.ways, node.l2.line: {e}")));
            for (name, cache) in [("node.l1i", &self.l1i), ("node.l1d", &self.l1d)] {
                if l2.line < cache.line {
                    found.push(format!("node.l2.line is shorter than {name}.line"));
                }
            }
        }
        found.extend(self.core.predictor.mistake());
        found.extend(self.network_cache.mistakes());
        for (name, tlb) in [("node.itlb", &self.itlb), ("node.dtlb", &self.dtlb)] {
            found.extend(tlb.mistake().map(|mistake| format!("{name}.entries, {name}.ways: {mistake}")));
        }
        if self.software.kernel {
            found.extend(self.kernel_mistakes());
        }
        found
    }

    fn kernel_mistakes(&self) -> Option<String> {
        let (bytes, dram) = (self.software.kernel_memory, self.dram.size);
        // The kernel's memory begins at a large page.
        let room = dram.bytes() / 2;
        (bytes.bytes() > room).then(|| {
            format!(
                "node.software.kernel_memory is {bytes}: at most half of node.dram.size, {dram}, is allowed"
            )
        })
    }

    /// The longest line of a data cache.
    pub fn longest_line(&self) -> Bytes {
        if self.l2.present { self.l1d.line.max(self.l2.line) } else { self.l1d.line }
    }

    /// Harts of the node.
    pub fn harts(&self) -> usize {
        self.node.harts as usize
    }

    /// The harts' clock.
    pub fn clock(&self) -> Clock {
        self.core.clock()
    }

    /// Costs of instructions.
    pub fn timing(&self) -> Timing {
        self.core.timing()
    }

    /// Sizes and costs of a hart's port of this kind.
    pub fn port(&self, kind: PortKind) -> PortParameters {
        let network_cache = &self.network_cache;
        PortParameters {
            kind,
            l1i: self.l1i.clone(),
            l1d: self.l1d.clone(),
            l2: self.l2.clone(),
            itlb: self.itlb.clone(),
            dtlb: self.dtlb.clone(),
            write_buffer: self.write_buffer.clone(),
            order: self.order.clone(),
            network_cache: network_cache
                .present
                .then(|| (network_cache.clone(), network_cache.costs(self.core.load))),
            check_coherence: self.checks.coherence,
        }
    }

    /// A bound on the length of a bus transaction of the hart that finds the bus idle, the time that a
    /// device of its own takes not included.
    pub fn transaction_max(&self) -> Time {
        let line = self.l1i.line.max(self.l1d.line).max(self.l2.line).bytes();
        let beats = line.max(u64::from(BURST_BYTES)).div_ceil(self.bus.width.bytes());
        let clocks = self.bus.address.cycles() + self.bus.intervention.cycles() + beats + 3;
        let dram = self.dram.first_chunk.ps() + self.dram.write.ps() + self.dram.next_chunk.ps() * beats;
        self.bus.clock().edge(clocks) + Time(dram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_make_a_node() {
        let schema = schema();
        assert_eq!(schema.mistakes(), Vec::<String>::new());
        let node = NodeConfiguration::read(&Resolved::defaults(&schema));
        assert_eq!(node.mistakes(), Vec::<String>::new());
        assert_eq!(node.timing().of_class(chasqui_hart::Class::FpFma), 3);
        assert_eq!(node.port(PortKind::Caches).l1d.size.bytes(), 32 << 10);
    }

    #[test]
    fn a_history_of_branches_is_a_power_of_two() {
        let mut node = NodeConfiguration::read(&Resolved::defaults(&schema()));
        node.core.predictor.history = 500;
        assert_eq!(node.mistakes(), Vec::<String>::new(), "static prediction has none");
        node.core.predictor.kind = chasqui_hart::predictor::PredictorKind::Counters;
        assert_eq!(node.mistakes(), ["node.core.predictor.history: 500 is not a power of two"]);
    }
}
