//! The machine's parameters.

use chasqui_abi::Envelope;
use chasqui_config::{Bytes, Count, Cycles, Duration, Flag};

use crate::{registers, service_registers};

chasqui_config::choice! {
    /// How cached message data are kept coherent with the NES's SRAM.
    pub enum Coherence {
        /// Software flushes the lines that it wrote or read.
        Flush = "flush",
        /// The NES takes the lines from the cache when the pointer moves, and drops old receive lines.
        Reclaim = "reclaim",
    }
}

chasqui_config::choice! {
    /// To whom queues belong, where several jobs share the nodes.
    pub enum Sharing {
        /// Each process has its own; one that is not running receives.
        Own = "own",
        /// One set, which the running process has; before another job's turn the network is drained, and all
        /// nodes turn to it together.
        Drained = "drained",
    }
}

chasqui_config::parameters! {
    /// The Network Endpoint Subsystem: control, SRAM, I-bus. Cycles are bus clocks.
    pub struct Nes {
        /// Sites.
        sites: Count = 4096, range 1 ..= 8192, source "ours: fat trees of any size; as many as an Express message has source ids";
        /// From the bus to the NES, one way: a link that every access, answer, and transaction of the NES's own crosses.
        attach: Duration = "0 ns", range "0 ns" ..= "10 us", source "StarT-Voyager, section 3: on the memory bus";
        /// Uncached access to a pointer: from the end of the address tenure to the data.
        pointer_access: Cycles = 2, range 0 ..= 1000, source "assumption: NESCtrl register behind the bus interface";
        /// Access of the processor to SRAM: from the end of the address tenure to the first beat.
        sram_access: Cycles = 2, range 0 ..= 1000, source "assumption: dual-ported SRAM at the bus clock";
        /// Control of a message on its way out: pointers, destination table, TxU.
        transmit: Cycles = 5, range 0 ..= 1000, source "assumption";
        /// Control of a message on its way in: RxU, queue look-up, pointers.
        receive: Cycles = 5, range 0 ..= 1000, source "assumption";
        /// Width of the I-bus.
        ibus_width: Bytes = "8 B", range "1 B" ..= "64 B", source "StarT-Voyager, section 3";
        /// Packets of each priority that the TxU holds.
        txu_packets: Count = 2, range 1 ..= 64, source "assumption: one going out, one coming in";
        /// Bytes of a packet beside its data: header with route, destination queue, source and length; CRC.
        packet_overhead: Bytes = "12 B", range "4 B" ..= "64 B", source "assumption: 8 bytes of header, 4 of CRC";
    }
}

chasqui_config::parameters! {
    /// Basic queues.
    pub struct Basic {
        /// How cached message data are kept coherent.
        coherence: Coherence = "flush", source "ours: the simpler variant is the default";
        /// Slots of a ring, a power of two.
        slots: Count = 32, range 2 ..= 4096, source "assumption: 16 pairs of rings in 96 KB of SRAM";
    }
}

chasqui_config::parameters! {
    /// Express and Tag-On queues.
    pub struct Express {
        /// Messages that a queue holds.
        slots: Count = 32, range 2 ..= 4096, source "assumption: as many as a Basic ring";
        /// Places for data to be tagged on, and slots of each Express queue for those that came, a power of two.
        tags: Count = 16, range 2 ..= 128, source "assumption";
    }
}

chasqui_config::parameters! {
    /// DMA. Cycles are bus clocks.
    pub struct Dma {
        /// Requests that the ring holds, a power of two.
        requests: Count = 8, range 2 ..= 4096, source "assumption";
        /// Control of a request.
        setup: Cycles = 10, range 0 ..= 10000, source "assumption";
        /// Data of a packet.
        packet_data: Bytes = "64 B", range "8 B" ..= "4 KiB", source "assumption: two lines, and the address, in an Arctic packet";
        /// What a process's turn reads of a block at most, if another process has requests.
        turn: Bytes = "4 KiB", range "8 B" ..= "1 GiB", source "assumption: a page; the memo serves requests one after the other";
        /// On nodes with several jobs, each with queues of its own: lines of a block that are read at a time, so that others'
        /// harts wait behind fewer; twice as many are written.
        lines: Count = 1, range 1 ..= 512, source "ours: the memo has no rule";
        /// With several jobs, each with queues of its own, and a service processor: sites of a job that send blocks to one at a time, if
        /// more do.
        sites: Count = 1, range 1 ..= 1024, source "ours: the memo has no rule; one fills the link";
        /// What such a site sends before the turn is another's, with what is under way besides.
        site_turn: Bytes = "64 KiB", range "8 B" ..= "1 GiB", source "ours: the memo has no rule; long beside the time until a site has heard";
        /// Room at a node for pieces of a job's blocks that wait for their pages, and for what comes behind them of these; a first one finds it
        /// always.
        aside: Bytes = "4 KiB", range "0 B" ..= "1 GiB", source "ours: the memo has no rule; some 50 packets, what is under way until a site has heard";
        /// A page that the operating system must bring in first.
        page_in: Cycles = 500, range 0 ..= 1000000, source "assumption: an interrupt and a page fault of the application processor";
    }
}

