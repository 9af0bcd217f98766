//! `messages.parquet`: one row a message, sorted by (source, sequence).

use crate::messages::{Message, Messages};
use crate::recorder::Description;
use crate::stage::Stage;
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// Version of the columns.
const LAYOUT_VERSION: &str = "2";

/// The column of words.
const MECHANISM: &str = "mechanism";

/// Where a file is written to. One type for all: the writer is compiled for each, which takes long.
pub(crate) type Out<'a> = &'a mut (dyn Write + Send);

/// Rows of a group, which is built in memory.
const GROUP_ROWS: usize = 1 << 20;

impl Messages {
    /// Writes the records to `path`; [`crate::RunDirectory::write_messages`] does so atomically.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn write_parquet(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let mut file = io::BufWriter::new(std::fs::File::create(path)?);
        self.write_parquet_to(&mut file)?;
        file.flush()
    }

    /// Writes the records as a Parquet file. The same records give the same bytes.
    ///
    /// # Errors
    /// When `out` can't be written.
    pub fn write_parquet_to(&self, out: &mut (dyn Write + Send)) -> io::Result<()> {
        self.write(out).map_err(|error| match error {
            ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(error) => *error,
                Err(other) => io::Error::other(other),
            },
            other => io::Error::other(other),
        })
    }

    fn write(&self, out: Out<'_>) -> Result<(), ParquetError> {
        let version = KeyValue::new("chasqui.layout_version".to_string(), LAYOUT_VERSION.to_string());
        let properties = WriterProperties::builder()
            // Nothing that changes with the crate's version, the host or the date.
            .set_created_by("chasqui".to_string())
            .set_compression(Compression::UNCOMPRESSED)
            // Sorted numbers and times: differences pack better than words, and cost nothing to unpack.
            .set_dictionary_enabled(false)
            .set_encoding(Encoding::DELTA_BINARY_PACKED)
            // A few words, repeated.
            .set_column_dictionary_enabled(ColumnPath::from(MECHANISM), true)
            .set_column_encoding(ColumnPath::from(MECHANISM), Encoding::PLAIN)
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_key_value_metadata(Some(vec![version]))
            .build();
        let schema = Arc::new(parse_message_type(&schema())?);
        let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
        for rows in self.rows().chunks(GROUP_ROWS) {
            let mut group = writer.next_row_group()?;
            self.write_group(&mut group, rows)?;
            group.close()?;
        }
        writer.close()?;
        Ok(())
    }

    fn write_group(
        &self,
        group: &mut SerializedRowGroupWriter<'_, Out<'_>>,
        rows: &[Message],
    ) -> Result<(), ParquetError> {
        let description = |of: fn(Description) -> i32| move |m: &Message| m.description.map(of);
        column32(group, rows, |m| Some(i32::from(m.id.source)), true)?;
        column32(group, rows, |m| Some(m.id.sequence as i32), true)?;
        column32(group, rows, description(|d| i32::from(d.destination)), false)?;
        column32(group, rows, description(|d| d.tag), false)?;
        column32(group, rows, description(|d| i32::from(d.context)), false)?;
        column64(group, rows, |m| m.description.map(|d| d.bytes as i64))?;
        column_of_words(group, rows, |m| self.mechanism(m))?;
        for stage in Stage::ALL {
            column64(group, rows, |m| m.time(stage).map(|ps| ps as i64))?;
        }
        Ok(())
    }
}

fn schema() -> String {
    let mut text = String::from(
        "message messages {
            required int32 source (integer(16, false));
            required int32 sequence (integer(32, false));
            optional int32 destination (integer(16, false));
            optional int32 tag;
            optional int32 context (integer(16, false));
            optional int64 bytes (integer(64, false));
            optional binary mechanism (string);",
    );
    for stage in Stage::ALL {
        write!(text, " optional int64 {};", stage.column()).unwrap();
    }
    text + "}"
}

/// The values that are there, and for each row whether it has one.
fn split<T>(rows: &[Message], of: impl Fn(&Message) -> Option<T>) -> (Vec<T>, Vec<i16>) {
    let mut values = Vec::with_capacity(rows.len());
    let mut levels = Vec::with_capacity(rows.len());
    for row in rows {
        let value = of(row);
        levels.push(i16::from(value.is_some()));
        values.extend(value);
    }
    (values, levels)
}

