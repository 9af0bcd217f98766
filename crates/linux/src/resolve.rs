//! From a name that a process uses to what it stands for.
//!
//! A name is followed in the process's tree ([`Mounts`]), one component at a time, through handles of the host's folders
//! on the way, and never by a name of the host's. So neither `..` nor a symbolic link leads out of what is mounted, also
//! if another process changes both meanwhile.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::sync::Arc;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, Metadata};

use crate::descriptors::Stream;
use crate::errno::Errno;
use crate::mounts::{Mounts, Target};

/// Symbolic links on the way (Linux `MAXSYMLINKS`).
const LINKS_MAX: u32 = 40;

/// A place in a folder of the host. Its last component is no symbolic link that would have to be followed.
#[derive(Clone, Debug)]
pub struct Spot {
    /// The folder.
    pub folder: Arc<Dir>,
    /// The name in it, if it is not the folder itself.
    pub name: Option<OsString>,
    /// Where that is in the process's tree.
    pub place: String,
    /// The process may not change it.
    pub read_only: bool,
    /// It must stay where it is: it is mounted, or something beneath it.
    pub is_pinned: bool,
}

impl Spot {
    /// What is there, if it is a symbolic link the link.
    pub fn metadata(&self) -> io::Result<Metadata> {
        match &self.name {
            Some(name) => self.folder.symlink_metadata(name),
            None => self.folder.dir_metadata(),
        }
    }

    /// The folder that is there.
    ///
    /// # Errors
    /// ENOTDIR
    pub fn open_folder(&self) -> io::Result<Arc<Dir>> {
        match &self.name {
            Some(name) => self.folder.open_dir_nofollow(name).map(Arc::new),
            None => Ok(self.folder.clone()),
        }
    }

    /// Its folder and its name there, to be changed.
    ///
    /// # Errors
    /// EROFS; `EBUSY`: it must stay.
    pub fn changeable(&self) -> Result<(&Dir, &OsStr), Errno> {
        match &self.name {
            _ if self.read_only => Err(Errno::EROFS),
            Some(name) if !self.is_pinned => Ok((&self.folder, name)),
            _ => Err(Errno::EBUSY),
        }
    }
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub enum Place {
    /// Of the host's, whether there is something or not.
    Host(Spot),
    /// A folder that is there because something is mounted beneath it.
    Above(String),
    /// The program's file.
    Program,
    /// `/dev/null`
    Null,
    /// `/dev/zero`
    Zero,
    /// `/dev/random`, `/dev/urandom`
    Random,
    /// A network interface.
    Ni(usize),
    /// An open descriptor, by `/dev/fd/` or `/proc/self/fd/`.
    Descriptor(u64),
    /// Nothing, whatever the host has there.
    Outside(String),
}

/// A folder on the way.
enum Level {
    /// It is the host's.
    Host { folder: Arc<Dir>, read_only: bool },
    /// It is only there because of what is mounted beneath it.
    Above,
    /// It isn't there, as far as the process sees.
    Outside,
}

/// A name, half followed.
struct Walk<'a> {
    mounts: &'a Mounts,
    /// The folder that was reached.
    place: String,
    /// Those on the way to it, the root first, and it.
    levels: Vec<Level>,
    /// Components still to follow, the next one last.
    rest: Vec<String>,
    links: u32,
    /// Another name of the working directory was met, and the directory itself is not reached yet.
    to_working: bool,
}

impl Mounts {
    /// Whether the name `name` leads to `at`, where something has been mounted.
    ///
    /// # Errors
    /// Where it leads instead.
    pub(crate) fn check_reached(&self, name: &str, at: &str) -> Result<(), String> {
        let place = match self.resolve(name, true) {
            Ok(Place::Host(spot)) => spot.place,
            Ok(Place::Above(place) | Place::Outside(place)) => place,
            _ => return Err(format!("{name} leads to nothing")),
        };
        if place == at {
            return Ok(());
        }
        Err(format!("{name} leads through a symbolic link to {place}: bind that"))
    }

    /// What the name `path`, which begins at `/`, stands for. Whether a symbolic link at its end is followed, says `follow`.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, ELOOP, EACCES on the way.
    pub(crate) fn resolve(&self, path: &str, follow: bool) -> Result<Place, Errno> {
        let mut walk = Walk {
            mounts: self,
            place: String::new(),
            levels: vec![],
            rest: vec![],
            links: 0,
            to_working: false,
        };
        walk.begin();
        // What is changed may be called `name/`, too.
        walk.push(if follow { path } else { path.trim_end_matches('/') });
        while let Some(component) = walk.rest.pop() {
            match component.as_str() {
                "." => (),
                ".." => walk.leave(),
                name => {
                    if let Some(place) = walk.step(name, follow)? {
                        return Ok(place);
                    }
                }
            }
        }
        Ok(walk.here())
    }
}

