//! Which program controls the card (MPI-NP: the MCP), what it needs, and what it is told.

use chasqui_abi::NiIdentification;
use chasqui_config::{Bytes, Count, Flag};
use chasqui_memory::PAGE_BYTES;
use chasqui_placement::{MapBy, Placement};
use chasqui_record::Keep;

use crate::layout::{Layout, Line};
use crate::parameters::Shared;
use crate::registers::SLOT_BYTES;
use crate::{np_registers as np, registers, requests};

/// Channels that the firmware that matches has with a cache of them: `PROTOCOL_CHANNELS` of `protocol/protocol.h`.
const RECORDS: u32 = 1024;
/// Ranks of which it has events at a process at a time, then: three of each (`mcp/host.h`: a note, an answer to one, CROWDED), two
/// of each of the process's names, and four others, must find room in its ring.
const RANKS_OF_EVENTS: u32 = ((requests::EVENTS - 2 * requests::NAMES - 4) / 3) as u32;
/// Channels of a card, at most: `PROTOCOL_PLACES`.
const CHANNELS_MAX: u64 = 64;
/// Processes of a node: `PROTOCOL_PROCESSES`.
const PROCESSES: u32 = 8;

chasqui_config::choice! {
    /// The firmware.
    pub enum Image {
        /// It matches messages, with credit and rendezvous.
        Mcp = "mcp",
        /// The same, and there may be more channels than the card has room for.
        Channels = "channels",
        /// It moves messages; the host matches.
        Bip = "bip",
        /// It moves messages; a list of tags on the card matches some, the host the others.
        Tags = "tags",
        /// It measures how engines slow it, for `mpinp/np-slowdown`. It has no messages, and no program with MPI runs with it.
        Slowdown = "slowdown",
    }
}

impl Image {
    /// It matches messages.
    pub fn matches(self) -> bool {
        matches!(self, Image::Mcp | Image::Channels)
    }

    /// It only moves them.
    pub fn is_thin(self) -> bool {
        matches!(self, Image::Bip | Image::Tags)
    }
}

chasqui_config::parameters! {
    /// The network processor's program.
    pub struct Control {
        /// Which it is.
        image: Image = "mcp", source "MPI-NP, chapter 3";
        /// Longest message whose data the host stores to the card; longer ones are fetched (`mcp`).
        pio: Bytes = "128 B", range "8 B" ..= "4 KiB", source "assumption";
        /// Long messages are fetched from pinned pages, and delivered there, where there is a kernel; else the host stores and
        /// copies all of them (`bip`, `tags`).
        dma: Flag = true, source "MPI-NP, section 3.5: BIP stores short messages and fetches long ones";
        /// Longest fragment of such a message; those of shorter ones are shorter. Powers of two (`bip`, `tags`).
        fragment: Bytes = "4 KiB", range "512 B" ..= "4 KiB", source "assumption: a page";
        /// What the card could move in the time that its processor takes for a fragment: by it those of shorter messages are shorter
        /// (`bip`, `tags`).
        overhead: Bytes = "512 B", range "0 B" ..= "1 MiB", source "assumption: some 5 us, at 100 MB/s";
        /// Longest message that goes without credit when there is none (`mcp`).
        eager: Bytes = "64 B", range "0 B" ..= "4 KiB", source "assumption";
        /// Channels of the card. Of `channels`, which has a record of each that there is: send rings, and message tables with their
        /// receive buffers (`mcp`, `channels`).
        channels: Count = 64, range 1 ..= 64, source "MPI-NP, section 3.1";
        /// Slots of a channel's message table: of messages that have met no receive, or are on their way (`mcp`).
        slots: Count = 32, range 1 ..= 32, source "MPI-NP, section 3.1";
        /// Longest receive buffer of a channel; with many channels there is less (`mcp`).
        buffer: Bytes = "8 KiB", range "128 B" ..= "8 KiB", source "ours: what an entry of a page table is for";
        /// Headers that wait for the wire, at most; while half of them do no request is taken (`mcp`).
        queue: Count = 128, range 16 ..= 128, source "assumption: 7 KiB";
        /// Slots of a TLB in the card's memory, of entries of the page table whose pages stay pinned; powers of two, 0: none (`mcp`).
        tlb: Count = 0, range 0 ..= 4096, source "MPI-NP, section 3.5: entries are fetched";
        /// Barriers, broadcasts, reductions, gathers and scatters of short data run between the cards, where each process has one
        /// hart (`mcp`).
        collectives: Flag = true, source "specs/mpinp.md; how they do, is ours";
    }
}