fn column32(
    group: &mut SerializedRowGroupWriter<'_, Out<'_>>,
    rows: &[Message],
    of: impl Fn(&Message) -> Option<i32>,
    required: bool,
) -> Result<(), ParquetError> {
    let (values, levels) = split(rows, of);
    let mut column = group.next_column()?.expect("the schema has this column");
    column.typed::<Int32Type>().write_batch(&values, (!required).then_some(levels.as_slice()), None)?;
    column.close()
}

fn column64(
    group: &mut SerializedRowGroupWriter<'_, Out<'_>>,
    rows: &[Message],
    of: impl Fn(&Message) -> Option<i64>,
) -> Result<(), ParquetError> {
    let (values, levels) = split(rows, of);
    let mut column = group.next_column()?.expect("the schema has this column");
    column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
    column.close()
}

fn column_of_words(
    group: &mut SerializedRowGroupWriter<'_, Out<'_>>,
    rows: &[Message],
    of: impl Fn(&Message) -> Option<&'static str>,
) -> Result<(), ParquetError> {
    let (values, levels) = split(rows, |m| of(m).map(ByteArray::from));
    let mut column = group.next_column()?.expect("the schema has this column");
    column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use crate::{MessageId, Recorder, Stage};
    use parquet::file::reader::{FileReader, SerializedFileReader};

    fn recorders() -> Vec<Recorder> {
        let mut recorders = vec![Recorder::new(0, 1), Recorder::new(1, 1)];
        for sequence in 0..1_000u32 {
            let id = MessageId { source: 0, sequence };
            recorders[0].describe(id, 1, sequence as i32 - 500, 40_000, u64::from(sequence) << 30);
            recorders[0].stamp(id, Stage::Call, u64::from(sequence) * 12_345_678);
            if sequence % 3 != 0 {
                recorders[1].stamp(id, Stage::LastAccess, u64::from(sequence) * 99_999);
            }
        }
        recorders[1].stamp(MessageId { source: 60_000, sequence: 4_000_000_000 }, Stage::Arrive, 5);
        recorders[0].protocol(MessageId { source: 0, sequence: 1 }, 3);
        recorders
    }

    fn bytes(recorders: Vec<Recorder>) -> Vec<u8> {
        let mut out = Vec::new();
        let messages = Recorder::merge(recorders).with_mechanisms(&["stores", "rings", "blocks"]);
        messages.write_parquet_to(&mut out).expect("memory can be written");
        out
    }

    #[test]
    fn what_is_read_is_what_was_recorded() {
        let file = SerializedFileReader::new(bytes::Bytes::from(bytes(recorders()))).expect("a Parquet file");
        let rows: Vec<String> =
            file.get_row_iter(None).expect("rows").map(|row| row.expect("a row").to_string()).collect();
        assert_eq!(rows.len(), 1_001);
        let expected = [
            (0, "destination: 1"),
            (0, "tag: -500"),
            (0, "call_ps: 0"),
            (0, "last_access_ps: null"), // 0 % 3 == 0: never stamped
            (0, "mechanism: null"),
            (1, "mechanism: \"blocks\""),
            (1, "sequence: 1,"),
            (1, "context: 40000"),
            (1, "bytes: 1073741824"),
            (1, "call_ps: 12345678"),
            (1, "last_access_ps: 99999"),
            (1_000, "source: 60000"),
            (1_000, "sequence: 4000000000"),
            (1_000, "destination: null"),
            (1_000, "arrive_ps: 5"),
        ];
        for (row, text) in expected {
            assert!(rows[row].contains(text), "{text} is not in row {row}: {}", rows[row]);
        }
    }

    #[test]
    fn the_bytes_depend_on_the_records_alone() {
        let once = bytes(recorders());
        assert_eq!(once, bytes(recorders()), "writing twice");
        let mut turned = recorders();
        turned.reverse();
        assert_eq!(once, bytes(turned), "the order of the partitions");
        let mut other = recorders();
        other[0].stamp(MessageId { source: 0, sequence: 9 }, Stage::Done, 1);
        assert_ne!(once, bytes(other), "one more stamp shows");
        assert!(!String::from_utf8_lossy(&once).contains("parquet-rs"), "no version of the writer");
    }

    #[test]
    fn no_messages_are_a_file_too() {
        let file = SerializedFileReader::new(bytes::Bytes::from(bytes(vec![]))).expect("a Parquet file");
        assert_eq!(file.metadata().file_metadata().num_rows(), 0);
        assert_eq!(file.metadata().file_metadata().schema_descr().num_columns(), 7 + crate::STAGES);
    }
}
