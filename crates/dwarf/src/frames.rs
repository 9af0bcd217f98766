//! From a function to its caller, by the sections `.debug_frame` and `.eh_frame` (DWARF 5, section 6.4; Linux Standard Base
//! Core 5.0, section 10.6).

use std::collections::HashMap;

use gimli::{
    BaseAddresses, CfaRule, CommonInformationEntry, DebugFrame, EhFrame, LittleEndian, Register,
    RegisterRule, UnwindContext, UnwindOffset, UnwindSection, UnwindTableRow,
};
use object::{Object, ObjectSection};

/// Integer registers of a hart: their DWARF numbers are their own (RISC-V psABI, chapter "DWARF").
pub const REGISTERS: usize = 32;
/// `ra`, which holds where a function returns to.
pub const RETURN_ADDRESS: usize = 1;
/// `sp`. It is what it was before the call when a function has returned.
pub const STACK_POINTER: usize = 2;

/// The call frame information of a linked program; none where it says nothing.
#[derive(Default)]
pub struct Frames {
    debug: Vec<u8>,
    exceptions: Vec<u8>,
    bases: BaseAddresses,
}

impl Frames {
    /// That of `file`.
    pub fn read(file: &object::File) -> Frames {
        let section = |name| file.section_by_name(name);
        let contents = |name| {
            let data = section(name).and_then(|section| section.uncompressed_data().ok());
            data.map_or(Vec::new(), |data| data.into_owned())
        };
        let address = |name| section(name).map_or(0, |section| section.address());
        let bases = BaseAddresses::default().set_eh_frame(address(".eh_frame")).set_text(address(".text"));
        Frames { debug: contents(".debug_frame"), exceptions: contents(".eh_frame"), bases }
    }

