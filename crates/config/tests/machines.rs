//! Machine files from name to values, and the messages about wrong ones.

use chasqui_config::{Catalogue, Origin, Parameters, Quantity, Resolved, Scalar, Schema, machines, resolve};
use chasqui_random::damage;
use std::path::PathBuf;

chasqui_config::choice! {
    /// Who cleans the lines.
    pub enum Variant {
        /// Software.
        Flush = "flush",
        /// The NI.
        Reclaim = "reclaim",
    }
}

chasqui_config::parameters! {
    /// The processor.
    pub struct Node {
        /// Clock of the hart.
        clock: chasqui_config::Frequency = "150 MHz", range "1 MHz" ..= "10 GHz", source "assumption";
        /// Barrier.
        fence: chasqui_config::Cycles = 18, source "Voyager, section 3";
        /// Checks coherence
        /// while running.
        checked: chasqui_config::Flag = true, source "ours";
    }
}

chasqui_config::parameters! {
    /// DRAM "timing".
    pub struct Dram {
        /// Time to the first chunk.
        first_chunk: chasqui_config::Duration = "200 ns", range "0 ns" ..= "10 us", source "10 \"bus\" clocks\\";
        /// Ways.
        ways: chasqui_config::Count = 4, range 1 ..= 16, source "assumption";
    }
}

chasqui_config::parameters! {
    /// The NI.
    pub struct Ni {
        /// Who cleans.
        variant: Variant = "flush", source "ours";
        /// Link.
        link: chasqui_config::Bandwidth = "160 MB/s", source "section 5";
        /// Slot.
        slot: chasqui_config::Bytes = "96 B", source "ours";
        /// Packets dropped.
        drop: chasqui_config::Ratio = 0.0, range 0 ..= 1, source "ours";
        /// Label.
        label: chasqui_config::Text = "nes", source "ours";
    }
}

chasqui_config::parameters! {
    /// What else there is.
    pub struct Texts {
        /// A text of its own.
        graph: chasqui_config::Document = "", source "ours";
    }
}

const VOYAGER: &str = r#"schema_version = 1

[about]
summary = "A memory-bus NI."

[node]
clock = { value = "100 MHz", source = "StarT-Voyager, section 3" }

[node.dram]
first_chunk = "180 ns"

[variant.flush]
summary = "Software flushes."

[variant.reclaim]
summary = "The NES reclaims."
ni.variant = { value = "reclaim", source = "section 4" }
ni.slot = "128 B"
"#;

/// A catalogue of `voyager` with the given text, and a cycle.
struct Machines(String);

impl Catalogue for Machines {
    fn machine_file<'a>(&'a self, name: &str) -> Option<(&'a str, &'a str)> {
        match name {
            "voyager" => Some((&self.0, "machines/voyager/machine.toml")),
            "modern" => Some((
                "schema_version = 1\nextends = \"voyager/reclaim\"\nnode.clock = \"3 GHz\"",
                "modern.toml",
            )),
            "bare" => Some(("schema_version = 1", "bare.toml")),
            "wired" => Some(("schema_version = 1\n[texts]\ngraph = \"a = 1\"", "wired.toml")),
            "ping" => Some(("schema_version = 1\nextends = \"pong\"", "ping.toml")),
            "pong" => Some(("schema_version = 1\nextends = \"ping\"", "pong.toml")),
            _ => None,
        }
    }

    fn names(&self) -> Vec<&str> {
        vec!["voyager", "modern", "ping", "pong", "bare"]
    }

    fn part_file<'a>(&'a self, name: &str) -> Option<(&'a str, &'a str)> {
        let text = "schema_version = 1\n[node]\nclock = \"2 GHz\"\n[node.dram]\nways = 4";
        (name == "xeon").then_some((text, "xeon.toml"))
    }

    fn part_names(&self) -> Vec<&str> {
        vec!["xeon"]
    }

    fn schema(&self, name: &str) -> Schema {
        if name == "bare" {
            return Schema::new().with::<Ni>("ni");
        }
        if name == "wired" {
            return Schema::new().with::<Texts>("texts");
        }
        let part = Schema::new().with::<Dram>("dram");
        Schema::new().with::<Node>("node").with_part("node", part).with::<Ni>("ni")
    }
}

