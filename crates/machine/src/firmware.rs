//! Programs of the firmware processors in a machine's NIs, by the names of their images.

use std::collections::BTreeMap;
use std::sync::Arc;

use chasqui_linux::Elf;

/// The images of a machine. One is enough for most; a machine whose NI can run other firmware, or has processors of
/// several kinds, has one for each folder `firmware/<name>/`.
#[derive(Clone, Default)]
pub struct Firmware {
    /// By name; that of `firmware/` itself is empty.
    images: BTreeMap<String, Arc<Elf>>,
}

impl Firmware {
    /// All images by their names; that of `firmware/` itself is empty.
    pub fn images(&self) -> impl Iterator<Item = (&str, &Arc<Elf>)> {
        self.images.iter().map(|(name, image)| (name.as_str(), image))
    }

    /// The image of a machine that has a single one, if it is there.
    pub fn only(&self) -> Option<Arc<Elf>> {
        self.images.get("").cloned()
    }

    /// Image `name`, of a machine that has several.
    ///
    /// # Errors
    /// There is none: what there is, in words.
    pub fn named(&self, name: &str) -> Result<Arc<Elf>, String> {
        self.images.get(name).cloned().ok_or_else(|| {
            let names: Vec<&str> = self.images.keys().map(String::as_str).collect();
            let there = if names.is_empty() { "none".into() } else { names.join(", ") };
            format!("firmware {name:?} is missing; images that are there: {there}")
        })
    }
}

impl FromIterator<(String, Arc<Elf>)> for Firmware {
    fn from_iter<I: IntoIterator<Item = (String, Arc<Elf>)>>(images: I) -> Firmware {
        Firmware { images: images.into_iter().collect() }
    }
}
