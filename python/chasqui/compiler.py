"""The compiler commands: `chasqui cc`, `c++` and `fc`; mpicc, mpicxx, mpifort … of the same code.

The user's arguments go to the compiler as they are; ours stand around them. Before: the target,
static linking, no added checks. After: the directory of mpi.h (and Fortran's, of mpif.h and
mpi.mod), so that a program's own header of that name wins, and, where the command links, the
libraries. A few options can't mean anything here (`-march=native`) or would break the result
(`-pie`); `Plan` says which and what becomes of them.

Invariant: nothing is imported that a compilation doesn't need (a configure script calls this
hundreds of times).
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from chasqui import children, linked, stopping, toolchain
from chasqui.errors import InputError
from chasqui.text import abandon, say

HELP = """\
Usage: chasqui {language} [--toolchain zig|gnu] [COMPILER OPTIONS] FILES

Compiles {name} programs with MPI for the simulated machines: static RV64GC Linux
executables. All options are the compiler's own (clang's by default, GCC's with
--toolchain gnu).

  --toolchain zig|gnu  zig and musl, pinned and installed with chasqui
                       (default), or riscv64-linux-gnu-{gcc} and glibc, where
                       installed.
                       Also: environment variable CHASQUI_TOOLCHAIN.
  --stub-missing       link although functions are missing, MPI's that are not
                       in this version or any others: the first that is called
                       ends the job and is named
  -show, -showme       print the compiler's command line and do nothing
  -showme:compile, -showme:link, -showme:incdirs, -showme:libdirs, -showme:libs
                       print that part of it
  --help               this text

Left out, with a warning where it matters: -march=, -mtune= and vector options
of other processors, -flto, -fopenmp and profiling (zig has no run-time for
them), -fPIC, -pie, -rdynamic.
-fsanitize=undefined: what is undefined ends the run with a message. zig has no
other sanitizer.
Refused: -shared, the other sanitizers.

Examples:
  chasqui {language} -O2 -o ring ring.{suffix} -lm
  make CC={shim}            the same, by the name that makefiles look for
"""

HELP_FORTRAN = """\
Usage: chasqui fc [COMPILER OPTIONS] FILES

Compiles Fortran programs with MPI (mpif.h, `use mpi`) for the simulated
machines: static RV64GC Linux executables. Runs riscv64-linux-gnu-gfortran,
where installed; all options are its own. What gfortran allowed until version 10
is allowed: one argument passed as different types, constants like X'7F'.

  --stub-missing       link although functions are missing, MPI's that are not
                       in this version or any others: the first that is called
                       ends the job and is named
  -show, -showme       print the compiler's command line and do nothing
  -showme:compile, -showme:link, -showme:incdirs, -showme:libdirs, -showme:libs
                       print that part of it
  --help               this text

Left out, with a warning where it matters: -march=, -mtune= and vector options
of other processors, -mcmodel= of theirs, -flto, -fPIC, -pie, -rdynamic.
Refused: -shared; -fdefault-integer-8, since MPI's INTEGERs have 4 bytes.

Examples:
  chasqui fc -O2 -o ring ring.f90
  make FC=mpifort           the same, by the name that makefiles look for
