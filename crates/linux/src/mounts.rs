//! Which of the host's files a process sees, and where.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::errno::Errno;
use crate::places::{SHARED_MEMORY, WORKING_DIRECTORY, is_hidden, normal, within_own};

/// A file or folder of the host that a process is to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bind {
    /// Where the host has it; relative to the working directory.
    pub host: PathBuf,
    /// What the process calls it, from `/`.
    pub guest: String,
    /// The process may not change it.
    pub read_only: bool,
    /// `HOST[:GUEST]`, as it was given.
    pub given: String,
}

impl Bind {
    /// Reads `HOST[:GUEST][:ro]`. `HOST` is relative to `directory`; without `GUEST` the process calls it as the
    /// host does.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str, directory: &Path) -> Result<Bind, String> {
        let (rest, read_only) = text.strip_suffix(":ro").map_or((text, false), |rest| (rest, true));
        let (host, guest) = match rest.rfind(":/") {
            Some(at) => (&rest[..at], Some(&rest[at + 1..])),
            None => (rest, None),
        };
        if host.is_empty() {
            return Err("HOST[:GUEST][:ro] is expected".into());
        }
        if guest.is_some_and(|guest| guest.contains(':')) {
            return Err(
                "HOST[:GUEST][:ro] is expected: ro is all that may stand last, and GUEST has no colon".into(),
            );
        }
        let given = host;
        let host = directory.join(host);
        if guest.is_none() && given.contains(':') && !host.exists() {
            return Err(format!(
                "HOST[:GUEST][:ro] is expected: GUEST begins with /, and there is no file {given}"
            ));
        }
        let guest = match guest {
            Some(guest) => normal(guest),
            None => normal(host.to_str().ok_or("the name is no UTF-8")?),
        };
        Ok(Bind { host, guest, read_only, given: rest.into() })
    }
}

/// What stands at a place of the process's tree.
#[derive(Debug)]
pub(crate) struct Mount {
    pub target: Target,
    pub read_only: bool,
    /// What it is bound by, `HOST[:GUEST]`; empty: it is there without that.
    pub given: String,
}

/// What of the host's is mounted.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// A folder.
    Folder(Arc<Dir>),
    /// A file: where it is, and its name there.
    File(Arc<Dir>, OsString),
}

impl Target {
    /// What the host has at `path`, symbolic links followed.
    fn open(path: &Path) -> io::Result<Target> {
        let path = path.canonicalize()?;
        let metadata = path.metadata()?;
        let folder = |path: &Path| {
            let folder = Dir::open_ambient_dir(path, ambient_authority())?;
            if shows_the_kernel(&folder)? {
                return Err(io::Error::other(
                    "what the host's kernel has there is no file that a program may see",
                ));
            }
            Ok(Arc::new(folder))
        };
        match (path.parent(), path.file_name()) {
            _ if metadata.is_dir() => Ok(Target::Folder(folder(&path)?)),
            (Some(parent), Some(name)) if metadata.is_file() => {
                Ok(Target::File(folder(parent)?, name.into()))
            }
            _ => Err(io::Error::other("it is neither a folder nor a file")),
        }
    }
}

/// Magic numbers of file systems without files, by which Linux shows itself and what it runs, or is changed
/// (`linux/magic.h`): wherever the host has them, also below a folder that is bound, a process sees nothing there.
/// The memory of the simulator is a file of the first.
#[cfg(target_os = "linux")]
const OF_THE_KERNEL: &[u32] = &[
    0x9fa0,      // proc
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
    0xf97c_ff8c, // selinuxfs
    0x27_e0eb,   // cgroup
    0x6367_7270, // cgroup2
    0x6265_6570, // configfs
    0xcafe_4a11, // bpf
    0x6573_5543, // fusectl
    0x4249_4e4d, // binfmt_misc
    0x6165_676c, // pstore
    0xde5e_81e4, // efivarfs
    0x6e73_6673, // namespaces
    0x1cd1,      // devpts
    0x4341_5d53, // smackfs
    0x5a3c_69f0, // apparmorfs
    0x0765_5821, // resctrl
    0x1980_0202, // mqueue
    0x6759_6969, // rpc_pipefs
    0x6e66_7364, // nfsd
    0x9fa1,      // openpromfs
    0x9fa2,      // usbdevfs
    0xabba_1974, // xenfs
];

