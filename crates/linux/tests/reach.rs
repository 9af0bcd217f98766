//! What of the host's files a process reaches.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::machine::{Folder, Machine, PAGE};
use chasqui_linux::{Bind, Mounts, Outcome};
use chasqui_random::Random;

const CWD: u64 = -100i64 as u64;
const ENOENT: i64 = -2;
const EACCES: i64 = -13;
const EBUSY: i64 = -16;
const EEXIST: i64 = -17;
const EXDEV: i64 = -18;
const ENOTDIR: i64 = -20;
const EISDIR: i64 = -21;
const EINVAL: i64 = -22;
const EROFS: i64 = -30;
const ELOOP: i64 = -40;

const READ: u64 = 0;
const CREATE: u64 = 0o102; // O_RDWR | O_CREAT
const NO_FOLLOW: u64 = 0o400_000;
const FOLDER: u64 = 0o200_000;

/// Folders of the host: `home` is the working directory, `bound` and `kept` are bound, the latter read-only; what is in
/// `outside` no process may see.
struct Host {
    folder: Folder,
}

impl Host {
    fn new(name: &str) -> Host {
        let base = std::env::temp_dir().join(format!("chasqui-reach-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&base);
        for folder in ["home/sub", "bound/sub", "kept/sub", "outside/sub"] {
            fs::create_dir_all(base.join(folder)).unwrap();
        }
        for folder in ["home", "bound", "kept"] {
            fs::write(base.join(folder).join("file"), folder).unwrap();
        }
        for secret in ["outside/file", "outside/sub/file"] {
            fs::write(base.join(secret), "secret").unwrap();
        }
        Host { folder: Folder(base.canonicalize().unwrap()) }
    }

    fn base(&self) -> &Path {
        &self.folder.0
    }

    /// The host's name of something.
    fn name(&self, path: &str) -> String {
        self.base().join(path).to_str().unwrap().into()
    }

    fn link(&self, name: &str, target: &str) {
        symlink(target, self.base().join("home").join(name)).unwrap();
    }

    /// A process in `home` with these binds, as the option has them, relative to `home`.
    fn machine(&self, binds: &[&str]) -> Machine {
        let work = self.base().join("home");
        let mut mounts = Mounts::new(&work).unwrap();
        for text in binds {
            mounts.bind(&Bind::parse(text, &work).unwrap()).unwrap();
        }
        Machine::new(|options| options.mounts = Arc::new(mounts))
    }

    fn with_binds(&self) -> Machine {
        self.machine(&["../bound", "../kept:ro"])
    }
}

/// What the process reads from `path`, or the error.
fn read(m: &mut Machine, path: &str) -> Result<String, i64> {
    let descriptor = m.open(path, READ);
    if descriptor < 0 {
        return Err(descriptor);
    }
    let to = m.scratch + 2048;
    let bytes = m.call(63, &[descriptor as u64, to, 100]);
    m.call(57, &[descriptor as u64]);
    if bytes < 0 { Err(bytes) } else { Ok(String::from_utf8(m.get(to, bytes as usize)).unwrap()) }
}

fn on_path(m: &mut Machine, number: u64, path: &str, rest: &[u64]) -> i64 {
    let path = m.text(path);
    m.call(number, &[&[CWD, path], rest].concat())
}

fn mkdir(m: &mut Machine, path: &str) -> i64 {
    on_path(m, 34, path, &[0o755])
}

fn unlink(m: &mut Machine, path: &str) -> i64 {
    on_path(m, 35, path, &[0])
}

fn rmdir(m: &mut Machine, path: &str) -> i64 {
    on_path(m, 35, path, &[0x200])
}

fn access(m: &mut Machine, path: &str, how: u64) -> i64 {
    on_path(m, 48, path, &[how])
}

fn stat(m: &mut Machine, path: &str) -> i64 {
    let to = m.scratch + 2048;
    on_path(m, 79, path, &[to, 0])
}

fn truncate(m: &mut Machine, path: &str) -> i64 {
    let path = m.text(path);
    m.call(45, &[path, 0])
}

fn chdir(m: &mut Machine, path: &str) -> i64 {
    let path = m.text(path);
    m.call(49, &[path])
}

fn getcwd(m: &mut Machine) -> String {
    let bytes = m.call(17, &[m.scratch, 1000]);
    let text = m.get(m.scratch, bytes as usize - 1);
    String::from_utf8(text).unwrap()
}

fn rename(m: &mut Machine, from: &str, to: &str) -> i64 {
    let (at, behind) = (m.scratch, m.scratch + 1024);
    m.put(at, &[from.as_bytes(), &[0]].concat());
    m.put(behind, &[to.as_bytes(), &[0]].concat());
    m.call(276, &[CWD, at, CWD, behind, 0])
}

fn link_text(m: &mut Machine, path: &str) -> Result<String, i64> {
    let to = m.scratch + 2048;
    let bytes = on_path(m, 78, path, &[to, 1000]);
    if bytes < 0 { Err(bytes) } else { Ok(String::from_utf8(m.get(to, bytes as usize)).unwrap()) }
}

fn names(m: &mut Machine, path: &str) -> Vec<String> {
    let descriptor = m.open(path, FOLDER) as u64;
    let to = m.scratch + 1024;
    let bytes = m.call(61, &[descriptor, to, 3000]) as usize;
    let list = m.get(to, bytes);
    m.call(57, &[descriptor]);
    let (mut rest, mut names) = (&list[..], vec![]);
    while !rest.is_empty() {
        let length = usize::from(u16::from_le_bytes([rest[16], rest[17]]));
        let name: Vec<u8> = rest[19..length].iter().copied().take_while(|&byte| byte != 0).collect();
        names.push(String::from_utf8(name).unwrap());
        rest = &rest[length..];
    }
    names
}

/// All files and folders below `path`, with what is in them.
fn contents(path: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        let kind = path.symlink_metadata().unwrap();
        if kind.is_dir() {
            all.extend(contents(&path));
        }
        all.insert(path.clone(), kind.is_file().then(|| fs::read(path).unwrap()));
    }
    all
}

#[test]
fn the_working_directory_and_what_is_bound_are_seen_by_their_names() {
    let host = Host::new("names");
    let mut m = host.with_binds();
    assert_eq!(read(&mut m, "file").unwrap(), "home");
    assert_eq!(read(&mut m, "/cwd/file").unwrap(), "home");
    assert_eq!(read(&mut m, "/cwd/sub/../file").unwrap(), "home");
    assert_eq!(read(&mut m, &host.name("home/file")).unwrap(), "home");
    assert_eq!(read(&mut m, "../bound/file").unwrap(), "bound");
    assert_eq!(read(&mut m, "/cwd/../bound/file").unwrap(), "bound");
    assert_eq!(read(&mut m, &host.name("bound/sub/../file")).unwrap(), "bound");
    assert_eq!(read(&mut m, &host.name("kept/file")).unwrap(), "kept");
    assert_eq!(m.host.refused, []);
}

#[test]
fn the_working_directory_has_the_users_name_too() {
    let host = Host::new("alias");
    symlink(host.base().join("home"), host.base().join("outside/way")).unwrap();
    let (way, work) = (host.name("outside/way"), host.base().join("home"));
    let with_name = |name: &str| {
        let mut mounts = Mounts::new(&work).unwrap();
        mounts.name_working(Path::new(name));
        Machine::new(|options| options.mounts = Arc::new(mounts))
    };
    let mut m = with_name(&way);
    assert_eq!(read(&mut m, &format!("{way}/file")).unwrap(), "home");
    assert_eq!(read(&mut m, &format!("{way}/../home/file")).unwrap(), "home");
    assert_eq!(read(&mut m, &format!("{way}/../file")), Err(ENOENT));
    assert_eq!((chdir(&mut m, &way), getcwd(&mut m)), (0, "/cwd".into()));
    // A name that leads elsewhere is none.
    for name in [host.name("outside"), "relative".into(), host.name("none")] {
        assert_eq!(read(&mut with_name(&name), &format!("{name}/file")), Err(ENOENT));
    }
}

#[test]
fn what_is_outside_is_not_there() {
    let host = Host::new("outside");
    let mut m = host.with_binds();
    let before = contents(&host.base().join("outside"));
    let outside = host.name("outside");
    for path in ["../outside/file".into(), format!("{outside}/file"), format!("/cwd/..{outside}/../file")] {
        assert_eq!(read(&mut m, &path), Err(ENOENT), "{path}");
    }
    let file = host.name("outside/file");
    assert_eq!(m.open(&file, CREATE), EACCES);
    assert_eq!(m.open(&host.name("outside/new"), CREATE), EACCES);
    assert_eq!(mkdir(&mut m, &host.name("outside/new")), EACCES);
    assert_eq!([unlink(&mut m, &file), rmdir(&mut m, &host.name("outside/sub"))], [ENOENT; 2]);
    assert_eq!([rename(&mut m, &file, "stolen"), rename(&mut m, "file", &file)], [ENOENT; 2]);
    assert_eq!([truncate(&mut m, &file), access(&mut m, &file, 4), stat(&mut m, &file)], [ENOENT; 3]);
    assert_eq!(link_text(&mut m, &file), Err(ENOENT));
    assert_eq!(chdir(&mut m, "../outside"), ENOENT);
    assert_eq!(contents(&host.base().join("outside")), before);
    // For each folder that would have to be bound once for reading and once for changes, with the first file.
    let refused: Vec<(&str, &str)> = m.host.refused.iter().map(|(p, b)| (p.as_str(), b.as_str())).collect();
    let about: Vec<_> = refused.iter().filter(|(place, _)| *place == file).collect();
    assert_eq!(about.len(), 2, "{refused:?}");
    assert_eq!(refused.iter().filter(|(_, bind)| *bind == outside).count(), 2, "{refused:?}");
    // What the host has not either is not worth a word.
    m.host.refused.clear();
    assert_eq!(read(&mut m, &host.name("outside/none")), Err(ENOENT));
    assert_eq!(m.host.refused, []);
}

#[test]
fn the_hosts_description_stays_hidden_and_unmentioned() {
    let host = Host::new("hidden");
    host.link("env", "/proc/self/environ");
    host.link("all", "/proc/self/root");
    host.link("etc", "../../../../../../../../../../etc");
    let binds: [&[&str]; 2] = [&[], &["/"]];
    for binds in binds {
        let mut m = host.machine(binds);
        for path in [
            "/etc/passwd",
            "etc/passwd",
            "env",
            "all/etc/passwd",
            concat!("/proc/self/root", "/etc/passwd"),
            "/proc/1/environ",
            "/proc/self/environ",
            "/proc/self/cwd/file",
            "/usr/../etc/passwd",
            "/dev/../proc/self/environ",
            "/proc/self/task/1/environ",
            "/dev/tty",
            "/run",
            "/usr/share/zoneinfo",
        ] {
            assert_eq!(read(&mut m, path), Err(ENOENT), "{path} with {binds:?}");
        }
        assert_eq!(m.host.refused, []);
        assert!(!names(&mut m, "/").contains(&"etc".into()));
    }
    // What the host's kernel shows is no file, by whatever name it would be seen.
    let mut m = host.machine(&["/:/all", "/dev:/devices"]);
    for path in
        ["/all/proc/self/environ", "/all/proc/self/mem", "/all/sys/kernel/mm/ksm/run", "/all/proc/1/cmdline"]
    {
        assert_eq!(read(&mut m, path), Err(EACCES), "{path}");
    }
    assert_eq!(read(&mut m, "/devices/zero"), Err(EACCES));
    host.link("process", "/proc/self");
    for bind in ["/proc:/p", "/sys:/s", "/proc/self/maps:/maps", "process:/p"] {
        let bind = Bind::parse(bind, &host.base().join("home")).unwrap();
        let said = Mounts::new(host.base()).unwrap().bind(&bind).unwrap_err();
        assert!(said.ends_with("no file that a program may see"), "{said}");
    }
    assert!(Mounts::new(Path::new("/proc")).is_err());
    // Unless it is bound by name, or an argument names it.
    let mut m = host.machine(&["/etc:ro"]);
    assert_eq!(read(&mut m, "etc/passwd").unwrap(), read(&mut m, "/etc/passwd").unwrap());
    assert_eq!(read(&mut m, "env"), Err(ENOENT));
}

#[test]
fn symbolic_links_are_followed_among_what_is_seen() {
    let host = Host::new("links");
    let links = [
        ("plain", "file".into()),
        ("chain", "plain".into()),
        ("folder", "sub".into()),
        ("up", "sub/..".into()),
        ("own", host.name("home/file")),
        ("bound", host.name("bound")),
        ("above", "../bound/file".into()),
        ("out", host.name("outside/file")),
        ("out2", "../outside/file".into()),
        ("outdir", host.name("outside")),
        ("new", "sub/made".into()),
        ("newout", host.name("outside/made")),
        ("a", "b".into()),
        ("b", "a".into()),
        ("null", "/dev/null".into()),
    ];
    for (name, target) in &links {
        host.link(name, target);
    }
    let mut m = host.with_binds();
    for path in ["plain", "chain", "up/file", "own", "up/up/plain", "/cwd/folder/../file"] {
        assert_eq!(read(&mut m, path).unwrap(), "home", "{path}");
    }
    for path in ["bound/file", "above", "bound/sub/../file", "up/bound/file"] {
        assert_eq!(read(&mut m, path).unwrap(), "bound", "{path}");
    }
    for path in ["out", "out2", "outdir/file", "outdir/sub/../file", "outdir/sub/file", "new"] {
        assert_eq!(read(&mut m, path), Err(ENOENT), "{path}");
    }
    assert_eq!(read(&mut m, "null").unwrap(), "");
    assert_eq!([read(&mut m, "a"), read(&mut m, "a/x")], [Err(ELOOP), Err(ELOOP)]);
    assert_eq!(read(&mut m, "plain/"), Err(ENOTDIR));
    assert_eq!(m.open("plain", NO_FOLLOW), ELOOP);
    assert_eq!(m.open("plain", CREATE | 0o200), EEXIST, "O_EXCL");
    assert!(m.open("new", CREATE) > 0, "a file is made where the link points to");
    assert!(host.base().join("home/sub/made").is_file());
    assert_eq!(m.open("newout", CREATE), EACCES);
    assert_eq!(link_text(&mut m, "chain").unwrap(), "plain");
    assert_eq!(link_text(&mut m, "file"), Err(EINVAL));
    // The link itself is what is renamed and removed.
    assert_eq!(rename(&mut m, "out", "renamed"), 0);
    assert_eq!(unlink(&mut m, "renamed"), 0);
    assert_eq!(unlink(&mut m, "outdir/file"), ENOENT);
    assert_eq!(truncate(&mut m, "out2"), ENOENT);
    assert_eq!(fs::read(host.base().join("outside/file")).unwrap(), b"secret");
}

#[test]
fn a_hard_link_is_the_file_itself() {
    let host = Host::new("hard");
    fs::hard_link(host.base().join("outside/file"), host.base().join("home/hard")).unwrap();
    let mut m = host.machine(&[]);
    assert_eq!(read(&mut m, "hard").unwrap(), "secret", "who made it has let the file in");
    // linkat, symlinkat, mknodat, fchdir, chroot, openat2
    for number in [37, 36, 33, 50, 51, 437] {
        let path = m.text("file");
        assert_eq!(m.call(number, &[CWD, path, CWD, path, 0]), -38, "{number} is not served");
    }
}

#[test]
fn nothing_is_renamed_from_one_mount_to_another() {
    let host = Host::new("rename");
    let mut m = host.machine(&["../bound", "../kept:ro", "../bound/sub:/cwd/sub/inner"]);
    let bound = host.name("bound");
    assert_eq!(rename(&mut m, "file", &format!("{bound}/moved")), EXDEV);
    assert_eq!(rename(&mut m, &format!("{bound}/file"), "moved"), EXDEV);
    assert_eq!(rename(&mut m, "file", "sub/inner/moved"), EXDEV);
    assert_eq!(rename(&mut m, "file", "sub/moved"), 0);
    assert_eq!(rename(&mut m, "sub/moved", "../kept/moved"), EROFS);
    // Mount points stay where they are.
    assert_eq!([rename(&mut m, "sub", "sub2"), rename(&mut m, "sub/inner", "inner")], [EBUSY; 2]);
    assert_eq!([rmdir(&mut m, "sub/inner"), rmdir(&mut m, "sub"), rmdir(&mut m, &bound)], [EBUSY; 3]);
    assert_eq!([mkdir(&mut m, "sub/inner"), mkdir(&mut m, "/"), mkdir(&mut m, "..")], [EEXIST; 3]);
    assert_eq!(names(&mut m, "sub"), [".", "..", "inner", "moved"]);
}

#[test]
fn what_is_bound_read_only_cannot_be_changed() {
    let host = Host::new("kept");
    let before = contents(&host.base().join("kept"));
    let mut m = host.with_binds();
    let file = host.name("kept/file");
    assert_eq!(read(&mut m, &file).unwrap(), "kept");
    assert_eq!(m.open(&file, CREATE), EROFS);
    assert_eq!(m.open(&file, 0o1), EROFS);
    assert!(m.open(&file, 0o100) > 0, "O_CREAT of what is there changes nothing");
    assert_eq!(m.open(&host.name("kept/new"), 0o100), EROFS);
    assert_eq!([mkdir(&mut m, &host.name("kept/new")), rmdir(&mut m, &host.name("kept/sub"))], [EROFS; 2]);
    assert_eq!([unlink(&mut m, &file), truncate(&mut m, &file), access(&mut m, &file, 2)], [EROFS; 3]);
    assert_eq!(access(&mut m, &file, 4), 0);
    assert_eq!(rename(&mut m, &file, &host.name("kept/moved")), EROFS);
    assert!(m.host.refused.contains(&(file, "../kept".into())), "what it is bound by");
    // By another name, too: the hint is HOST:GUEST.
    let mut other = host.machine(&["../kept:/in:ro"]);
    assert_eq!(unlink(&mut other, "/in/file"), EROFS);
    assert_eq!(other.host.refused, [("/in/file".into(), "../kept:/in".into())]);
    assert_eq!(contents(&host.base().join("kept")), before);
    // The working directory, too, if that is asked for.
    let mut m = host.machine(&[".:ro"]);
    assert_eq!((read(&mut m, "file").unwrap(), m.open("new", CREATE)), ("home".into(), EROFS));
}

#[test]
fn binds_have_names_of_their_own() {
    let host = Host::new("own");
    let mut m =
        host.machine(&["../bound:/data/set:ro", "../bound:/cwd/in", "../kept/file:/input", "../kept/file"]);
    assert_eq!(read(&mut m, "/data/set/file").unwrap(), "bound");
    assert_eq!(read(&mut m, "in/file").unwrap(), "bound");
    assert_eq!(read(&mut m, "in/../file").unwrap(), "home", "the folder above is the one by name");
    assert_eq!(read(&mut m, "/input").unwrap(), "kept");
    assert_eq!(read(&mut m, "../kept/file").unwrap(), "kept");
    assert_eq!(read(&mut m, "/input/x"), Err(ENOTDIR));
    assert_eq!([unlink(&mut m, "/input"), rename(&mut m, "/input", "x")], [EBUSY; 2]);
    let bound = m.open("/input", 0o1002) as u64;
    m.put(m.scratch, b"new");
    assert_eq!(m.call(64, &[bound, m.scratch, 3]), 3);
    assert_eq!(fs::read(host.base().join("kept/file")).unwrap(), b"new");
    // The folders above mounts are there, with nothing else in them.
    assert_eq!(names(&mut m, "/data"), [".", "..", "set"]);
    assert_eq!(names(&mut m, "../kept"), [".", "..", "file"]);
    assert_eq!(names(&mut m, "/cwd"), [".", "..", "file", "in", "sub"]);
    assert_eq!([stat(&mut m, "/data"), access(&mut m, "/data", 4), chdir(&mut m, "/data")], [0; 3]);
    assert_eq!(read(&mut m, "set/file").unwrap(), "bound");
    assert_eq!(read(&mut m, "../input").unwrap(), "new");
    assert_eq!([m.open("/data", CREATE), m.open("/data/new", CREATE)], [EISDIR, EACCES]);
    assert_eq!([mkdir(&mut m, "/data"), rmdir(&mut m, "/data")], [EEXIST, EBUSY]);
}

#[test]
fn directories_keep_their_names() {
    let host = Host::new("directories");
    host.link("way", &host.name("bound/sub"));
    fs::write(host.base().join("bound/sub/deep"), "deep").unwrap();
    let mut m = host.with_binds();
    assert_eq!((chdir(&mut m, "sub"), getcwd(&mut m)), (0, "/cwd/sub".into()));
    assert_eq!((chdir(&mut m, &host.name("home")), getcwd(&mut m)), (0, "/cwd".into()));
    assert_eq!((chdir(&mut m, "way"), getcwd(&mut m)), (0, host.name("bound/sub")));
    assert_eq!(read(&mut m, "deep").unwrap(), "deep");
    assert_eq!(read(&mut m, "../file").unwrap(), "bound");
    let directory = m.open("..", FOLDER) as u64;
    let path = m.text("sub/deep");
    assert!(m.call(56, &[directory, path, READ, 0]) > 0, "relative to a descriptor");
    let path = m.text("../outside/file");
    assert_eq!(m.call(56, &[directory, path, READ, 0]), ENOENT);
    let path = m.text("../../../../../../../../../..");
    assert_eq!((m.call(49, &[path]), getcwd(&mut m)), (0, "/".into()));
    assert_eq!((chdir(&mut m, "/cwd/file"), chdir(&mut m, "/dev/null")), (ENOTDIR, ENOTDIR));
}

#[test]
fn all_of_the_host_is_seen_if_that_is_asked_for() {
    let host = Host::new("all");
    let mut mounts = Mounts::new(&host.base().join("home")).unwrap();
    mounts.show_host().unwrap();
    let mut m = Machine::new(|options| options.mounts = Arc::new(mounts));
    assert_eq!(read(&mut m, "../outside/file").unwrap(), "secret");
    assert_eq!(read(&mut m, &host.name("outside/file")).unwrap(), "secret");
    assert_eq!(read(&mut m, "/proc/self/environ"), Err(ENOENT));
    assert_eq!((chdir(&mut m, ".."), getcwd(&mut m)), (0, host.name("").trim_end_matches('/').into()));
    assert!(m.open("made", CREATE) > 0);
}

#[test]
fn binds_that_cannot_be_are_refused() {
    let host = Host::new("binds");
    let work = host.base().join("home");
    let bind = |texts: &[&str]| -> Result<(), String> {
        let mut mounts = Mounts::new(&work).unwrap();
        texts.iter().try_for_each(|text| Bind::parse(text, &work).and_then(|bind| mounts.bind(&bind)))
    };
    assert_eq!(bind(&["", ":ro", ":/x"]).unwrap_err(), "HOST[:GUEST][:ro] is expected");
    assert!(bind(&["none"]).unwrap_err().contains("No such file"));
    assert!(bind(&["file:rw"]).unwrap_err().contains("there is no file file:rw"));
    assert_eq!(bind(&["file:/proc/x"]).unwrap_err(), "/proc/x is of the simulated system itself");
    assert_eq!(bind(&["file:/a", "sub:/b/../a"]).unwrap_err(), "something else is bound at /a");
    assert!(bind(&["/dev/null:/null"]).unwrap_err().contains("neither a folder nor a file"));
    assert_eq!(bind(&["../bound:/cwd", "sub", "file:/x:ro"]), Ok(()));
    for wrong in ["a:/b:RO", "a:/b:rw", "a:b", ":ro", ""] {
        let said = Bind::parse(wrong, Path::new("/w")).unwrap_err();
        assert!(said.starts_with("HOST[:GUEST][:ro] is expected"), "{wrong}: {said}");
    }
    let parsed = Bind::parse("a:b:/c/./d:ro", Path::new("/w")).unwrap();
    assert_eq!((parsed.host, parsed.guest, parsed.read_only), ("/w/a:b".into(), "/c/d".into(), true));
}

#[test]
fn a_bind_is_reached_by_its_name_or_refused() {
    let host = Host::new("reached");
    let work = host.base().join("home");
    host.link("link", "sub");
    fs::create_dir(work.join("sub/data")).unwrap();
    let mut mounts = Mounts::new(&work).unwrap();
    let through = mounts.bind(&Bind::parse("link/data:ro", &work).unwrap()).unwrap_err();
    let place = host.name("home/sub/data");
    assert!(through.ends_with(&format!("leads through a symbolic link to {place}: bind that")), "{through}");
    // The working directory by another name, read-only.
    symlink(&work, host.base().join("other")).unwrap();
    let other = host.name("other");
    let mut mounts = Mounts::new(&work).unwrap();
    mounts.name_working(Path::new(&other));
    mounts.bind(&Bind::parse(&format!("{other}:ro"), &work).unwrap()).unwrap();
    let again = mounts.bind(&Bind::parse("../bound:/cwd", &work).unwrap());
    assert_eq!(again.unwrap_err(), "something else is bound at /cwd");
    let mut m = Machine::new(|options| options.mounts = Arc::new(mounts));
    for name in ["made", "/cwd/made", &host.name("home/made"), &host.name("other/made")] {
        assert_eq!(m.open(name, CREATE), EROFS, "{name}");
    }
}

#[test]
fn too_much_output_ends_the_process() {
    let host = Host::new("output");
    let mut m = host.machine(&[]);
    let file = m.open("file", 0o1002) as u64;
    m.host.output_bytes_max = Some(4096 + 150);
    assert_eq!(m.call(64, &[file, m.scratch, 100]), 100);
    assert_eq!(m.call(64, &[1, m.scratch, 100]), 100);
    let null = m.open("/dev/null", 1) as u64;
    assert_eq!(m.call(64, &[null, m.scratch, 100]), 100, "which fills nothing");
    assert_eq!(
        m.outcome(68, &[file, m.scratch, 100, 0]),
        Outcome::TooMuchOutput,
        "what is overwritten counts"
    );
    assert_eq!(m.outcome(64, &[1, m.scratch, 100]), Outcome::TooMuchOutput);
    assert_eq!(fs::read(host.base().join("home/file")).unwrap().len(), 100);
    // Files without contents take room, too.
    (m.host.written, m.host.output_bytes_max) = (0, Some(250));
    let path = m.text("new");
    assert_eq!(m.outcome(56, &[CWD, path, CREATE, 0o644]), Outcome::TooMuchOutput);
    assert_eq!(m.outcome(34, &[CWD, path, 0o755]), Outcome::TooMuchOutput);
    assert!(!host.base().join("home/new").exists());
}

/// What a call counts for: number and arguments.
fn counted(m: &mut Machine, number: u64, arguments: &[u64]) -> u64 {
    m.host.written = 0;
    assert!(m.call(number, arguments) >= 0, "{number} {arguments:?}");
    m.host.written
}

#[test]
fn a_write_counts_for_the_blocks_that_it_is_the_first_to_touch() {
    let host = Host::new("blocks");
    let mut m = host.machine(&[]);
    let (file, s) = (m.open("sparse", CREATE) as u64, m.scratch);
    let on_disk = || fs::metadata(host.base().join("home/sparse")).unwrap().blocks() * 512;
    let before = on_disk();
    // pwrite64: bytes, offset, what it counts for.
    let rows = [
        (1, 40 << 12, 4096, "far behind the end"),
        (4095, (40 << 12) + 1, 0, "the rest of that block"),
        (10, (40 << 12) + 5, 10, "again"),
        (1, 20 << 12, 4096, "in the hole before"),
        (2, (30 << 12) - 1, 8192, "in two blocks of it"),
        (4096, 21 << 12, 4096, "beside what is there"),
        (4096, (21 << 12) + 1, 4095 + 4096 - 4095, "half of it new"),
        (4096, 41 << 12, 4096, "at the end"),
        (1, 0, 4096, "at the beginning"),
    ];
    let mut all = 0;
    for (bytes, offset, expected, what) in rows {
        all += counted(&mut m, 68, &[file, s, bytes, offset]);
        assert_eq!(m.host.written, expected, "{what}");
        assert!(on_disk() - before <= all, "{what}: {} of {all}", on_disk() - before);
    }
    // A length alone takes nothing; a byte behind it in a block that is not there does.
    for blocks in 50..60 {
        assert_eq!(counted(&mut m, 46, &[file, (blocks << 12) - 1]), 0, "ftruncate");
        assert_eq!(counted(&mut m, 68, &[file, s, 1, (blocks << 12) - 1]), 4096, "block {blocks}");
    }
    // With O_APPEND, and by a position.
    let append = m.open("sparse", 0o2001) as u64;
    assert_eq!(counted(&mut m, 64, &[append, s, 10]), 4096);
    assert_eq!(counted(&mut m, 64, &[append, s, 10]), 0);
    let long = (1 << 63) - 5;
    m.host.written = 0;
    assert!(m.call(68, &[file, s, 10, long]) < 0, "what can't be written");
    assert_eq!(m.host.written, 0);
}

/// Descriptors of this process for what is in `folder`.
fn open_in(folder: &Path) -> usize {
    let all = fs::read_dir("/proc/self/fd").unwrap().filter_map(|fd| fs::read_link(fd.unwrap().path()).ok());
    all.filter(|path| path.starts_with(folder)).count()
}

#[test]
fn a_process_closes_its_files_when_it_ends() {
    let host = Host::new("closes");
    let mut m = host.machine(&[]);
    let folder = host.base().join("home");
    fs::write(folder.join("file"), "text").unwrap();
    let before = open_in(&folder);
    let [file, mapped] = [0; 2].map(|_| m.open("file", 0) as u64);
    assert_eq!(m.call(222, &[0, PAGE, 1, 2, mapped, 0]) & 4095, 0, "mmap");
    assert_eq!(m.call(57, &[mapped]), 0);
    assert_eq!(open_in(&folder), before + 2);
    m.process.close_files();
    assert_eq!(open_in(&folder), before);
    assert_eq!(m.call(63, &[file, m.scratch, 1]), -9, "EBADF");
}

#[test]
fn descriptors_that_the_run_keeps_are_no_process_s() {
    let host = Host::new("kept");
    let home = host.base().join("home");
    let mut mounts = Mounts::new(&home).unwrap();
    mounts.keep_descriptors(0);
    let mut m = Machine::new(|options| options.mounts = Arc::new(mounts));
    fs::create_dir(home.join("folder")).unwrap();
    fs::write(home.join("folder/file"), "text").unwrap();
    const ENFILE: i64 = -23;
    for (name, flags) in [("folder", 0), ("folder/file", 0), ("folder/file", 0o1002), ("new", CREATE)] {
        assert_eq!(m.open(name, flags), ENFILE, "{name}");
    }
    assert_eq!(fs::read(home.join("folder/file")).unwrap(), b"text");
    let name = m.text("folder/file");
    assert_eq!(m.call(45, &[name, 1]), ENFILE, "truncate");
    assert_eq!(m.host.no_files, 1, "said once");
    assert_eq!(open_in(&home), 1, "the folder itself");
    assert!(m.open("/dev/null", 0) > 0, "which is none of the host's");
}

#[test]
fn a_process_without_a_free_descriptor_changes_nothing() {
    let host = Host::new("full");
    let mut m = host.machine(&[]);
    let home = host.base().join("home");
    fs::write(home.join("file"), "text").unwrap();
    while m.open("/dev/null", 0) >= 0 {}
    const EMFILE: i64 = -24;
    assert_eq!(m.open("file", 0o1002), EMFILE, "O_TRUNC");
    assert_eq!(m.open("new", CREATE), EMFILE);
    assert_eq!(m.open("none", 0), EMFILE);
    assert_eq!(fs::read(home.join("file")).unwrap(), b"text");
    assert!(!home.join("new").exists());
    assert_eq!(m.host.no_files, 0, "the limit is its own");
}

/// Says at its end that a test is over.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A folder that becomes a link to the outside at any moment lets nothing through.
#[test]
fn a_race_of_links_leads_nowhere() {
    let host = Host::new("race");
    fs::create_dir(host.base().join("home/d")).unwrap();
    fs::write(host.base().join("home/d/file"), "inside").unwrap();
    let before = contents(&host.base().join("outside"));
    host.link("l", &host.name("outside"));
    let over = AtomicBool::new(false);
    let work = host.base().join("home");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // `way` is the folder, then the link, and so on.
            while !over.load(Ordering::Relaxed) {
                for name in ["d", "l"] {
                    fs::rename(work.join(name), work.join("way")).unwrap();
                    fs::rename(work.join("way"), work.join(name)).unwrap();
                }
            }
        });
        // Whatever comes, the other thread ends.
        let _over = Over(&over);
        let mut m = host.machine(&[]);
        let mut seen = 0;
        for round in 0..5_000 {
            match read(&mut m, "way/file") {
                Ok(text) => {
                    assert_eq!(text, "inside");
                    seen += 1;
                }
                Err(error) => assert!([ENOENT, ENOTDIR, ELOOP].contains(&error), "{error}"),
            }
            let made = format!("way/{round}");
            let descriptor = m.open(&made, CREATE);
            if descriptor >= 0 {
                m.call(57, &[descriptor as u64]);
            }
            mkdir(&mut m, &format!("way/f{round}"));
            unlink(&mut m, &made);
            rename(&mut m, "way/file", "way/file");
            rmdir(&mut m, "way/sub");
        }
        assert!(seen > 0);
    });
    assert_eq!(contents(&host.base().join("outside")), before);
}

