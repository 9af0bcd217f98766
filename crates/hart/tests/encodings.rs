//! Encodings written down by hand from the ISA manual's listings, with the text they stand for: a decoder test
//! that needs no other tool.

use chasqui_hart::{Op, decode};

/// Bits and text; every format and every immediate at its ends.
const TABLE: &[(u32, &str)] = &[
    // U and J: imm[31:12]; imm[20|10:1|11|19:12]
    (0x8000_00b7, "lui ra,0x80000"),
    (0x7fff_ff97, "auipc t6,0x7ffff"),
    (0x8000_00ef, "jal ra,.-1048576"),
    (0x7fff_f06f, "jal zero,.+1048574"),
    (0x0010_006f, "jal zero,.+2048"),
    (0x0000_106f, "jal zero,.+4096"),
    // I
    (0x8000_8067, "jalr zero,-2048(ra)"),
    (0x7ff5_0513, "addi a0,a0,2047"),
    (0xfff5_3513, "sltiu a0,a0,-1"),
    (0x8005_2513, "slti a0,a0,-2048"),
    (0x0015_851b, "addiw a0,a1,1"),
    (0x03f5_1513, "slli a0,a0,0x3f"),
    (0x43f5_5513, "srai a0,a0,0x3f"),
    (0x41f5_551b, "sraiw a0,a0,0x1f"),
    // S: imm[11:5], imm[4:0]; B: imm[12|10:5], imm[4:1|11]
    (0x80b5_3023, "sd a1,-2048(a0)"),
    (0x7eb5_0fa3, "sb a1,2047(a0)"),
    (0x80b5_0063, "beq a0,a1,.-4096"),
    (0x7eb5_7fe3, "bgeu a0,a1,.+4094"),
    (0x00b5_10e3, "bne a0,a1,.+2048"),
    (0xfff5_4003, "lbu zero,-1(a0)"),
    // R
    (0x40c5_8533, "sub a0,a1,a2"),
    (0x40c5_d53b, "sraw a0,a1,a2"),
    (0x02c5_a533, "mulhsu a0,a1,a2"),
    (0x02c5_f53b, "remuw a0,a1,a2"),
    // The custom HINTs are marks; the immediate has no sign. With a destination it is slti.
    (0xfff5_2013, "mark a0,0xfff"),
    (0x0000_2013, "mark zero,0x0"),
    (0xfff5_2093, "slti ra,a0,-1"),
    // Other HINTs are ordinary operations on x0.
    (0x0010_0013, "addi zero,zero,1"),
    (0x4070_5013, "srai zero,zero,0x7"),
    // Fences and cache blocks
    (0x0100_000f, "pause"),
    (0x0ff0_000f, "fence iorw,iorw"),
    (0x8330_000f, "fence.tso"),
    (0x0310_000f, "fence rw,w"),
    (0x0000_100f, "fence.i"),
    (0x0005_200f, "cbo.inval (a0)"),
    (0x0015_200f, "cbo.clean (a0)"),
    (0x0025_200f, "cbo.flush (a0)"),
    (0x0045_200f, "cbo.zero (a0)"),
    // System
    (0x0000_0073, "ecall"),
    (0x0010_0073, "ebreak"),
    (0x0020_0073, "uret"),
    (0x1020_0073, "sret"),
    (0x3020_0073, "mret"),
    (0x1050_0073, "wfi"),
    (0x12b5_0073, "sfence.vma a0,a1"),
    (0x0035_1573, "csrrw a0,fcsr,a0"),
    (0xc000_2573, "csrrs a0,cycle,zero"),
    (0x001f_f073, "csrrci zero,fflags,31"),
    (0x7c00_5073, "csrrwi zero,0x7c0,0"),
    // A: funct5, aq, rl
    (0x1005_252f, "lr.w a0,(a0)"),
    (0x1605_352f, "lr.d.aqrl a0,(a0)"),
    (0x1ab5_352f, "sc.d.rl a0,a1,(a0)"),
    (0x04b5_252f, "amoadd.w.aq a0,a1,(a0)"),
    (0xe0b5_352f, "amomaxu.d a0,a1,(a0)"),
    // Custom-0: 64-byte stores; eight registers from rs2 on
    (0x00a2_800b, "st64b a0,(t0)"),
    (0x0185_000b, "st64b s8,(a0)"),
    (0x02a2_850b, "st64bv a0,a0,(t0)"),
    (0x0000_000b, "st64b zero,(zero)"),
    // Custom-0: the network cache
    (0xff85_950b, "nload a0,-8(a1)"),
    (0x00a5_a40b, "nstore a0,8(a1)"),
    (0x00c5_b50b, "remap a0,a1,a2"),
    (0x68c5_c50b, "prebind a0,a1,a2,a3"),
    (0x00c5_d50b, "withdraw a0,a1,a2"),
    // F and D: rs3, format, rounding mode
    (0x0005_2507, "flw fa0,0(a0)"),
    (0xfea5_3c27, "fsd fa0,-8(a0)"),
    (0x68c5_f543, "fmadd.s fa0,fa1,fa2,fa3"),
    (0x6ac5_954f, "fnmadd.d fa0,fa1,fa2,fa3,rtz"),
    (0x02c5_f553, "fadd.d fa0,fa1,fa2"),
    (0x18c5_c553, "fdiv.s fa0,fa1,fa2,rmm"),
    (0x5a05_a553, "fsqrt.d fa0,fa1,rdn"),
    (0x22c5_a553, "fsgnjx.d fa0,fa1,fa2"),
    (0x2ac5_9553, "fmax.d fa0,fa1,fa2"),
    (0xa2c5_9553, "flt.d a0,fa1,fa2"),
    (0xc235_9553, "fcvt.lu.d a0,fa1,rtz"),
    (0xd225_f553, "fcvt.d.l fa0,a1"),
    (0x4205_8553, "fcvt.d.s fa0,fa1"),
    (0x4015_f553, "fcvt.s.d fa0,fa1"),
    (0xe205_9553, "fclass.d a0,fa1"),
    (0xe205_8553, "fmv.x.d a0,fa1"),
    (0xf005_8553, "fmv.w.x fa0,a1"),
    // C, quadrant 0
    (0x0004, ".short 0x0004"), // c.addi4spn needs an immediate
    (0x0028, "addi a0,sp,8"),
    (0x1ffc, "addi a5,sp,1020"),
    (0x7d7c, "ld a5,248(a0)"),
    (0x4188, "lw a0,0(a1)"),
    (0x2188, "fld fa0,0(a1)"),
    (0xddfc, "sw a5,124(a1)"),
    // Quadrant 1
    (0x0001, "addi zero,zero,0"),
    (0x1141, "addi sp,sp,-16"),
    (0x2501, "addiw a0,a0,0"),
    (0x2001, ".short 0x2001"), // c.addiw to x0
    (0x557d, "addi a0,zero,-1"),
    (0x7101, "addi sp,sp,-512"),
    (0x617d, "addi sp,sp,496"),
    (0x757d, "lui a0,0xfffff"),
    (0x6501, ".short 0x6501"), // c.lui needs an immediate
    (0x9501, "srai a0,a0,0x20"),
    (0x8d0d, "sub a0,a0,a1"),
    (0x9d2d, "addw a0,a0,a1"),
    (0x9d4d, ".short 0x9d4d"), // reserved
    (0xb001, "jal zero,.-2048"),
    (0xaffd, "jal zero,.+2046"),
    (0xd101, "beq a0,zero,.-256"),
    (0xed7d, "bne a0,zero,.+254"),
    // Quadrant 2
    (0x157e, "slli a0,a0,0x3f"),
    (0x557e, "lw a0,252(sp)"),
    (0x757e, "ld a0,504(sp)"),
    (0x6002, ".short 0x6002"), // c.ldsp to x0
    (0x8082, "jalr zero,0(ra)"),
    (0x8002, ".short 0x8002"), // c.jr x0
    (0x852e, "add a0,zero,a1"),
    (0x9002, "ebreak"),
    (0x9502, "jalr ra,0(a0)"),
    (0x952e, "add a0,a0,a1"),
    (0xbfaa, "fsd fa0,504(sp)"),
    (0xdfaa, "sw a0,252(sp)"),
    (0xe02a, "sd a0,0(sp)"),
    // No instructions
    (0x0000, ".short 0x0000"),
    (0xffff_ffff, ".word 0xffffffff"),
    (0x02c5_d553, ".word 0x02c5d553"), // rounding mode 5
    (0x10b5_252f, ".word 0x10b5252f"), // lr.w with rs2
    (0x0195_000b, ".word 0x0195000b"), // st64b of x25 to x32
    (0x00a2_850b, ".word 0x00a2850b"), // st64b with rd
    (0x00a2_e00b, ".word 0x00a2e00b"), // custom-0, funct3 6
    (0x02c5_b50b, ".word 0x02c5b50b"), // remap with funct7
    (0x6ac5_c50b, ".word 0x6ac5c50b"), // prebind with funct2
    (0x0200_1013 | 1 << 30, ".word 0x42001013"),
];

