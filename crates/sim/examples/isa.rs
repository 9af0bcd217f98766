//! Runs every program in a folder at user level and says which exit with status 0: `isa FOLDER [MACHINE]`.
//!
//! Made for conformance suites that are built to end by `exit(number of the failed test)`. The status is 1
//! if any program fails.

use std::path::{Path, PathBuf};

use chasqui_sim::{Request, run};

fn main() {
    let mut args = std::env::args().skip(1);
    let Some(folder) = args.next() else {
        eprintln!("usage: isa FOLDER [MACHINE]");
        std::process::exit(2);
    };
    let machine = args.next().unwrap_or_else(|| "loggp".into());
    let results = std::env::temp_dir().join(format!("chasqui-isa-{}", std::process::id()));
    let programs = programs(Path::new(&folder)).unwrap_or_else(|error| {
        eprintln!("{folder}: {error}");
        std::process::exit(2);
    });
    let failed = programs.iter().filter(|program| !passes(program, &machine, &results)).count();
    let _ = std::fs::remove_dir_all(&results);
    println!("{} programs, {failed} failed", programs.len());
    std::process::exit(i32::from(failed > 0));
}

/// The files of a folder, by name.
fn programs(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries: Result<Vec<_>, _> = std::fs::read_dir(folder)?.collect();
    let mut paths: Vec<_> = entries?.iter().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    paths.sort();
    Ok(paths)
}

/// Runs one program and says on the terminal how it ended, unless it passes.
fn passes(program: &Path, machine: &str, results: &Path) -> bool {
    let _ = std::fs::remove_dir_all(results);
    let request = Request {
        machine: machine.into(),
        sets: vec![],
        ranks: 1,
        directory: results.into(),
        program: program.into(),
        args: vec![],
        env: Default::default(),
        echo: false,
        command: vec![],
        options: Default::default(),
    };
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    match run(&request, &mut |_| true) {
        Ok(report) if report.summary.exit_status == 0 => true,
        Ok(report) => {
            let summary = &report.summary;
            println!("{name}: status {}, {:?} {}", summary.exit_status, summary.outcome, summary.message);
            false
        }
        Err(error) => {
            println!("{name}: {error}");
            false
        }
    }
}
