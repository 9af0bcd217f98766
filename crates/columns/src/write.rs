//! Writing.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding};
use parquet::data_type::{BoolType, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use crate::seal::{self, Sealed};
use crate::{Bytes, TableError};

/// Where a file is written to.
pub type Out<'a> = &'a mut (dyn Write + Send);

/// How a table is written.
#[derive(Clone, Debug)]
pub struct Layout<'a> {
    /// The columns, in Parquet's language of schemas.
    pub schema: &'a str,
    /// The column of few words, each of which is kept once.
    pub words: &'a str,
    /// Numbers are written as differences: sorted ones and times take less room, and nothing more to read.
    pub differences: bool,
    /// Names and values beside the rows.
    pub metadata: &'a [(&'a str, &'a str)],
    /// Rows of a group, which is built in memory.
    pub group_rows: usize,
    /// The file holds a checksum of all its bytes ([`crate::is_whole`]).
    pub sealed: bool,
}

impl Layout<'_> {
    fn properties(&self) -> WriterProperties {
        let metadata = self.metadata.iter();
        let seal = self.sealed.then_some(&(seal::KEY, seal::BLANK));
        let metadata =
            metadata.chain(seal).map(|(key, value)| KeyValue::new(key.to_string(), value.to_string()));
        let words = ColumnPath::from(self.words);
        let encoding = if self.differences { Encoding::DELTA_BINARY_PACKED } else { Encoding::PLAIN };
        WriterProperties::builder()
            .set_created_by("chasqui".to_string())
            .set_compression(Compression::UNCOMPRESSED)
            .set_dictionary_enabled(false)
            .set_encoding(encoding)
            .set_column_dictionary_enabled(words.clone(), true)
            .set_column_encoding(words, Encoding::PLAIN)
            .set_max_row_group_row_count(Some(self.group_rows))
            .set_key_value_metadata(Some(metadata.collect()))
            .build()
    }
}

/// A file that is being written.
pub struct TableWriter<'a> {
    file: SerializedFileWriter<Sealed<'a>>,
}

impl<'a> TableWriter<'a> {
    /// A table without rows.
    ///
    /// # Errors
    /// When `out` can't be written, or the schema is none.
    pub fn new(out: Out<'a>, layout: &Layout<'_>) -> io::Result<TableWriter<'a>> {
        let schema = Arc::new(parse_message_type(layout.schema).map_err(cause)?);
        let file = SerializedFileWriter::new(Sealed::new(out), schema, Arc::new(layout.properties()));
        let file = file.map_err(cause)?;
        Ok(TableWriter { file })
    }

    /// Adds rows: `columns` gives the group its columns in their order, as many values to each.
    ///
    /// # Errors
    /// When they can't be written.
    pub fn group(&mut self, columns: impl FnOnce(&mut Group<'_, 'a>) -> io::Result<()>) -> io::Result<()> {
        let mut group = Group { rows: self.file.next_row_group().map_err(cause)? };
        columns(&mut group)?;
        group.rows.close().map_err(cause)?;
        Ok(())
    }

    /// The file is complete.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn close(mut self) -> io::Result<()> {
        self.file.inner_mut().begin_end();
        self.file.finish().map_err(cause)?;
        self.file.inner_mut().finish()
    }
}

/// Some rows of a table, column after column. Of an optional column `present` says for each row whether it has a value
/// (1, or 0), and `values` are those that are there; without it each row has one.
pub struct Group<'g, 'a> {
    rows: SerializedRowGroupWriter<'g, Sealed<'a>>,
}

impl Group<'_, '_> {
    /// The next column, of 32 bits.
    ///
    /// # Errors
    /// When it can't be written, or is another kind of column. So with all of these.
    pub fn int32(&mut self, values: &[i32], present: Option<&[i16]>) -> io::Result<()> {
        self.column::<Int32Type>(values, present)
    }

    /// The next column, of 64 bits.
    ///
    /// # Errors
    /// As [`Group::int32`].
    pub fn int64(&mut self, values: &[i64], present: Option<&[i16]>) -> io::Result<()> {
        self.column::<Int64Type>(values, present)
    }

    /// The next column, of truth values.
    ///
    /// # Errors
    /// As [`Group::int32`].
    pub fn boolean(&mut self, values: &[bool], present: Option<&[i16]>) -> io::Result<()> {
        self.column::<BoolType>(values, present)
    }

    /// The next column, of bytes or text.
    ///
    /// # Errors
    /// As [`Group::int32`].
    pub fn bytes(&mut self, values: &[Bytes], present: Option<&[i16]>) -> io::Result<()> {
        self.column::<ByteArrayType>(values, present)
    }

    fn column<T: DataType>(&mut self, values: &[T::T], present: Option<&[i16]>) -> io::Result<()> {
        let mut column = self.rows.next_column().map_err(cause)?.expect("the schema has this column");
        column.typed::<T>().write_batch(values, present, None).map_err(cause)?;
        column.close().map_err(cause)
    }
}

/// What went wrong with `out`, if that is all.
fn cause(error: TableError) -> io::Error {
    match error {
        TableError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
