//! What the stages mean: overhead, latency, gap, queueing and occupancy as their differences.

use crate::messages::{Message, Messages};
use crate::stage::Stage;
use serde::Serialize;

/// A difference of stages over all messages that have them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Distribution {
    /// Name.
    pub name: &'static str,
    /// The stages it is made of.
    pub formula: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// Messages that have it.
    pub count: u64,
    /// Mean [ps], rounded down. Negative when the later stage came first.
    pub mean_ps: i64,
    /// Least [ps].
    pub min_ps: i64,
    /// Median [ps]; the lower one of an even number.
    pub median_ps: i64,
    /// Greatest [ps].
    pub max_ps: i64,
}

/// What travelled by one mechanism.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MechanismUse {
    /// Its name.
    pub name: &'static str,
    /// MPI messages.
    pub messages: u64,
    /// Their data [bytes].
    pub bytes: u64,
    /// Mean [ps] of [`end_to_end`](Distribution) over those that were received, rounded down.
    pub end_to_end_ps: i64,
}

struct Difference {
    name: &'static str,
    formula: &'static str,
    doc: &'static str,
    of: fn(&Message) -> Option<i64>,
}

fn between(message: &Message, from: Stage, to: Stage) -> Option<i64> {
    Some(message.time(to)?.wrapping_sub(message.time(from)?) as i64)
}

/// When both the message and its receive were there.
fn met(message: &Message) -> Option<u64> {
    Some(message.time(Stage::Land)?.max(message.time(Stage::Post)?))
}

