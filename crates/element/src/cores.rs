//! Several cores of a chip: where their local stores and registers are in the physical address space, and what moves when a
//! transfer, or the host, gets there. When that is, is the machine's affair.

use chasqui_engine::Time;
use chasqui_memory::FlatMemory;

use crate::{Area, Element, Refusal, Transfer};

/// Bytes that areas of registers are aligned to.
const ALIGNMENT: u64 = 0x2_0000;

/// Where cores are in the physical address space. Each has its local store, problem state and the kernel's areas, one behind
/// the other, in a part of its own of the same length, a power of two (ours; the order is that of Cell's). What is behind
/// them is nothing.
///
/// ```
/// use chasqui_element::{Area, CoreMap, Place};
/// let map = CoreMap::new(1 << 40, 256 << 10, 8);
/// assert_eq!(map.place(map.store(1) + 16, 16), Place::Store(1, 16));
/// assert_eq!(map.place(map.area(7, Area::Problem) + 0x400c, 4), Place::Register(7, Area::Problem, 0x400c));
/// assert_eq!(map.place(0x1000, 128), Place::Elsewhere);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreMap {
    base: u64,
    store_bytes: u64,
    cores: usize,
}

/// What is at a physical address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A core's local store: the core, and the address there.
    Store(usize, u64),
    /// A core's registers: the core, the area, and the offset there.
    Register(usize, Area, u64),
    /// Nothing, within what the cores have, or across an end.
    Nothing,
    /// Something that is no core's: memory.
    Elsewhere,
}

impl CoreMap {
    /// So many cores, with local stores of so many bytes, from physical address `base` on.
    pub fn new(base: u64, store_bytes: u64, cores: usize) -> CoreMap {
        let map = CoreMap { base, store_bytes, cores };
        assert!(base.is_multiple_of(map.stride()), "{base:#x} is not aligned to {:#x}", map.stride());
        map
    }

    /// From one core to the next [bytes].
    pub fn stride(&self) -> u64 {
        (self.offset(Area::Hypervisor) + ALIGNMENT).next_power_of_two()
    }

    fn offset(&self, area: Area) -> u64 {
        let problem = self.store_bytes.next_multiple_of(ALIGNMENT);
        match area {
            Area::Problem => problem,
            Area::Privileged => problem + Area::Problem.bytes(),
            Area::Hypervisor => problem + Area::Problem.bytes() + Area::Privileged.bytes(),
        }
    }

    /// Physical address of the local store of `core`.
    pub fn store(&self, core: usize) -> u64 {
        self.base + core as u64 * self.stride()
    }

    /// Physical address of an area of the registers of `core`.
    pub fn area(&self, core: usize, area: Area) -> u64 {
        self.store(core) + self.offset(area)
    }

    /// What is at the `bytes` from `physical` on.
    pub fn place(&self, physical: u64, bytes: u64) -> Place {
        let stride = self.stride();
        let Some(offset) = physical.checked_sub(self.base).filter(|at| *at < self.cores as u64 * stride)
        else {
            return Place::Elsewhere;
        };
        let (core, at) = ((offset / stride) as usize, offset % stride);
        if at + bytes <= self.store_bytes {
            return Place::Store(core, at);
        }
        let areas = [Area::Problem, Area::Privileged, Area::Hypervisor];
        let within = |area: &Area| {
            let first = self.offset(*area);
            first <= at && at + bytes <= first + area.bytes()
        };
        let found = areas.into_iter().find(within);
        found.map_or(Place::Nothing, |area| Place::Register(core, area, at - self.offset(area)))
    }
}

/// What local stores hold.
pub trait Stores {
    /// The local store of `core`.
    fn store(&mut self, core: usize) -> &mut [u8];
}

impl Stores for Vec<Vec<u8>> {
    fn store(&mut self, core: usize) -> &mut [u8] {
        &mut self[core]
    }
}

impl Stores for Vec<chasqui_ni::FirmwareProcessor<crate::LocalStore>> {
    fn store(&mut self, core: usize) -> &mut [u8] {
        self[core].memory.bytes_mut()
    }
}

/// What came of a transfer's getting its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granted {
    /// Data move. If they do so at a core's register: what follows at that core is asked, too ([`Element::step`]).
    Moves(Option<usize>),
    /// None do: the reservation was lost.
    Lost,
    /// Nothing takes it: it is over at its answer ([`Mfc::refuse`](crate::Mfc::refuse)).
    Refused,
}

