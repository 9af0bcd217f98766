//! What went into a job, for its summary.

use chasqui_linux::Elf;
use chasqui_machine::Job;
use chasqui_record::{ImageInput, Inputs, ProgramInput};

/// The base names of its programs, as `master : worker`.
pub(crate) fn title(job: &Job) -> String {
    let names: Vec<&str> = job.programs.iter().map(|program| program.elf.name()).collect();
    names.join(" : ")
}

/// All that decides the results beside the machine's parameters.
pub(crate) fn inputs(job: &Job) -> Inputs {
    let programs = job.programs.iter().scan(0, |first_rank, program| {
        let found = ProgramInput {
            name: program.elf.name().to_string(),
            first_rank: *first_rank,
            ranks: program.ranks,
            arguments: program.arguments[1..].to_vec(),
            sha256: program.elf.sha256(),
            library_sha256: program.elf.library_sha256(),
        };
        *first_rank += program.ranks;
        Some(found)
    });
    let environment = job.environment.iter().filter_map(|entry| entry.split_once('='));
    Inputs {
        programs: programs.collect(),
        environment: environment.map(|(name, value)| (name.into(), value.into())).collect(),
        images: images(job),
        seed: job.seed,
        fast_forward: job.fast_forward,
    }
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