#[test]
fn hand_checked_encodings() {
    for &(bits, text) in TABLE {
        let insn = decode(bits);
        assert_eq!(insn.to_string(), text, "{bits:#010x}");
        assert_eq!(insn.length, if bits & 3 == 3 { 4 } else { 2 }, "{bits:#010x}");
    }
}

#[test]
fn fields_without_a_place_in_the_text() {
    assert_eq!(decode(0x04b5_252f).imm, 2, "aq");
    assert_eq!(decode(0x1ab5_352f).imm, 1, "rl");
    assert_eq!(decode(0x8330_000f).imm, 0x833, "fence.tso");
    assert_eq!(decode(0xfff5_2013).imm, 0xfff, "a mark's immediate has no sign");
    assert_eq!(decode(0xc000_2573).imm, 0xc00, "a CSR number has no sign");
    assert_eq!(decode(0xffff_ffff).imm, 0xffff_ffff, "illegal bits are kept");
    assert_eq!((decode(0x8330_8f8f).op, decode(0x8330_8f8f).rd), (Op::Fence, 0), "ignored fields");
    assert_eq!(decode(0xdead_0001).length, 2, "the upper half is not looked at");
}

/// Every rounding-mode field of an arithmetic operation: 5 and 6 are reserved.
#[test]
fn reserved_rounding_modes_are_illegal() {
    let legal = (0..8).map(|rm| decode(0x02c5_8553 | rm << 12)).map(|insn| insn.op == Op::FaddD);
    assert!(legal.eq([true, true, true, true, true, false, false, true]));
}
