//! Block transfer: a request in the style of Basic; the NES reads the block from memory, coherently,
//! packet by packet, and sends it to the other site's memory.

use std::collections::VecDeque;

use chasqui_engine::Time;
use chasqui_memory::PAGE_BYTES;
use chasqui_ni::{BusRequest, Context, DmaReader, MessageKey, Piece, Ring, SlotQueue};
use chasqui_placement::{JobId, ProcessId};

use super::blocks::PIECE_ADDRESS;
use super::control::Control;
use super::queues::QueueName;
use super::refusal::name_sender;
use super::table::Destination;
use super::transmit::{message_of, packet_bytes, push_packet};
use super::turns::JobTurns;
use super::{Mechanism, NesEvent, Owner, Shared, accept};
use crate::PROCESSES_MAX;
use crate::parameters::Dma;
use crate::registers::VoyagerDma;
use crate::service_registers::{PACKET_DMA, PACKET_NOTICE};

/// Bytes of a request: two lines.
pub(super) const REQUEST: u64 = size_of::<VoyagerDma>() as u64;

const _: () = assert!(REQUEST == 64);

// A piece names its process in a byte.
const _: () = assert!(PROCESSES_MAX <= 1 << u8::BITS);

/// Length of a block at most, as `VoyagerDma::bytes` has it.
const BLOCK_BYTES_MAX: u64 = 1 << 48;

/// What the engine's reading side does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// The request is read from the cache (Reclaim).
    Fetching,
    /// Control of a new request.
    Preparing,
    /// The next piece can be read when there is a buffer for it.
    Ready,
    /// A piece is read.
    Reading,
    /// All is read.
    Read,
}

#[derive(Clone, Copy, Debug)]
struct Transfer {
    request: VoyagerDma,
    to: Destination,
    /// Bytes read, and those of them that its process's earlier turns have read.
    read: u64,
    earlier: u64,
    message: MessageKey,
    /// Its process, or the one that it is for, is over: no more is read, and what has been read is not sent.
    is_broken: bool,
    /// Its destination's site has had a piece of it, or will.
    is_known: bool,
    /// The operating system brings in a page of it until then.
    pages_in: Option<Time>,
}

/// A part of a block that has been read, and has not left.
struct ReadPiece {
    process: ProcessId,
    to: Destination,
    message: MessageKey,
    /// A packet's.
    data: Vec<u8>,
    /// Its block has broken off: it is not sent.
    is_dropped: bool,
}

/// Pieces that are read ahead: one crosses the I-bus while the next is read.
const BUFFERS: usize = 2;

/// The unit that serves DMA requests, of jobs and their processes in turn, one after the other. It reads pieces of the block over the
/// bus while earlier ones cross the I-bus, so that bus and link limit it.
pub(super) struct DmaEngine {
    /// By process.
    pub queues: Vec<SlotQueue>,
    /// The process whose request is dealt with, or was last.
    current: ProcessId,
    turns: JobTurns,
    state: State,
    reader: DmaReader,
    transfer: Option<Transfer>,
    /// The first may be crossing. Processes have a block under way each, so that they name blocks.
    pieces: VecDeque<ReadPiece>,
    crossing: bool,
    /// A credit has made room in the TxU, which the engine's control has yet to see.
    sees_room_soon: bool,
    setup_cycles: u64,
    page_in_cycles: u64,
    packet_bytes: u64,
    /// What a process's turn reads at most, if another has requests [bytes].
    turn_bytes: u64,
    /// Where one process at a time has the queues: whose requests alone are dealt with.
    owner: Option<ProcessId>,
    /// Its turn ends: nothing more is read.
    is_held: bool,
    /// By process: the transfer that goes on in its next turn.
    parked: Vec<Option<Transfer>>,
    /// By process: where its latest request went.
    latest: Vec<Option<Destination>>,
}

