//! Writing.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding};
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, ColumnWriterImpl, get_column_writer};
use parquet::data_type::DataType;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnDescPtr, ColumnPath};

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
    /// Rows of a group, which is encoded in memory.
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

    /// Adds rows, block after block: `fill` gives a column the values of a block, and is called for every block of each
    /// column in their order. `threads` host threads encode columns of their own each, so that `fill` may be called by
    /// several at once; a block whose rows stay in their caches is read once from memory. The bytes are the same for any
    /// number of threads and blocks of any multiple of 1024 rows. The encoded columns of the group are held in memory.
    ///
    /// # Errors
    /// When they can't be written.
    pub fn group(&mut self, threads: usize, blocks: usize, fill: &Fill<'_>) -> io::Result<()> {
        let properties = self.file.properties().clone();
        let columns: Vec<_> = self.file.schema_descr().columns().to_vec();
        let threads = threads.clamp(1, columns.len());
        let numbered: Vec<(usize, ColumnDescPtr)> = columns.into_iter().enumerate().collect();
        let encode_share = |share: usize| {
            let share = numbered.iter().skip(share).step_by(threads).cloned();
            encode(share.collect(), &properties, blocks, fill)
        };
        let mut shares = vec![];
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|share| scope.spawn(move || encode_share(share))).collect();
            shares.push(encode_share(0));
            shares.extend(others.into_iter().map(|other| other.join().expect("no column panics")));
        });
        let mut shares = shares.into_iter().collect::<io::Result<Vec<_>>>()?;
        let mut rows = self.file.next_row_group().map_err(cause)?;
        for column in 0..numbered.len() {
            let chunk = shares[column % threads].pop_front().expect("each has its share");
            rows.append_column(&chunk.bytes, chunk.close).map_err(cause)?;
        }
        rows.close().map_err(cause)?;
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

/// Gives a column, by its number, the values of a block of rows.
pub type Fill<'f> = dyn Fn(usize, usize, &mut Column<'_>) -> io::Result<()> + Sync + 'f;

/// An encoded column of a group.
struct Chunk {
    bytes: bytes::Bytes,
    close: ColumnCloseResult,
}

/// Encodes `columns`, those of one host thread.
fn encode(
    columns: Vec<(usize, ColumnDescPtr)>,
    properties: &WriterPropertiesPtr,
    blocks: usize,
    fill: &Fill<'_>,
) -> io::Result<VecDeque<Chunk>> {
    let mut sinks: Vec<_> = columns.iter().map(|_| TrackedWrite::new(vec![])).collect();
    let mut writers: Vec<_> = columns
        .into_iter()
        .zip(&mut sinks)
        .map(|((number, column), sink)| {
            let pages = Box::new(SerializedPageWriter::new(sink));
            (number, Column { writer: get_column_writer(column, properties.clone(), pages) })
        })
        .collect();
    for block in 0..blocks {
        for (number, column) in &mut writers {
            fill(block, *number, column)?;
        }
    }
    let closed: Result<Vec<_>, _> = writers.into_iter().map(|(_, column)| column.writer.close()).collect();
    let chunk = |(close, sink): (ColumnCloseResult, TrackedWrite<Vec<u8>>)| {
        Ok(Chunk { bytes: sink.into_inner().map_err(cause)?.into(), close })
    };
    closed.map_err(cause)?.into_iter().zip(sinks).map(chunk).collect()
}

/// A column of some rows, which is being encoded. Of an optional column `present` says for each row whether it has a
/// value (1, or 0), and `values` are those that are there; without it each row has one.
pub struct Column<'c> {
    writer: ColumnWriter<'c>,
}

impl Column<'_> {
    /// Further values, of 32 bits.
    ///
    /// # Errors
    /// When they can't be encoded, or it is another kind of column. So with all of these.
    pub fn int32(&mut self, values: &[i32], present: Option<&[i16]>) -> io::Result<()> {
        match &mut self.writer {
            ColumnWriter::Int32ColumnWriter(writer) => batch(writer, values, present),
            _ => Err(other_kind()),
        }
    }

    /// Further values, of 64 bits.
    ///
    /// # Errors
    /// As [`Column::int32`].
    pub fn int64(&mut self, values: &[i64], present: Option<&[i16]>) -> io::Result<()> {
        match &mut self.writer {
            ColumnWriter::Int64ColumnWriter(writer) => batch(writer, values, present),
            _ => Err(other_kind()),
        }
    }

    /// Further truth values.
    ///
    /// # Errors
    /// As [`Column::int32`].
    pub fn boolean(&mut self, values: &[bool], present: Option<&[i16]>) -> io::Result<()> {
        match &mut self.writer {
            ColumnWriter::BoolColumnWriter(writer) => batch(writer, values, present),
            _ => Err(other_kind()),
        }
    }

    /// Further bytes or text.
    ///
    /// # Errors
    /// As [`Column::int32`].
    pub fn bytes(&mut self, values: &[Bytes], present: Option<&[i16]>) -> io::Result<()> {
        match &mut self.writer {
            ColumnWriter::ByteArrayColumnWriter(writer) => batch(writer, values, present),
            _ => Err(other_kind()),
        }
    }
}

fn batch<T: DataType>(
    writer: &mut ColumnWriterImpl<'_, T>,
    values: &[T::T],
    present: Option<&[i16]>,
) -> io::Result<()> {
    writer.write_batch(values, present, None).map_err(cause).map(drop)
}

fn other_kind() -> io::Error {
    io::Error::other("the schema has another kind of column here")
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
