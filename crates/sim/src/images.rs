//! What runs beside the program: firmware of the machine's NIs, and the kernel under the processes, from files of the
//! folder that the request names.

use std::path::Path;
use std::sync::Arc;

use chasqui_config::Resolved;
use chasqui_linux::Elf;
use chasqui_machine::{Firmware, Machine};
use chasqui_node::{NodeConfiguration, load_kernel};

use crate::input_error::{InputError, input};

/// What runs on the firmware processors of `machine`: its files in `folder`, `<machine>.elf` and `<machine>/<image>.elf`.
pub(crate) fn firmware(folder: Option<&Path>, machine: &dyn Machine) -> Result<Firmware, InputError> {
    let Some(folder) = folder else { return Ok(Firmware::default()) };
    let mut files = vec![(String::new(), folder.join(format!("{}.elf", machine.folder())))];
    for entry in std::fs::read_dir(folder.join(machine.folder())).into_iter().flatten() {
        let file = entry.map_err(input)?.path();
        if let (Some(name), true) = (file.file_stem(), file.extension().is_some_and(|e| e == "elf")) {
            files.push((name.to_string_lossy().into_owned(), file));
        }
    }
    let there = files.into_iter().filter(|(_, file)| file.exists());
    there.map(|(name, file)| Elf::load(&file).map(|image| (name, Arc::new(image))).map_err(input)).collect()
}

/// The kernel under the processes, if the machine asks for one: with drivers of its own its file in `folder` is
/// `<machine>.kernel.elf`, or that of an image among several (`Machine::kernel_image`), `<machine>.<image>.kernel.elf`; else `kernel.elf`; for several harts, or several of a node's `processes`, `kernel-smp` stands in the place of `kernel`.
pub(crate) fn kernel(
    folder: Option<&Path>,
    machine: &dyn Machine,
    resolved: &Resolved,
    processes: u32,
) -> Result<Option<Arc<Elf>>, InputError> {
    let node = NodeConfiguration::read(resolved);
    if !node.software.kernel {
        return Ok(None);
    }
    let image = if node.harts() > 1 || processes > 1 { "kernel-smp.elf" } else { "kernel.elf" };
    let missing = || InputError("node.software.kernel: the kernel image is missing".into());
    let folder = folder.ok_or_else(missing)?;
    let of = machine.kernel_image(resolved).map_or(String::new(), |name| format!(".{name}"));
    let own = folder.join(format!("{}{of}.{image}", machine.folder()));
    let file = if own.exists() { own } else { folder.join(image) };
    load_kernel(&file).map(|image| Some(Arc::new(image))).map_err(input)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use chasqui_linux::testing::executable;

    use super::*;
    use crate::CATALOGUE;

    #[test]
    fn a_machine_has_one_image_or_one_a_folder() {
        let voyager = CATALOGUE.find("voyager").expect("a machine");
        let folder = std::env::temp_dir().join(format!("chasqui-images-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("voyager")).unwrap();
        let write = |name: &str, address: u64| {
            let file = folder.join(name);
            std::fs::write(&file, executable(address, &[0x13, 0, 0, 0])).unwrap();
            std::fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
        };
        assert!(firmware(Some(&folder), voyager).unwrap().only().is_none());
        write("voyager.elf", 0x8000_0000);
        write("voyager/thin.elf", 0x8000_0000);
        write("voyager/notes.txt", 0);
        let found = firmware(Some(&folder), voyager).unwrap();
        assert!(found.only().is_some() && found.named("thin").is_ok());
        let text = found.named("notes").err().unwrap();
        assert!(
            text.starts_with("firmware \"notes\" is missing; images that are there: ")
                && text.ends_with("thin")
        );
        std::fs::write(folder.join("voyager/thin.elf"), "no image").unwrap();
        assert!(firmware(Some(&folder), voyager).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