impl DmaEngine {
    /// One for so many `jobs` that reads by `reader`, from [`DmaEngine::reader`]. `owner`: whose turn is the first, where processes have turns.
    pub fn new(
        rings: &[Ring],
        jobs: usize,
        dma: &Dma,
        reader: DmaReader,
        owner: Option<ProcessId>,
    ) -> DmaEngine {
        DmaEngine {
            owner,
            is_held: false,
            parked: vec![None; rings.len()],
            latest: vec![None; rings.len()],
            queues: rings.iter().map(|&ring| SlotQueue::new(ring)).collect(),
            current: ProcessId(0),
            turns: JobTurns::new(rings.len(), jobs),
            state: State::Idle,
            reader,
            transfer: None,
            pieces: VecDeque::new(),
            crossing: false,
            sees_room_soon: false,
            setup_cycles: dma.setup.cycles(),
            page_in_cycles: dma.page_in.cycles(),
            packet_bytes: dma.packet_data.bytes(),
            turn_bytes: dma.turn.bytes(),
        }
    }

    /// What reads blocks, so many `lines` at a time.
    pub fn reader(line_bytes: u64, lines: usize) -> DmaReader {
        DmaReader::new(|number| Owner::DmaRead.tag(number), line_bytes).at_once(lines)
    }

    /// `process` has composed the requests before `producer`.
    ///
    /// # Errors
    /// Its ring has not so many slots: what is wrong, in words.
    pub fn post(&mut self, process: ProcessId, producer: u32) -> Result<(), String> {
        self.queues[process.index()].post("DMA producer", producer)
    }

    #[inline]
    pub fn go_on(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        if !self.is_empty() || !self.pieces.is_empty() {
            self.serve(s, c);
        }
        self.end_turns(s);
    }

    fn serve(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        self.next(s, c);
        // What goes on may be for a process that is over since, or without data.
        while self.breaks_off(s) || self.is_read(s) {
            self.next(s, c);
        }
        let may_read =
            self.state == State::Ready && !self.is_held && !self.waits(s) && !self.has_had_its_turn(s);
        if may_read && self.pieces.len() < BUFFERS {
            self.read(s, c);
        }
        if !self.crossing
            && let Some(piece) = self.pieces.front()
            && s.txu_has_room(s.homes.names.first_basic(piece.process))
        {
            self.crossing = true;
            c.at(s.cross(c.now, s.nes.transmit.cycles(), piece.data.len() as u64), NesEvent::Crossed.into());
        }
    }

    /// Turns to the next transfer when this one has ended, or its turn has.
    fn next(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        self.breaks_off(s);
        if self.is_read(s) {
            self.state = State::Read;
        }
        if self.waits_for_room() && !self.sees_room_soon {
            self.end(s);
        }
        if self.gives_way(s) {
            self.park();
        }
        // At once, as is the next read: nothing that happens in the NES later need have to do with what is left.
        if self.state == State::Idle {
            self.turn(s, c);
        }
    }

    /// The process that the transfer is for is over: it breaks off.
    fn breaks_off(&mut self, s: &Shared) -> bool {
        let is_lost = self.transfer.is_some_and(|t| !t.is_broken && !s.table.reaches(t.to));
        if is_lost {
            self.break_off();
        }
        is_lost
    }

    /// The queue in whose name the request is, where notices are received: the process's first Basic queue.
    fn requester(&self, s: &Shared) -> QueueName {
        s.homes.names.first_basic(self.current)
    }