macro_rules! differences {
    ($( $(#[doc = $doc:literal])+ $name:ident = $formula:literal, $of:expr; )+) => {
        const DIFFERENCES: &[Difference] = &[$( Difference {
            name: stringify!($name),
            formula: $formula,
            doc: concat!($($doc),+).trim_ascii(),
            of: $of,
        } ),+];
    };
}

differences! {
    /// The call that sends, from its entry to its return; of messages of collectives, all of the call. LogGP's o_send is
    /// that of a call that sends one message and waits for nothing: `chasqui logp`.
    send_call = "send_return - call", |m| between(m, Stage::Call, Stage::SendReturn);
    /// From the entry of the call to the NI's door: software, and what the call waits for before it sends this message, as
    /// those of collectives wait for others.
    send_software = "ready - call", |m| between(m, Stage::Call, Stage::Ready);
    /// Queueing before the sender's NI.
    ni_queueing = "accept - ready", |m| between(m, Stage::Ready, Stage::Accept);
    /// Occupancy of the sender's NI up to the first byte on the wire.
    ni_send = "inject - accept", |m| between(m, Stage::Accept, Stage::Inject);
    /// The network: flight of the first byte, with contention.
    network = "arrive - inject", |m| between(m, Stage::Inject, Stage::Arrive);
    /// Serialization and the receiver's NI: from the first byte to the last in the node.
    landing = "land - arrive", |m| between(m, Stage::Arrive, Stage::Land);
    /// Latency without overheads: from the NI's door to the last byte in the destination's node.
    latency = "land - ready", |m| between(m, Stage::Ready, Stage::Land);
    /// The message lay unexpected until its receive was posted; 0 when the receive came first.
    unexpected_wait = "max(0, post - land)", |m| between(m, Stage::Land, Stage::Post).map(|ps| ps.max(0));
    /// The posted receive waited for the message; 0 when the message came first.
    message_wait = "max(0, land - post)", |m| between(m, Stage::Post, Stage::Land).map(|ps| ps.max(0));
    /// Message and receive were both there: until the software looked and matched them. Negative when
    /// the match was made before the last byte landed.
    matching = "match - max(land, post)",
        |m| Some(m.time(Stage::Match)?.wrapping_sub(met(m)?) as i64);
    /// From the match until the data is where the program asked.
    delivery = "deliver - match", |m| between(m, Stage::Match, Stage::Deliver);
    /// From the data's delivery until the call returns that reports it.
    completion = "done - deliver", |m| between(m, Stage::Deliver, Stage::Done);
    /// The call that completes the receive, without the wait for the message; of messages of collectives, what is left of
    /// the call. LogGP's o_recv: `chasqui logp`.
    receive_call = "done - max(land, wait_call or receive_call)", |m| {
        let entered = m.time(Stage::WaitCall).or(m.time(Stage::ReceiveCall))?;
        Some(m.time(Stage::Done)?.wrapping_sub(m.time(Stage::Land)?.max(entered)) as i64)
    };
    /// From the entry of the call that sends to the return of the call that receives.
    end_to_end = "done - call", |m| between(m, Stage::Call, Stage::Done);
    /// From the data's delivery to its first use.
    first_use = "first_access - deliver", |m| between(m, Stage::Deliver, Stage::FirstAccess);
    /// From the data's first use to its last.
    use_span = "last_access - first_access", |m| between(m, Stage::FirstAccess, Stage::LastAccess);
}

impl Messages {
    /// The mechanisms that messages travelled by, in the order of their numbers.
    pub fn by_mechanism(&self) -> Vec<MechanismUse> {
        #[derive(Clone, Copy, Default)]
        struct Sums {
            messages: u64,
            bytes: u64,
            received: i128,
            end_to_end_ps: i128,
        }
        let names: Vec<_> = self.mechanism_names().collect();
        let mut found = vec![Sums::default(); names.len()];
        for message in self.rows() {
            let (Some(description), Some(index)) = (message.description, self.mechanism_index(message))
            else {
                continue;
            };
            let sums = &mut found[index];
            sums.messages += 1;
            sums.bytes += description.bytes;
            if let Some(ps) = between(message, Stage::Call, Stage::Done) {
                sums.received += 1;
                sums.end_to_end_ps += i128::from(ps);
            }
        }
        let used = names.into_iter().zip(found).filter(|(_, sums)| sums.messages > 0);
        used.map(|(name, Sums { messages, bytes, received, end_to_end_ps })| MechanismUse {
            name,
            messages,
            bytes,
            end_to_end_ps: end_to_end_ps.checked_div_euclid(received).unwrap_or(0) as i64,
        })
        .collect()
    }

    /// What the stages' differences were: overhead, latency, gap, queueing, occupancy. So many host threads work them
    /// out.
    pub fn summary(&self, threads: usize) -> Vec<Distribution> {
        summary(self.rows(), threads.clamp(1, AT_ONCE))
    }
}

/// Differences whose values are held at a time, by all host threads together: 8 bytes a message each. (Gaps take some 30 more.)
const AT_ONCE: usize = 8;
/// Messages of which one difference after the other is taken while they are in the host's caches.
const BLOCK: usize = 1 << 11;

fn summary(rows: &[Message], threads: usize) -> Vec<Distribution> {
    let of_thread = |thread: usize| {
        let ours: Vec<_> = DIFFERENCES.iter().enumerate().skip(thread).step_by(threads).collect();
        let mut found = vec![];
        let mut values = vec![vec![]; AT_ONCE / threads];
        for together in ours.chunks(values.len()) {
            values.iter_mut().for_each(Vec::clear);
            for block in rows.chunks(BLOCK) {
                for ((_, difference), values) in together.iter().zip(&mut values) {
                    values.extend(block.iter().filter_map(difference.of));
                }
            }
            for ((at, d), values) in together.iter().zip(&mut values) {
                found.push((*at, distribution(d.name, d.formula, d.doc, values)));
            }
        }
        drop(values);
        let gaps = [(0, send_gap as fn(&[Message]) -> Distribution), (threads - 1, receive_gap)];
        let ours = gaps.iter().enumerate().filter(|(_, (whose, _))| *whose == thread);
        found.extend(ours.map(|(at, (_, gap))| (DIFFERENCES.len() + at, gap(rows))));
        found
    };
    let mut all = vec![];
    std::thread::scope(|scope| {
        let of_thread = &of_thread;
        let others: Vec<_> = (1..threads).map(|thread| scope.spawn(move || of_thread(thread))).collect();
        all.extend(of_thread(0));
        all.extend(others.into_iter().flat_map(|other| other.join().expect("no difference panics")));
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, distribution)| distribution).collect()
}

fn send_gap(rows: &[Message]) -> Distribution {
    distribution(
        "send_gap",
        "inject - inject before it of the same source",
        "Gap between messages leaving a rank's NI; g is its least value under load.",
        &mut gaps(rows.iter().filter_map(|m| Some((m.id.source, m.time(Stage::Inject)?))).collect()),
    )
}

fn receive_gap(rows: &[Message]) -> Distribution {
    distribution(
        "receive_gap",
        "land - land before it at the same destination",
        "Gap between messages landing at a rank; g is its least value under load.",
        &mut gaps(
            rows.iter().filter_map(|m| Some((m.description?.destination, m.time(Stage::Land)?))).collect(),
        ),
    )
}

/// Distances of the times of each rank, in the order of time.
fn gaps(mut times: Vec<(u16, u64)>) -> Vec<i64> {
    // They come in runs, those of a source, each mostly sorted: which this sort takes as they are.
    times.sort();
    times.windows(2).filter(|w| w[0].0 == w[1].0).map(|w| (w[1].1 - w[0].1) as i64).collect()
}

fn distribution(
    name: &'static str,
    formula: &'static str,
    doc: &'static str,
    values: &mut [i64],
) -> Distribution {
    let count = values.len() as u64;
    let mut found =
        Distribution { name, formula, doc, count, mean_ps: 0, min_ps: 0, median_ps: 0, max_ps: 0 };
    if !values.is_empty() {
        let (mut min, mut max, mut sum) = (i64::MAX, i64::MIN, 0);
        for &mut value in &mut *values {
            (min, max, sum) = (min.min(value), max.max(value), sum + i128::from(value));
        }
        (found.min_ps, found.max_ps) = (min, max);
        found.mean_ps = sum.div_euclid(i128::from(count)) as i64;
        found.median_ps = median(values, (min, max));
    }
    found
}

/// Parts of equal width, of which one is found to hold the median before values are compared.
const PARTS_LOG2: u32 = 11;

/// The lower median of `values`, the least and greatest of which are `min` and `max`.
fn median(values: &mut [i64], (min, max): (i64, i64)) -> i64 {
    let width_log2 = (u64::BITS - max.abs_diff(min).leading_zeros()).saturating_sub(PARTS_LOG2);
    let part = |value: i64| (value.abs_diff(min) >> width_log2) as usize;
    let mut counts = [0usize; 1 << PARTS_LOG2];
    values.iter().for_each(|value| counts[part(*value)] += 1);
    let mut middle = (values.len() - 1) / 2;
    let mut found = 0;
    while counts[found] <= middle {
        middle -= counts[found];
        found += 1;
    }
    // Those of the part, which come to the front.
    let mut count = 0;
    for at in 0..values.len() {
        if part(values[at]) == found {
            values[count] = values[at];
            count += 1;
        }
    }
    *values[..count].select_nth_unstable(middle).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MessageId, Recorder};

    /// Stage times of two messages from rank 0 to rank 1, and what follows from them.
    #[test]
    fn differences_of_two_messages() {
        use Stage::*;
        let mut recorder = Recorder::new(0, 2);
        // A blocking receive that waits: posted at 40, landed at 90.
        let waited = [
            (Call, 10),
            (Ready, 30),
            (SendReturn, 35),
            (Accept, 32),
            (Inject, 40),
            (Arrive, 70),
            (Land, 90),
            (ReceiveCall, 20),
            (Post, 40),
            (Match, 95),
            (Deliver, 97),
            (Done, 100),
            (FirstAccess, 110),
            (LastAccess, 150),
        ];
        // Unexpected: landed at 190, posted at 300 and completed by a wait that begins at 400.
        let unexpected = [
            (Call, 110),
            (Ready, 120),
            (SendReturn, 131),
            (Accept, 140),
            (Inject, 142),
            (Arrive, 170),
            (Land, 190),
            (ReceiveCall, 290),
            (Post, 300),
            (WaitCall, 400),
            (Match, 303),
            (Deliver, 310),
            (Done, 420),
        ];
        for (sequence, stamps) in [(0, &waited[..]), (1, &unexpected[..])] {
            let id = MessageId { source: 0, sequence };
            recorder.describe(id, 1, 0, 0, 8);
            stamps.iter().for_each(|(stage, ps)| recorder.stamp(id, *stage, *ps));
        }
        let messages = Messages::of(vec![recorder]);
        let summary = messages.summary(1);
        (2..10).for_each(|threads| assert_eq!(messages.summary(threads), summary, "{threads} host threads"));
        // (name, count, mean rounded down, min, median = the lower, max)
        let expected = [
            ("send_call", 2, 23, 21, 21, 25),       // 35-10, 131-110
            ("send_software", 2, 15, 10, 10, 20),   // 30-10, 120-110
            ("ni_queueing", 2, 11, 2, 2, 20),       // 32-30, 140-120
            ("ni_send", 2, 5, 2, 2, 8),             // 40-32, 142-140
            ("network", 2, 29, 28, 28, 30),         // 70-40, 170-142
            ("landing", 2, 20, 20, 20, 20),         // 90-70, 190-170
            ("latency", 2, 65, 60, 60, 70),         // 90-30, 190-120
            ("unexpected_wait", 2, 55, 0, 0, 110),  // the first was posted in time; 300-190
            ("message_wait", 2, 25, 0, 0, 50),      // 90-40; the second was there
            ("matching", 2, 4, 3, 3, 5),            // 95-90, 303-300
            ("delivery", 2, 4, 2, 2, 7),            // 97-95, 310-303
            ("completion", 2, 56, 3, 3, 110),       // 100-97, 420-310
            ("receive_call", 2, 15, 10, 10, 20),    // 100-max(90,20), 420-max(190,400)
            ("end_to_end", 2, 200, 90, 90, 310),    // 100-10, 420-110
            ("first_use", 1, 13, 13, 13, 13),       // 110-97
            ("use_span", 1, 40, 40, 40, 40),        // 150-110
            ("send_gap", 1, 102, 102, 102, 102),    // 142-40
            ("receive_gap", 1, 100, 100, 100, 100), // 190-90
        ];
        let found: Vec<_> =
            summary.iter().map(|d| (d.name, d.count, d.mean_ps, d.min_ps, d.median_ps, d.max_ps)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn medians_and_negative_values() {
        let of = |values: &[i64]| {
            let d = distribution("x", "", "", &mut values.to_vec());
            (d.count, d.mean_ps, d.min_ps, d.median_ps, d.max_ps)
        };
        assert_eq!(of(&[]), (0, 0, 0, 0, 0));
        assert_eq!(of(&[5, 1, 3]), (3, 3, 1, 3, 5));
        assert_eq!(of(&[4, 1, 3, 2]), (4, 2, 1, 2, 4)); // the lower of 2 and 3
        assert_eq!(of(&[-5, 2]), (2, -2, -5, -5, 2)); // -1.5 rounded down
        assert_eq!(of(&[i64::MAX, i64::MAX]).1, i64::MAX, "the sum does not overflow");
        assert_eq!(of(&[i64::MAX, i64::MIN, -3]), (3, -2, i64::MIN, -3, i64::MAX));
    }

    #[test]
    fn the_median_is_that_of_the_sorted_values() {
        let mut random = chasqui_random::Random::for_test(1);
        for width_log2 in [0, 1, 10, 11, 12, 40, 63] {
            for count in [1, 2, 3, 1_000, 4_001] {
                let value = |_| random.below(1 << width_log2) as i64 - (1 << (width_log2 / 2));
                let values: Vec<i64> = (0..count).map(value).collect();
                let mut sorted = values.clone();
                sorted.sort();
                let found = distribution("x", "", "", &mut values.clone());
                assert_eq!(found.median_ps, sorted[(count - 1) / 2], "{values:?}");
            }
        }
    }
}
