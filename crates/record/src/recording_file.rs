//! A recording's file: Parquet, a row a message, by destination in the order in which they came to the library there,
//! and before them a row for each rank's end.
//!
//! Columns: `kind` (`message` or `end`), `destination`, `source`, `context`, `tag`, `sequence`, `synchronous`,
//! `arrive_ps`, `receive` (0: no receive took it), `data`. Of an end the destination is the rank, the tag its exit
//! status, `arrive_ps` the time, and the data are its standard output. Machine, program, its fingerprint and
//! its arguments are key-value metadata, and a checksum of the whole file: a rank that is simulated with damaged data would compute something, and
//! nothing would say what. The same recording gives the same bytes.

use std::collections::HashSet;
use std::io::{self, Seek, Write};
use std::path::Path;

use chasqui_columns::{
    Bytes, Column, Layout, Row, RowAccessor, TableError, TableFile, TableWriter, is_whole,
};
use chasqui_files::Sha256;

use crate::recording::{RankEnd, Recorded, Recording, RecordingError};
use crate::stage::MessageId;
use crate::whole_file::Destination;

/// Version of the layout, and the metadata's names.
const VERSION: &str = "3";
const VERSION_KEY: &str = "chasqui.recording_version";
const MACHINE_KEY: &str = "chasqui.machine";
const PROGRAM_KEY: &str = "chasqui.program";
const FINGERPRINT_KEY: &str = "chasqui.program_fingerprint";
const ARGUMENTS_KEY: &str = "chasqui.arguments";

const SCHEMA: &str = "message recording {
    required binary kind (string);
    required int32 destination (integer(16, false));
    required int32 source (integer(16, false));
    required int32 context (integer(16, false));
    required int32 tag;
    required int32 sequence (integer(32, false));
    required boolean synchronous;
    required int64 arrive_ps (integer(64, false));
    required int32 receive (integer(32, false));
    required binary data;
}";

const COLUMNS: [&str; 10] = [
    "kind",
    "destination",
    "source",
    "context",
    "tag",
    "sequence",
    "synchronous",
    "arrive_ps",
    "receive",
    "data",
];

const MESSAGE: &str = "message";
const END: &str = "end";

/// Rows of a group, which is built in memory.
const GROUP_ROWS: usize = 1 << 14;

