//! Runs a program from the Rust side alone: `run MACHINE RANKS DIRECTORY PROGRAM [ARGUMENT…]`.

use chasqui_sim::{Options, Request, run};

fn main() {
    let mut args = std::env::args().skip(1);
    let mut next = |what: &str| args.next().unwrap_or_else(|| panic!("{what} is missing"));
    let request = Request {
        machine: next("MACHINE"),
        sets: std::env::var("SET")
            .map(|s| s.split_whitespace().map(String::from).collect())
            .unwrap_or_default(),
        ranks: next("RANKS").parse().expect("RANKS is a number"),
        ranks_per_node: Some(1),
        map_by: "slot".into(),
        directory: next("DIRECTORY").into(),
        firmware: std::env::var_os("FIRMWARE").map(Into::into),
        program: next("PROGRAM").into(),
        args: args.collect(),
        stdin: Default::default(),
        beside: vec![],
        others: vec![],
        env: Default::default(),
        echo: true,
        trace: None,
        record: None,
        only_rank: None,
        sandbox: Default::default(),
        command: vec![],
        options: Options {
            threads: std::env::var("THREADS").map_or(0, |n| n.parse().expect("THREADS is a number")),
            fast_forward: std::env::var_os("FAST_FORWARD").is_some(),
            profile: std::env::var_os("PROFILE").is_some(),
            timeline: std::env::var("TIMELINE").map_or(0, |n| n.parse().expect("TIMELINE is a number")),
            trace_instructions: std::env::var("TRACE").ok(),
            ..Default::default()
        },
    };
    let watch = std::env::var_os("WATCH").is_some();
    let mut progress = |now| {
        if watch {
            eprintln!("{}", serde_json::to_string(&now).expect("progress is JSON"));
        }
        None
    };
    match run(&request, &mut progress) {
        Ok(report) => println!("{}", serde_json::to_string_pretty(&report.host).expect("a report is JSON")),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    }
}
