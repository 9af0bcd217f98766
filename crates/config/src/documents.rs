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
    if !name.ends_with(".toml") || name.contains('\n') {
        return Ok(value);
    }
    let Base::Directory(directory) = base else {
        return Err(format!("a machine of the catalogue can't name the file {name:?}"));
    };
    let text = chasqui_files::read_to_string(&directory.join(Path::new(name)));
    text.map(Scalar::Text).map_err(|error| format!("the file {name:?} can't be read: {error}"))
}