/// The cores of a chip, but for their processors.
pub struct Cores {
    /// Where they are.
    pub map: CoreMap,
    /// Their hardware.
    pub elements: Vec<Element>,
}

impl Cores {
    /// `transfer` of `core` has its place in the order of memory: data move between its local store and memory, another local
    /// store, or a register, which it has as a program has. Other cores' reservations of what is written end.
    pub fn granted(
        &mut self,
        core: usize,
        transfer: Transfer,
        stores: &mut impl Stores,
        memory: &mut FlatMemory,
        now: Time,
    ) -> Granted {
        let Transfer { slot, kind, physical, bytes, .. } = transfer;
        let place = self.map.place(physical, bytes.into());
        let length = bytes as usize;
        let register = match place {
            Place::Register(other, ..) if length <= 8 => Some(other),
            Place::Register(..) => return Granted::Refused,
            _ => None,
        };
        if place == Place::Nothing || place == Place::Elsewhere && memory.slice(physical, length).is_err() {
            return Granted::Refused;
        }
        if kind.is_read() {
            let data = match place {
                Place::Store(other, at) => stores.store(other)[at as usize..][..length].to_vec(),
                Place::Register(other, area, offset) => {
                    match self.elements[other].read((area, offset, bytes), false, now) {
                        Ok(value) => value.to_le_bytes()[..length].to_vec(),
                        Err(_) => return Granted::Refused,
                    }
                }
                _ => memory.slice(physical, length).expect("that was looked at").to_vec(),
            };
            self.elements[core].mfc.got(slot, &data);
            return Granted::Moves(register);
        }
        let Some(data) = self.elements[core].mfc.put(slot, stores.store(core)).map(<[u8]>::to_vec) else {
            return Granted::Lost;
        };
        match place {
            Place::Store(other, at) => stores.store(other)[at as usize..][..length].copy_from_slice(&data),
            Place::Register(other, area, offset) => {
                let mut value = [0; 8];
                value[..length].copy_from_slice(&data);
                let value = u64::from_le_bytes(value);
                if self.elements[other].write((area, offset, bytes), value, false, now).is_err() {
                    return Granted::Refused;
                }
            }
            _ => memory.slice_mut(physical, length).expect("that was looked at").copy_from_slice(&data),
        }
        self.written(Some(core), physical, bytes.into());
        Granted::Moves(register)
    }

    /// `core`, or the host if that is none, has written `bytes` at physical address `physical`: others' reservations end.
    pub fn written(&mut self, core: Option<usize>, physical: u64, bytes: u64) {
        for (other, element) in self.elements.iter_mut().enumerate() {
            if Some(other) != core {
                element.mfc.snoop_write(physical, bytes);
            }
        }
    }

    /// The host reads `bytes`, 1 to 8, at physical address `physical`: a local store, or a register, a kernel if `kernel`.
    ///
    /// # Errors
    /// It may not, or there is nothing.
    pub fn host_read(
        &mut self,
        (physical, bytes): (u64, u32),
        kernel: bool,
        stores: &mut impl Stores,
        now: Time,
    ) -> Result<u64, Refusal> {
        match self.map.place(physical, bytes.into()) {
            Place::Store(core, at) => {
                let mut value = [0; 8];
                value[..bytes as usize].copy_from_slice(&stores.store(core)[at as usize..][..bytes as usize]);
                Ok(u64::from_le_bytes(value))
            }
            Place::Register(core, area, offset) => {
                self.elements[core].read((area, offset, bytes), kernel, now)
            }
            Place::Nothing | Place::Elsewhere => Err(Refusal::NoRegister),
        }
    }

    /// The host writes `value`. What follows at the core's MFC is asked with [`Element::step`]: which core.
    ///
    /// # Errors
    /// It may not, or there is nothing: nothing has happened.
    pub fn host_write(
        &mut self,
        (physical, bytes): (u64, u32),
        value: u64,
        kernel: bool,
        stores: &mut impl Stores,
        now: Time,
    ) -> Result<usize, Refusal> {
        match self.map.place(physical, bytes.into()) {
            Place::Store(core, at) => {
                let data = &value.to_le_bytes()[..bytes as usize];
                stores.store(core)[at as usize..][..bytes as usize].copy_from_slice(data);
                self.written(None, physical, bytes.into());
                Ok(core)
            }
            Place::Register(core, area, offset) => {
                self.elements[core].write((area, offset, bytes), value, kernel, now)?;
                Ok(core)
            }
            Place::Nothing | Place::Elsewhere => Err(Refusal::NoRegister),
        }
    }
}