fn catalogue() -> Machines {
    Machines(VOYAGER.to_string())
}

fn run(name: &str, sets: &[&str]) -> Result<Resolved, String> {
    let sets: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
    resolve(&catalogue(), name, &sets).map_err(|e| e.to_string())
}

/// What a machine is made of, as far as these tests look.
fn made_of(machine: &Resolved) -> [String; 4] {
    ["node.clock", "node.fence", "node.dram.ways", "ni.slot"]
        .map(|path| machine.parameter(path).expect("there").value.to_string().replace('"', ""))
}

#[test]
fn a_machine_takes_its_node_from_another() {
    let scratch = Scratch::new("parts");
    scratch.write(
        "other.toml",
        "schema_version = 1\nextends = \"voyager\"\nni.slot = \"8 B\"\n[node]\nclock = \"7 MHz\"\nfence = 7\n\
         [variant.ni]\nni.slot = \"16 B\"\nnode.dram.ways = 2",
    );
    let mine = |text: &str| {
        let path = scratch.write("mine.toml", &format!("schema_version = 1\n{text}"));
        run(&path, &[]).map(|machine| made_of(&machine).join(" "))
    };
    let default = made_of(&run("voyager", &[]).expect("resolves"));
    let [_, fence, ways, _] = &default;
    // Of the node's machine no more than the node comes, of the NI's all but the node; the file's own values win.
    let whole = "[parts]\nni = \"voyager/reclaim\"\nnode = \"other.toml\"\n";
    assert_eq!(mine(whole), Ok(format!("7 MHz 7 cycles {ways} 128 B")));
    assert_eq!(mine(&format!("{whole}[node]\nfence = 9")), Ok(format!("7 MHz 9 cycles {ways} 128 B")));
    assert_eq!(mine(&whole.replace("other.toml", "other.toml/ni")), Ok("7 MHz 7 cycles 2 128 B".into()));
    assert_eq!(mine(&whole.replace("other.toml", "xeon")), Ok(format!("2 GHz {fence} 4 128 B")));
    // A machine whose node is another's gives that node on.
    scratch.write(
        "between.toml",
        "schema_version = 1\nextends = \"voyager\"\nnode.fence = 3\n[parts]\nnode = \"xeon\"",
    );
    assert_eq!(mine(&whole.replace("other.toml", "between.toml")), Ok("2 GHz 3 cycles 4 128 B".into()));
    assert_eq!(mine("extends = \"between.toml\""), Ok(format!("2 GHz 3 cycles 4 {}", default[3])));
    // What is resolved is read back the same.
    let machine =
        run(&scratch.write("mine.toml", &format!("schema_version = 1\n{whole}")), &[]).expect("resolves");
    let again = run(&scratch.write("again.toml", &machine.to_toml()), &[]).expect("resolves");
    assert_eq!(made_of(&again), made_of(&machine));
}

