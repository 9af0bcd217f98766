//! Writes C headers from the Rust definitions, so that a layout is written down once.

use std::fmt::Write;
use std::sync::OnceLock;

/// A Rust type with a C name of the same size and alignment.
pub trait GuestType {
    /// C declaration of a field called `name` of this type.
    fn declare(name: &str) -> String;
}

macro_rules! scalar {
    ($($rust:ty => $c:literal),*) => {$(
        impl GuestType for $rust {
            fn declare(name: &str) -> String {
                format!(concat!($c, " {}"), name)
            }
        }
    )*};
}
scalar!(u8 => "uint8_t", u16 => "uint16_t", u32 => "uint32_t", u64 => "uint64_t", i32 => "int32_t", i64 => "int64_t");

impl<T: GuestType, const N: usize> GuestType for [T; N] {
    fn declare(name: &str) -> String {
        T::declare(&format!("{name}[{N}]"))
    }
}

/// A field of a guest struct: name, C declaration, offset [bytes], documentation.
pub struct Field {
    /// C declaration, without the semicolon.
    pub declaration: String,
    /// Name.
    pub name: &'static str,
    /// Offset [bytes].
    pub offset: usize,
    /// First line of its documentation.
    pub doc: &'static str,
}

/// A struct that the guest shares.
pub trait GuestStruct {
    /// Name in C, without `struct`.
    fn c_name() -> String;
    /// Size [bytes].
    fn bytes() -> usize;
    /// The fields in order.
    fn fields() -> Vec<Field>;

    /// The C definition with its assertions.
    fn definition() -> String {
        let name = Self::c_name();
        let mut text = format!("struct {name} {{\n");
        for field in Self::fields() {
            writeln!(text, "    {}; /* {} */", field.declaration, field.doc).unwrap();
        }
        text += "};\n";
        writeln!(text, "_Static_assert(sizeof(struct {name}) == {}, \"{name}\");", Self::bytes()).unwrap();
        for field in Self::fields() {
            writeln!(
                text,
                "_Static_assert(offsetof(struct {name}, {0}) == {1}, \"{name}.{0}\");",
                field.name, field.offset
            )
            .unwrap();
        }
        text
    }
}

