//! Blocks that come (section 6): their pieces are written to memory, or wait aside for their pages ([`super::aside`]), and the
//! sites that send them take turns ([`super::senders`]).

use chasqui_engine::{Packet, Time};
use chasqui_ni::{BusOperation, Context, DmaWriter, MessageKey, Portions};
use chasqui_placement::{JobId, ProcessId};
use chasqui_record::Stage;

use super::aside::{Aside, Awaits};
use super::refusal::Refuser;
use super::senders::{BlockSenders, FromSender};
use super::transmit::HEADER;
use super::{NesEvent, NesPlan, Owner, Shared};
use crate::service_registers::{PACKET_DMA, PACKET_NOTICE};

/// Pieces of blocks that have crossed the I-bus and are being written: one while the next comes, so that the bus or the
/// link limits a block, and not the NES (section 6).
const WRITERS: usize = 2;

/// Part `number` of what writer `WRITER` writes.
fn part_tag<const WRITER: usize>(number: usize) -> u64 {
    Owner::DmaWrite.tag(number * WRITERS + WRITER)
}

/// Bytes of a piece's address, before its data.
pub(super) const PIECE_ADDRESS: u64 = 8;

/// A piece that is being written.
struct Written {
    /// The site that it comes from.
    source: u32,
    /// Whose memory it goes to.
    process: ProcessId,
    message: MessageKey,
}

/// Writes pieces of blocks, one at a time.
struct Writer {
    lines: DmaWriter,
    piece: Option<Written>,
}

/// The part of the receiving unit that has to do with blocks.
pub(super) struct BlockReceiver {
    writers: [Writer; WRITERS],
    /// What both writers ask the bus for, so that a block is written in its order.
    portions: Portions,
    page_in_cycles: u64,
    aside: Aside,
    refuser: Refuser,
    senders: BlockSenders,
}

impl BlockReceiver {
    /// Of blocks for so many `jobs`.
    pub fn new(jobs: usize, plan: &NesPlan) -> BlockReceiver {
        BlockReceiver {
            writers: [part_tag::<0>, part_tag::<1>]
                .map(|tag| Writer { lines: DmaWriter::new(tag, plan.line_bytes), piece: None }),
            portions: Portions::of(plan.dma_lines().saturating_mul(WRITERS)),
            page_in_cycles: plan.dma.page_in.cycles(),
            aside: Aside::new(jobs, plan.dma.aside.bytes()),
            refuser: Refuser::default(),
            senders: BlockSenders::new(jobs, plan),
        }
    }

    /// What of a block of `job` has come from site `source`.
    pub fn came(&mut self, job: JobId, source: u32, what: FromSender, s: &mut Shared) {
        self.senders.came(job, source, what, s);
    }

    /// `packet` need not wait for what is being written.
    pub fn may_go(&self, packet: &Packet) -> bool {
        may_go(&self.writers, packet)
    }

    /// The block to which `packet` belongs, if it belongs to one, has been refused: it is dropped.
    pub fn drops(&mut self, packet: &Packet, s: &mut Shared) -> bool {
        self.refuser.drops(packet, s)
    }

    /// A piece of a block goes to memory, or waits aside for its pages.
    pub fn place(&mut self, job: JobId, packet: Box<Packet>, s: &mut Shared, c: &mut Context<'_, '_>) {
        if let Err((packet, awaits)) = self.go_on(packet, s, c) {
            self.aside.put_back(job, packet, awaits);
            self.pause(job, s);
        }
    }

    /// A piece goes to memory.
    ///
    /// # Errors
    /// It waits: the piece, and for what.
    pub fn go_on(
        &mut self,
        packet: Box<Packet>,
        s: &mut Shared,
        c: &mut Context<'_, '_>,
    ) -> Result<(), (Box<Packet>, Awaits)> {
        match self.bring_in(&packet, s, c) {
            Ok(None) if self.may_go(&packet) => self.write(&packet, s, c),
            Ok(at) => return Err((packet, Awaits::Page(at.unwrap_or(c.now)))),
            Err(at) => self.refuser.refuse(&packet, at, s),
        }
        Ok(())
    }

    /// The pages of `packet`, a piece of a block, are brought in: when they will be there, if they are not.
    ///
    /// # Errors
    /// The address to which it can't be written.
    fn bring_in(
        &self,
        packet: &Packet,
        s: &mut Shared,
        c: &mut Context<'_, '_>,
    ) -> Result<Option<Time>, u64> {
        let (process, address, data) = piece(packet, s);
        let missing = c.bring_in(process, address, data.len() as u64, true)?;
        s.counters.pages_in += missing;
        let cycles = missing * self.page_in_cycles;
        if cycles == 0 {
            return Ok(None);
        }
        let at = s.clock.after(c.now, cycles);
        c.at(at, NesEvent::Aside.into());
        Ok(Some(at))
    }