#[test]
fn mistakes_in_parts() {
    let scratch = Scratch::new("mistakes-in-parts");
    scratch.write("part.toml", "schema_version = 1\n[node]\nfence = 4\n[nod]\nfence = 4");
    scratch.write("of-bare.toml", "schema_version = 1\nextends = \"bare\"");
    scratch.write("round.toml", "schema_version = 1\nextends = \"voyager\"\n[parts]\nnode = \"mine.toml\"");
    let cases = [
        (
            "extends = \"voyager\"\n[parts]\nni = \"voyager\"\nnode = \"xeon\"",
            "mine.toml:4: parts.ni beside extends",
        ),
        ("[parts]\nni = \"voyager\"", "mine.toml:3: parts.ni without parts.node"),
        ("[parts]\nnode = \"xeon\"", "mine.toml:3: parts.node without parts.ni"),
        (
            "extends = \"voyager\"\n[parts]\ncore = \"xeon\"",
            "parts.core is not known; allowed: parts.ni, parts.node, parts.network",
        ),
        ("extends = \"voyager\"\n[parts]\nnode = 4", "parts.node is a text, not 4"),
        ("extends = \"voyager\"\nparts = 4", "parts is a table with the keys ni, node, network"),
        (
            "extends = \"voyager\"\n[parts]\nnode = \"xenon\"",
            "there is no machine or part \"xenon\"; there are voyager, modern, ping, pong, bare, xeon,",
        ),
        (
            "extends = \"voyager\"\n[parts]\nnetwork = \"xeon\"",
            "mine.toml:4: \"xeon\" has no network; these have one: none",
        ),
        (
            "extends = \"voyager\"\n[parts]\nnode = \"bare\"",
            "mine.toml:4: \"bare\" has no node; these have one: voyager, modern, ping, pong, xeon",
        ),
        (
            "extends = \"voyager\"\n[parts]\nnode = \"of-bare.toml\"",
            "of-bare.toml:2: \"bare\" has no node; these have one: voyager,",
        ),
        (
            "extends = \"bare\"\n[parts]\nnode = \"xeon\"",
            "mine.toml:4: parts.node: \"bare\" has no node that could be replaced",
        ),
        (
            "extends = \"voyager\"\n[variant.x.parts]\nnode = \"xeon\"",
            "mine.toml:3: parts is not a parameter; [parts] at the top of a machine file chooses ni, node, network",
        ),
        ("extends = \"voyager/zip\"", "mine.toml:2: there is no variant \"zip\"; there are"),
        ("extends = \"xeon\"", "\"xeon\" is a part of machines (parts.node, parts.network), no machine"),
        (
            "extends = \"voyager\"\n[parts]\nnode = \"part.toml\"",
            "part.toml:4: nod is no part that a machine takes; allowed: node, network",
        ),
        (
            "extends = \"voyager\"\n[parts]\nnode = \"round.toml\"",
            "round.toml:4: \"mine.toml\" comes back to itself",
        ),
    ];
    for (text, expected) in cases {
        let mine = scratch.write("mine.toml", &format!("schema_version = 1\n{text}"));
        let said = run(&mine, &[]).expect_err(text);
        assert!(said.contains(expected), "{text}: {said}");
        assert_eq!(said.lines().count(), 1, "{text}: {said}");
    }
}

/// A directory that is removed at the end of the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("chasqui-config-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("temporary directory");
        Scratch(path)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("has a parent")).expect("directory");
        std::fs::write(&path, text).expect("written");
        path.to_str().expect("UTF-8").to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_declarations_are_right() {
    assert_eq!(catalogue().schema("voyager").mistakes(), Vec::<String>::new());
}

#[test]
fn values_come_from_default_file_variant_and_command_line() {
    let machine = run("voyager/reclaim", &["node.dram.ways=8", "ni.link=1.28 Gb/s"]).expect("resolves");
    assert_eq!(
        (machine.name(), machine.base(), machine.summary()),
        ("voyager/reclaim", "voyager", "The NES reclaims.")
    );
    let expected = [
        ("node.clock", "\"100 MHz\"", "voyager", "StarT-Voyager, section 3"),
        ("node.fence", "\"18 cycles\"", "default", "Voyager, section 3"),
        ("node.checked", "true", "default", "ours"),
        ("node.dram.first_chunk", "\"180 ns\"", "voyager", ""), // the declared source no longer holds
        ("node.dram.ways", "8", "--set", ""),
        ("ni.variant", "\"reclaim\"", "voyager/reclaim", "section 4"),
        ("ni.link", "\"160 MB/s\"", "--set", ""),
        ("ni.slot", "\"128 B\"", "voyager/reclaim", ""),
        ("ni.drop", "0.0", "default", "ours"),
        ("ni.label", "\"nes\"", "default", "ours"),
    ];
    let found: Vec<_> = machine
        .parameters()
        .iter()
        .map(|p| (p.path.as_str(), p.value.to_string(), p.origin.text(), p.source.as_str()))
        .collect();
    let expected: Vec<_> = expected.iter().map(|(p, v, o, s)| (*p, v.to_string(), *o, *s)).collect();
    assert_eq!(found, expected);
    let unsaid: Vec<&str> = machine.without_source().map(|p| p.path.as_str()).collect();
    assert_eq!(unsaid, ["node.dram.first_chunk", "ni.slot"], "the command line needs no source");
    let ni: Ni = machine.read("ni");
    assert_eq!((ni.variant, ni.slot.bytes(), ni.link.bytes_per_s()), (Variant::Reclaim, 128, 160_000_000));
    assert_eq!(Node::read(&machine, "node").clock.hz(), 100_000_000);
    assert_eq!(run("voyager", &[]).expect("resolves").get::<Variant>("ni.variant"), Variant::Flush);
}