chasqui_config::choice! {
    /// By what the MPI device sends messages that are not long.
    pub enum Mechanism {
        /// By size: Express alone, Tag-On (by default none), Basic.
        Auto = "auto",
        /// Basic alone.
        Basic = "basic",
        /// Express alone where a message fits, else Tag-On up to 40 bytes, longer ones by DMA.
        Express = "express",
        /// Tag-On alone up to 40 bytes, longer ones by DMA.
        TagOn = "tag-on",
    }
}

chasqui_config::parameters! {
    /// Queues. The first ones are resident at the start, as long as there are slots.
    pub struct Queues {
        /// Basic queue pairs of a process, beside two of Express.
        basic: Count = 1, range 1 ..= 510, source "ours: what the MPI device uses; with Express 512 a site at most (StarT-Voyager, section 4.2)";
        /// To whom queues belong, where several jobs share the nodes.
        sharing: Sharing = "own", source "StarT-Voyager, section 4.1";
        /// Express queue pairs that the hardware has room for.
        resident_express: Count = 8, range 0 ..= 8, source "StarT-Voyager, section 4.2";
        /// Basic queue pairs that the hardware has room for. More than 8 is other hardware, with accesses as fast.
        resident_basic: Count = 8, range 0 ..= 62, source "StarT-Voyager, section 4.2";
        /// Express queues of a process, the last ones, whose messages travel with high priority.
        high_express: Count = 0, range 0 ..= 2, source "ours: StarT-Voyager, section 3, has two logical networks and does not say who uses which";
        /// Basic queues of a process, the last ones, whose messages travel with high priority.
        high_basic: Count = 0, range 0 ..= 510, source "ours: as high_express";
    }
}

chasqui_config::parameters! {
    /// The service processor (sP). It is of the node's kind, without a second-level cache, on a bus of its own.
    /// Cycles are bus clocks.
    pub struct Service {
        /// It is there and runs its firmware. Without it all queues must be resident, and a full receive queue
        /// holds up the network.
        present: Flag = true, source "StarT-Voyager, section 3";
        /// Its memory.
        dram: Bytes = "16 MiB", range "1 MiB" ..= "1 GiB", source "assumption: room for some 100,000 messages";
        /// Packets of each priority that the miss queue holds, times the jobs; any may take the places.
        miss_slots: Count = 1024, range 1 ..= 4096, source "assumption: 96 KiB a priority and job, with room for what 32 sites have under way";
        /// With several jobs: when one has so many packets in the miss queue, but at most `miss_slots` and at least two, the firmware stops its sending
        /// at the sites that they come from, until they, or 256 packets, have been taken; then these go on, a few sites at a time. 0: never.
        hold: Count = 4, range 0 ..= 1024, source "assumption: what comes until the source has heard of it finds room";
        /// Accesses of application processors that the NES keeps for it, of each job: so many that are messages, and as many others.
        /// With several jobs there is room for as many messages as their Express queues take, if that is more.
        access_slots: Count = 8, range 1 ..= 1024, source "assumption";
        /// An application processor whose access the sP has not answered tries again after so many clocks.
        retry: Cycles = 4, range 1 ..= 1000, source "assumption: a 60X master that is retried arbitrates anew";
        /// Control of a command of its to the NES, beside the I-bus.
        command: Cycles = 2, range 0 ..= 1000, source "assumption: as an access to a register";
        /// Processes may map the registers of system software, which on the real machine only the operating
        /// system may: for programs that stand in for it.
        system: Flag = false, source "ours: no kernel image runs yet";
    }
}

