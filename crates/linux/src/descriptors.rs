//! What file descriptors stand for.

use std::fs::File;
use std::sync::Arc;

use crate::errno::Errno;
use crate::input::Input;

/// Standard output or standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Descriptor 1 at first.
    Output,
    /// Descriptor 2 at first.
    Error,
}

/// An entry of an open directory.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub name: Vec<u8>,
    /// Its number.
    pub inode: u64,
    /// `DT_*` (Linux include/linux/fs_types.h).
    pub kind: u8,
}

/// What was opened.
#[derive(Clone, Debug)]
pub enum Object {
    /// A pipe that the host writes: standard input.
    Input(Arc<dyn Input>),
    /// A pipe that the host reads.
    Output(Stream),
    /// A read-only file that is in host memory: the program itself.
    Bytes(Arc<[u8]>),
    /// A file of the host.
    File {
        /// The file.
        file: Arc<File>,
        /// Where it was in the process's tree when it was opened.
        place: Arc<str>,
    },
    /// A directory.
    Directory {
        /// Where it is in the process's tree.
        place: Arc<str>,
        /// What is in it, in order of names.
        entries: Arc<[Entry]>,
    },
    /// `/dev/null`.
    Null,
    /// `/dev/zero`.
    Zero,
    /// `/dev/random`, `/dev/urandom`.
    Random,
    /// The network interface of this number.
    Ni(usize),
}

/// An open file: what descriptors made by `dup` share.
#[derive(Clone, Debug)]
pub struct Open {
    /// What was opened.
    pub object: Object,
    /// Where the next read or write is; for a directory, the next entry's number.
    pub position: u64,
    /// `O_*` status flags.
    pub flags: u64,
    references: u32,
}

#[derive(Clone, Copy)]
struct Slot {
    open: usize,
    close_on_exec: bool,
}

/// The descriptors of a process.
pub struct Descriptors {
    slots: Vec<Option<Slot>>,
    open: Vec<Option<Open>>,
}

impl Descriptors {
    /// Standard input, standard output and standard error.
    pub fn new(input: Arc<dyn Input>) -> Descriptors {
        let mut descriptors = Descriptors { slots: Vec::new(), open: Vec::new() };
        let standard = [
            (Object::Input(input), crate::open_flags::O_RDONLY),
            (Object::Output(Stream::Output), crate::open_flags::O_WRONLY),
            (Object::Output(Stream::Error), crate::open_flags::O_WRONLY),
        ];
        for (object, flags) in standard {
            descriptors.add(object, flags, false, 3).expect("there is room for three");
        }
        descriptors
    }

    fn slot(&self, descriptor: u64) -> Result<Slot, Errno> {
        let slot =
            usize::try_from(descriptor as u32).ok().and_then(|at| self.slots.get(at).copied().flatten());
        slot.ok_or(Errno::EBADF)
    }

    /// What `descriptor` stands for.
    ///
    /// # Errors
    /// EBADF
    pub fn get(&mut self, descriptor: u64) -> Result<&mut Open, Errno> {
        let slot = self.slot(descriptor)?;
        Ok(self.open[slot.open].as_mut().expect("a slot's file is open"))
    }

    /// A descriptor, the lowest free, for a newly opened object.
    ///
    /// # Errors
    /// EMFILE: `limit` descriptors are open.
    pub fn add(&mut self, object: Object, flags: u64, close_on_exec: bool, limit: u64) -> Result<i64, Errno> {
        let at = self.free_slot(0, limit)?;
        let new = Some(Open { object, position: 0, flags, references: 1 });
        let open = match self.open.iter().position(Option::is_none) {
            Some(free) => {
                self.open[free] = new;
                free
            }
            None => {
                self.open.push(new);
                self.open.len() - 1
            }
        };
        self.slots[at] = Some(Slot { open, close_on_exec });
        Ok(at as i64)
    }

    /// Whether [`Descriptors::add`] would find a descriptor.
    ///
    /// # Errors
    /// EMFILE
    pub fn check_room(&self, limit: u64) -> Result<(), Errno> {
        if self.lowest_free(0) < limit { Ok(()) } else { Err(Errno::EMFILE) }
    }

    /// Closes all.
    pub fn close_all(&mut self) {
        *self = Descriptors { slots: Vec::new(), open: Vec::new() };
    }

    fn lowest_free(&self, lowest: u64) -> u64 {
        let mut at = lowest;
        while at < self.slots.len() as u64 && self.slots[at as usize].is_some() {
            at += 1;
        }
        at
    }

    fn free_slot(&mut self, lowest: u64, limit: u64) -> Result<usize, Errno> {
        let at = self.lowest_free(lowest);
        if at >= limit {
            return Err(Errno::EMFILE);
        }
        if at as usize >= self.slots.len() {
            self.slots.resize(at as usize + 1, None);
        }
        Ok(at as usize)
    }

    /// A second descriptor for the same file, the lowest free from `lowest` on.
    ///
    /// # Errors
    /// EBADF, EMFILE
    pub fn duplicate(
        &mut self,
        descriptor: u64,
        lowest: u64,
        close_on_exec: bool,
        limit: u64,
    ) -> Result<i64, Errno> {
        let slot = self.slot(descriptor)?;
        let at = self.free_slot(lowest, limit)?;
        self.share(slot, at, close_on_exec);
        Ok(at as i64)
    }

    /// Makes `to` stand for the same file as `from`; closes what it was.
    ///
    /// # Errors
    /// EBADF
    pub fn replace(&mut self, from: u64, to: u64, close_on_exec: bool, limit: u64) -> Result<i64, Errno> {
        let slot = self.slot(from)?;
        if to >= limit {
            return Err(Errno::EBADF);
        }
        let _ = self.close(to);
        if to as usize >= self.slots.len() {
            self.slots.resize(to as usize + 1, None);
        }
        self.share(slot, to as usize, close_on_exec);
        Ok(to as i64)
    }

    fn share(&mut self, slot: Slot, at: usize, close_on_exec: bool) {
        self.open[slot.open].as_mut().expect("a slot's file is open").references += 1;
        self.slots[at] = Some(Slot { open: slot.open, close_on_exec });
    }

    /// Closes `descriptor`.
    ///
    /// # Errors
    /// EBADF
    pub fn close(&mut self, descriptor: u64) -> Result<(), Errno> {
        let slot = self.slot(descriptor)?;
        self.slots[descriptor as u32 as usize] = None;
        let open = self.open[slot.open].as_mut().expect("a slot's file is open");
        open.references -= 1;
        if open.references == 0 {
            self.open[slot.open] = None;
        }
        Ok(())
    }

    /// Whether `descriptor` would be closed by `exec`.
    ///
    /// # Errors
    /// EBADF
    pub fn close_on_exec(&self, descriptor: u64) -> Result<bool, Errno> {
        Ok(self.slot(descriptor)?.close_on_exec)
    }

    /// Sets whether `descriptor` would be closed by `exec`.
    ///
    /// # Errors
    /// EBADF
    pub fn set_close_on_exec(&mut self, descriptor: u64, close_on_exec: bool) -> Result<(), Errno> {
        let slot = self.slot(descriptor)?;
        self.slots[descriptor as u32 as usize] = Some(Slot { close_on_exec, ..slot });
        Ok(())
    }
}