#[test]
fn machines_extend_machines_and_files_extend_files() {
    let modern = run("modern", &[]).expect("resolves");
    assert_eq!((modern.name(), modern.base(), modern.summary()), ("modern", "modern", "The NES reclaims."));
    assert_eq!(modern.get::<Variant>("ni.variant"), Variant::Reclaim);
    assert_eq!(modern.parameter("node.clock").expect("there").origin, Origin::File("modern".into()));
    assert_eq!(modern.parameter("ni.slot").expect("there").origin, Origin::File("voyager/reclaim".into()));

    let scratch = Scratch::new("extends");
    scratch
        .write("base.toml", "schema_version = 1\nextends = \"voyager\"\nnode.fence = 5\nni.slot = \"64 B\"");
    let mine = scratch.write(
        "sub/mine.toml",
        "schema_version = 1\nextends = \"../base.toml\"\n[about]\nsummary = \"Mine.\"\n[node]\nclock = \"1 GHz\"\n\
         [variant.small]\nni.slot = \"32 B\"",
    );
    let machine = run(&mine, &[]).expect("resolves");
    assert_eq!((machine.name(), machine.base(), machine.summary()), ("mine.toml", "voyager", "Mine."));
    let get = |m: &Resolved| {
        (
            m.get::<chasqui_config::Cycles>("node.fence").cycles(),
            m.get::<chasqui_config::Bytes>("ni.slot").bytes(),
        )
    };
    assert_eq!(get(&machine), (5, 64));
    assert_eq!(machine.parameter("node.fence").expect("there").origin, Origin::File("base.toml".into()));
    // The file's own variant.
    let small = run(&format!("{mine}/small"), &[]).expect("resolves");
    assert_eq!((small.name(), get(&small)), ("mine.toml/small", (5, 32)));
    // A variant of the machine that it extends: base.toml still wins over voyager's.
    let reclaim = run(&format!("{mine}/reclaim"), &[]).expect("resolves");
    assert_eq!((reclaim.name(), get(&reclaim)), ("mine.toml/reclaim", (5, 64)));
    assert_eq!(reclaim.get::<Variant>("ni.variant"), Variant::Reclaim);
}