    /// No request is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.state == State::Idle && self.queues.iter().all(SlotQueue::is_empty)
    }

    /// Room in the TxU is all that the request's end waits for.
    pub fn waits_to_notify(&self) -> bool {
        self.state == State::Read
    }

    /// The same, and all pieces have left.
    fn waits_for_room(&self) -> bool {
        self.state == State::Read && self.pieces.is_empty()
    }

    /// A credit may make room in the TxU. Control sees it after some cycles: a request's end may ask for the bus at once, for
    /// the next request, which a processor notices no sooner than that ([`super::delays::Delays::input`]).
    pub fn credited(&mut self, s: &Shared, c: &mut Context<'_, '_>) {
        if self.waits_for_room() && !self.sees_room_soon {
            self.sees_room_soon = true;
            c.at(s.clock.after(c.now, s.nes.transmit.cycles()), NesEvent::Room.into());
        }
    }

    /// Control sees what room there is.
    pub fn sees_room(&mut self) {
        self.sees_room_soon = false;
    }

    /// Turns to the next request, of jobs and their processes in turn.
    fn turn(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        while self.state == State::Idle && !self.is_held {
            let processes = (0..self.queues.len() as u32).map(ProcessId);
            let ready = processes.filter(|&process| self.may_serve(process, s));
            let until = |process: &ProcessId| self.turns.until(process.index(), s.homes.job_of(*process));
            let Some(process) = ready.min_by_key(until) else { return };
            self.turns.begin(process.index(), s.homes.job_of(process));
            self.current = process;
            if !self.unpark() {
                self.fetch(s, c);
            } else if self.after_a_piece() == State::Read {
                // Its notice is all that is left: as any packet's, its control takes time.
                self.state = State::Preparing;
                c.at(s.clock.after(c.now, s.nes.transmit.cycles()), NesEvent::Prepared.into());
            }
        }
    }

    /// The transfer has read what a turn may, and another process has requests: of another job's turns each is a packet.
    fn has_had_its_turn(&self, s: &Shared) -> bool {
        let read = self.transfer.map_or(0, |t| t.read - t.earlier);
        let job = s.homes.job_of(self.current);
        let ends = |process| {
            let turn = if s.homes.job_of(process) == job { self.turn_bytes } else { self.packet_bytes };
            read >= turn && process != self.current && self.may_serve(process, s)
        };
        // Where not even the shortest turn is over nobody's queues need be looked at.
        read >= self.packet_bytes.min(self.turn_bytes)
            && (0..self.queues.len() as u32).map(ProcessId).any(ends)
    }

    /// The transfer's destination has told it to wait.
    fn waits(&self, s: &Shared) -> bool {
        self.transfer.is_some_and(|t| s.waits(t.to))
    }

    /// The turn is over, or must be: another's begins.
    fn gives_way(&self, s: &Shared) -> bool {
        self.state == State::Ready && (self.waits(s) || self.has_had_its_turn(s))
    }

    /// The transfer waits for its process's next turn, or until it may go on if it was told to wait or a page is brought in.
    fn park(&mut self) {
        let transfer = self.transfer.take();
        self.parked[self.current.index()] = transfer.map(|t| Transfer { earlier: t.read, ..t });
        self.state = State::Idle;
    }

    /// The transfer of the process whose turn it is goes on, if there is one.
    fn unpark(&mut self) -> bool {
        self.transfer = self.parked[self.current.index()].take();
        let goes_on = self.transfer.is_some();
        if goes_on {
            self.state = State::Ready;
        }
        goes_on
    }

    /// `process` has requests, and may have them dealt with.
    fn has_requests(&self, process: ProcessId) -> bool {
        self.owner.is_none_or(|owner| owner == process) && !self.queues[process.index()].is_empty()
    }

    /// It has, its job is not held up, and the one that it goes on with need not wait.
    fn may_serve(&self, process: ProcessId, s: &Shared) -> bool {
        let waits = || self.parked[process.index()].is_some_and(|t| t.pages_in.is_some() || s.waits(t.to));
        self.has_requests(process) && !s.homes.sends_nothing(process) && !waits()
    }

    /// Sites that have told a job to go on are told when it has nothing more for them.
    #[inline]
    fn end_turns(&self, s: &mut Shared) {
        let is_over = |&(site, job): &(u32, JobId)| !self.has_block_for(site, job, s);
        let over: Vec<_> = s.flow.going_on().filter(is_over).collect();
        for (site, job) in over {
            s.flow.ended(site, job);
            let process = s.homes.first_process(job);
            s.control.push_back(Control::Ended { site, process });
        }
    }

    /// A block of `job` for `site` is under way, or comes next, as far as is known: a request that has not been looked at counts
    /// as going where its process's latest went. So requests that go elsewhere keep no turn.
    fn has_block_for(&self, site: u32, job: JobId, s: &Shared) -> bool {
        let is_to = |to: &Destination| to.site == site && s.homes.job_of_queue(to.queue) == job;
        let may_be = |process: ProcessId| {
            let is_current = process == self.current && self.state != State::Idle;
            let transfer = if is_current { &self.transfer } else { &self.parked[process.index()] };
            match transfer {
                Some(transfer) => is_to(&transfer.to),
                None => {
                    (is_current || self.may_serve(process, s))
                        && self.latest[process.index()].as_ref().is_some_and(is_to)
                }
            }
        };
        (0..self.queues.len() as u32).map(ProcessId).any(may_be)
    }

    /// The owner's turn ends. If it is one of those that are alive, a bit each of `live`, its requests go on in its next turn.
    pub fn hold(&mut self, live: u64) {
        self.is_held = self.owner.is_some_and(|owner| live >> owner.0 & 1 != 0);
    }

    /// The turn is over as far as requests are concerned: nothing of them is under way.
    pub fn is_quiescent(&self) -> bool {
        let is_between = match self.state {
            State::Idle => self.is_held || !self.owner.is_some_and(|owner| self.has_requests(owner)),
            state => self.is_held && state == State::Ready,
        };
        is_between && self.pieces.is_empty()
    }

    /// The turn of `process` begins.
    pub fn resume(&mut self, process: ProcessId) {
        (self.owner, self.is_held) = (Some(process), false);
        if self.state == State::Ready && self.current != process {
            self.park();
        }
        if self.state == State::Idle && self.parked[process.index()].is_some_and(|t| t.pages_in.is_none()) {
            self.current = process;
            self.unpark();
        }
    }

    /// Address of the request that is dealt with.
    fn request(&self) -> u64 {
        self.queues[self.current.index()].oldest()
    }

    /// The request is dealt with.
    fn retire(&mut self) {
        self.queues[self.current.index()].pop();
        self.state = State::Idle;
    }

    /// None of the requests of `process` is dealt with any more; the one that is, if it is its, ends.
    pub fn close(&mut self, process: ProcessId, s: &mut Shared) {
        let is_current = process == self.current && self.state != State::Idle;
        if let Some(transfer) = self.parked[process.index()].take() {
            self.drop_pieces(process);
            tell_end(transfer, s);
        }
        let queue = &mut self.queues[process.index()];
        queue.producer = queue.consumer.wrapping_add(is_current.into());
        if is_current {
            self.break_off();
        }
    }

    /// Nothing more of the transfer is read or sent.
    fn break_off(&mut self) {
        if let Some(transfer) = &mut self.transfer {
            transfer.is_broken = true;
            if self.state == State::Ready {
                self.state = State::Read;
            }
            self.drop_pieces(self.current);
        }
    }

    fn drop_pieces(&mut self, process: ProcessId) {
        self.pieces
            .iter_mut()
            .filter(|piece| piece.process == process)
            .for_each(|piece| piece.is_dropped = true);
    }

    fn is_broken(&self) -> bool {
        self.transfer.is_some_and(|transfer| transfer.is_broken)
    }

    /// The process has requested what it may not.
    fn refuse(&mut self, text: String, s: &mut Shared, c: &mut Context<'_, '_>) {
        c.fault(self.current, text);
        self.state = State::Idle;
        self.close(self.current, s);
    }

    fn fetch(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let address = self.request();
        if s.reclaims() {
            self.reader.read_physical(&[Piece { address, bytes: REQUEST }], c);
            self.state = State::Fetching;
        } else {
            let mut bytes = [0; REQUEST as usize];
            c.read_unsnooped(self.current, address, &mut bytes);
            self.begin(&VoyagerDma::from_bytes(&bytes), s, c);
        }
    }

    fn begin(&mut self, request: &VoyagerDma, s: &mut Shared, c: &mut Context<'_, '_>) {
        let process = self.current;
        if !s.homes.sends(self.requester(s)) {
            return self.retire();
        }
        let found = check_block(request).and_then(|()| s.table.find(self.requester(s), request.node));
        let to = match found {
            Ok(to) => to,
            Err(text) => return self.refuse(text, s, c),
        };
        // Control looks at it, and then it is dealt with.
        let is_broken = !s.table.reaches(to);
        let message = message_of(request.flags, &notice(request));
        accept(c, process, message, Mechanism::Dma);
        match is_broken {
            true => s.counters.withheld += 1,
            false => s.counters.dma_requests += 1,
        }
        self.latest[process.index()] = Some(to);
        self.transfer = Some(Transfer {
            request: *request,
            to,
            read: 0,
            earlier: 0,
            message,
            is_broken,
            is_known: false,
            pages_in: None,
        });
        self.state = State::Preparing;
        c.at(s.clock.after(c.now, self.setup_cycles), NesEvent::Prepared.into());
    }

    /// A request's control is ready.
    pub fn prepared(&mut self) {
        self.state = if self.is_broken() { State::Read } else { State::Ready };
    }

    /// Nothing is left to be read of the transfer: it is without data, and need not wait.
    fn is_read(&self, s: &Shared) -> bool {
        self.state == State::Ready && self.after_a_piece() == State::Read && !self.waits(s)
    }

    /// Pages have been brought in.
    pub fn pages_in(&mut self, now: Time) {
        for transfer in self.parked.iter_mut().flatten() {
            transfer.pages_in = transfer.pages_in.filter(|&at| at > now);
        }
    }

    /// There is more to read, or not.
    fn after_a_piece(&self) -> State {
        let goes_on = self.transfer.is_some_and(|t| !t.is_broken && t.read < t.request.bytes);
        if goes_on { State::Ready } else { State::Read }
    }

    /// The next piece: where it comes from and how long it is. Pieces end at multiples of their length in
    /// the destination, so that they write whole lines there, and at the end of a page here.
    fn next_piece(&self) -> (u64, u64) {
        let t = self.transfer.as_ref().expect("a transfer is under way");
        let (from, to) = (t.request.from + t.read, t.request.to + t.read);
        let room = (self.packet_bytes - to % self.packet_bytes).min(PAGE_BYTES - from % PAGE_BYTES);
        (from, room.min(t.request.bytes - t.read))
    }

    /// Reads the lines of the next piece.
    fn read(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let (from, bytes) = self.next_piece();
        match self.reader.read((self.current, from), bytes, c) {
            Ok(_) => self.state = State::Reading,
            Err(at) => self.bring_in(at, s, c),
        }
    }

    /// A line takes its place in the order of the bus.
    pub fn granted(&mut self, number: usize, request: BusRequest, c: &Context<'_, '_>) {
        self.reader.granted(number, request, c);
    }

    fn bring_in(&mut self, from: u64, s: &mut Shared, c: &mut Context<'_, '_>) {
        if !c.page_in(self.current, from, false) {
            let what = "where the process has no memory that it may read";
            c.fault(self.current, format!("protection: a DMA request reads {from:#x}, {what}"));
            self.close(self.current, s);
            return self.serve(s, c);
        }
        s.counters.pages_in += 1;
        let at = s.clock.after(c.now, self.page_in_cycles);
        c.at(at, NesEvent::PagesIn.into());
        // Others go on meanwhile.
        self.park();
        if let Some(transfer) = &mut self.parked[self.current.index()] {
            transfer.pages_in = Some(at);
        }
        self.serve(s, c);
    }

    pub fn line_read(&mut self, s: &mut Shared, c: &mut Context<'_, '_>) {
        let Some(block) = self.reader.done(c) else { return };
        match self.state {
            State::Fetching => self.begin(&VoyagerDma::from_bytes(&block), s, c),
            _ => self.piece_read(&block),
        }
    }

    fn piece_read(&mut self, piece: &[u8]) {
        let t = self.transfer.as_mut().expect("a transfer is under way");
        let mut data = (t.request.to + t.read).to_le_bytes().to_vec();
        data.extend_from_slice(piece);
        let (process, to, message, is_dropped) = (self.current, t.to, t.message, t.is_broken);
        self.pieces.push_back(ReadPiece { process, to, message, data, is_dropped });
        t.is_known |= !is_dropped;
        t.read += piece.len() as u64;
        self.state = self.after_a_piece();
    }

    /// A piece has crossed the I-bus: it becomes a packet.
    pub fn crossed(&mut self, s: &mut Shared) {
        let ReadPiece { process, to, message, data, is_dropped } =
            self.pieces.pop_front().expect("a piece crosses");
        self.crossing = false;
        // The process that it is for may be over since.
        if is_dropped || !s.table.reaches(to) {
            return;
        }
        s.counters.dma_packets += 1;
        s.counters.dma_bytes += data.len() as u64 - PIECE_ADDRESS;
        // The process is named for the receiver, should it refuse the piece.
        let bytes = packet_bytes(PACKET_DMA, to, process.0, [&data, &[]]);
        push_packet(s, (s.homes.names.first_basic(process), to.site), bytes, data.len() as u64, message);
    }

    /// All pieces have left: so does the notice, when there is room for it.
    fn end(&mut self, s: &mut Shared) {
        if self.is_broken() {
            tell_end(self.transfer.take().expect("a transfer ends"), s);
            self.retire();
        } else if s.txu_has_room(self.requester(s)) {
            self.notify(s);
        }
    }

    /// The notice follows the block; the source may be reused.
    fn notify(&mut self, s: &mut Shared) {
        let transfer = self.transfer.take().expect("a transfer ends");
        let mut data = notice(&transfer.request);
        name_sender(&mut data, self.current);
        let bytes = packet_bytes(PACKET_NOTICE, transfer.to, transfer.request.flags, [&data, &[]]);
        push_packet(s, (self.requester(s), transfer.to.site), bytes, data.len() as u64, transfer.message);
        self.retire();
    }
}