/// Whether what is open lies in such a file system.
///
/// # Errors
/// It can't be told: what the host said when it was asked.
#[cfg(target_os = "linux")]
fn shows_the_kernel(opened: impl AsFd) -> io::Result<bool> {
    let found = rustix::io::retry_on_intr(|| rustix::fs::fstatfs(&opened))?;
    Ok(OF_THE_KERNEL.contains(&(found.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
fn shows_the_kernel(_: impl AsFd) -> io::Result<bool> {
    Ok(false)
}

/// The tree of files that a process sees: folders and files of the host at places with names of their own, and the
/// folders above them. There is nothing else in it.
#[derive(Debug, Default)]
pub struct Mounts {
    /// The place of the working directory, `/cwd`; empty: there is none.
    working: String,
    /// Another name of it, by which the user came there.
    alias: Option<String>,
    mounts: BTreeMap<String, Mount>,
    /// Where the user has had something bound.
    bound: BTreeSet<String>,
    /// See [`Mounts::keep_descriptors`].
    descriptors_end: Option<i32>,
}

impl Mounts {
    /// The host's working directory `directory`, which the process may change. It is there by the host's name,
    /// so that a name which the user gives means the same file to the process; and as `/cwd`.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn new(directory: &Path) -> io::Result<Mounts> {
        let working = directory.canonicalize()?;
        let working = normal(&working.to_string_lossy());
        let mut mounts = Mounts { working, alias: None, ..Mounts::default() };
        mounts.mount(mounts.working.clone(), directory, false, "")?;
        Ok(mounts)
    }

    /// The working directory has the name `name`, too, if that leads to it: as a shell says it (`$PWD`) where symbolic links
    /// are on the way.
    pub fn name_working(&mut self, name: &Path) {
        let is_it =
            name.is_absolute() && name.canonicalize().is_ok_and(|path| path == Path::new(&self.working));
        if is_it && let Some(name) = name.to_str() {
            self.alias = Some(normal(name));
        }
    }

    /// Whether `place` is another name of the working directory.
    pub(crate) fn is_alias(&self, place: &str) -> bool {
        let is_name = place == WORKING_DIRECTORY || self.alias.as_deref() == Some(place);
        is_name && !self.working.is_empty() && place != self.working
    }

    /// Adds what `bind` says. It may stand for the working directory, or for what is in it.
    ///
    /// # Errors
    /// Why it cannot be added.
    pub fn bind(&mut self, bind: &Bind) -> Result<(), String> {
        let at = self.canonical(&bind.guest);
        if within_own(&at) {
            return Err(format!("{at} is of the simulated system itself"));
        }
        if !self.bound.insert(at.clone()) {
            return Err(format!("something else is bound at {}", bind.guest));
        }
        self.mount(at.clone(), &bind.host, bind.read_only, &bind.given)
            .map_err(|error| format!("{}: {error}", bind.host.display()))?;
        self.check_reached(&bind.guest, &at)
    }

    /// Adds all that the host has; but what describes the host itself stays hidden.
    ///
    /// # Errors
    /// The host's root cannot be opened.
    pub fn show_host(&mut self) -> io::Result<()> {
        for at in ["/", SHARED_MEMORY] {
            if !self.mounts.contains_key(at) && Path::new(at).is_dir() {
                self.mount(at.into(), Path::new(at), false, "")?;
            }
        }
        Ok(())
    }

    fn mount(&mut self, at: String, host: &Path, read_only: bool, given: &str) -> io::Result<()> {
        self.mounts.insert(at, Mount { target: Target::open(host)?, read_only, given: given.into() });
        Ok(())
    }

    /// The place of the working directory.
    pub(crate) fn working(&self) -> &str {
        &self.working
    }

    /// A place whose name may begin with `/cwd`, or with another name of the working directory.
    fn canonical(&self, path: &str) -> String {
        let names = [Some(WORKING_DIRECTORY), self.alias.as_deref()];
        let mut rests = names.into_iter().flatten().filter_map(|name| path.strip_prefix(name));
        match rests.find(|rest| rest.is_empty() || rest.starts_with('/')) {
            Some(rest) => normal(&format!("{}{rest}", self.working)),
            None => path.into(),
        }
    }

    /// What the process calls `place` when it asks: from `/cwd`, if it is in the working directory. So it gets the
    /// same answer on every host.
    pub(crate) fn shown(&self, place: &str) -> String {
        match Path::new(place).strip_prefix(&self.working) {
            Ok(rest) if !self.working.is_empty() => {
                normal(&format!("{WORKING_DIRECTORY}/{}", rest.to_str().expect("it was text")))
            }
            _ => place.into(),
        }
    }

    /// Processes may have the host's descriptors below `end` alone; the others are for what the run itself opens.
    pub fn keep_descriptors(&mut self, end: i32) {
        self.descriptors_end = Some(end);
    }

    /// What a process has had opened, if it may have it.
    ///
    /// # Errors
    /// EACCES: it shows the host's kernel, and what runs there. ENFILE: it has the descriptor of the host's that would be the run's. As the host gives the lowest that is free, all
    /// below are taken.
    pub(crate) fn spared<T: AsFd>(&self, opened: T) -> Result<T, Errno> {
        let descriptor = opened.as_fd().as_raw_fd();
        if self.descriptors_end.is_some_and(|end| descriptor >= end) {
            Err(Errno::ENFILE)
        } else if shows_the_kernel(&opened)? {
            Err(Errno::EACCES)
        } else {
            Ok(opened)
        }
    }

    /// What is mounted at `place`.
    pub(crate) fn at(&self, place: &str) -> Option<&Mount> {
        self.mounts.get(place)
    }

    /// The mount in which `place` is.
    pub(crate) fn around(&self, place: &str) -> Option<(&str, &Mount)> {
        let mut above = Path::new(place).ancestors();
        let (at, mount) = above.find_map(|at| self.mounts.get_key_value(at.to_str()?))?;
        Some((at, mount))
    }

    /// Names of what leads from the folder `place` to mounts, or is one.
    pub(crate) fn beneath(&self, place: &str) -> impl Iterator<Item = &str> {
        let place = Path::new(place).to_path_buf();
        self.mounts.keys().filter_map(move |at| {
            let rest = Path::new(at).strip_prefix(&place).ok()?;
            rest.iter().next()?.to_str()
        })
    }

    /// What is mounted in the folder `place` or leads on to it: names and kinds.
    pub(crate) fn entries(&self, place: &str, folder_kind: u8, file_kind: u8) -> BTreeMap<Vec<u8>, u8> {
        let kind = |name: &str| match self.at(&normal(&format!("{place}/{name}"))).map(|mount| &mount.target)
        {
            Some(Target::File(..)) => file_kind,
            _ => folder_kind,
        };
        self.beneath(place).map(|name| (name.as_bytes().to_vec(), kind(name))).collect()
    }

    /// A folder that describes the host, and nothing in it was mounted by name.
    pub(crate) fn is_hidden(&self, place: &str) -> bool {
        is_hidden(place) && !self.around(place).is_some_and(|(at, _)| is_hidden(at))
    }

    /// Whether mounts are beneath the folder `place`.
    pub(crate) fn leads_on(&self, place: &str) -> bool {
        self.beneath(place).next().is_some()
    }
}
