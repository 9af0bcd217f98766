//! Random programs that are valid, stay within a window of memory, and end: the input of lock-step tests.
//!
//! A program is a list of *units*, short sequences that make sense only as a whole. Branches and jumps go
//! forward to the start of a later unit, a few ahead; the one sort of backward branch closes a
//! loop over a counter that nothing else writes, and no branch enters a loop from outside. So every program
//! reaches the `ecall` at its end.

use super::encode::{compress, compressed_halves, encode};
use super::operands::{fp_register, integer_operand};
use crate::class::{Class, class};
use crate::csr::{CYCLE, FCSR, FFLAGS, FRM, INSTRET, TIME};
use crate::decode;
use crate::insn::{ENCODINGS, Format, Insn, Op};
use crate::state::State;
use chasqui_random::Random;

/// Points to the lowest byte of the window (sp).
pub const LOW: u8 = 2;
/// Points to the middle of the window (s0).
pub const MIDDLE: u8 = 8;
/// Virtual page of what [`Kind::Device`] accesses.
pub const DEVICE: u64 = 0x3000_0000;
/// Virtual page of network memory, in which [`Kind::Network`] has its messages.
pub const NETWORK: u64 = 0x3_0000;
/// Names of the messages that [`Kind::Network`] binds are below.
pub const MESSAGES: u64 = 64;
/// Counts loops (s1).
const COUNTER: u8 = 9;
/// Holds addresses within a unit (t1); between units it is free.
const ADDRESS: u8 = 6;
/// Envelopes of messages that programs ask for.
pub const ENVELOPES: u64 = 4;

/// The envelope of that number. As the third operand of `prebind` it means 16 bytes, and the number as ordinal.
pub fn envelope(number: u64) -> u64 {
    16 << 32 | number
}

/// How many units ahead a branch may go; short enough for `c.beqz`.
const REACH: usize = 6;

/// Sorts of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Integer operations but for multiplication and division.
    Arithmetic,
    /// Multiplication and division.
    MulDiv,
    /// Floating-point operations of all sorts, all rounding modes.
    Fp,
    /// Integer and floating-point loads, at a constant or a computed place.
    Load,
    /// The same for stores.
    Store,
    /// Conditional branch forward.
    Branch,
    /// `jal` or `jalr` forward.
    Jump,
    /// A loop over the next few units.
    Loop,
    /// Atomic memory operation.
    Amo,
    /// Load-reserved, store-conditional; now and then only the latter.
    LoadReserved,
    /// Access to fcsr, fflags, frm.
    FloatCsr,
    /// Read of cycle, time, instret.
    Counter,
    /// Marks, `pause`, other HINTs, fences.
    Hint,
    /// Cache-block management in the window (not `cbo.zero`).
    CacheBlock,
    /// Any compressed instruction that is no jump.
    Compressed,
    /// Aligned loads and stores at [`DEVICE`], of 64 bytes too.
    Device,
    /// `nload` and `nstore` at [`NETWORK`]; `remap` of the messages up to [`MESSAGES`], and some more, to places in the window;
    /// `prebind` of [`ENVELOPES`] to such places, and `withdraw`.
    Network,
}

/// What a program is made of.
#[derive(Clone, Debug)]
pub struct Options {
    /// Units in the program (each one to five instructions).
    pub units: usize,
    /// Size of the window [bytes]: a power of two, 1024 to 4096.
    pub window_bytes: u64,
    /// Whether loads and stores may be misaligned (atomics never are).
    pub misaligned: bool,
    /// Relative frequency of each kind; what is not listed does not occur.
    pub weights: Vec<(Kind, u64)>,
}

impl Default for Options {
    fn default() -> Self {
        let weights = vec![
            (Kind::Arithmetic, 20),
            (Kind::MulDiv, 5),
            (Kind::Fp, 20),
            (Kind::Load, 12),
            (Kind::Store, 10),
            (Kind::Branch, 10),
            (Kind::Jump, 4),
            (Kind::Loop, 2),
            (Kind::Amo, 3),
            (Kind::LoadReserved, 2),
            (Kind::FloatCsr, 3),
            (Kind::Hint, 2),
            (Kind::Compressed, 20),
        ];
        Self { units: 200, window_bytes: 2048, misaligned: false, weights }
    }
}