chasqui_config::parameters! {
    /// Choices of the MPI device.
    pub struct Mpi {
        /// By what messages go up to `eager`; longer ones go by rendezvous and DMA.
        mechanism: Mechanism = "auto", source "ours";
        /// auto, express: longest message by Express alone, at most two Express messages. Its context must be
        /// below 4096 and its tag below 2^20; others go by Tag-On or Basic.
        express: Bytes = "8 B", range "0 B" ..= "8 B", source "ours: what two Express messages carry";
        /// auto: longest message by a 64-byte store, of those that Express leaves, if it fits behind its envelope;
        /// 0: none.
        store_64: Bytes = "0 B", range "0 B" ..= "40 B", source "the PowerPC 604 has no such store";
        /// auto: longest message by Tag-On; 0: none goes by Tag-On.
        tag_on: Bytes = "0 B", range "0 B" ..= "64 B", source "ours, measured: Basic is sooner at every length";
        /// auto, basic: longest message by Basic.
        eager: Bytes = "1 KiB", range "48 B" ..= "2 KiB", source "assumption, measured: end to end Basic is the sooner up to some 1.3 KiB (docs/voyager.md), but DMA has the shorter gap from 256 bytes on";
    }
}

/// As many Basic slots as the firmware's registers may have.
pub(crate) const RESIDENT_BASIC_MAX: u64 = 62;

/// Bytes of any MPI message, with a whole envelope, that a Tag-On message holds.
const TAG_ON_ALWAYS: u64 = registers::TAG_LONG_BYTES - size_of::<Envelope>() as u64;

/// Up to which length, exclusive [bytes], an MPI message goes by a mechanism that the ones before don't take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub express_end: u64,
    pub store_64_end: u64,
    pub tag_on_end: u64,
    pub basic_end: u64,
}

impl Mpi {
    pub(crate) fn limits(&self) -> Limits {
        let end = |longest: Bytes| longest.bytes() + 1;
        let end_if_any = |longest: Bytes| if longest.bytes() == 0 { 0 } else { end(longest) };
        let tag_on_only = TAG_ON_ALWAYS + 1;
        let none = Limits { express_end: 0, store_64_end: 0, tag_on_end: 0, basic_end: 0 };
        match self.mechanism {
            Mechanism::Auto => Limits {
                express_end: end(self.express),
                store_64_end: end_if_any(self.store_64),
                tag_on_end: end_if_any(self.tag_on),
                basic_end: end(self.eager),
            },
            Mechanism::Basic => Limits { basic_end: end(self.eager), ..none },
            Mechanism::Express => Limits { express_end: end(self.express), tag_on_end: tag_on_only, ..none },
            Mechanism::TagOn => Limits { tag_on_end: tag_on_only, ..none },
        }
    }
}

impl Express {
    /// What does not fit, in words.
    pub fn mistakes(&self, mpi: &Mpi) -> Vec<String> {
        let (tags, slots) = (self.tags, self.slots);
        let mut found = Vec::new();
        if !tags.is_power_of_two() {
            found.push(format!("voyager.express.tags: {tags} is not a power of two"));
        }
        let needed = registers::MPI_EXPRESS_MAX;
        if slots < needed && mpi.limits().express_end > 0 {
            found.push(format!(
                "voyager.express.slots: a queue of {slots} can't hold the {needed} Express messages that \
                 an MPI message may take; voyager.mpi.mechanism = basic or tag-on needs no room for them"
            ));
        }
        found
    }
}

/// Jobs that a mark can tell of: a bit each of an Express message.
const LIVE_MAX: u64 = 32;

impl Queues {
    /// The hardware as it is used where processes share one set of queues: it has room for no other.
    pub(crate) fn one_set(&self) -> Queues {
        Queues { resident_express: registers::EXPRESS_QUEUES, resident_basic: self.basic, ..self.clone() }
    }

