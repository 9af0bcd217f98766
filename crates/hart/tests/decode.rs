//! The decoder against objdump: every 16-bit encoding, and boundary and random 32-bit ones. Where the cross
//! binutils are missing, the hand-checked table in `encodings.rs` still stands.

use chasqui_hart::insn::{ENCODINGS, Insn, Op};
use chasqui_hart::testing::encode::encode;
use chasqui_hart::{csr, decode};
use chasqui_random::{Random, damage};
use std::collections::HashMap;
use std::process::Command;

const OBJDUMP: &str = "riscv64-linux-gnu-objdump";

/// What an instruction is, in a form that both sides can be brought to.
fn ours(bits: u32) -> String {
    let insn = decode(bits);
    match insn.op {
        Op::Illegal => "illegal".into(),
        // Special cases that objdump 2.40 does not know show as the general form they are part of.
        Op::Mark => {
            let signed = (insn.imm << 52) >> 52;
            format!("slti zero,{},{signed}", chasqui_hart::disasm::x_name(insn.rs1))
        }
        Op::Pause => "fence w,unknown".into(),
        _ => insn.to_string(),
    }
}

/// Runs objdump over instructions of one length; none if it is not installed.
fn objdump(bytes: &[u8]) -> Option<Vec<(u32, String)>> {
    Command::new(OBJDUMP).arg("--version").output().ok()?;
    let file = std::env::temp_dir().join(format!("chasqui-decode-{}-{}", std::process::id(), bytes.len()));
    std::fs::write(&file, bytes).expect("a temporary file");
    let arguments = ["-D", "-z", "-b", "binary", "-m", "riscv:rv64", "-M", "no-aliases"];
    let output = Command::new(OBJDUMP).args(arguments).arg(&file).output().expect("objdump");
    std::fs::remove_file(&file).expect("the temporary file");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("objdump's text");
    Some(text.lines().filter_map(parse_line).collect())
}

/// A line is the address with a colon, the bits, the mnemonic and the operands, separated by tabs. Gives the
/// bits and the text, with targets made relative.
fn parse_line(line: &str) -> Option<(u32, String)> {
    let mut fields = line.split('\t');
    let address = u64::from_str_radix(fields.next()?.trim().strip_suffix(':')?, 16).ok()?;
    let bits = u32::from_str_radix(fields.next()?.trim(), 16).ok()?;
    let mnemonic = fields.next()?.trim();
    let operands = fields.next().unwrap_or("");
    let operands = operands.split(['#', '<']).next().unwrap_or("").trim();
    Some((bits, normalise(mnemonic, operands, address)))
}

fn normalise(mnemonic: &str, operands: &str, address: u64) -> String {
    let mut operands: Vec<String> = operands.split(',').map(str::to_string).collect();
    let compressed = mnemonic.strip_prefix("c.");
    if mnemonic.starts_with(".2byte") || mnemonic.starts_with(".4byte") || mnemonic == "c.unimp" {
        return "illegal".into();
    }
    if mnemonic == "unimp" {
        return "csrrw zero,cycle,zero".into(); // an alias even of no-aliases: csrrw x0, cycle, x0
    }
    // Reserved rounding modes.
    if mnemonic.starts_with('f') && !mnemonic.starts_with("fence") && operands.iter().any(|o| o == "unknown")
    {
        return "illegal".into();
    }
    let branches = ["beq", "bne", "blt", "bge", "bltu", "bgeu", "jal", "c.j", "c.beqz", "c.bnez"];
    if branches.contains(&mnemonic) {
        let target = operands.pop().expect("a target");
        let target = u64::from_str_radix(target.trim_start_matches("0x"), 16).expect("a target address");
        operands.push(format!(".{:+}", target.wrapping_sub(address) as i64));
    }
    if mnemonic.starts_with("csr") && csr_is_unknown(&operands[1]) {
        operands[1] = "csr".into();
    }
    match compressed {
        Some(name) => expand(name, &operands),
        None => format!("{mnemonic} {}", operands.join(",")).trim_end().to_string(),
    }
}