#[test]
fn command_line_values() {
    let cases = [
        ("ni.label=12", "\"12\""),             // a text that looks like a number
        ("ni.label=\"quoted\"", "\"quoted\""), // TOML
        ("ni.label=a=b c", "\"a=b c\""),
        ("ni.label=", "\"\""),
        ("ni.variant=reclaim", "\"reclaim\""),
        ("ni.drop=0.125", "0.125"),
        ("ni.drop=25 %", "0.25"),
        ("node.checked=false", "false"),
        (" node.dram.ways = 0x10 ", "16"),
        ("node.fence=7", "\"7 cycles\""),
        ("ni={slot=\"8 B\"}", ""),
    ];
    for (set, expected) in cases {
        let machine = run("voyager", &[set]).unwrap_or_else(|e| panic!("{set}: {e}"));
        let path = set.split('=').next().unwrap_or_default().trim();
        match machine.parameter(path) {
            Some(parameter) => assert_eq!(parameter.value.to_string(), expected, "{set}"),
            None => assert_eq!(machine.parameter("ni.slot").expect("there").value, Scalar::from("8 B")),
        }
    }
    let twice = run("voyager", &["node.fence=1", "node.fence=2"]).expect("resolves");
    assert_eq!(
        twice.parameter("node.fence").expect("there").value,
        Scalar::from("2 cycles"),
        "the last one wins"
    );
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let file = |body: &str| format!("schema_version = 1\nextends = \"voyager\"\n{body}");
    let cases = [
        (
            file("node.clokc = \"1 GHz\""),
            "mine.toml:3: node.clokc is not a parameter; did you mean node.clock",
        ),
        (file("clock = \"1 GHz\""), "mine.toml:3: clock is not a parameter; did you mean node.clock"),
        (file("[zzz]\nqqqqqqqq = 1"), "mine.toml:3: zzz is not a parameter; the machine has node.…, ni.…"),
        (
            file("[node]\nxxxxxxxx = 1"),
            "node.xxxxxxxx is not a parameter; node has clock, fence, checked, dram.…",
        ),
        (
            file("\n[node]\nclock = \"1 GB\""),
            "mine.toml:5: node.clock: \"GB\" is not a unit of frequency; allowed: Hz",
        ),
        (file("node.clock = 3"), "node.clock: 3 has no unit; allowed: Hz, kHz, MHz, GHz (as in \"150 MHz\")"),
        (file("node.clock = \"11 GHz\""), "\"11 GHz\" is out of range; allowed: \"1 MHz\" to \"10 GHz\""),
        (file("node.clock = []"), "node.clock: an array is not a frequency"),
        (file("node.clock = {source = \"x\"}"), "node.clock has no value; write node.clock = \"150 MHz\""),
        (
            file("node.clock = {value = \"1 GHz\", why = 1}"),
            "node.clock.why is not known; allowed: value, range, source",
        ),
        (file("node.clock = {value = \"1 GHz\", source = 1}"), "node.clock.source is a text, not 1"),
        (file("node = 1"), "node is a group, not 1; it has clock, fence, checked, dram.…"),
        (file("node.dram.ways = 17"), "17 is out of range; allowed: 1 to 16"),
        (file("node.dram.ways = 99999999999999999999"), "99999999999999999999 is too large"),
        (
            file("ni.variant = \"flsh\""),
            "\"flsh\" is not allowed here; allowed: flush, reclaim; did you mean flush",
        ),
        (file("\"node.clock\" = \"1 GHz\""), "node.clock: a dot within quotes"),
        (file("variant.x.ni.slot = 1"), "mine.toml:3: ni.slot: 1 has no unit"), // though not chosen
        (file("about.author = \"me\""), "about.author is not known; allowed: about.summary, about.name"),
        (file("a = = 1"), "mine.toml:3: not TOML"),
        ("extends = \"voyager\"".into(), "schema_version is missing; write schema_version = 1"),
        (
            "schema_version = 2\nextends = \"voyager\"".into(),
            "mine.toml:1: schema_version 2 is not known; allowed: 1",
        ),
        (
            "schema_version = 1".into(),
            "extends is missing; write extends = \"…\" with one of voyager, modern",
        ),
        ("schema_version = 1\nextends = 3".into(), "mine.toml:2: extends is a text, not 3"),
        (
            "schema_version = 1\nextends = \"voyagr\"".into(),
            "mine.toml:2: there is no machine \"voyagr\"; there are voyager, modern, ping, pong, bare, or a path that ends in .toml; did you mean voyager",
        ),
        (
            "schema_version = 1\nextends = \"no.toml\"".into(),
            "mine.toml:2: machine file \"no.toml\" can't be read",
        ),
        (
            "schema_version = 1\nextends = \"./mine.toml\"".into(),
            "mine.toml:2: \"./mine.toml\" comes back to itself",
        ),
        (
            "schema_version = 1\nextends = \"voyager/reclame\"".into(),
            "there is no variant \"reclame\"; there are flush, reclaim; did you mean reclaim",
        ),
    ];
    let scratch = Scratch::new("wrong");
    for (text, expected) in cases {
        let path = scratch.write("mine.toml", &text);
        let message = run(&path, &[]).expect_err(&text);
        assert!(message.contains(expected), "{text}\ngave\n{message}\nwithout\n{expected}");
    }
}

#[test]
fn a_wrong_range_is_said_with_its_place() {
    let cases = [
        (
            "\n[node.dram]\nways = {value = 4, range = [5, 8]}",
            "mine.toml:5: node.dram.ways.range: the value, 4, is not between 5 and 8",
        ),
        ("node.dram.ways = {value = 4, range = [8, 2]}", "ways.range: 8 is more than 2"),
        ("node.dram.ways = {value = 4, range = [2, 17]}", "17 is out of range; allowed: 1 to 16"),
        ("node.dram.ways = {value = 4, range = [2]}", "ways.range: write [least, greatest], two values"),
        ("node.dram.ways = {value = 4, range = [2, [3]]}", "ways.range: write [least, greatest], two values"),
        ("node.dram.ways = {value = 4, range = 2}", "ways.range: write [least, greatest], not 2"),
        (
            "ni.variant = {value = \"flush\", range = [\"flush\", \"reclaim\"]}",
            "ni.variant.range: a choice has none: its values have no order",
        ),
        ("node.checked = {value = true, range = [false, true]}", "checked.range: a flag has none"),
    ];
    let scratch = Scratch::new("wrong-range");
    for (text, expected) in cases {
        let text = format!("schema_version = 1\nextends = \"voyager\"\n{text}");
        let message = run(&scratch.write("mine.toml", &text), &[]).expect_err(&text);
        assert!(message.contains(expected), "{text}\ngave\n{message}\nwithout\n{expected}");
    }
}