"""

# Options whose value is the next argument: what follows them is no input file.
WITH_VALUE = frozenset(
    """
    -o -x -I -L -l -D -U -include -imacros -isystem -idirafter -iquote -iprefix -isysroot -MF -MT
    -MQ -J -Xlinker -Xpreprocessor -Xassembler -Xclang -T -u -z -e -A -G --param -arch -target
    """.split()
)
# Any of these: nothing is linked.
NO_LINK = frozenset(["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"])
# Questions that the compiler answers by itself; a prefix is enough.
QUESTIONS = ("-dump", "-print-", "--print-", "--version", "-###", "-V")
SOURCES = (".c", ".i", ".cc", ".cpp", ".cxx", ".c++", ".C", ".ii", ".s", ".S", ".m")

# Of linkers' messages: the run-time of a sanitizer is not there.
NO_SANITIZER = re.compile(r"cannot find -l(ub|a|t|l)san\b")
SANITIZERS = (
    "this cross compiler has no run-time of that sanitizer; zig has one for -fsanitize=undefined, "
    "and -fsanitize=undefined -fsanitize-undefined-trap-on-error needs none"
)
# Of compilers' and linkers' messages: a name, a header or a Fortran module that is not there.
LACKING = re.compile(r"undefined|omp\.h|\.mod\b")

TOOLCHAIN_VARIABLE = "CHASQUI_TOOLCHAIN"

RV64GC = ("rv64gc", "rv64g", "rv64imafdc", "rv64imafd")
OTHER_PROCESSORS = tuple(
    """
    -mavx -msse -mssse -mfma -mbmi -mf16c -maes -mpopcnt -mfpmath= -mcmodel=small -mcmodel=medium
    -mcmodel=large
    """.split()
)
# Options of GCC's that change no program, and that clang refuses instead of ignoring.
GCC_ONLY = ("-ftree-vectorizer-verbose", "-fopt-info", "-fvect-cost-model=")
# What zig lacks the run-time for: the option's beginning -> what to say.
PROFILING = "`chasqui run --profile` counts every cycle of any program"
ZIG_WITHOUT = {
    "-fopenmp": "the zig toolchain has no OpenMP run-time; --toolchain gnu has",
    "-qopenmp": "the zig toolchain has no OpenMP run-time; --toolchain gnu has",
    "-pg": f"the zig toolchain has no gprof; {PROFILING}",
    "--coverage": "the zig toolchain has no gcov; --toolchain gnu has",
    "-coverage": "the zig toolchain has no gcov; --toolchain gnu has",
    "-fprofile-arcs": "the zig toolchain has no gcov; --toolchain gnu has",
    "-ftest-coverage": "the zig toolchain has no gcov; --toolchain gnu has",
    "-fcoverage-mapping": f"the zig toolchain has no profiling run-time; {PROFILING}",
    "-fprofile-generate": f"the zig toolchain has no profiling run-time; {PROFILING}",
    "-fprofile-instr-generate": f"the zig toolchain has no profiling run-time; {PROFILING}",
    "-fcs-profile-generate": f"the zig toolchain has no profiling run-time; {PROFILING}",
    "-Wl,-Map": "zig's linker writes no map",
}
STRIP = frozenset(["-s", "-Wl,-s", "-Wl,--strip-all"])
# A linker script, or an output that is no program.
OWN_LAYOUT = ("-T", "-Wl,-T", "-Wl,--script", "-r", "-Wl,-r", "-Wl,--relocatable")
# By these a command says that its program has threads.
THREADS = ("-fopenmp", "-pthread", "-lpthread", "-lgomp", "-fopenacc", "-ftree-parallelize-loops")
# All executables are static and stand at fixed addresses; and zig would build another musl for
# -fPIC (half a minute).
SILENTLY_LEFT_OUT = frozenset(
    """
    -m64 -pie -static-pie -fPIC -fpic -fPIE -fpie -rdynamic -static-libgcc -static-libstdc++
    -mabi=lp64d -Wl,-export-dynamic -Wl,--export-dynamic
    """.split()
)


Own = Callable[[str], bool]


@dataclass
class Plan:
    """What the arguments ask for, and what of them the compiler gets."""

    language: str
    toolchain: str = "zig"
    arguments: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    output: str | None = None
    mode: str = "link"  # or "question", or the option of NO_LINK that decides
    show: str | None = None
    warnings: list[str] = field(default_factory=list)
    strip: bool = False  # the program is to have no symbols
    sanitize: bool = False  # -fsanitize=undefined
    threads: bool = False  # the command says so
    stub_missing: bool = False  # what is missing gets a body, which ends the job
    stubs: Sequence[str] = ()  # the options that find these

    def compiler(self) -> list[str]:
        """The compiler and what stands before the user's arguments."""
        if self.toolchain == "gnu":
            # Debian's compiler makes position-independent executables unless told otherwise.
            link = ["-static", "-no-pie"] if self.mode == "link" else []
            return [toolchain.gnu(self.language), "-fno-pie", *link]
        # On a compilation clang would warn that -static is unused.
        link = ["-static"] if self.mode == "link" else []
        command = [str(toolchain.zig()), self.language]
        always = [*toolchain.ZIG_ALWAYS, *toolchain.ZIG_TOLERANT]
        if self.sanitize:
            always.remove(toolchain.ZIG_UNCHECKED)
        return [*command, *toolchain.ZIG_TARGET, *always, *link]

    def include_directories(self) -> list[Path]:
        fortran = [toolchain.fortran_directory()] if self.language == "fc" else []
        return [*fortran, toolchain.INCLUDE]

    def archive_directories(self) -> list[Path]:
        fortran = [toolchain.fortran_directory()] if self.language == "fc" else []
        return [*fortran, toolchain.libmpi_directory()]

    def libraries(self) -> list[str]:
        fortran = ["mpifort"] if self.language == "fc" else []
        return [*fortran, "mpi", *(["chasqui-c"] if self.toolchain == "zig" else [])]

    def compile_part(self) -> list[str]:
        after = toolchain.GNU_ALWAYS if self.toolchain == "gnu" else []
        tolerant = toolchain.fortran_tolerant() if self.language == "fc" else []
        return [*after, *tolerant, *(f"-I{place}" for place in self.include_directories())]

    def link_part(self) -> list[str]:
        places = [f"-L{place}" for place in self.archive_directories()]
        whole = [linked.drawn_in(linked.GTHREADS)] if self.language == "fc" and self.threads else []
        script = [] if self.own_layout() else toolchain.link_options(self.toolchain)
        # -l, not the archive's name: that would be taken for a source after `-x c`.
        libraries = [f"-l{name}" for name in self.libraries()]
        return [*script, *places, *whole, *self.stubs, *libraries]

    def own_layout(self) -> bool:
        """Whether the command has a linker script of its own, or makes no program."""
        return any(each.startswith(OWN_LAYOUT) for each in self.arguments)

    def command(self) -> list[str]:
        if self.mode == "question":
            return [*self.compiler(), *self.arguments]
        end = self.link_part() if self.mode == "link" else []
        return [*self.compiler(), *self.arguments, *self.compile_part(), *end]