impl Recording {
    /// Writes the recording, whole or not at all.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn write(&self, to: &Destination) -> io::Result<()> {
        to.write(|out| self.write_to(out))
    }

    /// Writes the recording as a Parquet file.
    ///
    /// # Errors
    /// When `out` can't be written.
    pub fn write_to(&self, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let arguments = serde_json::to_string(&self.arguments).expect("texts");
        let fingerprint = format!("{:016x}", self.fingerprint);
        let layout = Layout {
            schema: SCHEMA,
            words: "kind",
            differences: false,
            metadata: &[
                (VERSION_KEY, VERSION),
                (MACHINE_KEY, &self.machine),
                (PROGRAM_KEY, &self.program),
                (FINGERPRINT_KEY, &fingerprint),
                (ARGUMENTS_KEY, &arguments),
            ],
            group_rows: GROUP_ROWS,
            sealed: true,
        };
        let mut writer = TableWriter::new(out, &layout)?;
        let rows: Vec<FileRow<'_>> = self.rows().collect();
        for rows in rows.chunks(GROUP_ROWS) {
            writer.group(1, 1, &|_, number, column| write_column(column, number, rows))?;
        }
        writer.close()
    }

    fn rows(&self) -> impl Iterator<Item = FileRow<'_>> {
        let ends = self.ends.iter().enumerate().map(|(rank, end)| FileRow {
            kind: END,
            destination: rank as u16,
            id: MessageId { source: 0, sequence: 0 },
            context: 0,
            tag: end.status,
            synchronous: false,
            arrive_ps: end.time_ps,
            receive: 0,
            data: &end.output,
        });
        let messages = self.messages.iter().map(|m| FileRow {
            kind: MESSAGE,
            destination: m.destination,
            id: m.id,
            context: m.context,
            tag: m.tag,
            synchronous: m.synchronous,
            arrive_ps: m.arrive_ps,
            receive: m.receive.unwrap_or(0),
            data: &m.data,
        });
        ends.chain(messages)
    }

    /// The recording in `path`, and the SHA-256 of that file.
    ///
    /// # Errors
    /// When it can't be read, is damaged, or is no recording of this version.
    pub fn read(path: &Path) -> Result<(Recording, String), RecordingError> {
        let error = |what: &dyn std::fmt::Display| RecordingError::new(path, what);
        let mut file = chasqui_files::open(path).map_err(|e| error(&e))?;
        match is_whole(&file).map_err(|e| error(&e))? {
            Some(true) => {}
            Some(false) => return Err(error(&"damaged: its checksum is not that of its bytes")),
            None => {
                return Err(error(
                    &"not a recording, or a damaged one, or of an earlier version: chasqui record makes it anew",
                ));
            }
        }
        let sha256 = Sha256::of_rest(&file).map_err(|e| error(&e))?;
        file.rewind().map_err(|e| error(&e))?;
        let file = TableFile::new(file).map_err(|e| error(&e))?;
        match file.metadata(VERSION_KEY) {
            Some(VERSION) => {}
            Some(other) => {
                return Err(error(&format_args!("a recording of version {other}; {VERSION} can be read")));
            }
            None => return Err(error(&"not a recording (chasqui record makes them)")),
        }
        if file.columns() != COLUMNS {
            return Err(error(&format_args!("the columns of a recording are {}", COLUMNS.join(", "))));
        }
        let text = |key: &str| {
            file.metadata(key).map(str::to_string).ok_or_else(|| error(&format_args!("it lacks {key}")))
        };
        let arguments = serde_json::from_str(&text(ARGUMENTS_KEY)?).map_err(|e| error(&e))?;
        let fingerprint = u64::from_str_radix(&text(FINGERPRINT_KEY)?, 16).map_err(|e| error(&e))?;
        let mut recording = Recording {
            machine: text(MACHINE_KEY)?,
            program: text(PROGRAM_KEY)?,
            fingerprint,
            arguments,
            ..Recording::default()
        };
        for (number, row) in file.rows().map_err(|e| error(&e))?.enumerate() {
            let entered = row.and_then(|row| recording.enter(&row));
            entered.map_err(|e| error(&format_args!("row {number}: {e}")))?;
        }
        recording.check().map_err(|what| error(&what))?;
        Ok((recording, sha256))
    }

    /// Takes a row of the file in.
    fn enter(&mut self, row: &Row) -> Result<(), TableError> {
        let (destination, tag) = (row.get_ushort(1)?, row.get_int(4)?);
        let (arrive_ps, data) = (row.get_ulong(7)?, row.get_bytes(9)?.data().to_vec());
        match row.get_string(0)?.as_str() {
            END if usize::from(destination) == self.ends.len() => {
                self.ends.push(RankEnd { status: tag, time_ps: arrive_ps, output: data });
            }
            END => {
                let text =
                    format!("the end of rank {destination}, where that of {} belongs", self.ends.len());
                return Err(TableError::General(text));
            }
            MESSAGE => self.messages.push(Recorded {
                id: MessageId { source: row.get_ushort(2)?, sequence: row.get_uint(5)? },
                destination,
                context: row.get_ushort(3)?,
                tag,
                synchronous: row.get_bool(6)?,
                arrive_ps,
                receive: Some(row.get_uint(8)?).filter(|&receive| receive > 0),
                data,
            }),
            other => return Err(TableError::General(format!("{other:?} is neither a message nor an end"))),
        }
        Ok(())
    }

    /// What does not fit together.
    fn check(&self) -> Result<(), String> {
        let ranks = self.ranks();
        if ranks == 0 {
            return Err("a recording without ranks".into());
        }
        let is_rank = |rank: u16| u32::from(rank) < ranks;
        if let Some(m) = self.messages.iter().find(|m| !is_rank(m.id.source) || !is_rank(m.destination)) {
            let MessageId { source, sequence } = m.id;
            let to = m.destination;
            return Err(format!("message {sequence} from rank {source} to {to}, but the ranks are {ranks}"));
        }
        if !self.messages.is_sorted_by_key(|m| m.destination) {
            return Err("the messages are not in the order of their destinations".into());
        }
        let named = |m: &Recorded| format!("message {} from rank {}", m.id.sequence, m.id.source);
        if let Some(m) = self.messages.iter().find(|m| m.id.source == m.destination) {
            return Err(format!("{} goes to itself: no network brings such", named(m)));
        }
        let mut ids = HashSet::new();
        if let Some(m) = self.messages.iter().find(|m| !ids.insert(m.id)) {
            return Err(format!("{} is there twice", named(m)));
        }
        Ok(())
    }
}