/// Names that our disassembler has; all others are compared as `csr` only.
fn csr_is_unknown(name: &str) -> bool {
    !["fflags", "frm", "fcsr", "cycle", "time", "instret"].contains(&name)
}

/// The long form of a compressed instruction, from objdump's text alone.
fn expand(name: &str, operands: &[String]) -> String {
    let operand = |i: usize| operands[i].as_str();
    let hex = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).expect("a number"),
        None => text.parse().expect("a number"),
    };
    match name {
        "nop" => match operands.first().map(String::as_str) {
            None | Some("") => "addi zero,zero,0".into(),
            Some(imm) => format!("addi zero,zero,{}", hex(imm)),
        },
        "ebreak" => "ebreak".into(),
        "jr" => format!("jalr zero,0({})", operand(0)),
        "jalr" => format!("jalr ra,0({})", operand(0)),
        "j" => format!("jal zero,{}", operand(0)),
        "beqz" => format!("beq {},zero,{}", operand(0), operand(1)),
        "bnez" => format!("bne {},zero,{}", operand(0), operand(1)),
        "mv" => format!("add {},zero,{}", operand(0), operand(1)),
        "li" => format!("addi {},zero,{}", operand(0), hex(operand(1))),
        "lui" => format!("lui {},{:#x}", operand(0), hex(operand(1)) & 0xf_ffff),
        "addi4spn" => format!("addi {},sp,{}", operand(0), hex(operand(2))),
        "addi16sp" => format!("addi sp,sp,{}", hex(operand(1))),
        "addi" | "addiw" | "andi" => format!("{name} {0},{0},{1}", operand(0), hex(operand(1))),
        "slli" | "srli" | "srai" => format!("{name} {0},{0},{1:#x}", operand(0), hex(operand(1))),
        "slli64" | "srli64" | "srai64" => format!("{} {1},{1},0x0", &name[..4], operand(0)),
        "add" | "sub" | "xor" | "or" | "and" | "addw" | "subw" => {
            format!("{name} {0},{0},{1}", operand(0), operand(1))
        }
        _ => format!("{} {},{}", name.trim_end_matches("sp"), operand(0), operand(1)),
    }
}

/// Our text with CSR names brought to the common form.
fn ours_normalised(bits: u32) -> String {
    let text = ours(bits);
    let insn = decode(bits);
    if insn.op.mnemonic().starts_with("csr") {
        let name = csr::CsrName(insn.imm as u16).to_string();
        if csr_is_unknown(&name) {
            return text.replacen(&format!(",{name},"), ",csr,", 1);
        }
    }
    text
}

/// Compares and reports up to twenty differences; returns how many words both sides saw as instructions.
fn compare(listing: &[(u32, String)], length: u8, differs_rightly: fn(u32, &str) -> bool) -> usize {
    let mut differences = HashMap::new();
    let mut instructions = 0;
    for (bits, theirs) in listing {
        assert_eq!(decode(*bits).length, length, "{bits:#010x}");
        let ours = ours_normalised(*bits);
        if ours == *theirs {
            instructions += usize::from(ours != "illegal");
        } else if !differs_rightly(*bits, theirs) {
            differences.insert(*bits, (ours, theirs));
        }
    }
    for (bits, (ours, theirs)) in differences.iter().take(20) {
        println!("{bits:#010x}: ours `{ours}`, objdump `{theirs}`");
    }
    assert!(differences.is_empty(), "{} of {} differ", differences.len(), listing.len());
    instructions
}

/// `c.addi16sp` with a zero immediate: reserved ("nzimm"), but objdump shows it.
const RESERVED_ADDI16SP: u32 = 0x6101;

#[test]
fn every_compressed_encoding() {
    let halves: Vec<u16> = (0..=u16::MAX).filter(|half| half & 3 != 3).collect();
    let bytes: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
    let Some(listing) = objdump(&bytes) else {
        println!("SKIPPED: {} compressed encodings ({OBJDUMP} not found)", halves.len());
        return;
    };
    assert_eq!(listing.len(), halves.len());
    let instructions = compare(&listing, 2, |half, _| half == RESERVED_ADDI16SP);
    println!("{instructions} instructions among {} compressed encodings", halves.len());
    assert!(instructions > 40_000);
}

