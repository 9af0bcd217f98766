//! Where translated code finds what it reads of tables: offsets [bytes].

use std::mem::offset_of;

use super::fast::{FastLine, FastView, FetchView};

/// Of a [`FastView`]: pointer to the first entry.
pub const LINES: usize = offset_of!(FastView, lines);
/// Pointer to the recency of ways.
pub const STAMPS: usize = offset_of!(FastView, stamps);
/// Pointer to the uses so far.
pub const TICK: usize = offset_of!(FastView, tick);
/// Ones while stores are observed: no tag of a store that is or-ed with it equals one.
pub const GUARD: usize = offset_of!(FastView, guard);
/// Of a [`FetchView`]: pointer to the first entry.
pub const FETCH_LINES: usize = offset_of!(FetchView, lines);
/// Pointer to the recency of ways.
pub const FETCH_STAMPS: usize = offset_of!(FetchView, stamps);
/// Pointer to the uses so far.
pub const FETCH_TICK: usize = offset_of!(FetchView, tick);
/// Of an entry of either table: the granule that may be loaded from, or fetched.
pub const ENTRY_LOAD: usize = offset_of!(FastLine, load);
/// The granule that may be stored to.
pub const ENTRY_STORE: usize = offset_of!(FastLine, store);
/// Host address minus virtual address.
pub const ENTRY_DELTA: usize = offset_of!(FastLine, delta);
/// The way whose recency a use renews.
pub const ENTRY_WAY: usize = offset_of!(FastLine, way);
/// Length of an entry.
pub const ENTRY_BYTES: usize = size_of::<FastLine>();