/// A row of the file.
struct FileRow<'a> {
    kind: &'static str,
    destination: u16,
    id: MessageId,
    context: u16,
    tag: i32,
    synchronous: bool,
    arrive_ps: u64,
    receive: u32,
    data: &'a [u8],
}

/// Gives the column of [`COLUMNS`] with that number its values.
fn write_column(column: &mut Column<'_>, number: usize, rows: &[FileRow<'_>]) -> io::Result<()> {
    let mut int32 =
        |of: fn(&FileRow<'_>) -> i32| column.int32(&rows.iter().map(of).collect::<Vec<_>>(), None);
    match COLUMNS[number] {
        "destination" => int32(|r| i32::from(r.destination)),
        "source" => int32(|r| i32::from(r.id.source)),
        "context" => int32(|r| i32::from(r.context)),
        "tag" => int32(|r| r.tag),
        "sequence" => int32(|r| r.id.sequence as i32),
        "receive" => int32(|r| r.receive as i32),
        "synchronous" => column.boolean(&rows.iter().map(|r| r.synchronous).collect::<Vec<_>>(), None),
        "arrive_ps" => column.int64(&rows.iter().map(|r| r.arrive_ps as i64).collect::<Vec<_>>(), None),
        "kind" => column.bytes(&rows.iter().map(|r| Bytes::from(r.kind)).collect::<Vec<_>>(), None),
        "data" => column.bytes(&rows.iter().map(|r| Bytes::from(r.data.to_vec())).collect::<Vec<_>>(), None),
        other => unreachable!("{other} is no column"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::scratch::Scratch;
    use chasqui_random::{Random, damage};

    fn message(random: &mut Random, destination: u16, arrive_ps: u64) -> Recorded {
        let bytes = random.below(100) as usize;
        Recorded {
            id: MessageId {
                source: (destination + 1 + random.below(2) as u16) % 3,
                sequence: random.below(u64::from(u32::MAX)) as u32,
            },
            destination,
            context: random.below(1 << 16) as u16,
            tag: random.below(1 << 32) as i32,
            synchronous: random.below(2) == 1,
            arrive_ps,
            receive: Some(random.below(4) as u32).filter(|&n| n > 0),
            data: (0..bytes).map(|_| random.below(256) as u8).collect(),
        }
    }

    fn example(random: &mut Random) -> Recording {
        let mut messages = vec![];
        for destination in 0..3 {
            messages.extend((0..40).map(|i| message(random, destination, i * i)));
        }
        let end = |status| RankEnd { status, time_ps: 77, output: vec![0xff, b'\n'] };
        Recording {
            machine: "netcache/ldtct".into(),
            program: "ring".into(),
            fingerprint: random.below(u64::MAX),
            arguments: vec!["-l".into(), "2 \"é\"".into()],
            ends: vec![end(0), end(3), end(-1)],
            messages,
        }
    }

    #[test]
    fn what_is_read_is_what_was_written_and_the_bytes_are_the_same_twice() {
        let recording = example(&mut Random::for_test(7));
        let file = Scratch::new("twice.parquet");
        recording.write(&Destination::open(&file.0).expect("a folder")).expect("it can be written");
        let (found, sha256) = Recording::read(&file.0).expect("a recording");
        assert_eq!(found, recording);
        let (mut once, mut again) = (vec![], vec![]);
        recording.write_to(&mut once).expect("memory can be written");
        recording.write_to(&mut again).expect("memory can be written");
        assert_eq!(once, again);
        assert_eq!(fs::read(&file.0).expect("the file"), once);
        assert_eq!(Sha256::of(&once), sha256);
    }

    #[test]
    fn files_that_are_no_recordings_are_refused_in_words() {
        let file = Scratch::new("broken.parquet");
        let refused = |text: &str| {
            let error = Recording::read(&file.0).expect_err("no recording").to_string();
            assert!(error.contains(text) && error.contains("broken.parquet"), "{error}");
        };
        refused("No such file");
        fs::write(&file.0, "PAR1 but not really").expect("a file");
        refused("not a recording");
        crate::Messages::default().write_parquet(&file.0).expect("a file");
        refused("not a recording");
        Recording::default().write(&Destination::open(&file.0).expect("a folder")).expect("a file");
        refused("without ranks");
    }

    /// Whoever makes one by hand may give it its checksum, too.
    #[test]
    fn what_contradicts_itself_is_refused_in_words() {
        let file = Scratch::new("senseless.parquet");
        let refused = |change: &dyn Fn(&mut Recording), text: &str| {
            let mut recording = example(&mut Random::new(1));
            change(&mut recording);
            recording.write(&Destination::open(&file.0).expect("a folder")).expect("a file");
            let error = Recording::read(&file.0).expect_err("it contradicts itself").to_string();
            assert!(error.contains(text) && error.contains("senseless.parquet"), "{error}");
        };
        refused(&|r| r.messages[5].destination = 9, "but the ranks are 3");
        refused(&|r| r.messages[5].id.source = 3, "but the ranks are 3");
        refused(&|r| r.messages[5].destination = r.messages[50].destination, "not in the order");
        refused(&|r| r.messages[5].id.source = r.messages[5].destination, "goes to itself");
        refused(&|r| r.messages[5].id = r.messages[6].id, "is there twice");
    }

    #[test]
    fn a_file_cut_short_is_refused() {
        let file = Scratch::new("short.parquet");
        let mut whole = vec![];
        example(&mut Random::new(2)).write_to(&mut whole).expect("memory can be written");
        for length in (0..whole.len()).step_by(97) {
            fs::write(&file.0, &whole[..length]).expect("a file");
            assert!(Recording::read(&file.0).is_err(), "{length} of {} bytes", whole.len());
        }
    }

    /// Data look alike, damaged or not: only the checksum tells.
    #[test]
    fn damaged_recordings_are_refused() {
        let file = Scratch::new("damaged.parquet");
        let mut whole = vec![];
        example(&mut Random::new(2)).write_to(&mut whole).expect("memory can be written");
        // The table's description is at the end.
        let places = [0..whole.len(), whole.len() / 2..whole.len(), whole.len() - 8..whole.len()];
        damage::repeat(1, 4_000, |random| {
            let damaged = damage::bytes(random, &whole, &places);
            fs::write(&file.0, &damaged).expect("a file");
            let begin = Instant::now();
            match Recording::read(&file.0) {
                Ok(_) => assert_eq!(damaged, whole),
                Err(error) => {
                    assert_ne!(damaged, whole);
                    assert!(error.to_string().contains("damaged.parquet: "), "{error}");
                }
            }
            assert!(begin.elapsed() < Duration::from_secs(10), "it took {:?}", begin.elapsed());
        });
    }
}