impl Walk<'_> {
    /// Goes to the root.
    fn begin(&mut self) {
        self.place.clear();
        let root = self.mounted("/").unwrap_or(Level::Above);
        self.levels = vec![root];
    }

    /// The components of `path` come next. A slash at its end means that a folder is there.
    fn push(&mut self, path: &str) {
        if path.ends_with('/') {
            self.rest.push(".".into());
        }
        self.rest.extend(path.split('/').filter(|part| !part.is_empty()).rev().map(String::from));
    }

    /// Goes to the folder above, which for the root is the root.
    fn leave(&mut self) {
        if self.levels.len() > 1 {
            self.levels.pop();
            let end = self.place.rfind('/').expect("a place below the root");
            self.place.truncate(end);
        }
    }

    /// Goes into a folder.
    fn enter(&mut self, place: String, level: Level) {
        self.place = place;
        self.levels.push(level);
    }

    /// The folder that was reached.
    fn here(self) -> Place {
        let place = if self.place.is_empty() { "/".into() } else { self.place };
        match self.levels.into_iter().next_back().expect("the root is always there") {
            Level::Host { folder, read_only } => {
                Place::Host(Spot { folder, name: None, place, read_only, is_pinned: true })
            }
            Level::Above => Place::Above(place),
            Level::Outside => Place::Outside(place),
        }
    }

    /// The folder that is mounted at `place`.
    fn mounted(&self, place: &str) -> Option<Level> {
        let mount = self.mounts.at(place)?;
        match &mount.target {
            Target::Folder(folder) => {
                Some(Level::Host { folder: folder.clone(), read_only: mount.read_only })
            }
            Target::File(..) => None,
        }
    }

    /// Follows the component `name`. Something: that is it.
    fn step(&mut self, name: &str, follow: bool) -> Result<Option<Place>, Errno> {
        let place = format!("{}/{name}", self.place);
        let is_last = self.rest.is_empty();
        let working = self.mounts.working();
        if self.mounts.is_alias(&place) && !self.to_working {
            self.begin();
            self.push(working);
            self.to_working = working != "/";
            return Ok(None);
        }
        self.to_working &= place != working;
        if let Some(level) = self.mounted(&place) {
            self.enter(place, level);
            return Ok(None);
        }
        if let Some(mount) = self.mounts.at(&place)
            && let Target::File(folder, name) = &mount.target
        {
            let (folder, name, read_only) = (folder.clone(), Some(name.clone()), mount.read_only);
            let spot = Spot { folder, name, place, read_only, is_pinned: true };
            return if is_last { Ok(Some(Place::Host(spot))) } else { Err(Errno::ENOTDIR) };
        }
        if is_last && let Some(special) = special(&place) {
            return Ok(Some(special));
        }
        match self.levels.last().expect("the root is always there") {
            Level::Host { folder, read_only } if !self.mounts.is_hidden(&place) => {
                let (folder, read_only) = (folder.clone(), *read_only);
                self.step_in(folder, read_only, name, place, is_last, follow)
            }
            _ => {
                let level = if self.mounts.leads_on(&place) { Level::Above } else { Level::Outside };
                self.enter(place, level);
                Ok(None)
            }
        }
    }

    /// Follows the component `name`, which is not mounted, in a folder of the host.
    fn step_in(
        &mut self,
        folder: Arc<Dir>,
        read_only: bool,
        name: &str,
        place: String,
        is_last: bool,
        follow: bool,
    ) -> Result<Option<Place>, Errno> {
        let leads_on = self.mounts.leads_on(&place);
        let metadata = folder.symlink_metadata(name);
        let is_link = metadata.as_ref().is_ok_and(Metadata::is_symlink);
        if is_link && (follow || !is_last) {
            match folder.read_link_contents(name) {
                Ok(target) => self.follow(&target)?,
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => self.again(name)?,
                Err(error) => return Err(error.into()),
            }
            return Ok(None);
        }
        if leads_on && metadata.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            self.enter(place, Level::Above);
            return Ok(None);
        }
        if is_last {
            let name = Some(name.into());
            return Ok(Some(Place::Host(Spot { folder, name, place, read_only, is_pinned: leads_on })));
        }
        let is_folder = metadata?.is_dir();
        match folder.open_dir_nofollow(name) {
            Ok(folder) => {
                let folder = Arc::new(self.mounts.spared(folder)?);
                self.enter(place, Level::Host { folder, read_only });
            }
            Err(error) if is_folder && error.kind() == io::ErrorKind::NotADirectory => self.again(name)?,
            Err(error) => return Err(error.into()),
        }
        Ok(None)
    }

    /// Another process has put something else at the place of the component `name`: it is followed anew.
    fn again(&mut self, name: &str) -> Result<(), Errno> {
        self.count_link()?;
        self.rest.push(name.into());
        Ok(())
    }

    fn count_link(&mut self) -> Result<(), Errno> {
        self.links += 1;
        if self.links > LINKS_MAX { Err(Errno::ELOOP) } else { Ok(()) }
    }

    /// Goes on where a symbolic link points to, in the process's tree.
    fn follow(&mut self, target: &Path) -> Result<(), Errno> {
        self.count_link()?;
        // A name that is no text names nothing here.
        let target = target.to_str().ok_or(Errno::ENOENT)?;
        if target.starts_with('/') {
            self.begin();
        }
        self.push(target);
        Ok(())
    }
}

/// What the simulated system has at `path`.
fn special(path: &str) -> Option<Place> {
    let number = |text: &str| text.parse().ok();
    Some(match path {
        "/dev/null" => Place::Null,
        "/dev/zero" => Place::Zero,
        "/dev/random" | "/dev/urandom" => Place::Random,
        "/proc/self/exe" => Place::Program,
        "/dev/stdin" => Place::Descriptor(0),
        "/dev/stdout" => Place::Descriptor(Stream::Output as u64 + 1),
        "/dev/stderr" => Place::Descriptor(Stream::Error as u64 + 1),
        _ => {
            if let Some(ni) = path.strip_prefix("/dev/ni") {
                return number(ni).map(|ni| Place::Ni(ni as usize));
            }
            let descriptor = path.strip_prefix("/dev/fd/").or_else(|| path.strip_prefix("/proc/self/fd/"))?;
            return number(descriptor).map(Place::Descriptor);
        }
    })
}