/// `NiIdentification` becomes `chasqui_ni_identification`.
pub fn snake(name: &str) -> String {
    let mut out = String::from("chasqui");
    for c in name.chars() {
        if c.is_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// A value as little-endian bytes in memory.
pub trait Bytes {
    /// Appends the bytes.
    fn put(&self, out: &mut Vec<u8>);
    /// Takes the value from the front of `bytes`.
    fn get(bytes: &mut &[u8]) -> Self;
}

macro_rules! scalar_bytes {
    ($($type:ty),*) => {$(
        impl Bytes for $type {
            #[inline]
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            #[inline]
            fn get(bytes: &mut &[u8]) -> Self {
                let (value, rest) = bytes.split_at(size_of::<Self>());
                *bytes = rest;
                Self::from_le_bytes(value.try_into().expect("the length just cut"))
            }
        }
    )*};
}
scalar_bytes!(u8, u16, u32, u64, i32, i64);

impl<T: Bytes, const N: usize> Bytes for [T; N] {
    fn put(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|v| v.put(out));
    }
    fn get(bytes: &mut &[u8]) -> Self {
        std::array::from_fn(|_| T::get(bytes))
    }
}

/// Declares a `#[repr(C)]` struct of scalars and arrays that both sides use.
#[macro_export]
macro_rules! guest_struct {
    ($(#[doc = $doc:literal])+ pub struct $name:ident {
        $( #[doc = $fdoc:literal] $(#[doc = $more:literal])* pub $field:ident : $ty:ty, )+
    }) => {
        $(#[doc = $doc])+
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name { $( #[doc = $fdoc] $(#[doc = $more])* pub $field: $ty, )+ }

        impl $crate::header::GuestType for $name {
            fn declare(name: &str) -> String {
                format!("struct {} {name}", $crate::header::snake(stringify!($name)))
            }
        }

        // No padding: the bytes are the fields one after the other.
        const _: () = assert!(size_of::<$name>() == 0 $(+ size_of::<$ty>())+);

        impl $crate::header::Bytes for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $( $crate::header::Bytes::put(&self.$field, out); )+
            }
            fn get(bytes: &mut &[u8]) -> Self {
                $name { $( $field: $crate::header::Bytes::get(bytes) ),+ }
            }
        }

        impl $name {
            /// The struct as it lies in memory.
            pub fn to_bytes(&self) -> Vec<u8> {
                let mut out = Vec::with_capacity(size_of::<$name>());
                $crate::header::Bytes::put(self, &mut out);
                out
            }

            /// The struct that lies at the front of `bytes`.
            ///
            /// # Panics
            /// When they are too few.
            pub fn from_bytes(mut bytes: &[u8]) -> Self {
                <$name as $crate::header::Bytes>::get(&mut bytes)
            }
        }

        impl $crate::header::GuestStruct for $name {
            fn c_name() -> String { $crate::header::snake(stringify!($name)) }
            fn bytes() -> usize { size_of::<$name>() }
            fn fields() -> Vec<$crate::header::Field> {
                vec![$( $crate::header::Field {
                    declaration: <$ty as $crate::header::GuestType>::declare(stringify!($field)),
                    name: stringify!($field),
                    offset: core::mem::offset_of!($name, $field),
                    doc: $fdoc.trim_ascii(),
                } ),+]
            }
        }
    };
}

/// A named number that both sides use.
pub struct Constant {
    /// Name in C, without the `CHASQUI_` prefix.
    pub name: &'static str,
    /// Value.
    pub value: u64,
    /// First line of its documentation.
    pub doc: &'static str,
}

/// Declares documented constants and a table of them, `CONSTANTS`.
#[macro_export]
macro_rules! guest_constants {
    ($( $(#[doc = $doc:literal])+ pub const $name:ident : $ty:ty = $value:expr; )+) => {
        $( $(#[doc = $doc])+ pub const $name: $ty = $value; )+

        /// The constants above, for the guest's header.
        pub const CONSTANTS: &[$crate::header::Constant] = &[
            $( $crate::header::Constant { name: stringify!($name), value: { let value: $ty = $value; value as u64 }, doc: [$($doc),+][0].trim_ascii() } ),+
        ];
    };
}

/// `#define`s of a table of constants.
pub fn defines(prefix: &str, constants: &[Constant]) -> String {
    let mut text = String::new();
    for c in constants {
        writeln!(text, "#define CHASQUI_{prefix}{} {:#x}ull /* {} */", c.name, c.value, c.doc).unwrap();
    }
    text
}

/// A function of integers that both sides use.
pub struct Function {
    /// Name.
    pub name: &'static str,
    /// Type in Rust and name of each parameter.
    pub parameters: &'static [(&'static str, &'static str)],
    /// Type of the result, in Rust.
    pub result: &'static str,
    /// What it returns, in C but for the names of constants and functions.
    pub body: &'static str,
    /// First line of its documentation.
    pub doc: &'static str,
}

/// Declares functions of scalars that both sides use, and a table of them, `FUNCTIONS`. A body is an expression, or
/// `if (condition) { expression } else { expression }`, of what means the same in C: parameters, constants of
/// [`guest_constants!`](crate::guest_constants) and other such functions (those of another module by its name), `u64::from`,
/// and operators, in parentheses where the languages' precedences differ ([`functions`] checks that).
#[macro_export]
macro_rules! guest_functions {
    ($(
        $(#[doc = $doc:literal])+
        pub fn $name:ident($($parameter:ident: $type:ident),+) -> $result:ident { $($body:tt)+ }
    )+) => {
        $(
            $(#[doc = $doc])+
            #[inline]
            pub fn $name($($parameter: $type),+) -> $result { $crate::guest_body!(rust $($body)+) }
        )+

        /// The functions above, for the guest's header.
        pub const FUNCTIONS: &[$crate::header::Function] = &[
            $( $crate::header::Function {
                name: stringify!($name),
                parameters: &[$( (stringify!($type), stringify!($parameter)) ),+],
                result: stringify!($result),
                body: $crate::guest_body!(c $($body)+),
                doc: [$($doc),+][0].trim_ascii(),
            } ),+
        ];
    };
}

/// A body of [`guest_functions!`] in either language.
#[doc(hidden)]
#[macro_export]
macro_rules! guest_body {
    (rust if ($condition:expr) { $then:expr } else { $otherwise:expr }) => {
        if $condition { $then } else { $otherwise }
    };
    (rust $value:expr) => {
        $value
    };
    (c if ($condition:expr) { $then:expr } else { $otherwise:expr }) => {
        concat!("(", stringify!($condition), ") ? (", stringify!($then), ") : (", stringify!($otherwise), ")")
    };
    (c $value:expr) => {
        stringify!($value)
    };
}

/// C functions of a table; `prefix` is that of the module's constants.
///
/// # Panics
/// When a body would mean something else in C.
pub fn functions(prefix: &str, functions: &[Function]) -> String {
    let mut text = String::new();
    for f in functions {
        assert!(reads_alike(f.body), "{}: what C takes together needs parentheses: {}", f.name, f.body);
        let parameters: Vec<_> =
            f.parameters.iter().map(|(ty, name)| format!("{} {name}", c_type(ty))).collect();
        let own: Vec<_> = f.parameters.iter().map(|&(_, name)| name).collect();
        let (result, name) = (c_type(f.result), f.name);
        let (head, body) = (prefix.to_lowercase(), in_c(f.body, prefix, &own));
        writeln!(text, "/* {} */", f.doc).unwrap();
        writeln!(text, "static inline {result} chasqui_{head}{name}({})", parameters.join(", ")).unwrap();
        writeln!(text, "{{\n    return {body};\n}}").unwrap();
    }
    text
}

fn c_type(rust: &str) -> &'static str {
    match rust {
        "bool" => "bool",
        "u8" => "uint8_t",
        "u16" => "uint16_t",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        other => panic!("{other} in a function that C has, too"),
    }
}

/// A body with C's names: all but parameters are constants or functions, of this module or of the one before `::`.
fn in_c(body: &str, prefix: &str, parameters: &[&str]) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut text, mut rest) = (String::new(), body);
    while let Some(first) = rest.chars().next() {
        let end = if is_name(first) { rest.find(|c| !is_name(c)).unwrap_or(rest.len()) } else { 1 };
        let (word, behind) = rest.split_at(end);
        rest = behind;
        let is_plain = first.is_ascii_digit() || !is_name(first);
        let member = behind
            .strip_prefix("::")
            .map(|member| member.split_at(member.find(|c| !is_name(c)).unwrap_or(member.len())));
        match member {
            _ if is_plain => text += word,
            Some(("from", behind)) => {
                write!(text, "({})", c_type(word)).unwrap();
                rest = behind;
            }
            Some((name, behind)) => {
                text += &c_name(&format!("{}_", word.to_uppercase()), name);
                rest = behind;
            }
            None if parameters.contains(&word) => text += word,
            None => text += &c_name(prefix, word),
        }
    }
    text
}

/// A constant's name, or a function's.
fn c_name(prefix: &str, name: &str) -> String {
    let is_constant = name.chars().all(|c| !c.is_ascii_lowercase());
    if is_constant {
        format!("CHASQUI_{prefix}{name}")
    } else {
        format!("chasqui_{}{name}", prefix.to_lowercase())
    }
}

/// Within no pair of parentheses are bit operators and comparisons, of which C takes the latter together first; nor is there
/// Rust's `!` or `as`.
fn reads_alike(body: &str) -> bool {
    let spaced: String =
        body.chars().flat_map(|c| if "()".contains(c) { vec![' ', c, ' '] } else { vec![c] }).collect();
    let mut open = vec![(false, false)];
    for word in spaced.split_whitespace() {
        let (bits, compares) = open.last_mut().expect("parentheses are in pairs");
        match word {
            "(" => open.push((false, false)),
            ")" => _ = open.pop(),
            "&" | "|" | "^" => *bits = true,
            "==" | "!=" | "<" | ">" | "<=" | ">=" => *compares = true,
            "&&" | "||" | "?" | ":" => (*bits, *compares) = (false, false),
            "as" => return false,
            _ if word.starts_with('!') => return false,
            _ => {}
        }
        if open.last() == Some(&(true, true)) {
            return false;
        }
    }
    true
}

/// A whole header: guard, includes and `body`. `source` is the Rust file that defines it.
pub fn file(guard: &str, source: &str, body: &str) -> String {
    format!(
        "/* Generated from {source}; change that and run `make headers`. */\n\
         #ifndef {guard}\n#define {guard}\n\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n\
         #ifdef __cplusplus\n#define _Static_assert static_assert\n#endif\n\n{body}\n#endif\n"
    )
}

/// Text of `guest/include/chasqui/abi.h`.
pub fn text() -> String {
    let body = [
        defines("", crate::CONSTANTS),
        defines("PACKET_", crate::packet::CONSTANTS),
        defines("CONTEXT_", crate::context::CONSTANTS),
        defines("MARK_", crate::mark::CONSTANTS),
        defines("REQUEST_", crate::request::CONSTANTS),
        defines("COMMUNICATOR_", crate::communicator::CONSTANTS),
        crate::NiRegion::definition(),
        crate::NiIdentification::definition(),
        crate::NiPlacement::definition(),
        crate::Envelope::definition(),
        functions("", crate::FUNCTIONS),
        functions("CONTEXT_", crate::context::FUNCTIONS),
    ];
    file("CHASQUI_ABI_H", "crates/abi/src/lib.rs", &body.join("\n"))
}

/// Goes before definitions that use [`text`]'s.
pub const INCLUDE_ABI: &str = "#include \"chasqui/abi.h\"\n";

/// What an NI and the software that drives it agree on, as a header of its own.
pub struct DeviceHeader {
    /// Prefix of its constants, in capitals: the machine's name, or its and a policy's.
    prefix: &'static str,
    /// The Rust file that defines it.
    source: &'static str,
    /// Its definitions in C.
    body: fn() -> String,
    /// [`DeviceHeader::interface`], once it has been worked out.
    interface: OnceLock<u32>,
}

impl DeviceHeader {
    /// A header with constants `CHASQUI_<prefix>_...`, defined in the Rust file `source`.
    pub const fn new(prefix: &'static str, source: &'static str, body: fn() -> String) -> DeviceHeader {
        DeviceHeader { prefix, source, body, interface: OnceLock::new() }
    }

    /// The header.
    pub fn text(&self) -> String {
        let interface = format!(
            "#define CHASQUI_{}_INTERFACE {:#x}u /* Names all that is defined here and in chasqui/abi.h. */\n\n",
            self.prefix,
            self.interface()
        );
        let guard = format!("CHASQUI_{}_REGISTERS_H", self.prefix);
        file(&guard, self.source, &(interface + &(self.body)()))
    }

    /// [`crate::NiIdentification::interface`]: differs where a definition does (FNV-1a, 32 bits, of the texts).
    pub fn interface(&self) -> u32 {
        let fnv = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        let all = || [text(), (self.body)()].concat();
        *self.interface.get_or_init(|| all().bytes().fold(0x811c_9dc5, fnv))
    }
}

/// Compares the header at `path` with `text`, or writes it when `CHASQUI_WRITE_HEADERS` is set
/// (`make headers`).
///
/// # Panics
/// When the file differs: it is the body of a test.
pub fn check(path: &str, text: &str) {
    if std::env::var_os("CHASQUI_WRITE_HEADERS").is_some() {
        std::fs::write(path, text).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == text, "{path} is not what its Rust source says: run `make headers`");
}

#[cfg(test)]
mod tests {
    use super::*;

    mod other {
        const EACH: u16 = 4;

        crate::guest_functions! {
            /// The second of four.
            pub fn second(number: u64) -> bool { number % u64::from(EACH) == 1 }
        }
    }

    const BIT: u32 = 0x100;

    crate::guest_functions! {
        /// With the bit, or without.
        ///
        /// Not here.
        pub fn marked(kind: u8, other: u64) -> u32 {
            if (other::second(other) && u64::from(kind) > other) { (u32::from(kind) & 15) | BIT } else { u32::from(kind) }
        }
    }

    #[test]
    fn functions_are_the_same_in_c() {
        assert_eq!([marked(23, 9), marked(23, 8), marked(8, 9)], [0x107, 23, 8]);
        let expected = "/* With the bit, or without. */\n\
             static inline uint32_t chasqui_mine_marked(uint8_t kind, uint64_t other)\n\
             {\n    return (chasqui_other_second(other) && (uint64_t)(kind) > other) ? \
             (((uint32_t)(kind) & 15) | CHASQUI_MINE_BIT) : ((uint32_t)(kind));\n}\n";
        assert_eq!(functions("MINE_", FUNCTIONS), expected);
        let text = functions("OTHER_", other::FUNCTIONS);
        assert!(text.contains("bool chasqui_other_second(uint64_t number)\n"), "{text}");
        assert!(text.contains("return number % (uint64_t)(CHASQUI_OTHER_EACH) == 1;"), "{text}");
    }

    #[test]
    fn what_would_mean_something_else_in_c_is_refused() {
        for body in ["a & b == c", "(a | b) + (a ^ b < c)", "!a", "a as u64", "f(a < b | c)"] {
            assert!(!reads_alike(body), "{body}");
        }
        for body in ["(a & b) == c", "a << 3 | b << 4", "a == b && c & d", "a != (b | c)"] {
            assert!(reads_alike(body), "{body}");
        }
    }
}
