//! What a process waits for, in words: of its requests, as the MPI library has them in memory (`guest/mpi/request/request.h`,
//! `guest/mpi/comm/comm.h`), and of the arguments of its MPI call. All is read when it is asked for: a process that waits
//! changes none of it.

use chasqui_abi::{Envelope, communicator, context, request};

use crate::guest::{self, Memory};
use crate::stage::MessageId;

/// `MPI_ANY_SOURCE` and `MPI_ANY_TAG` (`guest/include/mpi.h`).
const ANY_SOURCE: i32 = -1;
const ANY_TAG: i32 = -2;
/// Requests of one call that are told apart.
const REQUESTS_SHOWN: usize = 4;
/// Requests of one call that are looked at.
const REQUESTS_MAX: u64 = 1 << 16;

/// What the MPI call `name`, which was entered with these first `arguments`, waits for, if it probes.
pub(crate) fn of_probe(name: &str, arguments: &[u64; 3], memory: Memory<'_>) -> Option<String> {
    let ("MPI_Probe" | "MPI_Mprobe", &[source, tag, comm]) = (name, arguments) else { return None };
    let comm = Communicator::of_handle(comm, memory)?;
    let source = source as i32;
    let world = if source == ANY_SOURCE { None } else { Some(comm.world_rank(source, memory)?) };
    Some(comm.message(comm.context, world, tag as i32, memory))
}

/// The same, if it waits for one of several requests.
pub(crate) fn of_several(name: &str, arguments: &[u64; 3], memory: Memory<'_>) -> Option<String> {
    let ("MPI_Waitany" | "MPI_Waitsome", &[count, handles, _]) = (name, arguments) else { return None };
    let count = u64::try_from(count as i32).ok()?.min(REQUESTS_MAX);
    open_requests((count, handles), |_| true, memory)
}

/// What an `MPI_Waitall` with these first arguments waits for beside the request `blocked`, in words.
pub(crate) fn of_all_others(
    name: &str,
    arguments: &[u64; 3],
    blocked: u64,
    memory: Memory<'_>,
) -> Option<String> {
    let ("MPI_Waitall", &[count, handles, _]) = (name, arguments) else { return None };
    let count = u64::try_from(count as i32).ok()?.min(REQUESTS_MAX);
    open_requests((count, handles), |handle| handle != blocked, memory)
}

/// What those of so many requests from address `handles` on are that are not complete and are `wanted`, in words.
fn open_requests(
    (count, handles): (u64, u64),
    wanted: impl Fn(u64) -> bool,
    memory: Memory<'_>,
) -> Option<String> {
    let handles = (0..count).filter_map(|i| guest::word(handles.wrapping_add(8 * i), memory));
    let handles: Vec<u64> = handles.filter(|handle| wanted(*handle)).collect();
    let open: Vec<String> = handles.into_iter().filter_map(|handle| of_request(handle, memory)).collect();
    listed(&open)
}

/// The first of `texts`, and how many more there are; `None`: there is none.
pub(crate) fn listed(texts: &[String]) -> Option<String> {
    let shown = texts.iter().take(REQUESTS_SHOWN).cloned().collect::<Vec<_>>().join("; ");
    match texts.len().saturating_sub(REQUESTS_SHOWN) {
        _ if texts.is_empty() => None,
        0 => Some(shown),
        more => Some(format!("{shown}; and {more} more")),
    }
}

/// What is read of a request, from its address on [bytes].
pub const REQUEST_BYTES: usize = request::ENVELOPE as usize + size_of::<Envelope>();

/// What the request at `address` waits for; `None`: it is complete, or is no send or receive.
pub(crate) fn of_request(address: u64, memory: Memory<'_>) -> Option<String> {
    let at = |offset: u64| address.checked_add(offset);
    let [complete, kind] = guest::bytes(at(request::COMPLETE)?, memory)?;
    if complete != 0 {
        return None;
    }
    let comm = Communicator::at(guest::word(at(request::COMMUNICATOR)?, memory)?, memory);
    match kind {
        request::RECEIVE => {
            let key = Key(guest::word(at(request::KEY)?, memory)?);
            let comm = comm.unwrap_or_else(|| Communicator::nameless(key.own_context()));
            // A transport that matches by itself may have something else there.
            let is_key = key.own_context() == comm.context / context::EACH * context::EACH;
            is_key.then(|| comm.message(key.context(), key.source(), key.tag(), memory))
        }
        request::SEND => {
            let envelope = guest::envelope(at(request::ENVELOPE)?, memory)?;
            // The request of a short send that was refused has none (send_marked in guest/mpi/pt2pt/send.c).
            let own = envelope.context / context::EACH * context::EACH;
            let comm = comm.filter(|comm| comm.context == own).unwrap_or(Communicator::nameless(own));
            let (what, bytes) = (owner(envelope.context), envelope.bytes);
            let (to, also) = (envelope.destination, comm.also(envelope.destination, memory));
            let of = comm.tag_and_name(envelope.context, envelope.tag);
            Some(format!("rank {to} to take its message{what} of {bytes} bytes{of}{also}"))
        }
        _ => None,
    }
}