/// The transfer ends before its end, which may be what others wait for.
fn tell_end(transfer: Transfer, s: &mut Shared) {
    let Destination { site, queue, .. } = transfer.to;
    if transfer.is_known && s.flow.tells_break(site, s.homes.job_of_queue(queue)) {
        s.control.push_back(Control::Ended { site, process: s.homes.names.process(queue) });
    }
}

/// Nothing is wrong with the addresses and the length of a block.
///
/// # Errors
/// What is, in words.
fn check_block(request: &VoyagerDma) -> Result<(), String> {
    let VoyagerDma { from, to, bytes, .. } = *request;
    if bytes > BLOCK_BYTES_MAX {
        return Err(format!("a DMA request of {bytes} bytes; at most {BLOCK_BYTES_MAX} are allowed"));
    }
    match [from, to].into_iter().find(|address| address.checked_add(bytes).is_none()) {
        Some(address) => {
            Err(format!("a DMA request of {bytes} bytes at {address:#x}: there are no such addresses"))
        }
        None => Ok(()),
    }
}

/// Data of the notice: a whole envelope whose `sender` is zero.
fn notice(request: &VoyagerDma) -> Vec<u8> {
    let mut data = Vec::with_capacity(40);
    request.notice.iter().for_each(|w| data.extend_from_slice(&w.to_le_bytes()));
    data.extend_from_slice(&0u64.to_le_bytes());
    data.extend_from_slice(&request.receiver.to_le_bytes());
    data
}
