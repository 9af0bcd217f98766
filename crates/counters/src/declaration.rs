//! The macros that declare groups.

/// Declares a group: a struct of `u64` counters, each with its documentation and its unit, that implements
/// [`Counters`](crate::Counters). A last line `..name: Group;` takes in the counters of another group, which is then a
/// field of the struct; they keep their names.
///
/// Documentation is what users read: sentences of plain text. The unit is said by the unit alone.
///
/// ```
/// use chasqui_counters::{Counters, counters};
///
/// counters! {
///     /// Counters of a cache.
///     pub struct CacheStatistics {
///         /// Loads that hit.
///         load_hits: "accesses";
///         /// Lines written back.
///         write_backs: "lines";
///     }
/// }
///
/// let mut total = CacheStatistics::default();
/// total.load_hits += 1;
/// total.add(&CacheStatistics { load_hits: 2, ..Default::default() });
/// let mut seen = vec![];
/// total.visit(&mut |name, unit, doc, value| seen.push(format!("{name} [{unit}] {value}: {doc}")));
/// assert_eq!(seen, ["load_hits [accesses] 3: Loads that hit.", "write_backs [lines] 0: Lines written back."]);
/// ```
///
/// What is no sentence does not compile:
///
/// ```compile_fail
/// chasqui_counters::counters! {
///     /// Counters of a cache.
///     pub struct CacheStatistics {
///         /// Loads that hit
///         load_hits: "accesses";
///     }
/// }
/// ```
#[macro_export]
macro_rules! counters {
    (
        $(#[doc = $doc:literal])+
        $vis:vis struct $name:ident {
            $( $(#[doc = $field_doc:literal])+ $field:ident : $unit:literal ; )*
            $( .. $rest:ident : $group:ty ; )?
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        $vis struct $name {
            $( $(#[doc = $field_doc])+ $vis $field: u64, )*
            $( #[doc = concat!("The counters of [`", stringify!($group), "`].")] $vis $rest: $group, )?
        }

        const _: &str = <$name as $crate::Counters>::DOC;

        impl $crate::Counters for $name {
            const DOC: &'static str = $crate::sentence(concat!($($doc),+));

            fn visit(&self, visit: &mut $crate::Visitor<'_>) {
                $(
                    let doc = const { $crate::sentence(concat!($($field_doc),+)) };
                    visit(stringify!($field), $unit, doc, self.$field);
                )*
                $( $crate::Counters::visit(&self.$rest, visit); )?
            }

            fn add(&mut self, other: &Self) {
                $( self.$field += other.$field; )*
                $( $crate::Counters::add(&mut self.$rest, &other.$rest); )?
            }

            fn repeated(&self, before: &Self, after: &Self, times: u64) -> Self {
                $name {
                    $( $field: self.$field + times * (after.$field - before.$field), )*
                    $( $rest: $crate::Counters::repeated(&self.$rest, &before.$rest, &after.$rest, times), )?
                }
            }
        }
    };
}

/// Declares an enum of reasons and the group of counters that has one for each, which the reason indexes. The reason's
/// documentation is the counter's; all have one unit.
///
/// ```
/// use chasqui_counters::{Counters, counters_by};
///
/// counters_by! {
///     /// Why a hart waits.
///     pub enum Stall {
///         /// Waiting for a data line.
///         Data: "stall_data";
///         /// Waiting for posted transactions.
///         Posted: "stall_posted";
///     }
///     /// Cycles in which a hart waited.
///     pub struct Stalls: "cycles";
/// }
///
/// let mut stalls = Stalls::default();
/// stalls[Stall::Posted] += 8;
/// let mut seen = vec![];
/// stalls.visit(&mut |name, unit, doc, value| seen.push(format!("{name} [{unit}] {value}: {doc}")));
/// assert_eq!(seen[1], "stall_posted [cycles] 8: Waiting for posted transactions.");
/// assert_eq!(Stall::ALL.map(|stall| stalls[stall]), [0, 8]);
/// ```
#[macro_export]
macro_rules! counters_by {
    (
        $(#[doc = $enum_doc:literal])+
        $enum_vis:vis enum $reason:ident {
            $( $(#[doc = $variant_doc:literal])+ $variant:ident : $counter:literal ; )+
        }
        $(#[doc = $doc:literal])+
        $vis:vis struct $name:ident : $unit:literal ;
    ) => {
        $(#[doc = $enum_doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $enum_vis enum $reason {
            $( $(#[doc = $variant_doc])+ $variant, )+
        }

        impl $reason {
            /// All, in their order: that of their numbers.
            $enum_vis const ALL: [$reason; [$( $reason::$variant ),+].len()] = [$( $reason::$variant ),+];
        }

        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        $vis struct $name([u64; $reason::ALL.len()]);

        const _: &str = <$name as $crate::Counters>::DOC;

        impl ::std::ops::Index<$reason> for $name {
            type Output = u64;

            #[inline(always)]
            fn index(&self, reason: $reason) -> &u64 {
                &self.0[reason as usize]
            }
        }

        impl ::std::ops::IndexMut<$reason> for $name {
            #[inline(always)]
            fn index_mut(&mut self, reason: $reason) -> &mut u64 {
                &mut self.0[reason as usize]
            }
        }

        impl $crate::Counters for $name {
            const DOC: &'static str = $crate::sentence(concat!($($doc),+));

            fn visit(&self, visit: &mut $crate::Visitor<'_>) {
                $(
                    let doc = const { $crate::sentence(concat!($($variant_doc),+)) };
                    visit($counter, $unit, doc, self[$reason::$variant]);
                )+
            }

            fn add(&mut self, other: &Self) {
                for reason in $reason::ALL {
                    self[reason] += other[reason];
                }
            }

            fn repeated(&self, before: &Self, after: &Self, times: u64) -> Self {
                $name($reason::ALL.map(|reason| self[reason] + times * (after[reason] - before[reason])))
            }
        }
    };
}
