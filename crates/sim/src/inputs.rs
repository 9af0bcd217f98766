//! What went into a job, for its summary.

use std::collections::BTreeMap;
use std::sync::Arc;

use chasqui_linux::Elf;
use chasqui_machine::{Job, Program};
use chasqui_placement::{JobId, Rank};
use chasqui_record::{ImageInput, InputRead, Inputs, JobInput, Profile, Profiled, ProgramInput};

/// The base names of its programs, as `master : worker`.
pub(crate) fn title(job: &Job) -> String {
    let names: Vec<&str> = job.programs.iter().map(|program| program.elf.name()).collect();
    names.join(" : ")
}

/// All that decides the results of job `id` of `jobs` beside the machine's parameters.
pub(crate) fn inputs(id: JobId, jobs: &[Job]) -> Inputs {
    let job = &jobs[id.0 as usize];
    let others = (0..).map(JobId).zip(jobs).filter(|(other, _)| *other != id);
    let beside = others.map(|(JobId(job), other)| JobInput {
        job,
        programs: programs(other),
        environment: environment(other),
    });
    Inputs {
        programs: programs(job),
        environment: environment(job),
        stdin: job.input.taken().map(|(bytes, sha256)| InputRead { bytes, sha256 }),
        trace: job.trace.clone(),
        recording_sha256: job.replay.as_ref().map(|replay| replay.sha256.clone()),
        beside: beside.collect(),
        images: images(job),
        seed: job.seed,
        jitter_ps: job.jitter.0,
        fast_forward: job.fast_forward,
    }
}

fn programs(job: &Job) -> Vec<ProgramInput> {
    let programs = job.programs.iter().scan(0, |first_rank, program| {
        let found = ProgramInput {
            name: program.elf.name().to_string(),
            first_rank: *first_rank,
            ranks: program.ranks,
            arguments: program.arguments[1..].to_vec(),
            sha256: program.elf.sha256(),
            library_sha256: program.elf.linked_with(),
        };
        *first_rank += program.ranks;
        Some(found)
    });
    programs.collect()
}

fn environment(job: &Job) -> BTreeMap<String, String> {
    let entries = job.environment.iter().filter_map(|entry| entry.split_once('='));
    entries.map(|(name, value)| (name.into(), value.into())).collect()
}

/// Says of each profile of a rank which program it is of, where there are several files.
pub(crate) fn name_programs(profiles: &mut [Profile], job: &Job) {
    let first = &job.programs[0].elf;
    if job.programs.iter().all(|program| Arc::ptr_eq(&program.elf, first)) {
        return;
    }
    for profile in profiles {
        let Profiled::Rank(rank) = profile.whose() else { continue };
        let elf = &job.program(Rank(rank)).elf;
        // Files of one name in several folders.
        let alike = |other: &&Program| other.elf.name() == elf.name() && !Arc::ptr_eq(&other.elf, elf);
        let name = match job.programs.iter().find(alike) {
            Some(_) => format!("{} (rank {})", elf.name(), first_rank(job, elf)),
            None => elf.name().to_string(),
        };
        profile.name_program(name);
    }
}

/// The first of the ranks that run `elf`.
fn first_rank(job: &Job, elf: &Arc<Elf>) -> u32 {
    job.programs
        .iter()
        .take_while(|program| !Arc::ptr_eq(&program.elf, elf))
        .map(|program| program.ranks)
        .sum()
}

/// The kernel, and the firmware from which the machine chooses.
fn images(job: &Job) -> Vec<ImageInput> {
    let image = |name: String, image: &Elf| ImageInput { name, sha256: image.sha256() };
    let kernel = job.kernel.iter().map(|kernel| image("kernel".into(), kernel));
    let firmware = job.firmware.images().map(|(name, elf)| match name {
        "" => image("firmware".into(), elf),
        name => image(format!("firmware {name}"), elf),
    });
    kernel.chain(firmware).collect()
}
