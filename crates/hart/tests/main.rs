//! The crate's tests outside of its modules: one executable, so that what they share is compiled and linked once.

mod bench;
mod berkeley;
mod cycles;
mod decode;
mod emulators;
mod encodings;
mod fp_short_cut;
mod fp_tables;
mod handlers;
mod host_modes;
mod lockstep;
mod machine;
mod programs;
mod supervisor;
#[cfg(all(target_arch = "x86_64", unix))]
mod translation;
