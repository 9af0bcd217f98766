//! The programs of a run's jobs: most have one, some several, each on ranks of its own.

use std::path::PathBuf;
use std::sync::Arc;

use chasqui_hart::Text;
use chasqui_linux::Elf;
use chasqui_machine::Program;
use chasqui_machine::replay::Replay;

use crate::input_error::{InputError, input};
use crate::replay;
use crate::request::Request;

/// A program as it is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// Ranks.
    pub ranks: i64,
    program: &'a PathBuf,
    arguments: &'a [String],
}

/// Those of each job, in the order of their ranks.
pub(crate) fn asked<'a>(request: &'a Request, replay: Option<&Replay>) -> Vec<Vec<Asked<'a>>> {
    let of = |ranks, program, arguments| Asked { ranks, program, arguments };
    let mut own = vec![of(replay::ranks(request, replay), &request.program, &request.args)];
    own.extend(request.beside.iter().map(|more| of(more.ranks, &more.program, &more.args)));
    let others = request.others.iter().map(|job| vec![of(job.ranks, &job.program, &job.args)]);
    std::iter::once(own).chain(others).collect()
}

/// Ranks of the first job.
pub(crate) fn ranks(request: &Request) -> i64 {
    request.beside.iter().fold(request.ranks, |ranks, more| ranks.saturating_add(more.ranks))
}

/// The programs of a job.
pub(crate) struct JobPrograms(Vec<Program>);

impl JobPrograms {
    /// Reads their files. How many ranks there are has been checked.
    pub fn load(asked: &[Asked<'_>]) -> Result<JobPrograms, InputError> {
        let mut programs: Vec<Program> = vec![];
        for (at, Asked { ranks, program, arguments }) in asked.iter().enumerate() {
            // A file that is there twice, with other arguments, is read once.
            let elf = match asked[..at].iter().position(|before| before.program == *program) {
                Some(same) => programs[same].elf.clone(),
                None => Arc::new(Elf::load(program).map_err(input)?),
            };
            let name = program.to_string_lossy().into_owned();
            let arguments = std::iter::once(name).chain(arguments.iter().cloned()).collect();
            let ranks = u32::try_from(*ranks).expect("it was checked");
            programs.push(Program { ranks, elf, text: None, arguments });
        }
        Ok(JobPrograms(programs))
    }

    /// Ranks of the job.
    pub fn ranks(&self) -> u32 {
        self.0.iter().map(|program| program.ranks).sum()
    }

    /// The program of a job that has one.
    pub fn only(&self) -> &Elf {
        &self.0[0].elf
    }

    /// As so many host threads run them.
    pub fn for_threads(&self, threads: usize) -> Vec<Program> {
        let text = |program: &Program| program.elf.text().map(|range| Text::new(range, threads));
        self.0.iter().map(|program| Program { text: text(program), ..program.clone() }).collect()
    }
}
