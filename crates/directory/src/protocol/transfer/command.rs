//! A command, as a processor gives it, and the order in which its data are moved.
//!
//! Data travel in packets, each for one line of the destination: so every line there is written once. A packet has what goes
//! there of one or several stride points, in their order. A transpose goes block by block, as many rows and columns as a
//! line has elements: so every line of the source is read once, too, as long as rows begin at lines.

use crate::registers::{
    TRANSFER_BYTES, TRANSFER_COLUMNS, TRANSFER_COUNT, TRANSFER_DESTINATION, TRANSFER_DESTINATION_STRIDE,
    TRANSFER_FLAG, TRANSFER_FLAG_VALUE, TRANSFER_GROUP, TRANSFER_RIGHT, TRANSFER_SOURCE,
    TRANSFER_SOURCE_STRIDE, TRANSFER_TRANSPOSE,
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
    /// Number of a right to send into another process's memory; 0: the destination is the process's own.
    pub right: u64,
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
            right: 0,
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
            TRANSFER_RIGHT => &mut self.right,
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
    /// The stride point; of a transpose the row.
    point: u64,
    /// Bytes of it that are in packets.
    done: u64,
    /// Of a transpose: the column, and where the block begins: row and column.
    column: u64,
    block: (u64, u64),
}

impl Cursor {
    /// The rest of the stride point, or element, that is next.
    fn rest(&self, command: &Command) -> Option<Run> {
        if self.point >= command.count {
            return None;
        }
        let at = |base: u64, points: u64, stride: u64, elements: u64| {
            let element = elements.wrapping_mul(command.bytes);
            base.wrapping_add(points.wrapping_mul(stride)).wrapping_add(element).wrapping_add(self.done)
        };
        let (row, column) = (self.point, self.column);
        let destination = match command.has(TRANSFER_TRANSPOSE) {
            true => at(command.destination, column, command.destination_stride, row),
            false => at(command.destination, row, command.destination_stride, 0),
        };
        Some(Run {
            source: at(command.source, row, command.source_stride, column),
            destination,
            bytes: command.bytes - self.done,
        })
    }

    /// `block`: rows and columns of a block.
    fn advance(&mut self, command: &Command, bytes: u64, block: u64) {
        self.done += bytes;
        if self.done < command.bytes {
            return;
        }
        (self.point, self.done) = (self.point + 1, 0);
        if !command.has(TRANSFER_TRANSPOSE) {
            return;
        }
        let (first_row, first_column) = self.block;
        if self.point < (first_row + block).min(command.count) {
            return;
        }
        (self.point, self.column) = (first_row, self.column + 1);
        if self.column == (first_column + block).min(command.columns) {
            self.block.1 += block;
            if self.block.1 >= command.columns {
                self.block = (first_row + block, 0);
            }
            (self.point, self.column) = self.block;
        }
    }

    /// Everything is in packets.
    pub fn is_at_end(&self, command: &Command) -> bool {
        self.rest(command).is_none()
    }

    /// What the next packet has, which goes to one line of `line` bytes. Nothing: there is no other. A transpose goes by blocks of
    /// so many rows and columns.
    pub fn next(&mut self, command: &Command, line: u64, block: u64) -> Vec<Run> {
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
            self.advance(command, bytes, block);
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(command: &Command, line: u64) -> Vec<Vec<Run>> {
        let mut cursor = Cursor::default();
        std::iter::from_fn(|| Some(cursor.next(command, line, 4)).filter(|runs| !runs.is_empty())).collect()
    }

    #[test]
    fn packets_end_at_lines_of_the_destination() {
        let command = Command { source: 0x1010, destination: 0x2030, bytes: 150, ..Command::default() };
        let found = packets(&command, 64);
        let lengths: Vec<_> = found.iter().map(|runs| (runs[0].destination, runs[0].bytes)).collect();
        assert_eq!(lengths, [(0x2030, 16), (0x2040, 64), (0x2080, 64), (0x20c0, 6)]);
        assert!(found.iter().all(|runs| runs.len() == 1));
    }

    /// Each element once, by blocks of four by four; a packet has a column of a block.
    #[test]
    fn a_transpose_goes_block_by_block() {
        for (rows, columns) in [(8, 8), (6, 9), (1, 5), (5, 1)] {
            let command = Command {
                source: 0x1000,
                destination: 0x8000,
                bytes: 16,
                count: rows,
                columns,
                source_stride: 160,
                destination_stride: 128,
                start: TRANSFER_TRANSPOSE,
                ..Command::default()
            };
            let found = packets(&command, 64);
            let runs: Vec<_> = found.iter().flatten().map(|run| (run.source, run.destination)).collect();
            let element = |r: u64, c: u64| (0x1000 + 160 * r + 16 * c, 0x8000 + 128 * c + 16 * r);
            let mut all: Vec<_> = (0..rows).flat_map(|r| (0..columns).map(move |c| element(r, c))).collect();
            let mut sorted = runs.clone();
            all.sort_unstable();
            sorted.sort_unstable();
            assert_eq!(sorted, all, "{rows} by {columns}");
            if rows == 8 {
                assert!(found.iter().all(|runs| runs.len() == 4));
                assert_eq!(runs[4], element(0, 1));
                assert_eq!(runs[16], element(0, 4));
                assert_eq!(runs[32], element(4, 0));
            }
        }
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