#[test]
fn wrong_names_and_settings() {
    let cases: [(&str, &[&str], &str); 12] = [
        ("xeon", &[], "machine \"xeon\": it is a part of machines (parts.node, parts.network), no machine"),
        ("voyeger", &[], "machine \"voyeger\": there is no such machine; there are voyager"),
        ("voyager/", &[], "there is no variant \"\"; there are flush, reclaim"),
        (
            "modern/flush",
            &[],
            "variant \"flush\" is not declared here, and \"voyager/reclaim\" already chooses \"reclaim\"",
        ),
        ("ping", &[], "pong.toml:2: \"ping\" comes back to itself"),
        ("none.toml", &[], "machine \"none.toml\": its file can't be read"),
        ("voyager", &["node.clock"], "--set node.clock: write --set key=value"),
        ("voyager", &["node.clock=fast"], "--set node.clock=fast: node.clock: \"fast\" is not a frequency"),
        (
            "voyager",
            &["about.summary=x"],
            "about.summary is not a parameter; it belongs at the top of a machine file",
        ),
        ("voyager", &["extends=x"], "extends is not a parameter; it belongs at the top of a machine file"),
        (
            "voyager",
            &["parts.node=\"xeon\""],
            "--set parts.node=\"xeon\": parts.node is not a parameter; [parts] at the top of a machine file chooses ni, \
             node, network",
        ),
        (
            "voyager",
            &["variant=reclaim"],
            "variant is not a parameter; a variant is chosen as MACHINE/VARIANT",
        ),
    ];
    for (name, sets, expected) in cases {
        let message = run(name, sets).expect_err(name);
        assert!(message.contains(expected), "{name} {sets:?} gave\n{message}\nwithout\n{expected}");
    }
}

#[test]
fn every_problem_is_reported_at_once() {
    let text = VOYAGER.replace("\"180 ns\"", "\"180 MHz\"").replace("\"128 B\"", "128");
    let error = resolve(&Machines(text), "voyager", &["ni.slto=1".into(), "node.checked=1".into()])
        .expect_err("wrong");
    assert_eq!(
        error.to_string(),
        "machine \"voyager\" has 4 problems:\n  \
         machines/voyager/machine.toml:10: node.dram.first_chunk: \"MHz\" is not a unit of duration; allowed: ps, ns, us, µs, ms, s, min, h (as in \"20 ns\")\n  \
         machines/voyager/machine.toml:18: ni.slot: 128 has no unit; allowed: B, kB, KiB, MB, MiB, GB, GiB (as in \"32 KiB\")\n  \
         --set ni.slto=1: ni.slto is not a parameter; did you mean ni.slot?\n  \
         --set node.checked=1: node.checked: 1 is neither true nor false"
    );
}

#[test]
fn contradictions_show_the_parameters_that_they_name_and_no_others() {
    let machine = run("voyager", &["ni.slot=64 B"]).expect("resolves");
    let mistakes = [
        "ni.slot: too short for node.dram.first_chunk.".to_string(),
        "node.dram.first_chunks and old.ni.slot.bytes are no parameters".to_string(),
    ];
    assert_eq!(
        machine.contradictions("voyager", &mistakes).to_string(),
        "machine \"voyager\" has 2 problems:\n  \
         ni.slot: too short for node.dram.first_chunk. (node.dram.first_chunk = \"180 ns\": \
         machines/voyager/machine.toml:10; ni.slot = \"64 B\": --set ni.slot=64 B)\n  \
         node.dram.first_chunks and old.ni.slot.bytes are no parameters"
    );
}