/// The message that the request at `address` sends; `None`: it is complete, or is no send.
pub(crate) fn sent_by(address: u64, memory: Memory<'_>) -> Option<MessageId> {
    let at = |offset: u64| address.checked_add(offset);
    let [complete, kind] = guest::bytes(at(request::COMPLETE)?, memory)?;
    let is_open_send = complete == 0 && kind == request::SEND;
    is_open_send.then(|| MessageId::of(&guest::envelope(at(request::ENVELOPE)?, memory)?))?
}

/// Whether the request at `address` is a receive of a nonblocking collective.
pub(crate) fn is_of_nonblocking(address: u64, memory: Memory<'_>) -> bool {
    let key = address.checked_add(request::KEY).and_then(|at| guest::word(at, memory)).map(Key);
    key.is_some_and(|key| key.context() % context::EACH == context::NONBLOCKING)
}

/// What a receive asks for: `match_key` of `guest/mpi/runtime/match.h`.
#[derive(Clone, Copy)]
struct Key(u64);

impl Key {
    /// World rank of the sender; `None`: any.
    fn source(self) -> Option<u16> {
        Some((self.0 >> 48) as u16).filter(|&source| source != request::ANY_SOURCE)
    }

    fn context(self) -> u16 {
        (self.0 >> 32) as u16
    }

    /// Its communicator's.
    fn own_context(self) -> u16 {
        self.context() / context::EACH * context::EACH
    }

    fn tag(self) -> i32 {
        self.0 as i32
    }
}

/// Whose message it is, by its context, if not the program's own.
fn owner(context: u16) -> &'static str {
    match context % context::EACH {
        0 => "",
        context::NONBLOCKING => " of a nonblocking collective",
        context::CREATION => " about a new communicator",
        _ => " of a collective",
    }
}

/// The name of a communicator that was given none.
pub(crate) fn name_without(number: u16) -> String {
    match number {
        0 => "MPI_COMM_WORLD".into(),
        1 => "MPI_COMM_SELF".into(),
        number => format!("communicator {number}"),
    }
}

/// A communicator, as the library has it in memory.
struct Communicator {
    context: u16,
    size: i32,
    /// Where the world ranks of its processes are; 0: they are the ranks.
    world: u64,
    name: Option<String>,
}

impl Communicator {
    fn at(address: u64, memory: Memory<'_>) -> Option<Communicator> {
        let at = |offset: u64| address.checked_add(offset);
        let name = guest::word(at(communicator::NAME)?, memory)?;
        Some(Communicator {
            context: u16::from_le_bytes(guest::bytes(at(communicator::CONTEXT)?, memory)?),
            size: i32::from_le_bytes(guest::bytes(at(communicator::SIZE)?, memory)?),
            world: guest::word(at(communicator::WORLD)?, memory)?,
            name: guest::text(name, communicator::NAME_BYTES, memory),
        })
    }

    /// One of which only the context is known.
    fn nameless(context: u16) -> Communicator {
        Communicator { context, size: 0, world: 0, name: None }
    }

    /// That of a program's handle: a number of one that is always there, or an address.
    fn of_handle(handle: u64, memory: Memory<'_>) -> Option<Communicator> {
        match handle {
            communicator::HANDLE_WORLD => Some(Communicator::nameless(0)),
            communicator::HANDLE_SELF => None,
            address => Communicator::at(address, memory),
        }
    }

    /// A message with this context and tag from world rank `source`, or from any.
    fn message(&self, context: u16, source: Option<u16>, tag: i32, memory: Memory<'_>) -> String {
        let also = source.map_or(String::new(), |source| self.also(source, memory));
        let from = source.map_or("any rank".into(), |rank| format!("rank {rank}"));
        format!("a message{} from {from}{}{also}", owner(context), self.tag_and_name(context, tag))
    }

