//! A command, as a processor gives it, and the order in which its data are moved.
//!
//! Data travel in packets, each for one line of the destination: so every line there is written once. A packet has what goes
//! there of one or several stride points, in their order. A transpose goes block by block, as many rows and columns as a
//! line has elements: so every line of the source is read once, too, as long as rows begin at lines.

use crate::registers::{
    TRANSFER_BYTES, TRANSFER_COLUMNS, TRANSFER_COUNT, TRANSFER_DESTINATION, TRANSFER_DESTINATION_STRIDE,
    TRANSFER_FLAG, TRANSFER_FLAG_VALUE, TRANSFER_GROUP, TRANSFER_SOURCE, TRANSFER_SOURCE_STRIDE,
};

/// What a processor asks of its controller: its registers, in bytes and virtual addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Where data are taken from.
    pub source: u64,
    /// Where they go.
    pub destination: u64,
    /// At each stride point; of a transpose: of an element.
    pub bytes: u64,
    /// Stride points; of a transpose: rows of the source.
    pub count: u64,
    /// From a stride point, or row, to the next at the source.
    pub source_stride: u64,
    /// The same at the destination.
    pub destination_stride: u64,
    /// Of a transpose: columns of the source.
    pub columns: u64,
    /// A word that is set in the end; 0: none.
    pub flag: u64,
    /// What it is set to.
    pub flag_value: u64,
    /// Number of a broadcast.
    pub group: u64,
    /// The value of the store that began it: kind and options.
    pub start: u64,
}

impl Default for Command {
    fn default() -> Command {
        Command {
            source: 0,
            destination: 0,
            bytes: 0,
            count: 1,
            source_stride: 0,
            destination_stride: 0,
            columns: 0,
            flag: 0,
            flag_value: 1,
            group: 0,
            start: 0,
        }
    }
}

impl Command {
    /// The register at this offset. `None`: there is none that keeps a value.
    pub fn register(&mut self, offset: u64) -> Option<&mut u64> {
        Some(match offset {
            TRANSFER_SOURCE => &mut self.source,
            TRANSFER_DESTINATION => &mut self.destination,
            TRANSFER_BYTES => &mut self.bytes,
            TRANSFER_COUNT => &mut self.count,
            TRANSFER_SOURCE_STRIDE => &mut self.source_stride,
            TRANSFER_DESTINATION_STRIDE => &mut self.destination_stride,
            TRANSFER_COLUMNS => &mut self.columns,
            TRANSFER_FLAG => &mut self.flag,
            TRANSFER_FLAG_VALUE => &mut self.flag_value,
            TRANSFER_GROUP => &mut self.group,
            _ => return None,
        })
    }

    /// All of these options are set.
    pub fn has(&self, options: u64) -> bool {
        self.start & options == options
    }
}

/// Bytes that are moved as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Virtual address at the source.
    pub source: u64,
    /// Virtual address at the destination.
    pub destination: u64,
    /// Length [bytes].
    pub bytes: u64,
}

/// How far a command's data have been put into packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor {
    /// The stride point.
    point: u64,
    /// Bytes of it that are in packets.
    done: u64,
}

impl Cursor {
    /// The rest of the stride point that is next.
    fn rest(&self, command: &Command) -> Option<Run> {
        if self.point >= command.count {
            return None;
        }
        let at = |base: u64, stride: u64| {
            base.wrapping_add(self.point.wrapping_mul(stride)).wrapping_add(self.done)
        };
        Some(Run {
            source: at(command.source, command.source_stride),
            destination: at(command.destination, command.destination_stride),
            bytes: command.bytes - self.done,
        })
    }

    fn advance(&mut self, command: &Command, bytes: u64) {
        self.done += bytes;
        if self.done == command.bytes {
            (self.point, self.done) = (self.point + 1, 0);
        }
    }

    /// Everything is in packets.
    pub fn is_at_end(&self, command: &Command) -> bool {
        self.rest(command).is_none()
    }

    /// What the next packet has, which goes to one line of `line` bytes. Nothing: there is no other.
    pub fn next(&mut self, command: &Command, line: u64) -> Vec<Run> {
        let mut runs: Vec<Run> = vec![];
        while let Some(rest) = self.rest(command) {
            let bytes = rest.bytes.min(line - rest.destination % line);
            let run = Run { bytes, ..rest };
            match runs.last_mut() {
                Some(last) if last.destination / line != run.destination / line => break,
                Some(last)
                    if last.source + last.bytes == run.source
                        && last.destination + last.bytes == run.destination =>
                {
                    last.bytes += bytes;
                }
                _ => runs.push(run),
            }
            self.advance(command, bytes);
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(command: &Command, line: u64) -> Vec<Vec<Run>> {
        let mut cursor = Cursor::default();
        std::iter::from_fn(|| Some(cursor.next(command, line)).filter(|runs| !runs.is_empty())).collect()
    }

    #[test]
    fn packets_end_at_lines_of_the_destination() {
        let command = Command { source: 0x1010, destination: 0x2030, bytes: 150, ..Command::default() };
        let found = packets(&command, 64);
        let lengths: Vec<_> = found.iter().map(|runs| (runs[0].destination, runs[0].bytes)).collect();
        assert_eq!(lengths, [(0x2030, 16), (0x2040, 64), (0x2080, 64), (0x20c0, 6)]);
        assert!(found.iter().all(|runs| runs.len() == 1));
    }

    #[test]
    fn stride_points_that_go_to_one_line_travel_together() {
        let command = Command {
            source: 0x1000,
            destination: 0x2000,
            bytes: 16,
            count: 6,
            source_stride: 256,
            destination_stride: 16,
            ..Command::default()
        };
        let found = packets(&command, 64);
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [4, 2]);
        assert_eq!(found[1][0], Run { source: 0x1400, destination: 0x2040, bytes: 16 });
    }
}