#[test]
fn a_resolved_machine_reads_back_as_the_same() {
    let scratch = Scratch::new("round-trip");
    let label = "ni.label=tricky \" \\ \t \u{1} ünï # = { }";
    for (name, sets) in
        [("voyager", vec![]), ("voyager/reclaim", vec![label, "ni.drop=0.1"]), ("modern", vec![])]
    {
        let machine = run(name, &sets).expect("resolves");
        let text = machine.to_toml();
        let again =
            run(&scratch.write("resolved.toml", &text), &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(again.to_toml(), text);
        assert!(again == machine);
        let changed = run(name, &["node.fence=19"]).expect("resolves");
        assert!(changed != machine, "equality sees a value");
    }
    let text = run("voyager", &["ni.drop=0.1"]).expect("resolves").to_toml();
    let expected = [
        "extends = \"voyager\"\n",
        "# DRAM \"timing\".\n[node.dram]\n# Time to the first chunk. (duration, \"0 ns\" to \"10 us\")\n\
         first_chunk = { value = \"180 ns\", from = \"voyager\", source = \"\" }\n",
        "# Checks coherence while running. (flag)\nchecked = { value = true, from = \"default\", source = \"ours\" }\n",
        "drop = { value = 0.1, from = \"--set\", source = \"\" }\n",
        "# Who cleans. (choice of flush, reclaim)\n",
    ];
    for part in expected {
        assert!(text.contains(part), "{part}\nis not in\n{text}");
    }
    // Editing a value makes the file its origin.
    let edited = text.replace("value = \"18 cycles\", from = \"default\"", "value = 3, from = \"default\"");
    let edited = run(&scratch.write("edited.toml", &edited), &[]).expect("resolves");
    assert_eq!(edited.parameter("node.fence").expect("there").origin, Origin::File("edited.toml".into()));
}

/// A document is its file's text from then on: of a file beside the machine's that names it, or in the working directory.
#[test]
fn a_document_is_read_from_the_file_that_it_names() {
    let scratch = Scratch::new("documents");
    let text = "# A \"graph\".\nlinks = [1,\n 2]\n";
    let file = scratch.write("sub/graph.toml", text);
    let head = "schema_version = 1\nextends = \"wired\"\n";
    let value = |machine: &Resolved| machine.parameter("texts.graph").expect("there").value.plain();
    assert_eq!(value(&run("wired", &[]).expect("resolves")), "a = 1", "a text that names no file");
    let named = format!("texts.graph={file}");
    assert_eq!(value(&run("wired", &[&named]).expect("resolves")), text);
    let mine = scratch.write("sub/mine.toml", &format!("{head}texts.graph = \"graph.toml\""));
    let outer = scratch.write("outer.toml", "schema_version = 1\nextends = \"sub/mine.toml\"");
    for machine in [mine, outer] {
        let machine = run(&machine, &[]).expect("resolves");
        assert_eq!(value(&machine), text);
        let again =
            run(&scratch.write("elsewhere/resolved.toml", &machine.to_toml()), &[]).expect("resolves");
        assert!(again == machine, "it needs no other file");
        let mistake = machine.contradictions("mine", &["texts.graph: line 3: no".into()]).to_string();
        assert!(mistake.contains("texts.graph: line 3: no (texts.graph: /"), "{mistake}");
        assert!(mistake.ends_with("/sub/mine.toml:3)"), "{mistake}");
    }
    let entries = chasqui_config::Document::from(text).entries("graph").expect("TOML");
    assert_eq!(entries.iter().map(|e| (e.key.as_str(), e.line)).collect::<Vec<_>>(), [("links", 2)]);
    assert_eq!(
        chasqui_config::Document::from("a = ").entries("graph").expect_err("no TOML")[0].place,
        "graph:1"
    );
}

#[test]
fn a_document_that_can_not_be_read_is_refused() {
    let scratch = Scratch::new("no-documents");
    let mine =
        scratch.write("mine.toml", "schema_version = 1\nextends = \"wired\"\ntexts.graph = \"none.toml\"");
    let found = run(&mine, &[]).expect_err("refused");
    let expected = format!("{mine}:3: texts.graph: the file \"none.toml\" can't be read: ");
    assert!(found.contains(&expected), "{found}");
    let found = run("wired", &["texts.graph=links = 7"]).expect("TOML, for all that is known here");
    assert_eq!(found.parameter("texts.graph").expect("there").value.plain(), "links = 7");
    let found = run("wired", &["texts.graph=7"]).expect_err("neither a file's name nor TOML");
    assert!(found.contains("--set texts.graph=7: texts.graph: there is no file \"7\""), "{found}");
    let found = run("wired", &["texts.graph=none.toml"]).expect_err("refused");
    assert!(found.contains("--set texts.graph=none.toml: texts.graph: the file \"none.toml\""), "{found}");
}

/// What is plausible beside a value stays with it: in the resolved file, but not once another value is set.
#[test]
fn a_value_has_a_plausible_range() {
    let scratch = Scratch::new("plausible");
    let text = "schema_version = 1\nextends = \"voyager\"\n\
                node.dram.first_chunk = { value = \"0.1 us\", range = [\"80 ns\", \"0.2 us\"], source = \"x\" }";
    let path = scratch.write("mine.toml", text);
    let machine = run(&path, &[]).expect("resolves");
    let range_of =
        |machine: &Resolved| machine.parameter("node.dram.first_chunk").expect("there").plausible.clone();
    let range = Some((Scalar::from("80 ns"), Scalar::from("200 ns")));
    assert_eq!(range_of(&machine), range);
    let written = machine.to_toml();
    let line = "first_chunk = { value = \"100 ns\", range = [\"80 ns\", \"200 ns\"], from = ";
    assert!(written.contains(line), "{written}");
    let again = run(&scratch.write("again.toml", &written), &[]).expect("resolves");
    assert!(again == machine && again.to_toml() == written);
    let set = run(&path, &["node.dram.first_chunk=300 ns"]).expect("a run may leave the range");
    assert!(range_of(&set).is_none() && set != machine);
}

#[test]
fn the_catalogue_is_listed() {
    let list = machines(&catalogue()).expect("all files parse");
    assert_eq!((list[0].name.as_str(), list[0].summary.as_str()), ("voyager", "A memory-bus NI."));
    assert_eq!(list[0].variants[1].summary, "The NES reclaims.");
    assert!(machines(&Machines("x".into())).is_err());
}

#[test]
fn choices_and_search() {
    assert_eq!(Variant::ALL.len(), 2);
    assert_eq!(Variant::alternatives()[1].doc, "The NI.");
    let schema = catalogue().schema("voyager");
    let found: Vec<String> = schema.search("CLEAN").into_iter().map(|(path, _)| path).collect();
    assert_eq!(found, ["ni.variant"]);
}

const TOKENS: [&str; 24] = [
    "\"",
    "'",
    "\"\"\"",
    "[",
    "]",
    "[[",
    "{",
    "}",
    "=",
    ".",
    ",",
    "#",
    "\n",
    "\0",
    "é",
    "-1",
    "1e999",
    "nan",
    "0x",
    "ns\"",
    "extends = \"voyager\"\n",
    "[variant.reclaim]\n",
    "99999999999999999999999",
    "1979-05-27",
];

#[test]
fn damaged_machine_files_never_panic() {
    let resolved =
        run("voyager/reclaim", &[]).expect("resolves").to_toml().replace("extends = \"voyager\"\n", "");
    let (mut good, mut bad) = (0, 0);
    let all = damage::repeat(1, 6_000, |random| {
        let (name, text) = random.pick(&[("voyager/reclaim", VOYAGER), ("voyager", resolved.as_str())]);
        let (mut text, mut set) = (text.to_string(), "ni.slot=96 B".to_string());
        if random.once_in(3) {
            set = damage::text(random, &set, &TOKENS);
        } else {
            text = damage::text(random, &text, &TOKENS);
        }
        match resolve(&Machines(text), name, std::slice::from_ref(&set)) {
            Ok(machine) => {
                good += 1;
                assert!(!machine.to_toml().is_empty());
            }
            Err(error) => {
                bad += 1;
                assert!(!error.problems.is_empty() && error.problems.iter().all(|p| !p.message.is_empty()));
            }
        }
    });
    println!("{good} resolved, {bad} refused");
    assert!(!all || (good > 50 && bad > 50), "both outcomes are reached: {good} resolved, {bad} refused");
}
