//! Reading. A file may be damaged; the Parquet library asserts in places what a file says of itself, and such a panic is
//! an error here like any other.

use std::cell::Cell;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::{Row, TableError};

/// A table in a file.
pub struct TableFile {
    file: SerializedFileReader<File>,
}

impl TableFile {
    /// The table in `file`.
    ///
    /// # Errors
    /// When it is no Parquet file.
    pub fn new(file: File) -> Result<TableFile, TableError> {
        let bytes = file.metadata()?.len();
        let file = guarded(|| SerializedFileReader::new(file))?;
        let found = TableFile { file };
        found.check(bytes)?;
        Ok(found)
    }

    /// The columns lie within the file's `bytes`, and are all as long as their group.
    fn check(&self, bytes: u64) -> Result<(), TableError> {
        let lies_within = |column: &ColumnChunkMetaData| {
            let begins = [Some(column.data_page_offset()), column.dictionary_page_offset()];
            let length = u64::try_from(column.compressed_size()).ok();
            let mut ends =
                begins.into_iter().flatten().map(|at| u64::try_from(at).ok()?.checked_add(length?));
            ends.all(|end| end.is_some_and(|end| end <= bytes))
        };
        for group in self.file.metadata().row_groups() {
            let is_whole = |column: &ColumnChunkMetaData| column.num_values() == group.num_rows();
            if !group.columns().iter().all(|column| lies_within(column) && is_whole(column)) {
                return Err(damaged());
            }
        }
        Ok(())
    }

    /// The value beside the rows whose name is `key`.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        let values = self.file.metadata().file_metadata().key_value_metadata()?;
        values.iter().find(|pair| pair.key == key)?.value.as_deref()
    }

    /// Names of the columns, in their order.
    pub fn columns(&self) -> Vec<&str> {
        let schema = self.file.metadata().file_metadata().schema_descr();
        schema.columns().iter().map(|column| column.name()).collect()
    }

    /// The rows, in their order.
    ///
    /// # Errors
    /// When they can't be read; likewise each of them, and then no more come.
    pub fn rows(&self) -> Result<Box<dyn Iterator<Item = Result<Row, TableError>> + '_>, TableError> {
        let mut rows = Some(guarded(|| self.file.get_row_iter(None))?);
        Ok(Box::new(std::iter::from_fn(move || {
            let row = guarded(|| rows.as_mut().and_then(Iterator::next).transpose()).transpose();
            if !matches!(row, Some(Ok(_))) {
                rows = None;
            }
            row
        })))
    }
}

fn damaged() -> TableError {
    TableError::General("it is damaged: it contradicts itself".into())
}

thread_local! {
    /// This thread is in [`guarded`], where a panic is no news for the user.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// What `read` gives, or the error that its panic is.
fn guarded<T>(read: impl FnOnce() -> Result<T, TableError>) -> Result<T, TableError> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                others(panic);
            }
        }));
    });
    GUARDED.set(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(false);
    result.unwrap_or_else(|_| Err(damaged()))
}
