//! Tables in Parquet files, written column by column and read row by row. The same rows give the same bytes: nothing
//! of the library's version, the host or the date is in a file.
//!
//! A crate of its own, and without type parameters at its edge, because Parquet's writer and reader are compiled for
//! each type that they are used with, which takes half a minute.

mod read;
mod seal;
mod write;

pub use parquet::data_type::ByteArray as Bytes;
pub use parquet::errors::ParquetError as TableError;
pub use parquet::record::{Row, RowAccessor};
pub use read::TableFile;
pub use seal::is_whole;
pub use write::{Column, Fill, Layout, Out, TableWriter};
