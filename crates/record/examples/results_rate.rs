//! Host time that the results of a run cost a message: `cargo run --release -p chasqui-record --example results_rate -- 2` with two host
//! threads.
//!
//! Two ranks that send small messages to each other all the time, as a machine without a network records them: joined,
//! summed up, and written.

use chasqui_record::{MessageId, Messages, Recorder, Stage};
use std::time::Instant;

/// Time of the host's processors that this process has taken [ms], in steps of 10 (proc(5), `stat`).
fn processors_ms() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux has it");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("a name").split_whitespace().collect();
    fields[11..13].iter().map(|ticks| ticks.parse::<f64>().expect("a number") * 10.0).sum()
}

/// Messages of each rank.
const MESSAGES: u32 = 1_350_000;

/// When messages reach each stage after the stage before, roughly [ps]; 0: they never do.
const STEPS: [u64; Stage::ALL.len()] =
    [0, 90_000, 40_000, 0, 15_000, 5_000_000, 1_000, 300, 700, 0, 900, 2_000, 60_000, 0, 0];

fn recorders() -> Vec<Recorder> {
    let mut recorders = vec![Recorder::new(0, 1), Recorder::new(1, 1)];
    let mut random = 1u64;
    for sequence in 1..=MESSAGES {
        for source in 0..2u16 {
            let id = MessageId { source, sequence };
            let mut ps = u64::from(sequence) * 400_000;
            recorders[usize::from(source)].describe(id, 1 - source, 0, 0, 4);
            recorders[usize::from(source)].protocol(id, 1);
            for (stage, step) in Stage::ALL.into_iter().zip(STEPS) {
                if step == 0 && stage != Stage::Call {
                    continue;
                }
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ps += step + (random >> 33) % (step / 8 + 1);
                let at = if stage < Stage::Arrive { source } else { 1 - source };
                recorders[usize::from(at)].stamp(id, stage, ps);
            }
        }
    }
    recorders
}

fn main() {
    let threads = std::env::args().nth(1).map_or(1, |text| text.parse().expect("a number of host threads"));
    let recorders = recorders();
    let count = f64::from(2 * MESSAGES);
    let mut last = (Instant::now(), processors_ms());
    let mut show = |what: &str| {
        let now = (Instant::now(), processors_ms());
        let ns = |ms: f64| ms * 1e6 / count;
        let (host, processors) = (now.0.duration_since(last.0).as_secs_f64() * 1e3, now.1 - last.1);
        println!("{what:10} {:5.0} ns a message, {:5.0} of processors", ns(host), ns(processors));
        last = now;
    };
    let messages = Messages::of(recorders).with_mechanisms(&["stores"]);
    show("joined");
    let summary = messages.summary(threads);
    show("summed up");
    let uses = messages.by_mechanism();
    show("mechanisms");
    let mut file = vec![];
    messages.write_parquet_to(&mut file, threads).expect("memory can be written");
    show("written");
    println!("{} differences, {} mechanisms, {} bytes", summary.len(), uses.len(), file.len());
    if let Some(path) = std::env::args().nth(2) {
        std::fs::write(path, file).expect("the file can be written");
    }
}