    /// What the caller of the function that holds `address` will find in the registers when that returns, which has `x` in
    /// them now: in [`RETURN_ADDRESS`] is where the caller goes on. `read` gives the word at an address. `None`: the file does
    /// not say, or there is no caller.
    pub fn caller(
        &self,
        address: u64,
        x: &[u64; REGISTERS],
        read: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Option<[u64; REGISTERS]> {
        let mut debug = DebugFrame::new(&self.debug, LittleEndian);
        debug.set_address_size(8);
        let mut exceptions = EhFrame::new(&self.exceptions, LittleEndian);
        exceptions.set_address_size(8);
        restored(&debug, &self.bases, address, x, read)
            .or_else(|| restored(&exceptions, &self.bases, address, x, read))
    }
}

/// What `section` says of them.
fn restored<S: UnwindSection<R>, R: gimli::Reader<Offset = usize>>(
    section: &S,
    bases: &BaseAddresses,
    address: u64,
    x: &[u64; REGISTERS],
    read: &mut dyn FnMut(u64) -> Option<u64>,
) -> Option<[u64; REGISTERS]> {
    let mut context = UnwindContext::new();
    // Of many functions it is the same, and may be as long as the section.
    let mut common: HashMap<usize, gimli::Result<CommonInformationEntry<R>>> = HashMap::new();
    let entry = |section: &S, bases: &BaseAddresses, offset: S::Offset| {
        let read = || section.cie_from_offset(bases, offset);
        common.entry(UnwindOffset::into(offset)).or_insert_with(read).clone()
    };
    let row = section.unwind_info_for_address(bases, &mut context, address, entry).ok()?;
    by_row(row, x, read)
}

fn by_row(
    row: &UnwindTableRow<usize>,
    x: &[u64; REGISTERS],
    read: &mut dyn FnMut(u64) -> Option<u64>,
) -> Option<[u64; REGISTERS]> {
    // Compilers for RISC-V use no expressions here.
    let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else { return None };
    let frame = x.get(usize::from(register.0))?.wrapping_add_signed(*offset);
    let mut before = *x;
    before[STACK_POINTER] = frame;
    for (number, value) in before.iter_mut().enumerate().skip(1) {
        match row.register(Register(number as u16)) {
            // So the first function of all says that it has no caller.
            Some(RegisterRule::Undefined) if number == RETURN_ADDRESS => return None,
            // What a function may lose is not looked at; of what it must keep it says nothing where it has kept it.
            None | Some(RegisterRule::SameValue | RegisterRule::Undefined) => {}
            Some(RegisterRule::Offset(offset)) => *value = read(frame.wrapping_add_signed(offset))?,
            Some(RegisterRule::ValOffset(offset)) => *value = frame.wrapping_add_signed(offset),
            Some(RegisterRule::Register(other)) => *value = *x.get(usize::from(other.0))?,
            Some(_) => return None,
        }
    }
    Some(before)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use chasqui_random::damage;

    use super::*;

    /// `.debug_frame` (DWARF 5, section 6.4.1) of a function at 0x1000 that takes 16 bytes of stack with its first
    /// instruction and saves ra with the next, and of one at 0x2000 that no function has called.
    fn table() -> Vec<u8> {
        let entry = |body: Vec<u8>| {
            let padded = body.len().next_multiple_of(8) + 4 - 8 * usize::from(body.len() % 8 == 4);
            let mut entry = (padded as u32).to_le_bytes().to_vec();
            entry.extend(body);
            // DW_CFA_nop
            entry.resize(padded + 4, 0);
            entry
        };
        let mut common = vec![0xff, 0xff, 0xff, 0xff, 4, 0, 8, 0, 1, 0x78, 1];
        common.extend([0x0c, 2, 0]); // DW_CFA_def_cfa: sp, 0
        let function = |address: u64, instructions: &[u8]| {
            let mut body = vec![0; 4];
            body.extend(address.to_le_bytes());
            body.extend(0x10u64.to_le_bytes());
            body.extend(instructions);
            body
        };
        // DW_CFA_advance_loc 2, DW_CFA_def_cfa_offset 16, DW_CFA_advance_loc 2, DW_CFA_offset ra 1 (times -8)
        let first = function(0x1000, &[0x42, 0x0e, 16, 0x42, 0x81, 1]);
        let second = function(0x2000, &[0x07, 1]); // DW_CFA_undefined ra
        [entry(common), entry(first), entry(second)].concat()
    }

    fn frames(debug: Vec<u8>) -> Frames {
        Frames { debug, ..Frames::default() }
    }

    #[test]
    fn a_caller_s_registers_come_from_where_its_callee_put_them() {
        let frames = frames(table());
        let mut x = [7; REGISTERS];
        (x[RETURN_ADDRESS], x[STACK_POINTER]) = (0x5000, 0x8000);
        let mut read = |address| (address == 0x8008).then_some(0x6000);
        let mut at = |address| {
            let before = frames.caller(address, &x, &mut read)?;
            assert_eq!(before[8], 7, "a register that nothing was done to");
            Some((before[RETURN_ADDRESS], before[STACK_POINTER]))
        };
        assert_eq!(at(0x1000), Some((0x5000, 0x8000)));
        assert_eq!(at(0x1002), Some((0x5000, 0x8010)));
        assert_eq!(at(0x1004), Some((0x6000, 0x8010)));
        assert_eq!(at(0x1010), None, "behind the function");
        assert_eq!(at(0x2000), None, "the first function of all");
        let nowhere = &mut |_| None;
        assert_eq!(frames.caller(0x1004, &x, nowhere), None, "a stack that can't be read");
    }

    #[test]
    fn damaged_tables_say_something_or_nothing_soon() {
        let whole = table();
        damage::repeat(1, 20_000, |random| {
            let damaged = frames(damage::bytes(random, &whole, &[0..whole.len(), 24..whole.len()]));
            let begin = Instant::now();
            for address in [0, 0x1000, 0x1004, 0x2000, u64::MAX] {
                damaged.caller(address, &[!0; REGISTERS], &mut Some);
            }
            assert!(begin.elapsed() < Duration::from_secs(10), "it took {:?}", begin.elapsed());
        });
    }
}