    /// ` with tag 5 in MPI_COMM_WORLD`; tags of the library's own say nothing.
    fn tag_and_name(&self, context: u16, tag: i32) -> String {
        let name = self.name();
        match tag {
            _ if !context.is_multiple_of(context::EACH) => format!(" in {name}"),
            ANY_TAG => format!(" with any tag in {name}"),
            tag => format!(" with tag {tag} in {name}"),
        }
    }

    fn name(&self) -> String {
        match (&self.name, self.context / context::EACH) {
            (Some(name), number) if *name == name_without(number) => name.clone(),
            // Its messages are known by the number (`unmatched`).
            (Some(name), number) => format!("{name} ({})", name_without(number)),
            // The barrier of MPI_Finalize is MPI_COMM_WORLD's, whose ranks are the world's, with the context of MPI_COMM_SELF.
            (None, 1) if self.world == 0 => name_without(0),
            (None, number) => name_without(number),
        }
    }

    /// Which of its ranks world rank `world` is, where that is another number.
    fn also(&self, world: u16, memory: Memory<'_>) -> String {
        let mut ranks = 0..self.size.clamp(0, 1 << 16);
        let rank = ranks.find(|&rank| self.world_rank(rank, memory) == Some(world));
        match rank {
            Some(rank) if self.world != 0 && rank != i32::from(world) => {
                format!(", where that is rank {rank}")
            }
            _ => String::new(),
        }
    }

