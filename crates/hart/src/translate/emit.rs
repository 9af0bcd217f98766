//! The code of a region.

use std::mem::offset_of;

use chasqui_memory::{Geometry, layout};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F32, F64, I8, I32, I64};
use cranelift_codegen::ir::{
    AbiParam, Block as Label, BlockArg, Function, InstBuilder, JumpTableData, MemFlags, Signature, Type,
    Value,
};
use cranelift_codegen::isa::{CallConv, TargetIsa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};

use super::region::Region;
use super::registers::{OWN, Registers, f_offset, x_offset};
use super::{Target, operations};
use crate::block::{Block, Code, Micro};
use crate::hart::Hart;
use crate::run::CHAINS_MAX;
use crate::threaded::{CHAIN_MAX, Frame, missed};

/// The signature of a [`Translated`](crate::threaded::Translated).
pub(super) fn signature(isa: &dyn TargetIsa) -> Signature {
    let mut signature = Signature::new(isa.default_call_conv());
    signature.params.extend([AbiParam::new(I64); 4]);
    signature.returns.extend([AbiParam::new(I64); 2]);
    signature
}

/// What every block changes.
#[derive(Clone, Copy)]
struct Moving {
    /// Cycle at which the block began, or would have.
    begun: Variable,
    /// Uses of lines of data.
    tick: Variable,
}

/// The parameters, which no block changes. What else blocks need is in the frame: registers of the host are few, and fewer
/// of them survive a call.
#[derive(Clone, Copy)]
struct Fixed {
    hart: Value,
    frame: Value,
}

/// Emits one region.
pub(super) struct Emitter<'a, 'f> {
    pub b: FunctionBuilder<'f>,
    target: &'a Target,
    region: &'a Region<'a>,
    call: CallConv,
    moving: Moving,
    fixed: Fixed,
    /// Of each block of the region: its begin, and behind the fetch of its first line.
    labels: Vec<Label>,
    fetched: Vec<Label>,
    leave: Label,
    pub registers: Registers,
    /// The block and the entry of it that is being emitted.
    block: &'a Block,
    number: usize,
    index: usize,
    /// In this block the dynamic rounding mode is known to be to nearest.
    pub is_nearest: bool,
}

/// Emits the code of `region` into `function`.
pub(super) fn region(
    region: &Region<'_>,
    target: &Target,
    function: &mut Function,
    builder: &mut FunctionBuilderContext,
    isa: &dyn TargetIsa,
) {
    let mut b = FunctionBuilder::new(function, builder);
    let first = b.create_block();
    b.append_block_params_for_function_params(first);
    b.switch_to_block(first);
    let &[hart, frame, begun, number] = b.block_params(first) else { unreachable!("four parameters") };
    let (moving, fixed) = prologue(&mut b, region, [hart, frame, begun]);
    let labels: Vec<Label> = region.parts.iter().map(|_| b.create_block()).collect();
    let fetched: Vec<Label> = region.parts.iter().map(|_| b.create_block()).collect();
    let leave = b.create_block();
    enter(&mut b, number, &labels);
    let block = region.parts[0].block;
    let mut emitter = Emitter {
        b,
        target,
        region,
        call: isa.default_call_conv(),
        moving,
        fixed,
        labels,
        fetched,
        leave,
        registers: Registers::default(),
        block,
        number: 0,
        index: 0,
        is_nearest: false,
    };
    for number in 0..region.parts.len() {
        emitter.part(number);
    }
    emitter.epilogue();
    emitter.b.seal_all_blocks();
    emitter.b.finalize();
}

/// Jumps to the block of a number.
fn enter(b: &mut FunctionBuilder<'_>, number: Value, labels: &[Label]) {
    if let &[only] = labels {
        b.ins().jump(only, &[]);
        return;
    }
    let calls: Vec<_> = labels.iter().map(|&label| b.func.dfg.block_call(label, &[])).collect();
    // Lists of arguments are not shared.
    let other = b.func.dfg.block_call(labels[0], &[]);
    let table = b.create_jump_table(JumpTableData::new(other, &calls));
    let number = b.ins().ireduce(I32, number);
    b.ins().br_table(number, table);
}