/// Number of a device that `MPI_Init` does not have.
const NO_DEVICE: u64 = 0;
/// Memory on the host that each process of the firmware that matches needs: events.
const HOST_MIN: Bytes = Bytes::from_bytes(requests::HOST_BYTES);
/// Entries of the page table that each process needs: a few for each use that `mcp/host.h` keeps some for.
const ENTRIES_MIN: u64 = 32;
/// ... and has, at most: 16 bits of a request.
const ENTRIES_MAX: u64 = 0xffff;

/// Of a process's ring on the host, slots that are kept for each other one's credit alone: as many of its messages as are under
/// way are two times half of the credit.
const FOR_CREDIT: u64 = 2;

/// ... and for the answer of the list of tags to its removal of an entry.
const FOR_ANSWER: u64 = 1;

/// Messages that each of `ranks` processes may have under way to each other one, whose ring on the host lies in `host`, and has
/// `kept` slots for something else.
///
/// # Errors
/// There are none: in words.
fn credit(host: Bytes, kept: u64, ranks: u32) -> Result<u64, String> {
    let slots = (host.bytes() - PAGE_BYTES) / SLOT_BYTES;
    let each = slots.saturating_sub(kept) / u64::from(ranks);
    if each > FOR_CREDIT {
        return Ok(each - FOR_CREDIT);
    }
    let least = u64::from(ranks) * (FOR_CREDIT + 1) + kept;
    let least = (least * SLOT_BYTES + PAGE_BYTES).next_multiple_of(PAGE_BYTES);
    Err(format!(
        "mpinp.shared.host = {host}: a ring of {slots} slots is too short for {ranks} ranks; at least {} are needed",
        Bytes::from_bytes(least)
    ))
}

/// The firmware, and what it and its host's side are told.
pub(crate) struct Program {
    control: Control,
    entry_pages: u64,
    /// Entries of each process that stay pinned.
    kept: u64,
    /// Messages that a process may have under way to another.
    credit: u64,
    /// Collectives run between the cards.
    collectives: bool,
    /// The host's processes wait by interrupt, when they have polled so many times.
    polls: Option<u64>,
    /// What the firmware loads: addresses and values. The card adds what is its own.
    pub settings: Vec<(u64, u64)>,
}

impl Program {
    /// That of processes so placed, with such memory each. Where one has `several_harts` its threads may be in several collectives
    /// at a time, which the card does not do.
    ///
    /// # Errors
    /// A process's ring on the host is too short: in words.
    pub fn new(
        control: Control,
        shared: &Shared,
        placement: &Placement,
        several_harts: bool,
    ) -> Result<Program, String> {
        let credit = match control.image {
            Image::Bip => credit(shared.host, 0, placement.ranks_max())?,
            Image::Tags => credit(shared.host, FOR_ANSWER, placement.ranks_max())?,
            Image::Mcp | Image::Channels | Image::Slowdown => 0,
        };
        let settings = vec![
            (np::SETTING_CREDIT, credit),
            (np::SETTING_RANKS, placement.ranks_max().into()),
            (np::SETTING_BY_NODE, u64::from(placement.map_by() == MapBy::Node)),
            (np::SETTING_EAGER, control.eager.bytes()),
            (np::SETTING_SLOTS, control.slots),
            (np::SETTING_BUFFER, control.buffer.bytes()),
            (np::SETTING_QUEUE, control.queue),
            (np::SETTING_ENTRY_PAGES, shared.entry_pages),
            (np::SETTING_TLB, control.tlb),
            (np::SETTING_CHANNELS, control.channels),
            (np::SETTING_PER_JOB, placement.per_node().into()),
        ];
        let ranks = placement
            .jobs()
            .map(|job| (np::SETTING_JOB_RANKS + 8 * u64::from(job.0), placement.ranks(job).into()));
        let settings = settings.into_iter().chain(ranks).collect();
        let collectives = control.collectives && !several_harts;
        let kept = if control.image.matches() { shared.kept_each(placement.processes()) } else { 0 };
        let polls = shared.interrupts().then_some(shared.polls);
        Ok(Program { control, entry_pages: shared.entry_pages, kept, credit, collectives, polls, settings })
    }