    fn write(&mut self, packet: &Packet, s: &mut Shared, c: &mut Context<'_, '_>) {
        let (process, address, data) = piece(packet, s);
        let writer = self.writers.iter_mut().find(|writer| writer.piece.is_none()).expect("a writer is free");
        // A page may have gone while others were brought in.
        if let Err(at) = writer.lines.add(BusOperation::Write, (process, address), data, c) {
            return self.refuser.refuse(packet, at, s);
        }
        if writer.lines.start_by(|request| self.portions.ask(request, c)) {
            writer.piece = Some(Written { source: packet.source, process, message: packet.message });
        } else {
            c.stamp(process, packet.message, Stage::Land, c.now);
        }
    }

    /// Line `number` of a piece takes its place in the order of the bus.
    pub fn granted(&self, number: usize, c: &mut Context<'_, '_>) {
        self.writers[number % WRITERS].lines.granted(number / WRITERS, c);
    }

    /// Line `number` of a piece is in memory. True: so is all of the piece.
    pub fn line_written(&mut self, number: usize, c: &mut Context<'_, '_>) -> bool {
        self.portions.done(c);
        let writer = &mut self.writers[number % WRITERS];
        if !writer.lines.done(number / WRITERS).is_all {
            return false;
        }
        if let Some(piece) = writer.piece.take() {
            c.stamp(piece.process, piece.message, Stage::Land, c.now);
        }
        true
    }

    // --- what waits aside -------------------------------------------------------------------------

    /// Blocks of `job` wait aside: what comes of them does so behind them.
    #[inline]
    pub fn wait_aside(&self, job: JobId) -> bool {
        self.aside.has(job)
    }

    /// `packet`, of a block of `job`, waits behind what does.
    ///
    /// # Errors
    /// There is no room: the packet.
    pub fn put_aside(&mut self, job: JobId, packet: Box<Packet>, s: &mut Shared) -> Result<(), Box<Packet>> {
        self.aside.put(job, packet)?;
        self.pause(job, s);
        Ok(())
    }

    /// The next packet that goes on, of jobs in turn; it waits no more.
    pub fn next_aside(&mut self, now: Time) -> Option<(JobId, Box<Packet>)> {
        let may_go = |packet: &Packet| may_go(&self.writers, packet);
        let may = |awaits, packet: &Packet| match awaits {
            // A piece is looked at without a writer: its pages may have to be brought in.
            Awaits::Nothing(at) => at <= now && (is_piece(packet) || may_go(packet)),
            Awaits::Page(at) => at <= now && may_go(packet),
            Awaits::Room(_) => false,
        };
        let job = self.aside.next(may)?;
        Some((job, self.aside.pop(job)))
    }

    /// `packet` of `job` waits as before, for that.
    pub fn put_back(&mut self, job: JobId, packet: Box<Packet>, awaits: Awaits) {
        self.aside.put_back(job, packet, awaits);
    }

    /// A packet of `job` waits no more.
    pub fn has_left(&mut self, job: JobId, s: &mut Shared) {
        if self.aside.is_low(job) {
            self.senders.resume(job, s);
        }
    }

    /// Who sends blocks of `job` is to wait if there will be no room for more.
    fn pause(&mut self, job: JobId, s: &mut Shared) {
        if self.aside.is_high(job) {
            self.senders.pause(job, s);
        }
    }

    /// Notices that are aside wait for room in their rings.
    pub fn is_full(&self) -> bool {
        self.aside.is_full()
    }

    /// There may be room for them from `at` on.
    pub fn retry(&mut self, at: Time, s: &mut Shared, c: &mut Context<'_, '_>) {
        self.aside.retry(at, |since| {
            s.counters.ring_full_ps += (c.now - since).0;
            c.at(at, NesEvent::Aside.into());
        });
    }
}

/// `packet` need not wait for what is being written. A piece waits for a writer, a notice for the pieces from its own site, so that
/// it finds its block in memory.
fn may_go(writers: &[Writer], packet: &Packet) -> bool {
    let mut pieces = writers.iter().map(|writer| &writer.piece);
    match of_block(packet) {
        Some(FromSender::Piece(_)) => pieces.any(Option::is_none),
        Some(_) => !pieces.flatten().any(|piece| piece.source == packet.source),
        None => true,
    }
}

/// What the packet is of a block, if it is of one.
pub(super) fn of_block(packet: &Packet) -> Option<FromSender> {
    let bytes = (packet.bytes.len() - HEADER) as u64;
    match u64::from(packet.bytes[0]) {
        PACKET_DMA => Some(FromSender::Piece(bytes - PIECE_ADDRESS)),
        PACKET_NOTICE => Some(FromSender::Notice(bytes)),
        _ => None,
    }
}

/// The packet is a piece of a block.
pub(super) fn is_piece(packet: &Packet) -> bool {
    u64::from(packet.bytes[0]) == PACKET_DMA
}

/// A piece of a block: whose memory it goes to, where, and its data.
fn piece<'a>(packet: &'a Packet, s: &Shared) -> (ProcessId, u64, &'a [u8]) {
    let (address, data) = packet.bytes[HEADER..].split_at(PIECE_ADDRESS as usize);
    let address = u64::from_le_bytes(address.try_into().expect("eight bytes"));
    (s.process_of(&packet.bytes), address, data)
}