/// Offset of a field of a [`chasqui_memory::FastView`] in the frame.
fn view(field: usize) -> i32 {
    (offset_of!(Frame<'static>, view) + field) as i32
}

/// The same of a [`chasqui_memory::FetchView`].
fn fetch(field: usize) -> i32 {
    (offset_of!(Frame<'static>, fetch) + field) as i32
}

const LIMIT: i32 = offset_of!(Frame<'static>, limit) as i32;
const LEFT: i32 = offset_of!(Frame<'static>, left) as i32;
const CHAINS: i32 = offset_of!(Frame<'static>, chains) as i32;
const BLOCK: i32 = offset_of!(Frame<'static>, block) as i32;
const BUDGET: i32 = offset_of!(Frame<'static>, budget) as i32;
const EXECUTED: i32 = offset_of!(Frame<'static>, executed) as i32;
const CHAIN_BITS: i64 = (CHAIN_MAX + 1).trailing_zeros() as i64;
const _: () = assert!((CHAIN_MAX + 1).is_power_of_two());

/// Reads what blocks need.
fn prologue(
    b: &mut FunctionBuilder<'_>,
    region: &Region<'_>,
    [hart, frame, begun]: [Value; 3],
) -> (Moving, Fixed) {
    limit(b, region, frame);
    // The blocks that may follow without a return, now and in further chains.
    let left = b.ins().uload32(OWN, frame, LEFT);
    let chains = b.ins().uload32(OWN, frame, CHAINS);
    let further = b.ins().irsub_imm(chains, i64::from(CHAINS_MAX - 1));
    let further = b.ins().ishl_imm(further, CHAIN_BITS);
    let budget = b.ins().iadd(left, further);
    b.ins().store(OWN, budget, frame, BUDGET);
    let tick = b.ins().load(I64, OWN, frame, view(layout::TICK));
    let tick = b.ins().load(I64, OWN, tick, 0);
    let mut variable = |value| {
        let variable = b.declare_var(I64);
        b.def_var(variable, value);
        variable
    };
    let moving = Moving { begun: variable(begun), tick: variable(tick) };
    let fixed = Fixed { hart, frame };
    (moving, fixed)
}

/// Sets [`Frame::limit`] as [`Frame::renew_limit`] does.
fn limit(b: &mut FunctionBuilder<'_>, region: &Region<'_>, frame: Value) {
    let soft = b.ins().load(I64, OWN, frame, offset_of!(Frame<'static>, soft) as i32);
    let deadline = b.ins().load(I64, OWN, frame, offset_of!(Frame<'static>, deadline) as i32);
    let longest = region.longest() as i64;
    let word = b.ins().iconst(I64, longest);
    b.ins().store(OWN, word, frame, offset_of!(Frame<'static>, longest) as i32);
    let last = b.ins().iadd_imm(deadline, 1 - longest);
    let none = b.ins().iconst(I64, 0);
    let is_near = b.ins().icmp_imm(IntCC::UnsignedLessThan, deadline, longest);
    let last = b.ins().select(is_near, none, last);
    let limit = b.ins().umin(soft, last);
    b.ins().store(OWN, limit, frame, LIMIT);
}

impl<'a> Emitter<'a, '_> {
    // --- where it leaves ------------------------------------------------------------------------------------

    /// Jumps to where the function returns, to go on with the present entry.
    fn exit(&mut self) {
        let entry = std::ptr::from_ref(self.micro()) as i64;
        let entry = self.b.ins().iconst(I64, entry);
        self.exit_to(entry);
    }

    /// The same, to go on with an entry of the present block.
    fn exit_to(&mut self, entry: Value) {
        let block = self.b.ins().iconst(I64, std::ptr::from_ref(self.block) as i64);
        let [begun, tick] = [self.moving.begun, self.moving.tick].map(|variable| self.b.use_var(variable));
        self.b.ins().jump(self.leave, &[entry, block, begun, tick].map(BlockArg::from));
    }

    /// Leaves at the present entry if `condition` holds. The state must have what was set.
    pub fn exit_if(&mut self, condition: Value) {
        let (out, on) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(condition, out, &[], on, &[]);
        self.leave_at(out, on);
    }

    /// Leaves at the present entry unless `condition` holds.
    pub fn exit_unless(&mut self, condition: Value) {
        let (out, on) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(condition, on, &[], out, &[]);
        self.leave_at(out, on);
    }

    fn leave_at(&mut self, out: Label, on: Label) {
        self.b.set_cold_block(out);
        self.b.switch_to_block(out);
        self.exit();
        self.b.switch_to_block(on);
    }

    /// Where the function returns.
    fn epilogue(&mut self) {
        let b = &mut self.b;
        b.set_cold_block(self.leave);
        b.switch_to_block(self.leave);
        let [entry, block, begun, tick] = std::array::from_fn(|_| b.append_block_param(self.leave, I64));
        let frame = self.fixed.frame;
        let budget = b.ins().load(I64, OWN, frame, BUDGET);
        let further = b.ins().ushr_imm(budget, CHAIN_BITS);
        let chains = b.ins().irsub_imm(further, i64::from(CHAINS_MAX - 1));
        let left = b.ins().band_imm(budget, i64::from(CHAIN_MAX));
        b.ins().istore32(OWN, left, frame, LEFT);
        b.ins().istore32(OWN, chains, frame, CHAINS);
        b.ins().store(OWN, block, frame, BLOCK);
        self.put_uses(tick);
        self.b.ins().return_(&[entry, begun]);
    }

    /// Writes the number of uses of lines to where it belongs.
    fn put_uses(&mut self, tick: Value) {
        let at = self.b.ins().load(I64, OWN, self.fixed.frame, view(layout::TICK));
        self.b.ins().store(OWN, tick, at, 0);
    }

    /// Adds to a word of the frame.
    fn count(&mut self, more: i64, offset: i32) {
        let now = self.b.ins().load(I64, OWN, self.fixed.frame, offset);
        let sum = self.b.ins().iadd_imm(now, more);
        self.b.ins().store(OWN, sum, self.fixed.frame, offset);
    }

    // --- blocks -----------------------------------------------------------------------------------------------

    /// The entry that is being emitted.
    fn micro(&self) -> &'a Micro {
        self.block.micro(self.index)
    }

    fn part(&mut self, number: usize) {
        let part = &self.region.parts[number];
        (self.block, self.number) = (part.block, number);
        self.b.switch_to_block(self.labels[number]);
        self.registers.forget();
        self.is_nearest = false;
        self.index = 0;
        if self.block.code(0) == Code::Fetch {
            self.entry();
            self.index = 1;
        }
        self.b.ins().jump(self.fetched[number], &[]);
        self.b.switch_to_block(self.fetched[number]);
        while self.entry() {
            self.index += 1;
        }
    }

    /// Emits one entry; true if the block goes on.
    fn entry(&mut self) -> bool {
        let code = self.block.code(self.index);
        let m = self.micro();
        let part = &self.region.parts[self.number];
        match code {
            Code::Fetch if self.target.timed => self.fetch(m.imm as u64),
            Code::Fetch => {}
            Code::Constant => {
                let value = self.b.ins().iconst(I64, m.imm);
                self.registers.set_x(m.rd, value);
            }
            Code::Jal => {
                let value = self.b.ins().iconst(I64, self.block.end as i64);
                self.registers.set_x(m.rd, value);
                self.flush();
                self.go(part.taken, Extra::None, false);
                return false;
            }
            Code::End => {
                self.flush();
                self.go(part.next, Extra::None, false);
                return false;
            }
            Code::PredictedJal => {
                let value = self.b.ins().iconst(I64, self.block.end as i64);
                self.registers.set_x(m.rd, value);
                self.flush();
                self.go(part.taken, Extra::Jump, false);
                return false;
            }
            Code::PredictedBranch => {
                self.branch();
                return false;
            }
            Code::Leave
            | Code::Translated
            | Code::Rare
            | Code::Jalr
            | Code::PredictedJalr
            | Code::Mark
            | Code::Pause => {
                self.flush();
                self.exit();
                return false;
            }
            Code::Beq | Code::Bne | Code::Blt | Code::Bge | Code::Bltu | Code::Bgeu => {
                self.branch();
                return false;
            }
            _ => self.operation(code, m),
        }
        true
    }

    fn branch(&mut self) {
        let m = self.micro();
        let part = &self.region.parts[self.number];
        let is_predicted = self.block.code(self.index) == Code::PredictedBranch;
        let condition = compared(if is_predicted { self.block.branch } else { self.block.code(self.index) });
        let (a, b) = (self.x(m.rs1), self.x(m.rs2));
        self.flush();
        let taken = self.b.ins().icmp(condition, a, b);
        let (yes, no) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(taken, yes, &[], no, &[]);
        self.b.switch_to_block(yes);
        let extra = if is_predicted { Extra::Branch(true) } else { Extra::Known(m.rs3) };
        self.go(part.taken, extra, !is_predicted && m.rd == 0);
        self.b.switch_to_block(no);
        let extra = if is_predicted { Extra::Branch(false) } else { Extra::Known(m.rm) };
        self.go(part.next, extra, !is_predicted && m.rd != 0);
    }

    /// Goes on with block `to` of the region, or leaves at this entry if there is none, or it may have to wait.
    fn go(&mut self, to: Option<usize>, extra: Extra, is_mispredicted: bool) {
        let Some(to) = to else {
            self.exit();
            return;
        };
        let budget = self.b.ins().load(I64, OWN, self.fixed.frame, BUDGET);
        let is_empty = self.b.ins().icmp_imm(IntCC::Equal, budget, 0);
        self.exit_if(is_empty);
        if self.target.timed {
            self.pass(extra);
        } else {
            // It learns, but takes no time.
            self.predicted(extra);
        }
        if is_mispredicted {
            let at = offset_of!(Hart, statistics.mispredicted) as i32;
            let count = self.b.ins().load(I64, OWN, self.fixed.hart, at);
            let count = self.b.ins().iadd_imm(count, 1);
            self.b.ins().store(OWN, count, self.fixed.hart, at);
        }
        self.count(-1, BUDGET);
        self.count(self.region.parts[to].block.counts.word() as i64, EXECUTED);
        let is_fetched = self.target.timed && self.region.has_fetched(self.number, to);
        let label = if is_fetched { self.fetched[to] } else { self.labels[to] };
        self.b.ins().jump(label, &[]);
    }

    /// The cycles of the block pass, unless the next may not begin then.
    fn pass(&mut self, extra: Extra) {
        let begun = self.b.use_var(self.moving.begun);
        let known = match extra {
            Extra::None => 0,
            Extra::Known(extra) => u64::from(extra),
            Extra::Branch(_) | Extra::Jump => self.target.branch_extra_max,
        };
        let ends = self.b.ins().iadd_imm(begun, (self.block.cycles + known) as i64);
        let limit = self.b.ins().load(I64, OWN, self.fixed.frame, LIMIT);
        let is_late = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, ends, limit);
        self.exit_if(is_late);
        let ends = match self.predicted(extra) {
            None => ends,
            Some(extra) => {
                let ends = self.b.ins().iadd_imm(begun, self.block.cycles as i64);
                self.b.ins().iadd(ends, extra)
            }
        };
        self.b.def_var(self.moving.begun, ends);
    }

    /// Asks the predictor, if it is its business: further cycles of the branch or jump.
    fn predicted(&mut self, extra: Extra) -> Option<Value> {
        let m = self.micro();
        let at = self.b.ins().iconst(I64, self.block.last(m) as i64);
        let target = self.b.ins().iconst(I64, m.imm);
        let hart = self.fixed.hart;
        match extra {
            Extra::None | Extra::Known(_) => None,
            Extra::Jump => {
                self.call(operations::jumped as *const () as usize, &[I64], &[hart, at, target]).pop()
            }
            Extra::Branch(taken) => {
                let taken = self.b.ins().iconst(I64, i64::from(taken));
                self.call(operations::branched as *const () as usize, &[I64], &[hart, at, target, taken])
                    .pop()
            }
        }
    }

    /// Calls the function at `address`.
    fn call(&mut self, address: usize, returns: &[Type], arguments: &[Value]) -> Vec<Value> {
        let mut signature = Signature::new(self.call);
        signature.params.extend(arguments.iter().map(|_| AbiParam::new(I64)));
        signature.returns.extend(returns.iter().map(|&of| AbiParam::new(of)));
        let signature = self.b.import_signature(signature);
        let function = self.b.ins().iconst(I64, address as i64);
        let call = self.b.ins().call_indirect(signature, function, arguments);
        self.b.inst_results(call).to_vec()
    }

    /// Has an operation executed on the state by its function.
    pub fn call_operation(&mut self, code: Code, m: &Micro) {
        self.flush();
        self.registers.forget();
        let (done, is_rounded) = self.called_operation(code, m);
        if is_rounded {
            self.exit_unless(done);
        }
    }

    /// Calls the function of an operation. Whether that succeeded, if it is one that rounds.
    fn called_operation(&mut self, code: Code, m: &Micro) -> (Value, bool) {
        let Some((function, is_rounded)) = operations::operation(code) else {
            panic!("{code:?} has no operation")
        };
        let entry = self.b.ins().iconst(I64, std::ptr::from_ref(m) as i64);
        let done = self.call(function as *const () as usize, &[I8], &[self.fixed.hart, entry]);
        (done[0], is_rounded)
    }

    /// The number `value`, of type `of`, if `condition` holds; else what the function of the operation, whose rounding mode is
    /// valid, gives.
    pub fn value_or_called(
        &mut self,
        condition: Value,
        value: Value,
        of: Type,
        code: Code,
        m: &Micro,
    ) -> Value {
        let (slow, on) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(slow);
        let result = self.b.append_block_param(on, of);
        self.b.ins().brif(condition, on, &[value.into()], slow, &[]);
        self.b.switch_to_block(slow);
        self.registers.write(&mut self.b, self.fixed.hart);
        self.called_operation(code, m);
        let called = self.own(of, f_offset(usize::from(m.rd)) as usize);
        self.b.ins().jump(on, &[called.into()]);
        self.b.switch_to_block(on);
        result
    }

    // --- registers --------------------------------------------------------------------------------------------

    pub fn x(&mut self, r: u8) -> Value {
        self.registers.x(&mut self.b, self.fixed.hart, r)
    }

    pub fn f(&mut self, r: u8) -> Value {
        self.registers.f(&mut self.b, self.fixed.hart, r)
    }

    pub fn double(&mut self, r: u8) -> Value {
        self.registers.double(&mut self.b, self.fixed.hart, r)
    }

    /// The single-precision number in a register, or it leaves.
    pub fn single(&mut self, r: u8) -> Value {
        let (value, is_boxed) = self.registers.single(&mut self.b, self.fixed.hart, r);
        if let Some(is_boxed) = is_boxed {
            self.flush();
            self.exit_unless(is_boxed);
        }
        value
    }

    /// The state gets what it lacks: whatever may leave comes after it.
    pub fn flush(&mut self) {
        self.registers.flush(&mut self.b, self.fixed.hart);
    }

    /// A field of the hart.
    pub fn own(&mut self, of: Type, offset: usize) -> Value {
        self.b.ins().load(of, OWN, self.fixed.hart, offset as i32)
    }

    /// When this is translated, the program's results have been exact.
    pub fn expects_exact(&self) -> bool {
        self.target.exact
    }

    pub fn has_fma(&self) -> bool {
        self.target.has_fma
    }

    // --- memory -----------------------------------------------------------------------------------------------

    /// Fetches the line at `line`, or leaves.
    fn fetch(&mut self, line: u64) {
        let Geometry { shift, index_mask } = self.target.fetch;
        let place = (line >> shift) as usize & index_mask as usize;
        let offset = |field: usize| (place * layout::ENTRY_BYTES + field) as i32;
        self.flush();
        let frame = self.fixed.frame;
        let lines = self.b.ins().load(I64, OWN, frame, fetch(layout::FETCH_LINES));
        let tag = self.b.ins().load(I64, OWN, lines, offset(layout::ENTRY_LOAD));
        let hits = self.b.ins().icmp_imm(IntCC::Equal, tag, line as i64);
        self.exit_unless(hits);
        let way = self.b.ins().load(I64, OWN, lines, offset(layout::ENTRY_WAY));
        let at = self.b.ins().load(I64, OWN, frame, fetch(layout::FETCH_TICK));
        let tick = self.b.ins().load(I64, OWN, at, 0);
        let tick = self.b.ins().iadd_imm(tick, 1);
        self.b.ins().store(OWN, tick, at, 0);
        self.stamp(fetch(layout::FETCH_STAMPS), way, tick);
    }

    /// Way `way` of the cache whose stamps the frame names at an offset is used at `tick`.
    fn stamp(&mut self, stamps: i32, way: Value, tick: Value) {
        let stamps = self.b.ins().load(I64, OWN, self.fixed.frame, stamps);
        let offset = self.b.ins().ishl_imm(way, 3);
        let at = self.b.ins().iadd(stamps, offset);
        self.b.ins().store(OWN, tick, at, 0);
    }

    /// Begins an access to the `bytes` at register `rs1` plus `imm`: the host's address of them, if the table answers; and
    /// where to go if it does not.
    fn access(&mut self, m: &Micro, bytes: u32, is_store: bool) -> (Value, Label) {
        let base = self.x(m.rs1);
        let Geometry { shift, index_mask } = self.target.data;
        let entry_shift = layout::ENTRY_BYTES.trailing_zeros();
        const _: () = assert!(layout::ENTRY_BYTES.is_power_of_two());
        let b = &mut self.b;
        let va = if m.imm == 0 { base } else { b.ins().iadd_imm(base, m.imm) };
        let index = if shift >= entry_shift {
            b.ins().ushr_imm(va, i64::from(shift - entry_shift))
        } else {
            b.ins().ishl_imm(va, i64::from(entry_shift - shift))
        };
        let offset = b.ins().band_imm(index, i64::from(index_mask) << entry_shift);
        let lines = b.ins().load(I64, OWN, self.fixed.frame, view(layout::LINES));
        let entry = b.ins().iadd(lines, offset);
        let field = if is_store { layout::ENTRY_STORE } else { layout::ENTRY_LOAD };
        let tag = b.ins().load(I64, OWN, entry, field as i32);
        let tag = if is_store {
            // A store may have ended the observation.
            let guard = b.ins().load(I64, OWN, self.fixed.frame, view(layout::GUARD));
            b.ins().bor(tag, guard)
        } else {
            tag
        };
        let granule = b.ins().band_imm(va, -(1i64 << shift) | i64::from(bytes - 1));
        let hits = b.ins().icmp(IntCC::Equal, tag, granule);
        let (hit, miss) = (b.create_block(), b.create_block());
        b.set_cold_block(miss);
        b.ins().brif(hits, hit, &[], miss, &[]);
        b.switch_to_block(hit);
        let way = self.b.ins().load(I64, OWN, entry, layout::ENTRY_WAY as i32);
        let tick = self.b.use_var(self.moving.tick);
        let tick = self.b.ins().iadd_imm(tick, 1);
        self.b.def_var(self.moving.tick, tick);
        self.stamp(view(layout::STAMPS), way, tick);
        let delta = self.b.ins().load(I64, OWN, entry, layout::ENTRY_DELTA as i32);
        (self.b.ins().iadd(va, delta), miss)
    }

    /// Ends an access: emits what is done at `miss`. Where the table has answered, a load has given `value`, of a type, which
    /// is in the hart at an offset otherwise. Gives the value.
    fn missed(&mut self, code: Code, miss: Label, value: Option<(Value, Type, i32)>) -> Option<Value> {
        let on = self.b.create_block();
        let result = value.map(|(_, of, _)| self.b.append_block_param(on, of));
        let hit: Vec<BlockArg> = value.iter().map(|&(value, ..)| value.into()).collect();
        self.b.ins().jump(on, &hit);
        self.b.switch_to_block(miss);
        self.registers.write(&mut self.b, self.fixed.hart);
        let [begun, tick] = [self.moving.begun, self.moving.tick].map(|variable| self.b.use_var(variable));
        self.put_uses(tick);
        let block = self.b.ins().iconst(I64, std::ptr::from_ref(self.block) as i64);
        self.b.ins().store(OWN, block, self.fixed.frame, BLOCK);
        let entry = std::ptr::from_ref(self.micro()) as i64;
        let entry = self.b.ins().iconst(I64, entry);
        let function =
            missed(code, self.target.timed).unwrap_or_else(|| panic!("{code:?} accesses no memory"));
        let (hart, frame) = (self.fixed.hart, self.fixed.frame);
        let place = self.call(function as *const () as usize, &[I64; 2], &[hart, frame, entry, begun]);
        let &[entry, begun] = &*place else { unreachable!("a place is two words") };
        self.b.def_var(self.moving.begun, begun);
        let tick = self.b.ins().load(I64, OWN, frame, view(layout::TICK));
        let tick = self.b.ins().load(I64, OWN, tick, 0);
        self.b.def_var(self.moving.tick, tick);
        let (out, back) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(entry, out, &[], back, &[]);
        self.b.set_cold_block(out);
        self.b.switch_to_block(out);
        self.exit_to(entry);
        self.b.set_cold_block(back);
        self.b.switch_to_block(back);
        let loaded: Vec<BlockArg> =
            value.iter().map(|&(_, of, at)| self.own(of, at as usize).into()).collect();
        self.b.ins().jump(on, &loaded);
        self.b.switch_to_block(on);
        result
    }

    pub fn load(&mut self, code: Code, m: &Micro) {
        let bytes = match code {
            Code::Lb | Code::Lbu => 1,
            Code::Lh | Code::Lhu => 2,
            Code::Lw | Code::Lwu | Code::Flw => 4,
            _ => 8,
        };
        let (at, miss) = self.access(m, bytes, false);
        let flags = MemFlags::trusted();
        let (b, r) = (&mut self.b, usize::from(m.rd));
        let (value, of, place) = match code {
            Code::Flw => (b.ins().load(F32, flags, at, 0), F32, f_offset(r)),
            Code::Fld => (b.ins().load(F64, flags, at, 0), F64, f_offset(r)),
            Code::Lb => (b.ins().sload8(I64, flags, at, 0), I64, x_offset(r)),
            Code::Lbu => (b.ins().uload8(I64, flags, at, 0), I64, x_offset(r)),
            Code::Lh => (b.ins().sload16(I64, flags, at, 0), I64, x_offset(r)),
            Code::Lhu => (b.ins().uload16(I64, flags, at, 0), I64, x_offset(r)),
            Code::Lw => (b.ins().sload32(flags, at, 0), I64, x_offset(r)),
            Code::Lwu => (b.ins().uload32(flags, at, 0), I64, x_offset(r)),
            _ => (b.ins().load(I64, flags, at, 0), I64, x_offset(r)),
        };
        let value = self.missed(code, miss, Some((value, of, place))).expect("a value");
        match code {
            Code::Flw => self.registers.set_single(m.rd, value),
            Code::Fld => self.registers.set_double(m.rd, value),
            _ => self.registers.set_x(m.rd, value),
        }
    }

    pub fn store(&mut self, code: Code, m: &Micro) {
        let (bytes, value) = match code {
            Code::Sb => (1, self.x(m.rs2)),
            Code::Sh => (2, self.x(m.rs2)),
            Code::Sw => (4, self.x(m.rs2)),
            Code::Sd => (8, self.x(m.rs2)),
            Code::Fsw => (4, self.registers.low_word(&mut self.b, self.fixed.hart, m.rs2)),
            _ => (8, self.registers.stored(&mut self.b, self.fixed.hart, m.rs2)),
        };
        let (at, miss) = self.access(m, bytes, true);
        let flags = MemFlags::trusted();
        match code {
            Code::Sb => self.b.ins().istore8(flags, value, at, 0),
            Code::Sh => self.b.ins().istore16(flags, value, at, 0),
            Code::Sw => self.b.ins().istore32(flags, value, at, 0),
            _ => self.b.ins().store(flags, value, at, 0),
        };
        self.missed(code, miss, None);
    }
}

/// What the branch of a code asks of its operands.
fn compared(code: Code) -> IntCC {
    match code {
        Code::Beq => IntCC::Equal,
        Code::Bne => IntCC::NotEqual,
        Code::Blt => IntCC::SignedLessThan,
        Code::Bge => IntCC::SignedGreaterThanOrEqual,
        Code::Bltu => IntCC::UnsignedLessThan,
        Code::Bgeu => IntCC::UnsignedGreaterThanOrEqual,
        _ => panic!("{code:?} is no branch"),
    }
}

/// Further cycles of a branch or jump.
#[derive(Clone, Copy)]
enum Extra {
    None,
    Known(u8),
    /// The predictor says, of a branch that is taken or not.
    Branch(bool),
    /// The predictor says.
    Jump,
}
