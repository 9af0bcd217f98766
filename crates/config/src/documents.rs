//! Documents: parameters whose value is a text of its own, in TOML, which may lie in a file. A model gets the text, and
//! opens no file.

use std::path::{Path, PathBuf};

use crate::document::{self, Entry};
use crate::error::Problem;
use crate::quantity::{Quantity, Scalar};

/// A text in TOML. Where it is given as the name of a file that ends in `.toml`, the file's text takes the name's place
/// when the machine is resolved, so that a resolved machine needs no other file.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Document(String);

impl Document {
    /// Without anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its entries.
    ///
    /// # Errors
    /// What is wrong with its syntax; the place of each problem begins with `label`.
    pub fn entries(&self, label: &str) -> Result<Vec<Entry>, Vec<Problem>> {
        document::parse(&self.0, label)
    }
}

impl From<&str> for Document {
    fn from(text: &str) -> Document {
        Document(text.to_string())
    }
}

impl Quantity for Document {
    const TYPE: &'static str = "document";
    const UNITS: &'static str = "";

    fn parse(scalar: &Scalar) -> Result<Document, String> {
        match scalar {
            Scalar::Text(text) => Ok(Document(text.clone())),
            found => Err(format!("{found} is no document; write the name of a file that ends in .toml")),
        }
    }

    fn scalar(&self) -> Scalar {
        Scalar::Text(self.0.clone())
    }
}

/// Where a value is given: names of files in it are relative to that.
pub(crate) enum Base {
    /// A file of the catalogue, which lies in no directory.
    Catalogue,
    /// A file in this directory; empty: the working directory.
    Directory(PathBuf),
}

/// The document that `value` is, or that the file has which it names.
///
/// # Errors
/// That the file can't be read, and why.
pub(crate) fn read(value: Scalar, base: &Base) -> Result<Scalar, String> {
    let Scalar::Text(name) = &value else { return Ok(value) };
    // No name that ends so is TOML, but a comment may end in one.
    if document::parse(name, "").is_ok() {
        return Ok(value);
    }
    if !name.ends_with(".toml") || name.contains('\n') {
        return match mistaken_name(name, base) {
            Some(mistake) => Err(mistake),
            None => Ok(value),
        };
    }
    let Base::Directory(directory) = base else {
        return Err(format!("a machine of the catalogue can't name the file {name:?}"));
    };
    let text = chasqui_files::read_to_string(&directory.join(Path::new(name)));
    text.map(Scalar::Text).map_err(|error| format!("the file {name:?} can't be read: {error}"))
}

/// What is wrong with `text` as a file's name, if it is meant as one: its syntax as TOML would be a riddle.
fn mistaken_name(text: &str, base: &Base) -> Option<String> {
    let is_there = match base {
        Base::Directory(directory) => directory.join(text).exists(),
        Base::Catalogue => false,
    };
    if is_there {
        return Some(format!("{text:?} is no file whose name ends in .toml"));
    }
    // Whatever TOML has on one line is one of these.
    let is_toml = text.contains(['=', '\n']) || text.trim().starts_with('[');
    (!is_toml).then(|| {
        format!("there is no file {text:?}, and it is no TOML either; the name of a file must end in .toml")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_does_not_end_in_toml_is_no_text() {
        let directory = std::env::temp_dir().join(format!("chasqui-documents-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("made");
        std::fs::write(directory.join("ring.txt"), "switches = 1\n").expect("written");
        let base = Base::Directory(directory.clone());
        let found = |text: &str| read(Scalar::from(text), &base);
        std::fs::create_dir_all(directory.join("folder")).expect("made");
        for name in ["ring.txt", "folder"] {
            assert_eq!(found(name), Err(format!("{name:?} is no file whose name ends in .toml")));
        }
        for name in ["ring", "sub/ring.txt", "ring.toml.bak"] {
            let text = format!(
                "there is no file {name:?}, and it is no TOML either; the name of a file must end in .toml"
            );
            assert_eq!(found(name), Err(text));
        }
        for text in
            ["", "switches = 1", "a = 1\nb = 2", "[links]", "# none", " \n", "# ring.toml", "a = 1 # b.toml"]
        {
            assert_eq!(found(text), Ok(Scalar::from(text)), "{text:?} is TOML");
        }
        std::fs::remove_dir_all(directory).expect("removed");
    }
}