/// Words around every encoding: the fixed bits with random free bits, with all free bits set and clear, and
/// with each single fixed bit flipped.
fn words(random: &mut Random) -> Vec<u32> {
    let mut words = vec![];
    for row in &ENCODINGS {
        let free = !row.format.mask();
        words.extend([row.bits, row.bits | free]);
        words.extend((0..32).map(|bit| row.bits ^ 1 << bit));
        words.extend((0..400).map(|_| row.bits | random.bits() as u32 & free));
        words.extend((0..100).map(|_| (row.bits | random.bits() as u32 & free) ^ 1 << random.below(32)));
    }
    words.extend((0..100_000).map(|_| random.bits() as u32 | 3));
    // Five low bits set mark instructions longer than 32 bits.
    words.retain(|word| word & 3 == 3 && word & 0x1f != 0x1f);
    words
}

/// Differences that are objdump's to have: instructions that it knows and RV64GC lacks or that its default
/// selection leaves out, and reserved fields that the base ISA tells us to ignore.
fn differs_rightly(bits: u32, theirs: &str) -> bool {
    let op = decode(bits).op;
    let unknown = theirs == "illegal";
    let privileged = [
        "dret",
        "hfence",
        "hlv",
        "hsv",
        "hinval",
        "sinval",
        "sfence.inval",
        "sfence.w",
        "uret",
        "hret",
        "sfence.vm",
    ];
    match op {
        // Not in objdump's default selection, and our own.
        Op::St64b | Op::St64bv | Op::Nload | Op::Nstore | Op::Remap | Op::Prebind | Op::Withdraw => unknown,
        Op::CboInval | Op::CboClean | Op::CboFlush | Op::CboZero => unknown,
        // "…the unused fields in the FENCE instruction … shall be ignored"; so for fence.i.
        Op::Fence | Op::FenceI => unknown || (bits & 0x000f_8f80 != 0 || bits >> 28 != 0),
        // Exact conversions have a rounding mode that does nothing; objdump knows them with mode 0 only.
        Op::FcvtDS | Op::FcvtDW | Op::FcvtDWu => unknown && bits >> 12 & 7 != 0,
        Op::Illegal => privileged.iter().any(|name| theirs.starts_with(name)),
        _ => false,
    }
}

#[test]
fn words_around_every_encoding() {
    let words = words(&mut Random::for_test(0xdec0de));
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let Some(listing) = objdump(&bytes) else {
        println!("SKIPPED: {} words ({OBJDUMP} not found)", words.len());
        return;
    };
    assert_eq!(listing.len(), words.len());
    let instructions = compare(&listing, 4, differs_rightly);
    println!("{instructions} instructions among {} words", words.len());
    assert!(instructions > 70_000);
}

/// Whatever a word is: the decoder says one thing of it, which has a text, and which is that of the word made from it.
#[test]
fn damaged_words_decode() {
    damage::repeat(0xdec0_ded0, 400_000, |random| {
        let word = match random.below(3) {
            0 => random.bits() as u32,
            // What is nearly an instruction.
            _ => ENCODINGS[random.below(ENCODINGS.len() as u64) as usize].bits ^ 1 << random.below(32),
        };
        let word = if random.once_in(2) { word ^ (random.bits() & random.bits()) as u32 } else { word };
        let insn = decode(word);
        assert_eq!(insn.length, if word & 3 == 3 { 4 } else { 2 }, "{word:#010x}");
        assert!(!insn.to_string().is_empty(), "{word:#010x}");
        // A fence with the sets of `pause` and with fields that are ignored: without these it is `pause`.
        let is_nearly_pause = insn.op == Op::Fence && insn.imm == 0x10;
        if insn.op != Op::Illegal && !is_nearly_pause {
            assert_eq!(decode(encode(&insn)), Insn { length: 4, ..insn }, "{word:#010x}");
        }
    });
}