    /// The card has a list of tags.
    pub fn has_tags(&self) -> bool {
        self.control.image == Image::Tags
    }

    /// Names the host's side, and tells it.
    pub fn identify(&self, page: &mut NiIdentification) {
        page.device = match self.control.image {
            Image::Mcp if self.polls.is_some() => requests::WAKE_DEVICE,
            Image::Mcp | Image::Channels => requests::MCP_DEVICE,
            Image::Bip => registers::DEVICE,
            Image::Tags => registers::TAGS_DEVICE,
            Image::Slowdown => NO_DEVICE,
        } as u32;
        if self.control.image.is_thin() {
            page.settings[registers::SETTING_FRAGMENT as usize] = self.control.fragment.bytes();
            page.settings[registers::SETTING_OVERHEAD as usize] = self.control.overhead.bytes();
        } else {
            page.settings[requests::SETTING_PIO_BYTES as usize] = self.control.pio.bytes();
            page.settings[requests::SETTING_COLLECTIVES as usize] = self.collectives.into();
        }
        page.settings[requests::SETTING_ENTRY_PAGES as usize] = self.entry_pages;
        page.settings[requests::SETTING_KEPT as usize] = self.kept;
        page.settings[requests::SETTING_TLB as usize] = self.control.tlb;
        page.settings[registers::SETTING_CREDIT as usize] = self.credit;
        page.settings[requests::SETTING_POLLS as usize] = self.polls.unwrap_or(0);
    }
}

/// Memory of the card for the firmware's image, and for tables behind it.
pub(crate) struct Room {
    /// All of it, what it is called, and the tables [bytes].
    bytes: u64,
    name: String,
    tables: u64,
    /// Ranks, if fewer need less, and what each needs [bytes].
    ranks: Option<(u32, u64)>,
}

impl Room {
    /// Whether firmware `name` with an image of so many bytes finds room.
    ///
    /// # Errors
    /// It does not: in words.
    pub fn check(&self, name: &str, image: u64) -> Result<(), String> {
        let needed = image.next_multiple_of(PAGE_BYTES) + self.tables;
        if self.bytes < needed {
            let fewer = self
                .ranks
                .and_then(|(ranks, each)| u64::from(ranks).checked_sub((needed - self.bytes).div_ceil(each)));
            return Err(format!(
                "{}: the firmware {name:?} and its tables for so many ranks need {needed} B{}",
                self.name,
                fewer.map_or(String::new(), |ranks| format!("; up to {ranks} ranks can run"))
            ));
        }
        Ok(())
    }
}

impl Control {
    /// Whether the card moves data of pages that a `kernel` pins, if there is one.
    pub fn has_pages(&self, kernel: bool) -> bool {
        self.image.matches() || self.image.is_thin() && self.dma && kernel
    }

