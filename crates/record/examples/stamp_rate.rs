//! Host time that recording costs a message: `cargo run --release -p chasqui-record --example stamp_rate`.
//!
//! Ranks of one partition each exchange messages with the next, all 15 stages, in the order in which a
//! simulation stamps them with a few hundred messages in flight; then with one partition a rank.

use chasqui_record::{MessageId, Messages, Recorder, Stage};
use std::time::Instant;

const RANKS: u16 = 16;
const IN_FLIGHT: u32 = 16;

fn run(partitions: usize, sequences: u32) -> (f64, f64) {
    let each = RANKS / partitions as u16;
    let mut recorders: Vec<Recorder> =
        (0..partitions as u16).map(|p| Recorder::new(p * each, each)).collect();
    let partition = |rank: u16| usize::from(rank / each);
    let started = Instant::now();
    for first in (0..sequences).step_by(IN_FLIGHT as usize) {
        for (step, stage) in Stage::ALL.into_iter().enumerate() {
            for source in 0..RANKS {
                let destination = (source + 1) % RANKS;
                let at = if stage < Stage::Arrive { source } else { destination };
                let recorder = &mut recorders[partition(at)];
                for sequence in first..first + IN_FLIGHT {
                    let id = MessageId { source, sequence };
                    if step == 0 {
                        recorder.describe(id, destination, 0, 0, 8);
                    }
                    recorder.stamp(id, stage, u64::from(sequence) * 1_000 + step as u64);
                }
            }
        }
    }
    let stamped = started.elapsed();
    let messages = Messages::of(recorders);
    assert_eq!(messages.rows().len(), usize::from(RANKS) * sequences as usize);
    let count = messages.rows().len() as f64;
    (stamped.as_nanos() as f64 / count, started.elapsed().as_nanos() as f64 / count)
}

fn main() {
    for partitions in [1, usize::from(RANKS)] {
        for sequences in [1 << 10, 1 << 16] {
            let (stamped, all) = run(partitions, sequences);
            let messages = u32::from(RANKS) * sequences;
            println!(
                "{partitions:2} partitions, {messages:7} messages: {stamped:5.0} ns a message to stamp, {all:5.0} ns with the join; \
                 {:.1} % of a host-second at 300,000 messages a second",
                stamped * 300_000.0 / 1e7
            );
        }
    }
}