def expand_response_files(arguments: list[str]) -> list[str]:
    """`@file` stands for the arguments in `file`."""
    result = []
    for argument in arguments:
        if argument.startswith("@") and os.path.isfile(argument[1:]):
            with open(argument[1:]) as handle:
                result += expand_response_files(shlex.split(handle.read()))
        else:
            result.append(argument)
    return result


def plan(language: str, arguments: list[str]) -> Plan:
    """Reads the arguments. Raises InputError for what can't be done."""
    wanted = os.environ.get(TOOLCHAIN_VARIABLE) or "zig"
    result = Plan(language, toolchain="gnu" if language == "fc" else wanted)
    rest = _own_options(result, expand_response_files(arguments))
    if language == "fc" and result.toolchain == "zig":
        raise InputError("--toolchain zig: zig has no Fortran; leave it out")
    if result.toolchain not in ("zig", "gnu"):
        given = language != "fc" and result.toolchain == wanted and TOOLCHAIN_VARIABLE in os.environ
        by = TOOLCHAIN_VARIABLE if given else "--toolchain"
        raise InputError(f"{by} {result.toolchain}: there are zig and gnu")
    position = 0
    while position < len(rest):
        argument = rest[position]
        position += 1
        if argument in WITH_VALUE and position < len(rest):
            value = rest[position]
            position += 1
            result.arguments += [argument, value]
            if argument == "-o":
                result.output = value
        elif argument.startswith("-") and argument != "-":
            _option(result, argument)
        else:
            result.arguments.append(argument)
            result.inputs.append(argument)
    if result.mode == "link" and not result.inputs:
        result.mode = "question"  # `-v`, or nothing at all: the compiler answers
    return result