    /// Whether it can serve such a placement.
    ///
    /// # Errors
    /// There are too few channels, or there is too little memory on the host for each process: in words, with what there may
    /// be.
    pub fn check(&self, placement: &Placement, shared: &Shared, kernel: bool) -> Result<(), String> {
        let (ranks, per_node) = (placement.ranks_max(), placement.processes());
        self.check_jobs(placement.jobs().count(), shared)?;
        let entries = shared.entries_each(per_node);
        if self.has_pages(kernel) && !(ENTRIES_MIN..=ENTRIES_MAX).contains(&entries) {
            return Err(format!(
                "mpinp.shared.pages = {}: of {per_node} processes of a node each has {entries} entries of the page table; from \
                 {ENTRIES_MIN} to {ENTRIES_MAX} are allowed",
                shared.pages
            ));
        }
        if !self.image.matches() {
            return Ok(());
        }
        if shared.host < HOST_MIN {
            return Err(format!(
                "mpinp.shared.host = {}: firmware \"mcp\" needs at least {HOST_MIN} for each process",
                shared.host
            ));
        }
        let others = entries - shared.kept_each(per_node);
        if others < ENTRIES_MIN {
            return Err(format!(
                "mpinp.shared.kept = {}: of its {entries} entries of the page table each process has {others} for transfers whose \
                 pages do not stay pinned; at least {ENTRIES_MIN} are needed",
                shared.kept
            ));
        }
        if per_node > PROCESSES {
            return Err(format!(
                "{per_node} ranks on a node: mpinp's firmware \"{}\" serves up to {PROCESSES} processes",
                self.image
            ));
        }
        let channels = if self.image == Image::Mcp { self.channels as u32 } else { RECORDS };
        let most = channels / per_node;
        if ranks > most {
            return Err(format!(
                "{ranks} ranks, {per_node} on a node: each process has a channel to each rank, and mpinp's card has {channels}; \
                 with {per_node} on a node, up to {most} ranks can run{}",
                if self.image == Image::Mcp { " (more on mpinp/channel-cache)" } else { "" }
            ));
        }
        if self.image == Image::Channels && ranks > RANKS_OF_EVENTS {
            return Err(format!(
                "{ranks} ranks: a process's ring has room for the events of {RANKS_OF_EVENTS}; up to {RANKS_OF_EVENTS} ranks can run"
            ));
        }
        Ok(())
    }

    /// Whether it serves so many jobs.
    ///
    /// # Errors
    /// It does not: in words.
    fn check_jobs(&self, jobs: usize, shared: &Shared) -> Result<(), String> {
        let several = match self.image {
            Image::Mcp => shared.line() == Line::None,
            Image::Bip => true,
            Image::Channels | Image::Tags | Image::Slowdown => false,
        };
        if jobs > 1 && !several {
            return Err(format!(
                "{jobs} jobs: mpinp's firmware \"{}\" serves one job; \"{}\" and \"{}\" serve several, where processes poll and \
                 progress is theirs (mpinp.shared.wait, mpinp.shared.progress)",
                self.firmware(shared, 1),
                Image::Mcp,
                Image::Bip
            ));
        }
        Ok(())
    }

