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

/// A whole header: guard, includes and `body`. `source` is the Rust file that defines it.
pub fn file(guard: &str, source: &str, body: &str) -> String {
    format!(
        "/* Generated from {source}; change that and run `make headers`. */\n\
         #ifndef {guard}\n#define {guard}\n\n#include <stddef.h>\n#include <stdint.h>\n\n\
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