    /// World rank of its rank `rank`.
    fn world_rank(&self, rank: i32, memory: Memory<'_>) -> Option<u16> {
        let rank = u16::try_from(rank).ok()?;
        if self.world == 0 {
            return Some(rank);
        }
        let at = self.world.checked_add(2 * u64::from(rank))?;
        guest::bytes(at, memory).map(u16::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: u64 = 0x1000;
    const COMM: u64 = 0x2000;
    const NAME: u64 = 0x3000;
    const RANKS: u64 = 0x4000;
    const HANDLES: u64 = 0x5000;

    /// A process's memory: words of 64 bits, zero where nothing was put, nothing from a megabyte on.
    #[derive(Default)]
    struct Words(std::collections::BTreeMap<u64, u8>);

    impl Words {
        fn put(&mut self, address: u64, bytes: &[u8]) {
            self.0.extend((address..).zip(bytes.iter().copied()));
        }

        fn read(&self) -> impl FnMut(u64, &mut [u8]) -> bool {
            |address, out| {
                let cells = (address..).map(|at| self.0.get(&at).copied().unwrap_or(0));
                out.iter_mut().zip(cells).for_each(|(byte, cell)| *byte = cell);
                address < 1 << 20
            }
        }

        /// A communicator of world ranks 5, 3 and 4; without them it is the world.
        fn communicator(&mut self, context: u16, ranks: &[u16], name: &str) {
            self.put(COMM + communicator::SIZE, &3i32.to_le_bytes());
            self.put(COMM + communicator::CONTEXT, &context.to_le_bytes());
            if !ranks.is_empty() {
                self.put(COMM + communicator::WORLD, &RANKS.to_le_bytes());
            }
            for (at, rank) in (RANKS..).step_by(2).zip(ranks) {
                self.put(at, &rank.to_le_bytes());
            }
            if !name.is_empty() {
                self.put(COMM + communicator::NAME, &NAME.to_le_bytes());
                self.put(NAME, name.as_bytes());
            }
        }

        fn receive(&mut self, source: u16, context: u16, tag: i32) {
            let key = u64::from(source) << 48 | u64::from(context) << 32 | u64::from(tag as u32);
            self.put(REQUEST + request::KEY, &key.to_le_bytes());
            self.put(REQUEST + request::COMPLETE, &[0, request::RECEIVE]);
            self.put(REQUEST + request::COMMUNICATOR, &COMM.to_le_bytes());
        }
    }

    #[test]
    fn receives_in_words() {
        let row = [5, 3, 4];
        for (context, ranks, name, (source, of, tag), expected) in [
            (0, &[][..], "", (3, 0, 7), "a message from rank 3 with tag 7 in MPI_COMM_WORLD"),
            (0, &[], "", (0xffff, 0, ANY_TAG), "a message from any rank with any tag in MPI_COMM_WORLD"),
            (
                8,
                &row,
                "row",
                (3, 8, 7),
                "a message from rank 3 with tag 7 in row (communicator 2), where that is rank 1",
            ),
            (
                8,
                &row,
                "",
                (4, 8, 0),
                "a message from rank 4 with tag 0 in communicator 2, where that is rank 2",
            ),
            (0, &[], "", (1, 1, 9), "a message of a collective from rank 1 in MPI_COMM_WORLD"),
            (0, &[], "", (1, 2, 9), "a message of a nonblocking collective from rank 1 in MPI_COMM_WORLD"),
            (4, &[], "", (1, 5, 9), "a message of a collective from rank 1 in MPI_COMM_WORLD"),
            (
                4,
                &[2],
                "",
                (2, 7, 9),
                "a message about a new communicator from rank 2 in MPI_COMM_SELF, where that is rank 0",
            ),
        ] {
            let mut words = Words::default();
            words.communicator(context, ranks, name);
            words.receive(source, of, tag);
            assert_eq!(of_request(REQUEST, &mut words.read()).as_deref(), Some(expected));
            assert_eq!(is_of_nonblocking(REQUEST, &mut words.read()), of == 2);
        }
    }

    #[test]
    fn what_is_complete_or_no_request_waits_for_nothing() {
        let mut words = Words::default();
        words.communicator(0, &[], "");
        words.receive(3, 0, 7);
        words.put(REQUEST + request::COMPLETE, &[1]);
        assert_eq!(of_request(REQUEST, &mut words.read()), None);
        words.put(REQUEST + request::COMPLETE, &[0, 9]);
        assert_eq!(of_request(REQUEST, &mut words.read()), None);
        // The key of something else.
        words.receive(3, 0x77, 7);
        assert_eq!(of_request(REQUEST, &mut words.read()), None);
        for wild in [0, 1 << 30, u64::MAX] {
            assert_eq!(of_request(wild, &mut words.read()), None);
        }
    }

    #[test]
    fn a_send_in_words() {
        let mut words = Words::default();
        words.communicator(8, &[5, 3, 4], "row");
        words.receive(0, 8, 0);
        words.put(REQUEST + request::COMPLETE, &[0, request::SEND]);
        let envelope =
            chasqui_abi::Envelope { context: 8, destination: 4, tag: 6, bytes: 100, ..Default::default() };
        words.put(REQUEST + request::ENVELOPE, &envelope.to_bytes());
        let expected = "rank 4 to take its message of 100 bytes with tag 6 in row (communicator 2), where that is rank 2";
        assert_eq!(of_request(REQUEST, &mut words.read()).as_deref(), Some(expected));
    }

    #[test]
    fn arguments_in_words() {
        let mut words = Words::default();
        words.communicator(8, &[5, 3, 4], "row");
        words.receive(3, 8, 7);
        let of = |name, arguments: [u64; 3]| {
            of_probe(name, &arguments, &mut words.read()).or(of_several(name, &arguments, &mut words.read()))
        };
        let world = communicator::HANDLE_WORLD;
        let any = ANY_SOURCE as u64;
        assert_eq!(
            of("MPI_Probe", [2, 7, world]).as_deref(),
            Some("a message from rank 2 with tag 7 in MPI_COMM_WORLD")
        );
        let row = "a message from any rank with tag 1 in row (communicator 2)";
        assert_eq!(of("MPI_Mprobe", [any, 1, COMM]).as_deref(), Some(row));
        assert_eq!(of("MPI_Recv", [2, 7, world]), None);
        let one = "a message from rank 3 with tag 7 in row (communicator 2), where that is rank 1";
        let mut words = Words(words.0.clone());
        for at in [1, 3, 4, 5, 6, 7] {
            words.put(HANDLES + 8 * at, &REQUEST.to_le_bytes());
        }
        let several = |count| of_several("MPI_Waitany", &[count, HANDLES, 0], &mut words.read());
        assert_eq!(several(1), None);
        assert_eq!(several(3).as_deref(), Some(one));
        assert_eq!(several(8), Some(format!("{one}; {one}; {one}; {one}; and 2 more")));
        assert_eq!(several(u64::MAX), None, "a negative count");
        let others = |blocked| of_all_others("MPI_Waitall", &[3, HANDLES, 0], blocked, &mut words.read());
        assert_eq!(others(REQUEST + 8).as_deref(), Some(one));
        assert_eq!(others(REQUEST), None, "the one that it is in is said");
        assert_eq!(of_all_others("MPI_Wait", &[3, HANDLES, 0], 0, &mut words.read()), None);
    }
}
