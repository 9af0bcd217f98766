//! What a controller, a memory and the mesh take.

use chasqui_config::{Bytes, Count, Cycles, Flag, Frequency, Resolved, Schema};

chasqui_config::parameters! {
    /// A node's directory controller, with its memory. Cycles are of its clock.
    pub struct ControllerUnit {
        /// Clock in which these count.
        clock: Frequency = "100 MHz", range "1 MHz" ..= "10 GHz", source "assumption: the processor's of the document";
        /// Into the controller, and out of it, from or to processor or network.
        queue: Cycles = 8, range 0 ..= 10000, source "assumption";
        /// To look the state of a line up: the controller is taken for so long.
        lookup: Cycles = 15, range 1 ..= 10000, source "assumption";
        /// To make a message that asks another node: the controller is taken for so long.
        construct: Cycles = 10, range 0 ..= 10000, source "assumption";
        /// The cache's answer to an intervention.
        cached: Cycles = 5, range 0 ..= 10000, source "assumption";
        /// From a refusal to the next request for the line.
        retry: Cycles = 8, range 0 ..= 10000, source "assumption";
        /// The memory's access to a line: it is taken for so long.
        memory: Cycles = 25, range 1 ..= 10000, source "assumption";
        /// The memory is read while the state is looked up.
        speculative: Flag = true, source "assumption";
        /// Messages of each virtual network that a controller has room for.
        buffer: Count = 16, range 1 ..= 1024, source "assumption";
    }
}

chasqui_config::parameters! {
    /// The mesh between the controllers.
    pub struct MeshUnit {
        /// Columns. 0: the rows are the greatest divisor of the nodes that is no greater than their root.
        columns: Count = 0, range 0 ..= 64, source "assumption";
        /// Between two routers that are next to each other; cycles of the controller.
        hop: Cycles = 5, range 0 ..= 100000, source "assumption";
        /// Clock of a link.
        clock: Frequency = "200 MHz", range "1 MHz" ..= "100 GHz", source "assumption";
        /// What a link carries in a clock, each way.
        width: Bytes = "2 B", range "1 B" ..= "256 B", source "assumption";
        /// Header of a message.
        header: Bytes = "32 B", range "1 B" ..= "256 B", source "assumption";
        /// Messages wait for each other where they leave a node, on its links, and where they come in. Else they take their time
        /// on the mesh as if each were alone.
        contention: Flag = false, source "assumption";
    }
}

chasqui_config::parameters! {
    /// Block transfers, in the controllers.
    pub struct TransferUnit {
        /// To prepare a transfer, at its source; cycles of the controller.
        startup: Cycles = 100, range 0 ..= 1000000, source "assumption";
        /// Packets, of a line each, that the source's controller has room for until they leave.
        lines: Count = 16, range 1 ..= 1024, source "assumption";
        /// Lines that a third node has are asked for by the directory protocol. Else such a transfer is a fault of the process.
        coherent: Flag = false, source "assumption";
    }
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub struct DirectoryParameters {
    /// `controller`
    pub controller: ControllerUnit,
    /// `mesh`
    pub mesh: MeshUnit,
    /// `transfer`
    pub transfer: TransferUnit,
}

/// The parameters below `prefix`, for a machine's schema.
pub fn schema(prefix: &str) -> Schema {
    Schema::new()
        .with::<ControllerUnit>(&format!("{prefix}.controller"))
        .with::<MeshUnit>(&format!("{prefix}.mesh"))
        .with::<TransferUnit>(&format!("{prefix}.transfer"))
}

impl DirectoryParameters {
    /// Reads the groups of [`schema`].
    pub fn read(resolved: &Resolved, prefix: &str) -> DirectoryParameters {
        DirectoryParameters {
            controller: resolved.read(&format!("{prefix}.controller")),
            mesh: resolved.read(&format!("{prefix}.mesh")),
            transfer: resolved.read(&format!("{prefix}.transfer")),
        }
    }

    /// What does not fit `nodes` nodes, each as a sentence; the parameters are below `prefix`.
    pub fn mistakes(&self, prefix: &str, nodes: u64) -> Vec<String> {
        let columns = self.mesh.columns;
        if columns == 0 || nodes.is_multiple_of(columns) {
            return vec![];
        }
        let allowed: Vec<_> =
            (1..=nodes).filter(|c| nodes.is_multiple_of(*c)).map(|c| c.to_string()).collect();
        vec![format!(
            "{prefix}.mesh.columns: {columns} columns make no mesh of {nodes} nodes; 0 or a divisor is allowed ({})",
            allowed.join(", ")
        )]
    }
}
