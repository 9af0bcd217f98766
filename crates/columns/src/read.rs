//! Reading.

use std::fs::File;

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
        Ok(TableFile { file: SerializedFileReader::new(file)? })
    }

    /// The value beside the rows whose name is `key`.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        let values = self.file.metadata().file_metadata().key_value_metadata()?;
        values.iter().find(|pair| pair.key == key)?.value.as_deref()
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.file.metadata().file_metadata().schema_descr().num_columns()
    }

    /// The rows, in their order.
    ///
    /// # Errors
    /// When they can't be read; likewise each of them.
    pub fn rows(&self) -> Result<Box<dyn Iterator<Item = Result<Row, TableError>> + '_>, TableError> {
        Ok(Box::new(self.file.get_row_iter(None)?))
    }
}