    /// What does not fit for so many jobs, in words.
    pub fn mistakes(&self, service: &Service, jobs: u64) -> Option<String> {
        let (express, basic) = (jobs * registers::EXPRESS_QUEUES, jobs * self.basic);
        let all = registers::QUEUES;
        if express + basic > all {
            return Some(format!(
                "voyager.queues.basic: {jobs} jobs with {} Basic queues and {} of Express each need {} queues: {all} \
                 a site are allowed",
                self.basic,
                registers::EXPRESS_QUEUES,
                express + basic
            ));
        }
        if self.high_basic > self.basic {
            return Some(format!(
                "voyager.queues.high_basic: {} of voyager.queues.basic = {} can't be of high priority",
                self.high_basic, self.basic
            ));
        }
        // Marks push everything before them, of their own priority.
        if self.sharing == Sharing::Drained && jobs > 1 && self.high_express + self.high_basic > 0 {
            return Some(
                "voyager.queues.sharing = drained: voyager.queues.high_express and high_basic must be 0"
                    .into(),
            );
        }
        let resident = self.resident_express >= express && self.resident_basic >= basic;
        if self.sharing == Sharing::Drained && jobs > 1 {
            return self.mistakes_of_one_set(service, jobs);
        }
        (!service.present && !resident).then(|| {
            format!(
                "voyager.sp.present: without a service processor all queues must be resident: {express} of Express \
                 and {basic} of Basic"
            )
        })
    }
}

impl Queues {
    /// What does not fit where so many jobs share one set of queues, in words.
    fn mistakes_of_one_set(&self, service: &Service, jobs: u64) -> Option<String> {
        let (express, basic) = (registers::EXPRESS_QUEUES, self.basic);
        let resident = self.resident_express >= express && self.resident_basic >= basic;
        if !resident || jobs > LIVE_MAX {
            return Some(format!(
                "voyager.queues.sharing = drained: the queues of a job must be resident, {express} of Express and {basic} \
                 of Basic; there are {jobs} jobs, and {LIVE_MAX} are allowed"
            ));
        }
        if service.system {
            return Some(
                "voyager.queues.sharing = drained: voyager.sp.system must be false: the firmware moves all queues at once".into(),
            );
        }
        (!service.present).then(|| {
            "voyager.queues.sharing = drained: voyager.sp.present must be true: the service processor drains".into()
        })
    }
}

impl Service {
    /// What does not fit where each of so many processes has a share of the memory, in words.
    pub fn mistakes_of_shares(&self, express: &Express, processes: u64) -> Option<String> {
        // What the hardware's Express queues hold may come to it, and one more. Image and stack leave half of it at least.
        let messages = processes * (registers::EXPRESS_QUEUES * express.slots + 1);
        let needed = Bytes::from_bytes(2 * messages * service_registers::MESSAGE_BYTES);
        (self.present && self.dram < needed).then(|| {
            format!(
                "voyager.sp.dram = {}: {processes} processes of several jobs have a share each, and need {needed} at least",
                self.dram
            )
        })
    }
}

impl Basic {
    /// What does not fit, in words.
    pub fn mistakes(&self, mpi: &Mpi) -> Vec<String> {
        let power = |name: &str, value: u64| {
            (!value.is_power_of_two()).then(|| format!("{name}: {value} is not a power of two"))
        };
        let mut found: Vec<String> = power("voyager.basic.slots", self.slots).into_iter().collect();
        // A whole envelope and the longest eager message must fit into an empty ring.
        let needed = (mpi.eager.bytes() + size_of::<Envelope>() as u64).div_ceil(registers::SLOT_DATA_BYTES);
        if self.slots < needed {
            found.push(format!(
                "voyager.basic.slots: {} slots can't hold a message of voyager.mpi.eager = {}, which takes {needed}",
                self.slots, mpi.eager
            ));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use chasqui_config::{Parameters, Scalar};

    use super::*;

    /// The greatest value of parameter `name`.
    fn most<P: Parameters>(name: &str) -> Scalar {
        let declarations = P::declarations();
        let declaration = declarations.iter().find(|d| d.name == name).expect("it is declared");
        declaration.range.as_ref().expect("a range").1.clone()
    }

    #[test]
    fn there_is_room_for_all_places_and_slots() {
        assert_eq!(most::<Express>("tags"), Scalar::Integer(registers::TAGS_MAX as i64));
        assert_eq!(most::<Queues>("resident_basic"), Scalar::Integer(RESIDENT_BASIC_MAX as i64));
    }
}