def _own_options(result: Plan, arguments: list[str]) -> list[str]:
    """Takes out the wrapper's options."""
    rest: list[str] = []
    take_toolchain = False
    for argument in arguments:
        if take_toolchain:
            result.toolchain, take_toolchain = argument, False
        elif argument == "--toolchain":
            take_toolchain = True
        elif argument.startswith("--toolchain="):
            result.toolchain = argument.partition("=")[2]
        elif argument == "--stub-missing":
            result.stub_missing = True
        elif argument in ("-show", "-showme", "--showme"):
            result.show = "all"
        elif argument.startswith(("-showme:", "--showme:")):
            result.show = argument.partition(":")[2]
        elif argument in ("-compile-info", "-compile_info"):
            result.show = "compile_info"
        elif argument in ("-link-info", "-link_info"):
            result.show = "link_info"
        else:
            rest.append(argument)
    if take_toolchain:
        raise InputError("--toolchain: zig or gnu must follow")
    return rest


def _option(result: Plan, argument: str) -> None:
    """One option without a separate value."""
    if argument in ("-shared", "-dynamiclib", "--shared"):
        raise InputError(
            f"{argument}: simulated machines run static executables only; "
            "build an archive (.a) instead (CMake: -DBUILD_SHARED_LIBS=OFF; configure: "
            "--disable-shared)"
        )
    if argument == "-fdefault-integer-8":
        raise InputError(f"{argument}: MPI's INTEGERs have 4 bytes")
    if argument == "-fdefault-real-8":
        result.warnings.append(f"{argument}: MPI_REAL still has 4 bytes (MPI_REAL8 has 8)")
    if argument in NO_LINK:
        # -E and -M win over -c, as in the compiler.
        if result.mode == "link" or argument in ("-E", "-M", "-MM"):
            result.mode = argument
    elif argument.startswith(QUESTIONS):
        result.mode = "question"
    elif _left_out(result, argument):
        return
    if argument.startswith("-o") and len(argument) > 2:
        result.output = argument[2:]
    result.arguments.append(argument)


def _left_out(result: Plan, argument: str) -> bool:
    """Whether the option is dropped; says so where the user may care."""
    if argument in SILENTLY_LEFT_OUT:
        return True
    if argument.startswith(("-march=", "-mcpu=", "-mtune=")):
        _processor(result, argument)
        return True
    if argument in STRIP:
        # zig would build another musl for it: its program is stripped when it is linked.
        result.strip = True
        return result.toolchain == "zig"
    if argument.startswith("-fsanitize=") and result.toolchain == "zig":
        _sanitizer(result, argument)
    result.threads |= argument.startswith(THREADS)
    reason = None
    if argument.startswith(OTHER_PROCESSORS):
        reason = "simulated nodes are RV64GC"
    elif argument.startswith(GCC_ONLY) and result.toolchain == "zig":
        reason = "only GCC knows it; --toolchain gnu has it"
    elif argument.startswith("-flto"):
        reason = "link-time optimisation is not supported for simulated machines"
    elif result.toolchain == "zig":
        reason = next((why for it, why in ZIG_WITHOUT.items() if argument.startswith(it)), None)
    if reason:
        result.warnings.append(f"{argument} left out: {reason}")
    return reason is not None


def _sanitizer(result: Plan, argument: str) -> None:
    """zig has the run-time of one sanitizer, and ignores or half links the others."""
    others = [name for name in argument.partition("=")[2].split(",") if name != "undefined"]
    if others:
        raise InputError(
            f"{argument}: the zig toolchain has -fsanitize=undefined, with all of its checks, "
            f"and no {', '.join(others)}"
        )
    result.sanitize = True


def _processor(result: Plan, argument: str) -> None:
    """Every executable is RV64GC; other RISC-V extensions would fault when they run."""
    name, _, value = argument.partition("=")
    base = value.split("_")[0]
    if name == "-march" and value.startswith("rv") and base not in RV64GC:
        raise InputError(f"{argument}: simulated nodes are RV64GC (allowed: -march=rv64gc)")
    if name != "-mtune" and not value.startswith("rv"):
        result.warnings.append(f"{argument} left out: simulated nodes are RV64GC")


