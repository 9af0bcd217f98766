//! `messages.parquet`: one row a message, sorted by (source, sequence).

use crate::messages::{Message, Messages};
use crate::recorder::Description;
use crate::stage::Stage;
use chasqui_columns::{Bytes, Column, Layout, TableWriter};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

/// Version of the columns.
const LAYOUT_VERSION: &str = "2";

/// The column of words.
const MECHANISM: &str = "mechanism";

/// Rows of a group, which is encoded in memory.
const GROUP_ROWS: usize = 1 << 20;
/// Rows of a block, of which all columns are encoded while they are in the host's caches.
const BLOCK_ROWS: usize = 1 << 11;

impl Messages {
    /// Writes the records to `path`; [`crate::RunDirectory::write_messages`] does so atomically.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn write_parquet(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let mut file = io::BufWriter::new(std::fs::File::create(path)?);
        self.write_parquet_to(&mut file, 1)?;
        file.flush()
    }

    /// Writes the records as a Parquet file, by so many host threads. The same records give the same bytes.
    ///
    /// # Errors
    /// When `out` can't be written.
    pub fn write_parquet_to(&self, out: &mut (dyn Write + Send), threads: usize) -> io::Result<()> {
        let layout = Layout {
            schema: &schema(),
            words: MECHANISM,
            differences: true,
            metadata: &[("chasqui.layout_version", LAYOUT_VERSION)],
            group_rows: GROUP_ROWS,
            sealed: false,
        };
        let mut writer = TableWriter::new(out, &layout)?;
        let words = Words { messages: self, names: self.mechanism_names().map(Bytes::from).collect() };
        for rows in self.rows().chunks(GROUP_ROWS) {
            let blocks = rows.len().div_ceil(BLOCK_ROWS);
            writer.group(threads, blocks, &|block, number, column| {
                let begin = block * BLOCK_ROWS;
                words.write_column(column, number, &rows[begin..rows.len().min(begin + BLOCK_ROWS)])
            })?;
        }
        writer.close()
    }
}

/// The messages, and the words of the column [`MECHANISM`], each of which is made once.
struct Words<'a> {
    messages: &'a Messages,
    names: Vec<Bytes>,
}

impl Words<'_> {
    /// Gives the column with that number its values of `rows`, as [`schema`] has them.
    fn write_column(&self, column: &mut Column<'_>, number: usize, rows: &[Message]) -> io::Result<()> {
        let mut described = |of: fn(Description) -> i32| {
            let (values, present) = split(rows, |m| m.description.map(of));
            column.int32(&values, Some(&present))
        };
        match number {
            0 => column.int32(&rows.iter().map(|m| i32::from(m.id.source)).collect::<Vec<_>>(), None),
            1 => column.int32(&rows.iter().map(|m| m.id.sequence as i32).collect::<Vec<_>>(), None),
            2 => described(|d| i32::from(d.destination)),
            3 => described(|d| d.tag),
            4 => described(|d| i32::from(d.context)),
            5 => {
                let (lengths, present) = split(rows, |m| m.description.map(|d| d.bytes as i64));
                column.int64(&lengths, Some(&present))
            }
            6 => {
                let (words, present) =
                    split(rows, |m| Some(self.names[self.messages.mechanism_index(m)?].clone()));
                column.bytes(&words, Some(&present))
            }
            _ => {
                let stage = Stage::ALL[number - 7];
                let (values, present) = split(rows, |m| m.time(stage).map(|ps| ps as i64));
                column.int64(&values, Some(&present))
            }
        }
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

#[cfg(test)]
mod tests {
    use crate::{MessageId, Messages, Recorder, Stage};
    use chasqui_columns::TableFile;

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
        let messages = Messages::of(recorders).with_mechanisms(&["stores", "rings", "blocks"]);
        messages.write_parquet_to(&mut out, 1).expect("memory can be written");
        out
    }

    fn read(recorders: Vec<Recorder>, name: &str) -> TableFile {
        let file = crate::scratch::Scratch::new(name);
        std::fs::write(&file.0, bytes(recorders)).expect("a file");
        TableFile::new(std::fs::File::open(&file.0).expect("the file")).expect("a Parquet file")
    }

    #[test]
    fn what_is_read_is_what_was_recorded() {
        let file = read(recorders(), "recorded.parquet");
        let rows: Vec<String> =
            file.rows().expect("rows").map(|row| row.expect("a row").to_string()).collect();
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
        for threads in [2, 3, 100] {
            let mut by_several = Vec::new();
            let messages = Messages::of(recorders()).with_mechanisms(&["stores", "rings", "blocks"]);
            messages.write_parquet_to(&mut by_several, threads).expect("memory can be written");
            assert_eq!(once, by_several, "{threads} host threads");
        }
        let mut other = recorders();
        other[0].stamp(MessageId { source: 0, sequence: 9 }, Stage::Done, 1);
        assert_ne!(once, bytes(other), "one more stamp shows");
        assert!(!String::from_utf8_lossy(&once).contains("parquet-rs"), "no version of the writer");
    }

    #[test]
    fn no_messages_are_a_file_too() {
        let file = read(vec![], "none.parquet");
        assert_eq!(file.rows().expect("rows").count(), 0);
        assert_eq!(file.columns().len(), 7 + crate::STAGES);
    }
}
