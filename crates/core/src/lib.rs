//! The Python package's extension module: text in, text out (JSON unless said otherwise), and one
//! exception for what the user must mend.

use chasqui_linux::syscall::Service;
use chasqui_sim::{CATALOGUE, Request, Test};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(_core, InputError, PyException, "What the user gave can't be used; the text says why.");

/// For a run that an exception ended, which is raised when the run has stopped.
const SIGINT: i32 = 2;

fn input(e: impl std::fmt::Display) -> PyErr {
    InputError::new_err(e.to_string())
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(input)
}

/// Version of the simulator.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The machines of the catalogue.
#[pyfunction]
fn machines() -> PyResult<String> {
    json(&chasqui_sim::machines().map_err(input)?)
}

/// Every parameter of a machine, with its value.
#[pyfunction]
#[pyo3(signature = (machine, sets = vec![]))]
fn parameters(machine: &str, sets: Vec<String>) -> PyResult<String> {
    let resolved = chasqui_config::resolve(&CATALOGUE, machine, &sets).map_err(input)?;
    json(&chasqui_sim::describe(&resolved))
}

/// For each size [bytes] the messages after which every ring and buffer of a machine has been used.
#[pyfunction]
fn warm_up(machine: &str, sets: Vec<String>, sizes: Vec<u64>) -> PyResult<Vec<u64>> {
    chasqui_sim::warm_up(machine, &sets, &sizes).map_err(input)
}

/// What may happen to packets on a machine's links so that its protocol copes with it; none: it has no such links.
#[pyfunction]
fn faults(machine: &str, sets: Vec<String>) -> PyResult<Option<Vec<String>>> {
    chasqui_sim::faults(machine, &sets).map_err(input)
}

/// A machine file, as TOML, that holds every parameter.
#[pyfunction]
fn resolve(machine: &str, sets: Vec<String>) -> PyResult<String> {
    Ok(chasqui_config::resolve(&CATALOGUE, machine, &sets).map_err(input)?.to_toml())
}

/// Whether a program could be run.
#[pyfunction]
fn check(py: Python<'_>, request: &str) -> PyResult<()> {
    let request: Request = serde_json::from_str(request).map_err(input)?;
    py.detach(|| chasqui_sim::check(&request)).map_err(input)
}

/// Runs a program. `progress`, called a few times a second, gets JSON and returns the signal for which to stop, or
/// none.
#[pyfunction]
#[pyo3(signature = (request, progress = None))]
fn run(py: Python<'_>, request: &str, progress: Option<Py<PyAny>>) -> PyResult<String> {
    let request: Request = serde_json::from_str(request).map_err(input)?;
    let mut raised = None;
    let report = py.detach(|| {
        chasqui_sim::run(&request, &mut |now| {
            let stop_for = Python::attach(|py| -> PyResult<Option<i32>> {
                py.check_signals()?;
                let Some(progress) = &progress else { return Ok(None) };
                let text = json(&now)?;
                progress.call1(py, (text,))?.extract(py)
            });
            stop_for.unwrap_or_else(|error| {
                raised = Some(error);
                Some(SIGINT)
            })
        })
    });
    match raised {
        Some(error) => Err(error),
        None => json(&report.map_err(input)?),
    }
}

/// Runs one test of a conformance suite.
#[pyfunction]
fn conformance(py: Python<'_>, test: &str) -> PyResult<String> {
    let test: Test = serde_json::from_str(test).map_err(input)?;
    json(&py.detach(|| chasqui_sim::conformance(&test)).map_err(input)?)
}

/// What a compiled file asks of the MPI library and of Linux.
#[pyfunction]
fn inspect(py: Python<'_>, path: std::path::PathBuf) -> PyResult<String> {
    json(&py.detach(|| chasqui_inspect::inspect(&path)).map_err(input)?)
}

/// The functions that a program calls by name.
#[pyfunction]
fn called(py: Python<'_>, path: std::path::PathBuf) -> PyResult<String> {
    json(&py.detach(|| chasqui_inspect::called(&path)).map_err(input)?)
}

/// Every system call of Linux, and what becomes of it.
#[pyfunction]
fn system_calls() -> PyResult<String> {
    let rows: Vec<_> = chasqui_linux::syscall::calls()
        .map(|(number, name, service)| {
            let (served, left_out) = match service {
                Service::Full => ("full", None),
                Service::Partial(left_out) => ("partial", Some(left_out)),
                Service::Refused => ("refused", None),
                Service::Missing => ("missing", None),
            };
            serde_json::json!({"number": number, "name": name, "served": served, "left_out": left_out})
        })
        .collect();
    json(&rows)
}

/// Reports about runs and machines, as text.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("InputError", module.py().get_type::<InputError>())?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(machines, module)?)?;
    module.add_function(wrap_pyfunction!(parameters, module)?)?;
    module.add_function(wrap_pyfunction!(resolve, module)?)?;
    module.add_function(wrap_pyfunction!(warm_up, module)?)?;
    module.add_function(wrap_pyfunction!(faults, module)?)?;
    module.add_function(wrap_pyfunction!(conformance, module)?)?;
    module.add_function(wrap_pyfunction!(inspect, module)?)?;
    module.add_function(wrap_pyfunction!(called, module)?)?;
    module.add_function(wrap_pyfunction!(system_calls, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)
}