/// Makes a program: machine code that may be placed at any even address. It expects the registers of
/// [`initial_state`] and ends with `ecall`.
pub fn generate(options: &Options, random: &mut Random) -> Vec<u8> {
    assert!(options.window_bytes.is_power_of_two() && (1024..=4096).contains(&options.window_bytes));
    let mut generator =
        Generator { options, random, compressed: harmless_halves(), units: vec![], loop_end: None };
    while generator.units.len() < options.units || generator.loop_end.is_some() {
        generator.unit();
    }
    let end = vec![Item::plain(Insn { op: Op::Ecall, ..NOTHING })];
    generator.units.push(Unit { items: end, inside: None });
    generator.link();
    generator.layout()
}

/// Registers full of telling values, the window's pointers in place. The window begins at `window`, which must
/// be a multiple of 8.
pub fn initial_state(options: &Options, pc: u64, window: u64, random: &mut Random) -> State {
    let mut state = State::new(pc);
    state.x[1..32].fill_with(|| integer_operand(random));
    state.f.fill_with(|| fp_register(random));
    state.x[usize::from(LOW)] = window;
    state.x[usize::from(MIDDLE)] = window + options.window_bytes / 2;
    state
}

/// Contents of the window: integers and floating-point numbers.
pub fn initial_window(options: &Options, random: &mut Random) -> Vec<u8> {
    let mut word = || if random.once_in(2) { integer_operand(random) } else { fp_register(random) };
    (0..options.window_bytes / 8).flat_map(|_| word().to_le_bytes()).collect()
}

const NOTHING: Insn = Insn { op: Op::Illegal, rd: 0, rs1: 0, rs2: 0, rs3: 0, rm: 0, length: 4, imm: 0 };

/// Where a branch or a jump goes, before addresses are known.
#[derive(Clone, Copy)]
enum Target {
    /// Some allowed unit ahead; chosen by [`Generator::link`].
    Ahead,
    /// This unit.
    Unit(usize),
}

/// An instruction, and for jumps the target.
struct Item {
    insn: Insn,
    target: Option<Target>,
    /// The distance counts from the start of the unit (where an `auipc` is), not from the jump.
    from_unit: bool,
}

impl Item {
    fn plain(insn: Insn) -> Self {
        Self { insn, target: None, from_unit: false }
    }
}

struct Unit {
    items: Vec<Item>,
    /// The loop this unit is in, by the index of its first unit.
    inside: Option<usize>,
}

struct Generator<'a> {
    options: &'a Options,
    random: &'a mut Random,
    /// Compressed instructions fit for any place, by operation.
    compressed: Vec<Vec<u16>>,
    units: Vec<Unit>,
    /// While in a loop: its first unit and how many units are still to come.
    loop_end: Option<(usize, u64)>,
}

/// May the instruction write this register?
fn is_free(register: u8) -> bool {
    ![LOW, MIDDLE, COUNTER].contains(&register)
}

/// Compressed instructions that neither jump nor write the window's pointers nor leave the window.
fn harmless_halves() -> Vec<Vec<u16>> {
    let mut by_op = vec![vec![]; Op::COUNT];
    for half in compressed_halves() {
        let insn = decode(u32::from(half));
        let addresses_window = insn.rs1 == LOW || insn.rs1 == MIDDLE;
        let harmless = match class(insn.op) {
            Class::IntAlu => is_free(insn.rd),
            Class::Load => addresses_window && (insn.op == Op::Fld || is_free(insn.rd)),
            Class::Store => addresses_window,
            _ => false,
        };
        if harmless {
            by_op[insn.op as usize].push(half);
        }
    }
    by_op.retain(|halves| !halves.is_empty());
    by_op
}

