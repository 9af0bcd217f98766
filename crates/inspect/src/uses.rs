//! Where names of MPI are used.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chasqui_dwarf::{Layout, Lines};
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionFlags, SectionIndex};

use crate::code::{Program, is_label};
use crate::{Place, Use, is_mpi};

type Places = BTreeMap<String, Vec<Place>>;

/// The undefined names of an object, with the places of its relocations.
pub(crate) fn of_object(file: &object::File) -> Vec<Use> {
    let wanted: HashMap<_, _> = file
        .symbols()
        .filter(|symbol| symbol.is_undefined())
        .filter_map(|symbol| Some((symbol.index(), symbol.name().ok()?)))
        .filter(|(_, name)| is_mpi(name))
        .collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let layout = Layout::new(file);
    let lines = Lines::read(file, &layout);
    let mut places: Places = wanted.values().map(|name| (name.to_string(), Vec::new())).collect();
    for section in file.sections().filter(is_loaded) {
        let labels = Labels::of(file, section.index());
        for (offset, relocation) in section.relocations() {
            let RelocationTarget::Symbol(symbol) = relocation.target() else { continue };
            let Some(name) = wanted.get(&symbol) else { continue };
            let (function, distance) = labels.at(offset).unwrap_or((section.name().unwrap_or("?"), offset));
            let line = lines.at(layout.address(section.index(), offset));
            let place = Place { function: function.into(), offset: distance, line, reached: true };
            add(&mut places, name, place);
        }
    }
    in_order(places)
}

/// The names that a dynamically linked file needs from others; it does not say where.
pub(crate) fn of_dynamic(file: &object::File) -> Vec<Use> {
    let names: BTreeSet<&str> = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_undefined())
        .filter_map(|symbol| symbol.name().ok())
        .filter(|name| is_mpi(name))
        .collect();
    names.into_iter().map(|name| Use { name: name.into(), places: vec![] }).collect()
}

/// The calls in a linked program.
pub(crate) fn of_program(file: &object::File, program: &Program) -> Vec<Use> {
    let mut places = Places::new();
    let mut lines = None;
    for (caller, edge) in program.edges() {
        let callee = &program.functions[edge.to];
        let Some(name) = callee.names.iter().find(|name| is_mpi(name)) else { continue };
        if edge.to == caller {
            continue;
        }
        let lines = lines.get_or_insert_with(|| Lines::read(file, &Layout::new(file)));
        let function = &program.functions[caller];
        let place = Place {
            function: function.name().into(),
            offset: edge.at - function.start,
            line: lines.at(edge.at),
            reached: program.reached(caller),
        };
        add(&mut places, name, place);
    }
    for &callee in &program.in_data {
        if let Some(name) = program.functions[callee].names.iter().find(|name| is_mpi(name)) {
            let place = Place { function: "data".into(), offset: 0, line: None, reached: true };
            add(&mut places, name, place);
        }
    }
    in_order(places)
}

/// Several relocations may serve one call.
fn add(places: &mut Places, name: &str, place: Place) {
    let known = places.entry(name.into()).or_default();
    let near = |each: &Place| each.function == place.function && place.offset.abs_diff(each.offset) < 8;
    let same_line = |each: &Place| place.line.is_some() && each.line == place.line;
    if !known.iter().any(|each| same_line(each) || (near(each) && each.line == place.line)) {
        known.push(place);
    }
}

fn in_order(places: Places) -> Vec<Use> {
    places.into_iter().map(|(name, places)| Use { name, places }).collect()
}

fn is_loaded(section: &object::Section) -> bool {
    let SectionFlags::Elf { sh_flags, .. } = section.flags() else { return false };
    sh_flags.0 & object::elf::SHF_ALLOC.0 != 0
}

/// The named places of one section of an object.
struct Labels<'a>(Vec<(u64, &'a str)>);

impl<'a> Labels<'a> {
    fn of(file: &'a object::File, section: SectionIndex) -> Labels<'a> {
        let mut labels: Vec<(u64, &str)> = file
            .symbols()
            .filter(|symbol| symbol.section_index() == Some(section))
            .filter_map(|symbol| Some((symbol.address(), symbol.name().ok()?)))
            .filter(|(_, name)| is_label(name))
            .collect();
        labels.sort();
        Labels(labels)
    }

    fn at(&self, offset: u64) -> Option<(&'a str, u64)> {
        let after = self.0.partition_point(|(start, _)| *start <= offset);
        let (start, name) = self.0[..after].last()?;
        Some((name, offset - start))
    }
}