def show(result: Plan) -> str:
    """The text that -show and its relatives print."""
    what = result.show
    if what == "incdirs":
        return " ".join(map(str, result.include_directories()))
    if what == "compile":
        return shlex.join(f"-I{place}" for place in result.include_directories())
    if what == "libs":
        return " ".join(result.libraries())
    if what == "libdirs":
        return " ".join(map(str, result.archive_directories()))
    if what == "link":
        return shlex.join(result.link_part())
    if what == "version":
        return "chasqui"
    if what == "command":
        return shlex.join(result.compiler())
    if what not in ("all", "compile_info", "link_info"):
        raise InputError(
            f"-showme:{what}: there are compile, link, incdirs, libdirs, libs, command"
        )
    if result.mode == "question":
        # No files were named: show what a compilation and link of them would be.
        result.mode = "-c" if what == "compile_info" else "link"
    return shlex.join(result.command())


def run(result: Plan) -> int:
    """Runs the compiler, as often as its own faults demand."""
    for warning in result.warnings:
        print(f"chasqui: warning: {warning}", file=sys.stderr)
    if result.toolchain == "gnu":
        environment = dict(os.environ)
        if result.mode == "link":
            return _link(result, environment)
        return _call(result.command(), environment)
    for name in result.inputs:
        if name != "-" and not os.path.exists(name):  # zig's own message is obscure
            print(f"chasqui: {name}: no such file", file=sys.stderr)
            return 1
        if mistake := _misnamed(name, result.arguments):
            print(f"chasqui: {name}: {mistake}", file=sys.stderr)
            return 1
    toolchain.announce_first_build()
    if result.language == "c++" and result.mode == "link":
        toolchain.announce_first_build("c++")
    environment = toolchain.zig_environment()
    sources = [name for name in result.inputs if name.endswith(SOURCES)]
    if result.mode == "-fsyntax-only":
        # zig 0.17 has no such mode: compile, and throw the result away.
        result.arguments.remove("-fsyntax-only")
        result.mode = "-c"
        result.arguments += ["-c"] if "-c" not in result.arguments else []
        if result.output is None and len(sources) == 1:
            result.arguments += ["-o", os.devnull]
    if result.mode in ("-c", "-S"):
        return _compile(result, sources, environment)
    status = _link(result, environment)
    if status == 0 and result.mode == "link" and result.strip:
        linked.strip(Path(result.output or "a.out"))
    return status


def _misnamed(name: str, arguments: Sequence[str]) -> str | None:
    """What is wrong with a file whose name ends in nothing: zig would call the host's linker."""
    is_said = any(each.startswith("-x") for each in arguments)
    if name == "-" or is_said or os.path.splitext(name)[1]:
        return None
    try:
        with open(name, "rb") as file:
            start = file.read(8)
    except OSError as error:
        return str(error.strerror)
    if start.startswith(b"\x7fELF"):
        return "an object's name has to end in .o"
    if start in (b"!<arch>\n", b"!<thin>\n"):
        return "an archive's name has to end in .a"
    return (
        "no source (its name would end in .c or the like, or -x say what it is), object or archive"
    )


def _link(result: Plan, environment: dict[str, str]) -> int:
    """Links, or has a question answered; where that is wanted, with bodies for functions that are
    missing, and says which these are."""

    def link(options: Sequence[str], own: Own) -> int:
        result.stubs = options
        if result.toolchain != "gnu":
            return _call(result.command(), environment, own)

        def call(command: list[str], environment: dict[str, str], theirs: Own) -> int:
            return _call(command, environment, lambda line: theirs(line) or own(line))

        return linked.with_threads_whole(result.command(), environment, call)

    if not result.stub_missing or result.mode != "link":
        return link((), lambda _: False)
    from chasqui import core, stubs

    status, names = stubs.link(link)
    if names and status == 0:
        output = Path(result.output or "a.out")
        try:
            called = core.called(str(output))
        except InputError as error:
            output.unlink()
            raise InputError(f"--stub-missing looks at what the program calls: {error}") from None
        if uncalled := [name for name in names if name not in called]:
            output.unlink()
            raise InputError(
                f"--stub-missing: {', '.join(uncalled)}: missing, and never called by name: this "
                "may be a variable, of which there is no stub; define it"
            )
        print(f"chasqui: stubs, which end the job: {', '.join(names)}", file=sys.stderr)
    return status