impl Generator<'_> {
    /// Adds a unit, and the end of the loop when its last unit is done.
    fn unit(&mut self) {
        let kind = self.kind();
        let items = self.items(kind);
        if kind == Kind::Loop && self.loop_end.is_none() {
            self.units.push(Unit { items, inside: None });
            self.loop_end = Some((self.units.len(), 1 + self.random.below(8)));
            return;
        }
        self.units.push(Unit { items, inside: self.loop_end.map(|(first, _)| first) });
        match self.loop_end {
            Some((first, 1)) => {
                let items = self.close_loop(first);
                self.units.push(Unit { items, inside: Some(first) });
                self.loop_end = None;
            }
            Some((first, left)) => self.loop_end = Some((first, left - 1)),
            None => {}
        }
    }

    fn kind(&mut self) -> Kind {
        let total = self.options.weights.iter().map(|(_, weight)| weight).sum();
        let mut ticket = self.random.below(total);
        for &(kind, weight) in &self.options.weights {
            if ticket < weight {
                return kind;
            }
            ticket -= weight;
        }
        unreachable!("the ticket is below the total")
    }

    fn items(&mut self, kind: Kind) -> Vec<Item> {
        match kind {
            Kind::Arithmetic => self.operation(&[Class::IntAlu]),
            Kind::MulDiv => self.operation(&[Class::IntMul, Class::IntDiv]),
            Kind::Fp => {
                let arithmetic = [Class::FpAdd, Class::FpMul, Class::FpFma, Class::FpCompare];
                let dear = [Class::FpDivS, Class::FpDivD, Class::FpSqrtS, Class::FpSqrtD];
                let moves = [Class::FpMove, Class::FpConvert];
                let chosen = self.random.pick(&[&arithmetic[..], &arithmetic[..], &dear[..], &moves[..]]);
                self.operation(chosen)
            }
            Kind::Load => self.access(Class::Load),
            Kind::Store => self.access(Class::Store),
            Kind::Branch => self.branch(),
            Kind::Jump => self.jump(),
            Kind::Loop if self.loop_end.is_some() => self.operation(&[Class::IntAlu]),
            Kind::Loop => vec![self.constant(COUNTER, 1, 6)],
            Kind::Amo => self.amo(),
            Kind::LoadReserved => self.load_reserved(),
            Kind::FloatCsr => self.float_csr(),
            Kind::Counter => {
                let imm = i64::from(self.random.pick(&[CYCLE, TIME, INSTRET]));
                let rd = self.destination();
                vec![Item::plain(Insn { op: Op::Csrrs, rd, imm, ..NOTHING })]
            }
            Kind::Hint => self.hint(),
            Kind::CacheBlock => {
                let op = self.random.pick(&[Op::CboInval, Op::CboClean, Op::CboFlush]);
                let address = self.address(8);
                vec![address, Item::plain(Insn { op, rs1: ADDRESS, ..NOTHING })]
            }
            Kind::Device => self.device(),
            Kind::Network => self.network(),
            Kind::Compressed => {
                let op = self.random.below(self.compressed.len() as u64) as usize;
                let half = self.random.pick(&self.compressed[op]);
                vec![Item::plain(decode(u32::from(half)))]
            }
        }
    }

    /// One access to a register of the device.
    fn device(&mut self) -> Vec<Item> {
        let page = Insn { op: Op::Lui, rd: ADDRESS, imm: DEVICE as i64, ..NOTHING };
        let imm = self.random.within(0..16) * 8;
        let eight = self.random.below(25) as u8;
        let insn = match self.random.below(6) {
            4 => Insn { op: Op::St64b, rs1: ADDRESS, rs2: eight, ..NOTHING },
            5 => Insn { op: Op::St64bv, rd: self.destination(), rs1: ADDRESS, rs2: eight, ..NOTHING },
            0 => Insn { op: Op::Ld, rd: self.destination(), rs1: ADDRESS, imm, ..NOTHING },
            1 => Insn { op: Op::Flw, rd: self.float(), rs1: ADDRESS, imm, ..NOTHING },
            2 => Insn { op: Op::Sd, rs1: ADDRESS, rs2: self.source(), imm, ..NOTHING },
            _ => Insn { op: Op::Sw, rs1: ADDRESS, rs2: self.source(), imm: imm + 4, ..NOTHING },
        };
        vec![Item::plain(page), self.maybe_short(insn)]
    }

    /// One instruction of the network cache.
    fn network(&mut self) -> Vec<Item> {
        let rd = self.destination();
        if self.random.below(4) == 0 {
            // `envelope(number)`.
            let number = self.random.within(0..ENVELOPES as i64);
            let mut items: Vec<Item> = [
                Insn { op: Op::Addi, rd: ADDRESS, imm: 16, ..NOTHING },
                Insn { op: Op::Slli, rd: ADDRESS, rs1: ADDRESS, imm: 32, ..NOTHING },
                Insn { op: Op::Addi, rd: ADDRESS, rs1: ADDRESS, imm: number, ..NOTHING },
            ]
            .map(Item::plain)
            .into();
            let to = self.random.pick(&[LOW, MIDDLE]);
            let insn = match self.random.below(3) {
                0 => Insn { op: Op::Withdraw, rd, rs1: ADDRESS, rs2: to, ..NOTHING },
                _ => Insn { op: Op::Prebind, rd, rs1: ADDRESS, rs2: to, rs3: ADDRESS, ..NOTHING },
            };
            items.push(Item::plain(insn));
            return items;
        }
        if self.random.below(2) == 0 {
            let id =
                Insn { op: Op::Addi, rd: ADDRESS, imm: self.random.below(MESSAGES + 16) as i64, ..NOTHING };
            let to = self.random.pick(&[LOW, MIDDLE]);
            let remap = Insn { op: Op::Remap, rd, rs1: ADDRESS, rs2: to, ..NOTHING };
            return vec![Item::plain(id), Item::plain(remap)];
        }
        let page = Insn { op: Op::Lui, rd: ADDRESS, imm: NETWORK as i64, ..NOTHING };
        let imm = self.random.within(0..(MESSAGES * 2) as i64) * 8;
        let access = match self.random.below(3) {
            0 => Insn { op: Op::Nstore, rs1: ADDRESS, rs2: self.source(), imm, ..NOTHING },
            _ => Insn { op: Op::Nload, rd, rs1: ADDRESS, imm, ..NOTHING },
        };
        vec![Item::plain(page), Item::plain(access)]
    }

    /// Any register, to be read; x0 now and then.
    fn source(&mut self) -> u8 {
        self.random.below(32) as u8
    }

    /// A register to be written: mostly among few, so that values flow.
    fn destination(&mut self) -> u8 {
        loop {
            let limit = self.random.pick(&[16, 16, 32]);
            let register = self.random.below(limit) as u8;
            if is_free(register) {
                return register;
            }
        }
    }

    /// A floating-point register: mostly one of eight.
    fn float(&mut self) -> u8 {
        let limit = self.random.pick(&[8, 8, 32]);
        self.random.below(limit) as u8
    }

    /// A rounding mode field: dynamic half of the time.
    fn rounding(&mut self) -> u8 {
        if self.random.once_in(2) { 7 } else { self.random.below(5) as u8 }
    }

    /// Shortens an instruction half of the time, where that is possible.
    fn maybe_short(&mut self, insn: Insn) -> Item {
        let length = if self.random.once_in(2) && compress(&insn).is_some() { 2 } else { 4 };
        Item::plain(Insn { length, ..insn })
    }

    /// One operation of the given classes with random operands.
    fn operation(&mut self, classes: &[Class]) -> Vec<Item> {
        let rows: Vec<_> = ENCODINGS.iter().filter(|row| classes.contains(&class(row.op))).collect();
        let row = self.random.pick(&rows);
        let x = (self.destination(), self.source(), self.source());
        let f = [(); 4].map(|()| self.float());
        let rm = self.rounding();
        let op = row.op;
        let insn = match row.format {
            Format::R => Insn { op, rd: x.0, rs1: x.1, rs2: x.2, ..NOTHING },
            Format::I => Insn { op, rd: x.0, rs1: x.1, imm: self.random.within(-2048..2048), ..NOTHING },
            Format::Shift5 => Insn { op, rd: x.0, rs1: x.1, imm: self.random.within(0..32), ..NOTHING },
            Format::Shift6 => Insn { op, rd: x.0, rs1: x.1, imm: self.random.within(0..64), ..NOTHING },
            Format::Upper => {
                Insn { op, rd: x.0, imm: self.random.within(-0x8_0000..0x8_0000) << 12, ..NOTHING }
            }
            Format::FpFused => Insn { op, rd: f[0], rs1: f[1], rs2: f[2], rs3: f[3], rm, ..NOTHING },
            Format::FpBinary => Insn { op, rd: f[0], rs1: f[1], rs2: f[2], rm, ..NOTHING },
            Format::FpExact => Insn { op, rd: f[0], rs1: f[1], rs2: f[2], ..NOTHING },
            Format::FpCompare => Insn { op, rd: x.0, rs1: f[1], rs2: f[2], ..NOTHING },
            Format::FpUnary => Insn { op, rd: f[0], rs1: f[1], rm, ..NOTHING },
            Format::FpToInteger => Insn { op, rd: x.0, rs1: f[1], rm, ..NOTHING },
            Format::FpFromInteger => Insn { op, rd: f[0], rs1: x.1, rm, ..NOTHING },
            Format::FpMoveToInteger => Insn { op, rd: x.0, rs1: f[1], ..NOTHING },
            Format::FpMoveFromInteger => Insn { op, rd: f[0], rs1: x.1, ..NOTHING },
            format => unreachable!("{format:?} is not arithmetic"),
        };
        // slti to x0 is a mark, and comes as a hint.
        let insn = if op == Op::Slti && insn.rd == 0 { Insn { rd: 1, ..insn } } else { insn };
        vec![self.maybe_short(insn)]
    }

    /// `addi register, x0, value` with a value in the range.
    fn constant(&mut self, register: u8, from: i64, to: i64) -> Item {
        let imm = self.random.within(from..to);
        self.maybe_short(Insn { op: Op::Addi, rd: register, imm, ..NOTHING })
    }

    /// An offset from the window's middle at which `bytes` bytes lie in the window.
    fn offset(&mut self, bytes: i64, aligned: bool) -> i64 {
        let half = (self.options.window_bytes / 2) as i64;
        let offset = self.random.within(-half..half - bytes + 1);
        if aligned { offset & -bytes } else { offset }
    }

    /// Puts an aligned address in the window into [`ADDRESS`].
    fn address(&mut self, bytes: i64) -> Item {
        let imm = self.offset(bytes, true);
        self.maybe_short(Insn { op: Op::Addi, rd: ADDRESS, rs1: MIDDLE, imm, ..NOTHING })
    }

    /// A load or a store: relative to the middle, or at a place that depends on data.
    fn access(&mut self, wanted: Class) -> Vec<Item> {
        let ours = [Op::Nload, Op::Nstore];
        let rows: Vec<_> =
            ENCODINGS.iter().filter(|row| class(row.op) == wanted && !ours.contains(&row.op)).collect();
        let op = self.random.pick(&rows).op;
        let is_float = [Op::Flw, Op::Fld, Op::Fsw, Op::Fsd].contains(&op);
        let bytes = match op {
            Op::Lb | Op::Lbu | Op::Sb => 1,
            Op::Lh | Op::Lhu | Op::Sh => 2,
            Op::Lw | Op::Lwu | Op::Sw | Op::Flw | Op::Fsw => 4,
            _ => 8,
        };
        let aligned = !self.options.misaligned || !self.random.once_in(3);
        let data = match (wanted, is_float) {
            (_, true) => self.float(),
            (Class::Load, _) => self.destination(),
            _ => self.source(),
        };
        let insn = |rs1, imm| match wanted {
            Class::Load => Insn { op, rd: data, rs1, imm, ..NOTHING },
            _ => Insn { op, rs1, rs2: data, imm, ..NOTHING },
        };
        if self.random.once_in(3) {
            // A multiple of 8 in the lower three quarters of the upper half, then up to an eighth further.
            let half = (self.options.window_bytes / 2) as i64;
            let rs1 = self.source();
            let mask = (half / 2 - 1) & -8;
            let step = self.random.within(0..half / 4) & if aligned { -bytes } else { -1 };
            return vec![
                Item::plain(Insn { op: Op::Andi, rd: ADDRESS, rs1, imm: mask, ..NOTHING }),
                self.maybe_short(Insn { op: Op::Add, rd: ADDRESS, rs1: ADDRESS, rs2: MIDDLE, ..NOTHING }),
                // The store's data register may be the address itself.
                self.maybe_short(insn(ADDRESS, step)),
            ];
        }
        let imm = self.offset(bytes, aligned);
        vec![self.maybe_short(insn(MIDDLE, imm))]
    }

    fn branch(&mut self) -> Vec<Item> {
        let ahead = Some(Target::Ahead);
        if self.random.once_in(3) {
            let op = self.random.pick(&[Op::Beq, Op::Bne]);
            let rs1 = self.random.within(8..16) as u8;
            let insn = Insn { op, rs1, length: 2, ..NOTHING };
            return vec![Item { insn, target: ahead, from_unit: false }];
        }
        let op = self.random.pick(&[Op::Beq, Op::Bne, Op::Blt, Op::Bge, Op::Bltu, Op::Bgeu]);
        let insn = Insn { op, rs1: self.source(), rs2: self.source(), ..NOTHING };
        vec![Item { insn, target: ahead, from_unit: false }]
    }

    fn jump(&mut self) -> Vec<Item> {
        let ahead = Some(Target::Ahead);
        let rd = self.destination();
        match self.random.below(4) {
            0 => vec![Item { insn: Insn { op: Op::Jal, rd, ..NOTHING }, target: ahead, from_unit: false }],
            1 => vec![Item {
                insn: Insn { op: Op::Jal, length: 2, ..NOTHING },
                target: ahead,
                from_unit: false,
            }],
            choice => {
                let here = Item::plain(Insn { op: Op::Auipc, rd: ADDRESS, ..NOTHING });
                let jump = Insn { op: Op::Jalr, rs1: ADDRESS, ..NOTHING };
                if choice == 2 {
                    let insn = Insn { rd, ..jump };
                    return vec![here, Item { insn, target: ahead, from_unit: true }];
                }
                // c.jr and c.jalr have no offset: it is added before.
                let add = Insn { op: Op::Addi, rd: ADDRESS, rs1: ADDRESS, ..NOTHING };
                let rd = self.random.pick(&[0, 1]);
                let jump = Item::plain(Insn { rd, length: 2, ..jump });
                vec![here, Item { insn: add, target: ahead, from_unit: true }, jump]
            }
        }
    }

    fn close_loop(&mut self, first: usize) -> Vec<Item> {
        let count = Insn { op: Op::Addi, rd: COUNTER, rs1: COUNTER, imm: -1, ..NOTHING };
        let again = Insn { op: Op::Bne, rs1: COUNTER, ..NOTHING };
        let again = Item { insn: again, target: Some(Target::Unit(first)), from_unit: false };
        vec![self.maybe_short(count), again]
    }

    fn amo(&mut self) -> Vec<Item> {
        let rows: Vec<_> = ENCODINGS.iter().filter(|row| class(row.op) == Class::Amo).collect();
        let rows: Vec<_> =
            rows.into_iter().filter(|row| ![Op::LrW, Op::LrD, Op::ScW, Op::ScD].contains(&row.op)).collect();
        let op = self.random.pick(&rows).op;
        let imm = self.random.within(0..4);
        let address = self.address(8);
        let insn = Insn { op, rd: self.destination(), rs1: ADDRESS, rs2: self.source(), imm, ..NOTHING };
        vec![address, Item::plain(insn)]
    }

    /// Mostly a pair on one address; between them perhaps an operation, another address, or a store of the value
    /// that is there. (Whether a store of this hart with another value breaks the reservation is left to
    /// implementations, and emulators differ in it.)
    fn load_reserved(&mut self) -> Vec<Item> {
        let (load, store, sd) = self.random.pick(&[(Op::LrW, Op::ScW, Op::Sw), (Op::LrD, Op::ScD, Op::Sd)]);
        let imm = self.random.within(0..4);
        let loaded = self.random.pick(&[0, 1, 5, 10, 11, 28]);
        let address = self.address(8);
        // Half a window away: another line, whatever its length. In the same line both answers are right.
        let half = (self.options.window_bytes / 2) as i64;
        let away = if address.insn.imm < 0 { half } else { -half };
        let elsewhere = Insn { length: 4, imm: address.insn.imm + away, ..address.insn };
        let mut items = vec![address];
        if !self.random.once_in(8) {
            items.push(Item::plain(Insn { op: load, rd: loaded, rs1: ADDRESS, imm, ..NOTHING }));
        }
        match self.random.below(6) {
            0 => items.push(Item::plain(Insn { op: Op::Xor, rd: 5, rs1: loaded, rs2: 10, ..NOTHING })),
            1 if loaded != 0 => {
                items.push(Item::plain(Insn { op: sd, rs1: ADDRESS, rs2: loaded, ..NOTHING }))
            }
            2 => items.push(self.maybe_short(elsewhere)),
            _ => {}
        }
        let insn =
            Insn { op: store, rd: self.destination(), rs1: ADDRESS, rs2: self.source(), imm, ..NOTHING };
        items.push(Item::plain(insn));
        items
    }

    /// Accesses that leave a legal rounding mode: 0 to 4 as an immediate, or 0 to 3 from a masked register.
    fn float_csr(&mut self) -> Vec<Item> {
        let rd = self.destination();
        let rs1 = self.source();
        let access = |op, rs1, csr: u16| Item::plain(Insn { op, rd, rs1, imm: csr.into(), ..NOTHING });
        match self.random.below(6) {
            0 => vec![access(Op::Csrrs, 0, self.random.pick(&[FFLAGS, FRM, FCSR]))],
            1 => vec![access(Op::Csrrwi, self.random.below(5) as u8, FRM)],
            2 => {
                let op = self.random.pick(&[Op::Csrrw, Op::Csrrs, Op::Csrrc]);
                vec![access(op, rs1, FFLAGS)]
            }
            3 => {
                let op = self.random.pick(&[Op::Csrrwi, Op::Csrrsi, Op::Csrrci]);
                vec![access(op, rs1, FFLAGS)]
            }
            4 => vec![access(Op::Csrrc, rs1, FRM)],
            _ => {
                let mask = Insn { op: Op::Andi, rd: ADDRESS, rs1, imm: 0x7f, ..NOTHING };
                vec![Item::plain(mask), access(Op::Csrrw, ADDRESS, FCSR)]
            }
        }
    }

    fn hint(&mut self) -> Vec<Item> {
        let (rs1, imm) = (self.source(), self.random.within(0..4096));
        let insn = match self.random.below(5) {
            0 => Insn { op: Op::Mark, rs1, imm, ..NOTHING },
            1 => Insn { op: Op::Pause, ..NOTHING },
            2 => Insn { op: Op::Fence, imm: imm & 0xff | 0x11, ..NOTHING },
            3 => Insn { op: Op::FenceI, ..NOTHING },
            _ => Insn { op: Op::Sltu, rs1, rs2: 5, ..NOTHING },
        };
        vec![Item::plain(insn)]
    }

    /// Chooses the targets of branches and jumps. The next unit is always allowed: of a loop's first unit the
    /// one before is the loop's counter, which does not branch.
    fn link(&mut self) {
        for i in 0..self.units.len() {
            let ahead = |item: &Item| matches!(item.target, Some(Target::Ahead));
            let Some(at) = self.units[i].items.iter().position(ahead) else { continue };
            let from = self.units[i].inside;
            let last = (i + REACH).min(self.units.len() - 1);
            let enters = |to: usize| self.units[to].inside.is_some() && self.units[to].inside != from;
            let allowed: Vec<usize> = (i + 1..=last).filter(|&to| !enters(to)).collect();
            self.units[i].items[at].target = Some(Target::Unit(self.random.pick(&allowed)));
        }
    }

    /// Assigns addresses and encodes.
    fn layout(&self) -> Vec<u8> {
        let mut starts = vec![];
        let mut address = 0;
        for unit in &self.units {
            starts.push(address);
            address += unit.items.iter().map(|item| i64::from(item.insn.length)).sum::<i64>();
        }
        let mut code = vec![];
        for (unit, start) in self.units.iter().zip(&starts) {
            for item in &unit.items {
                let mut insn = item.insn;
                if let Some(Target::Unit(to)) = item.target {
                    insn.imm = starts[to] - if item.from_unit { *start } else { code.len() as i64 };
                }
                match insn.length {
                    2 => code.extend(compress(&insn).expect("a short form").to_le_bytes()),
                    _ => code.extend(encode(&insn).to_le_bytes()),
                }
            }
        }
        code
    }
}