    /// Name of the firmware's image for so many jobs.
    pub fn firmware(&self, shared: &Shared, jobs: usize) -> &'static str {
        match self.image {
            Image::Mcp if jobs > 1 => "mcp-jobs",
            Image::Bip if jobs > 1 => "bip-jobs",
            Image::Mcp if shared.interrupts() => "mcp-interrupt",
            Image::Mcp if shared.line() == Line::Pages => "mcp-thread",
            Image::Channels => "mcp-channels",
            other => other.word(),
        }
    }

    /// What does not fit, in words.
    pub fn mistakes(&self, shared: &Shared) -> Vec<String> {
        let odd = (self.tlb > 0 && !self.tlb.is_power_of_two())
            .then(|| format!("mpinp.control.tlb = {}: 0 and powers of two are allowed", self.tlb));
        let vain = (self.tlb > 0 && shared.kept == 0).then(|| {
            format!(
                "mpinp.control.tlb = {}: it has entries whose pages stay pinned; mpinp.shared.kept = 0 means that none do",
                self.tlb
            )
        });
        let silent = (shared.interrupts() && self.image != Image::Mcp).then(|| {
            format!(
                "mpinp.shared.wait = {}: the firmware {:?} interrupts nobody; mpinp.control.image = {} does",
                shared.wait,
                self.image.word(),
                Image::Mcp
            )
        });
        let thread = (shared.line() == Line::Pages && self.image != Image::Mcp).then(|| {
            format!(
                "mpinp.shared.progress = {}: the firmware {:?} asks no thread; mpinp.control.image = {} does",
                shared.progress,
                self.image.word(),
                Image::Mcp
            )
        });
        let fragment = (!self.fragment.bytes().is_power_of_two())
            .then(|| format!("mpinp.control.fragment = {}: powers of two are allowed", self.fragment));
        odd.into_iter().chain(vain).chain(silent).chain(thread).chain(fragment).collect()
    }

    /// Whether the messages of its processes can be recorded: collectives between the cards are none.
    ///
    /// # Errors
    /// They can't: in words.
    pub fn check_recording(&self, keep: Keep) -> Result<(), String> {
        if self.image.matches() && self.collectives && keep == Keep::Messages {
            return Err("a recording holds messages, and collectives between cards are none: \
                 --set mpinp.control.collectives=false"
                .into());
        }
        Ok(())
    }

    /// What is there for it on a card of a network of so many nodes: the thin firmware has its part of the memory, the other
    /// one all below the windows.
    pub fn room(&self, shared: &Shared, layout: &Layout, nodes: u32, ranks: u32) -> Room {
        let processes = u64::from(layout.processes);
        match self.image {
            Image::Bip | Image::Tags | Image::Slowdown => Room {
                bytes: shared.firmware.bytes(),
                name: format!("mpinp.shared.firmware = {}", shared.firmware),
                tables: processes * (processes * u64::from(nodes) * np::PEER_BYTES + np::LONG_BYTES),
                ranks: None,
            },
            Image::Mcp | Image::Channels => {
                let channels = processes * u64::from(ranks);
                let (places, off_places, record, off_record) = match self.image {
                    Image::Channels => {
                        (self.channels.min(channels), CHANNELS_MAX, np::RECORD_BYTES, np::OFF_RECORD)
                    }
                    _ => (channels, channels, 0, 0),
                };
                Room {
                    bytes: layout.windows,
                    name: format!("mpinp.card.sram: there are {} B below the windows", layout.windows),
                    tables: processes * np::PROCESS_BYTES
                        + places * np::CHANNEL_BYTES
                        + channels * record
                        + self.tlb * np::TLB_BYTES
                        + np::OFF_BYTES
                            * (processes * np::OFF_PROCESS
                                + off_places * np::OFF_CHANNEL
                                + channels * off_record
                                + u64::from(ranks) * np::OFF_RANK),
                    ranks: (self.image == Image::Channels).then(|| {
                        (
                            ranks,
                            processes * (record + np::OFF_BYTES * off_record) + np::OFF_BYTES * np::OFF_RANK,
                        )
                    }),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use chasqui_config::{Parameters, Quantity};

    use super::*;
    use crate::parameters::Wait;

    #[test]
    fn the_largest_number_of_ranks_is_named() {
        let control = |image| Control { image, ..Control::default() };
        let placement = |ranks, per_node| Placement::new(vec![ranks], per_node, MapBy::Slot);
        let shared = Shared::default();
        assert_eq!(control(Image::Mcp).check(&placement(32, 2), &shared, true), Ok(()));
        let text = control(Image::Mcp).check(&placement(33, 2), &shared, true).unwrap_err();
        assert!(
            text.ends_with("with 2 on a node, up to 32 ranks can run (more on mpinp/channel-cache)"),
            "{text}"
        );
        assert_eq!(control(Image::Channels).check(&placement(RANKS_OF_EVENTS, 1), &shared, true), Ok(()));
        let text =
            control(Image::Channels).check(&placement(RANKS_OF_EVENTS + 1, 1), &shared, true).unwrap_err();
        assert!(text.ends_with("up to 84 ranks can run"), "{text}");
        assert!(
            control(Image::Mcp)
                .check(&placement(9, 9), &shared, true)
                .unwrap_err()
                .contains("up to 8 processes")
        );
        assert_eq!(control(Image::Bip).check(&placement(200, 4), &shared, true), Ok(()));
        assert!(control(Image::Mcp).check_recording(Keep::Messages).is_err());
        assert_eq!(control(Image::Mcp).check_recording(Keep::Receives), Ok(()));
        assert_eq!(control(Image::Bip).check_recording(Keep::Messages), Ok(()));
        let few = Shared { pages: 255, ..shared };
        let text = control(Image::Mcp).check(&placement(2, 2), &few, true).unwrap_err();
        assert!(
            text.ends_with("each has 31 entries of the page table; from 32 to 65535 are allowed"),
            "{text}"
        );
        let kept = Shared { pages: 512, kept: 52, ..shared };
        let text = control(Image::Mcp).check(&placement(2, 2), &kept, true).unwrap_err();
        assert!(text.starts_with("mpinp.shared.kept = 52: of its 64 entries"), "{text}");
        assert!(text.contains("each process has 31 for"), "{text}");
        let kept = Shared { kept: 51, ..kept };
        assert_eq!(control(Image::Mcp).check(&placement(2, 2), &kept, true), Ok(()));
    }

    #[test]
    fn a_tlb_has_entries_that_stay_pinned() {
        let (plain, kept) = (Shared::default(), Shared { kept: 50, ..Shared::default() });
        let control = |tlb| Control { tlb, ..Control::default() };
        assert_eq!(control(0).mistakes(&plain), Vec::<String>::new());
        assert_eq!(control(64).mistakes(&kept), Vec::<String>::new());
        assert!(control(64).mistakes(&plain)[0].contains("mpinp.shared.kept = 0"));
        assert_eq!(control(48).mistakes(&kept), ["mpinp.control.tlb = 48: 0 and powers of two are allowed"]);
    }

    #[test]
    fn thin_firmware_has_pages_where_a_kernel_pins_them() {
        let control = |image, dma| Control { image, dma, ..Control::default() };
        for image in [Image::Bip, Image::Tags] {
            assert!(control(image, true).has_pages(true));
            assert!(!control(image, true).has_pages(false) && !control(image, false).has_pages(true));
        }
        assert!(control(Image::Mcp, false).has_pages(true));
        assert!(!control(Image::Slowdown, true).has_pages(true));
        let (few, two) =
            (Shared { pages: 255, ..Shared::default() }, Placement::new(vec![2], 2, MapBy::Slot));
        assert!(control(Image::Bip, true).check(&two, &few, true).unwrap_err().contains("31 entries"));
        assert_eq!(control(Image::Bip, true).check(&two, &few, false), Ok(()));
        let odd = Control { fragment: Bytes::from_bytes(1000), ..Control::default() };
        assert_eq!(
            odd.mistakes(&Shared::default()),
            ["mpinp.control.fragment = 1000 B: powers of two are allowed"]
        );
    }

    #[test]
    fn the_firmware_takes_the_fragments_that_may_be_set() {
        let declarations = Control::declarations();
        let fragment = declarations.iter().find(|each| each.name == "fragment").expect("it is declared");
        let (least, _) = fragment.range.as_ref().expect("it has a range");
        assert_eq!(Bytes::parse(least).map(Bytes::bytes), Ok(registers::FRAGMENT_MIN));
    }

    #[test]
    fn firmware_that_matches_interrupts() {
        let (polling, interrupt) = (Shared::default(), Shared { wait: Wait::Interrupt, ..Shared::default() });
        let control = |image| Control { image, ..Control::default() };
        let names = [Image::Mcp, Image::Channels, Image::Bip].map(|image| (image, &polling));
        let names = [names.as_slice(), &[(Image::Mcp, &interrupt)]].concat();
        assert_eq!(
            names.iter().map(|&(image, shared)| control(image).firmware(shared, 1)).collect::<Vec<_>>(),
            ["mcp", "mcp-channels", "bip", "mcp-interrupt"]
        );
        assert_eq!(control(Image::Mcp).mistakes(&interrupt), Vec::<String>::new());
        let text = &control(Image::Bip).mistakes(&interrupt)[0];
        assert!(text.starts_with("mpinp.shared.wait = interrupt: the firmware \"bip\""), "{text}");
    }

    #[test]
    fn a_ring_has_room_for_all_that_may_be_under_way() {
        let host = |kib: u64| Bytes::from_bytes(kib << 10);
        assert_eq!((credit(host(128), 0, 2), credit(host(128), 0, 41)), (Ok(60), Ok(1)));
        let text = credit(host(128), 0, 42).unwrap_err();
        assert!(text.ends_with("124 slots is too short for 42 ranks; at least 132 KiB are needed"), "{text}");
        assert_eq!(credit(host(132), 0, 42), Ok(1));
        assert!(credit(host(4), 0, 1).is_err());
    }
}