def compiled(source: Path, flags: Sequence[str], more: Sequence[Path] = ()) -> Path:
    """A C program of ours, compiled by zig when first needed, of one file or `more`. Headers beside
    it are its own.

    Its file has the source's name alone: a guest finds the name on its stack, and its length must
    not change with the sources.
    """
    import hashlib

    digest = hashlib.sha256(repr(flags).encode())
    for path in [source, *more, *sorted(source.parent.glob("*.h"))]:
        digest.update(path.read_bytes())
    target = toolchain.libmpi_directory() / "programs" / digest.hexdigest()[:12] / source.stem
    if not target.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        building = target.with_name(f"{target.name}.{os.getpid()}")
        result = plan("cc", [*flags, *map(str, [source, *more]), "-o", str(building)])
        result.toolchain = "zig"
        if run(result) != 0:
            raise InputError(f"{source} could not be compiled: the compiler's messages are above")
        building.replace(target)
    return target


def _compile(result: Plan, sources: list[str], environment: dict[str, str]) -> int:
    """-c and -S for zig: 0.17 does only the first of several sources, and never to `-`."""
    if len(sources) > 1:
        if result.output is not None:
            raise InputError(f"-o {result.output}: not with {result.mode} and several sources")
        status = 0
        for source in sources:
            others = [name for name in sources if name != source]
            one = Plan(**vars(result))
            one.arguments = [each for each in result.arguments if each not in others]
            status = max(status, _call(one.command(), environment))
        return status
    if result.output == "-":
        import tempfile

        with tempfile.TemporaryDirectory() as scratch:
            file = os.path.join(scratch, "out")
            at = result.arguments.index("-o")
            result.arguments[at + 1] = file
            status = _call(result.command(), environment)
            if status == 0:
                status = _print(Path(file).read_bytes())
        return status
    return _call(result.command(), environment)


def _pass_on(line: bytes) -> None:
    """A line of the compiler's own."""
    try:
        sys.stderr.buffer.write(line)
        sys.stderr.flush()
    except OSError:  # a full disk, a pipe that is closed: the compiler goes on
        abandon(sys.stderr)


def _call(command: list[str], environment: dict[str, str], own: Own = lambda _: False) -> int:
    """Runs the compiler. After a failure it says of what is missing here that it is; lines of its
    messages that `own` takes are not shown."""
    if sys.stderr.isatty():  # which the compiler doesn't see
        command = [*command, "-fdiagnostics-color=always"]
    missing: list[str] = []
    with children.begun(command, env=environment, stderr=subprocess.PIPE) as process:
        for line in process.stderr or ():
            text = line.decode(errors="replace")
            if own(text):
                continue
            _pass_on(line)
            if LACKING.search(text):
                missing.append(text)
            if NO_SANITIZER.search(text):
                print(f"chasqui: {SANITIZERS}", file=sys.stderr)
    if process.returncode != 0 and missing:
        from chasqui import coverage

        print(coverage.why_missing(missing), end="", file=sys.stderr)
    return process.returncode


def _print(text: str | bytes) -> int:
    """Prints what was asked for; the exit status."""
    try:
        if isinstance(text, bytes):
            sys.stdout.buffer.write(text)
        else:
            sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        from chasqui.text import unwritten

        return unwritten(error)
    return 0


def help_text(language: str) -> str:
    if language == "fc":
        return HELP_FORTRAN
    if language == "c++":
        return HELP.format(language="c++", name="C++", gcc="g++", suffix="cc", shim="mpicxx")
    return HELP.format(language="cc", name="C", gcc="gcc", suffix="c", shim="mpicc")


def main(language: str, given: list[str]) -> NoReturn:
    """The compiler command with the arguments that were given."""
    try:
        status = _carry_out(language, given)
    except InputError as error:
        say(f"chasqui: {error}")
        status = 2
    except KeyboardInterrupt as stop:
        say(f"chasqui: stopped by {stopping.name_of(stop)}")
        status = stopping.status_of(stop)
    sys.exit(status)


def _carry_out(language: str, given: list[str]) -> int:
    if given == ["--help"]:
        return _print(help_text(language))
    result = plan(language, given)
    if result.show:
        return _print(f"{show(result)}\n")
    return run(result)
