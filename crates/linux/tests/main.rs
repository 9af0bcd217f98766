//! The crate's tests outside of its modules: one executable, so that what they share is compiled and linked once.

mod elf;
mod numa;
mod process;
mod reach;
mod space;
mod support;
mod syscalls;