#[test]
fn no_operations_reach_what_is_not_bound() {
    let mut random = Random::for_test(20);
    for round in 0..60 {
        let host = Host::new(&format!("fuzz{round}"));
        let (kept, outside) = (host.base().join("kept"), host.base().join("outside"));
        let before = [contents(&kept), contents(&outside)];
        let mut parts: Vec<String> =
            ["file", "sub", "..", ".", "", "new", "l0", "l1", "l2", "l3", "home", "bound", "kept", "outside"]
                .map(String::from)
                .into();
        parts.extend(["cwd", "proc", "self", "root", "dev", "fd", "3"].map(String::from));
        let path = |random: &mut Random| -> String {
            let start = match random.below(6) {
                0 => host.name("home"),
                1 => host.name("bound"),
                2 => host.name("kept"),
                3 => host.name("outside"),
                4 => "/cwd".into(),
                _ => ".".into(),
            };
            let rest = (0..random.below(6)).map(|_| parts[random.below(parts.len() as u64) as usize].clone());
            std::iter::once(start).chain(rest).collect::<Vec<_>>().join("/")
        };
        for link in 0..4 {
            host.link(&format!("l{link}"), &path(&mut random));
        }
        let mut m = host.with_binds();
        let mut succeeded = 0;
        for _ in 0..400 {
            let (one, two) = (path(&mut random), path(&mut random));
            let result = match random.below(12) {
                0 | 1 => match read(&mut m, &one) {
                    Ok(text) => {
                        assert_ne!(text, "secret", "{one}");
                        0
                    }
                    Err(error) => error,
                },
                2 | 3 => {
                    let flags =
                        [0o1, 0o2, CREATE, 0o1102, 0o302, 0o2101, NO_FOLLOW][random.below(7) as usize];
                    let descriptor = m.open(&one, flags);
                    if descriptor >= 3 {
                        m.put(m.scratch, b"changed");
                        m.call(64, &[descriptor as u64, m.scratch, 7]);
                        m.call(57, &[descriptor as u64]);
                    }
                    descriptor
                }
                4 => mkdir(&mut m, &one),
                5 => unlink(&mut m, &one),
                6 => rmdir(&mut m, &one),
                7 | 8 => rename(&mut m, &one, &two),
                9 => truncate(&mut m, &one),
                10 => chdir(&mut m, &one),
                _ => stat(&mut m, &one),
            };
            succeeded += u32::from(result >= 0);
        }
        assert_eq!([contents(&kept), contents(&outside)], before, "round {round}");
        assert!(succeeded > 10, "round {round}: too wild to reach anything");
        let here = fs::read_dir(host.base()).unwrap().count();
        assert_eq!(here, 4, "round {round}: nothing beside the folders");
    }
}
