"""The Fortran binding, made from mpi.h: its prototypes are the table of functions, its constants
the table of constants. From them come

- `wrappers`: C functions `mpi_send_` and `pmpi_send_`, which convert what differs and call
  `PMPI_Send`;
- `include_file`: mpif.h, valid in fixed and free form;
- `module`: the module `mpi`, with an interface for every function.

What an argument is follows from its C type and, where C's `int` says too little, from its name
(MPI's functions name their arguments alike). A function declared in mpi.h has its binding without
further ado. Those that differ in more than conversion are written by hand in guest/fortran/*.c.
What is neither is left out of everything (`Binding.left_out`), so that a program that calls it
fails to link; the tests say which functions those may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HANDLES = frozenset(
    f"MPI_{kind}"
    for kind in "Comm Datatype Errhandler File Group Info Message Op Request Session Win".split()
)
ADDRESSES = frozenset({"MPI_Aint", "MPI_Count", "MPI_Offset"})
# Arguments that C declares as int and Fortran as LOGICAL.
LOGICALS = frozenset("flag commute reorder periods remain_dims high weighted".split())
# Results that count from 1 in Fortran; the second are arrays of `outcount` elements.
INDEX, INDICES = "indx", "indices"
# Functions that read the handle whose address they get; the others only set it.
TAKES_HANDLE = re.compile(
    r"(_free|_commit|_disconnect|^Start.*|^Wait.*|^Test.*|^Cancel|^I?mrecv)$", re.IGNORECASE
)
# Arrays of handles: the argument that holds their length, where it is none of these.
LENGTH = ("count", "incount", "n")
OTHER_LENGTH = {
    r"Type_get_contents \w+": "*max_datatypes",
    r"I?alltoallw(_init)? \w+": "fortran_peers(*comm)",
    r"I?neighbor_alltoallw(_init)? sendtypes": "chq_fortran_neighbors_out(*comm)",
    r"I?neighbor_alltoallw(_init)? recvtypes": "chq_fortran_neighbors_in(*comm)",
}
# Their request is complete later, but the handle is there at once.
SET_AT_THE_CALL = ("Comm_idup", "Comm_idup_with_info")
# Room for a text that C returns, with its end.
TEXT_ROOM = {
    "Get_processor_name": "MPI_MAX_PROCESSOR_NAME",
    "Get_library_version": "MPI_MAX_LIBRARY_VERSION_STRING",
    "Comm_get_name": "MPI_MAX_OBJECT_NAME",
    "Type_get_name": "MPI_MAX_OBJECT_NAME",
    "Error_string": "MPI_MAX_ERROR_STRING",
    "Info_get_nthkey": "MPI_MAX_INFO_KEY",
}
# C's own: conversion of handles and statuses, counts wider than INTEGER.
ONLY_C = re.compile(r"(_[cf]2[cf]|_c2f08|_f082[cf]|_(to|from)int|_c)$")

# Members of /MPI_SENTINELS/, as in guest/fortran/fortran.h.
SENTINELS = """\
INTEGER MPI_BOTTOM, MPI_IN_PLACE, MPI_BUFFER_AUTOMATIC
INTEGER MPI_UNWEIGHTED(1), MPI_WEIGHTS_EMPTY(1)
INTEGER MPI_ERRCODES_IGNORE(1)
INTEGER MPI_STATUS_IGNORE(8), MPI_STATUSES_IGNORE(8,1)
CHARACTER MPI_ARGV_NULL(1), MPI_ARGVS_NULL(1,1)
COMMON /MPI_SENTINELS/ MPI_BOTTOM, MPI_IN_PLACE
COMMON /MPI_SENTINELS/ MPI_BUFFER_AUTOMATIC, MPI_UNWEIGHTED
COMMON /MPI_SENTINELS/ MPI_WEIGHTS_EMPTY, MPI_ERRCODES_IGNORE
COMMON /MPI_SENTINELS/ MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE
COMMON /MPI_SENTINELS/ MPI_ARGV_NULL, MPI_ARGVS_NULL
SAVE /MPI_SENTINELS/
"""
PREDEFINED_PROCEDURES = """\
EXTERNAL MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, MPI_DUP_FN
EXTERNAL MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN
EXTERNAL MPI_COMM_DUP_FN, MPI_TYPE_DUP_FN
EXTERNAL MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN
"""
FORTRAN_ONLY = {
    "MPI_STATUS_SIZE": 8,
    "MPI_SOURCE": 1,
    "MPI_TAG": 2,
    "MPI_ERROR": 3,
    "MPI_INTEGER_KIND": 4,
    "MPI_ADDRESS_KIND": 8,
    "MPI_COUNT_KIND": 8,
    "MPI_OFFSET_KIND": 8,
}
# MPI_Sizeof takes a variable of any of these.
SIZEOF_TYPES = [
    *(f"integer({kind})" for kind in (1, 2, 4, 8, 16)),
    *(f"logical({kind})" for kind in (1, 2, 4, 8)),
    *(f"{real}({kind})" for real in ("real", "complex") for kind in (4, 8, 16)),
    "character(len=*)",
]


@dataclass(frozen=True)
class Argument:
    """One parameter of a C prototype."""

    type: str  # without const and pointer
    name: str
    const: bool
    pointer: bool  # one `*`
    array: bool  # `[]` or `[][3]`
    triples: bool

    @property
    def by_value(self) -> bool:
        return not (self.pointer or self.array)

    @property
    def is_handle(self) -> bool:
        return self.type in HANDLES

    @property
    def is_text(self) -> bool:
        return self.type == "char"

    @property
    def is_weights(self) -> bool:
        """An array or MPI_UNWEIGHTED, whether C writes * or []."""
        return self.name.endswith("weights")

    @property
    def is_procedure(self) -> bool:
        return self.type.endswith(("_function", "_fn"))

    @property
    def is_attribute(self) -> bool:
        """A pointer in C, an integer in Fortran."""
        return self.name in ("extra_state", "attribute_val")


@dataclass(frozen=True)
class Function:
    name: str  # without MPI_
    result: str
    arguments: tuple[Argument, ...]
    section: str  # of mpi.h
    old: bool  # of mpi_removed.h: addresses are INTEGERs
    no_vector: str  # what C gets for the argument vector that Fortran has not


@dataclass(frozen=True)
class Binding:
    """What mpi.h and mpi_removed.h declare, in their order."""

    functions: list[Function]
    left_out: dict[str, str]  # name -> reason
    by_hand: set[str]  # in lower case


class NotUnderstoodError(Exception):
    """Something that no wrapper can be made for."""


def _argument(text: str) -> Argument:
    found = re.fullmatch(r"(const )?(\w+) (\*?)(\w+)(\[\])?(\[3\])?", text.strip())
    if found is None:
        raise NotUnderstoodError(f"{text.strip()}: a type that Fortran has not")
    const, kind, star, name, array, triples = found.groups()
    return Argument(kind, name, bool(const), bool(star), bool(array), bool(triples))


def read(include: Path, sources: Path) -> Binding:
    """The binding for the headers in `include` and what is by hand in `sources`."""
    text = "".join(path.read_text() for path in sorted(sources.glob("*.c")))
    by_hand = set(re.findall(r"^FORTRAN_ALIAS\((\w+)\);", text, re.MULTILINE))
    binding = Binding([], {}, by_hand)
    for file in ("mpi.h", "mpi_removed.h"):
        section = "environment"
        for line in (include / file).read_text().splitlines():
            if heading := re.fullmatch(r"/\* ([\w -]+)[.,:].*\*/", line):
                section = re.sub(r"\W+", "_", heading[1].lower())
            prototype = re.fullmatch(r"CHASQUI_MPI\((\w+), (\w+), \((.*)\)\);", line)
            if prototype is None:
                continue
            try:
                function = _function(prototype, section, old=file == "mpi_removed.h")
                if function.name.lower() not in by_hand:
                    _Wrapper(function)
                binding.functions.append(function)
            except NotUnderstoodError as reason:
                binding.left_out[prototype[2]] = str(reason)
    return binding


def _function(prototype: re.Match[str], section: str, *, old: bool) -> Function:
    result, name, parameters = prototype.groups()
    if ONLY_C.search(name):
        raise NotUnderstoodError("a function of C alone")
    no_vector = ""
    if vector := re.match(r"int (\*?)argc, char [^,]+(, )?", parameters):
        no_vector = "NULL, NULL" if vector[1] else "0, NULL"
        parameters = parameters[vector.end() :]
    parameters = parameters.removesuffix(", ...")
    each = [] if parameters in ("void", "") else parameters.split(",")
    arguments = tuple(_argument(text) for text in each)
    return Function(name, result, arguments, "removed" if old else section, old, no_vector)


def constants(include: Path) -> dict[str, int]:
    """Every integer and handle that mpi.h and its parts define, by name, and Fortran's own."""
    text = "".join(file.read_text() for file in sorted(include.glob("mpi*.h")))
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    values: dict[str, int] = {}
    number = r"(-?(?:0x)?[0-9a-f]+)"
    define = rf"#define (MPI_\w+) (?:\(\((MPI_\w+)\){number}\)|(\w+))$"
    for name, handle, value, plain in re.findall(define, text, re.MULTILINE):
        if handle in HANDLES:
            values[name] = int(value, 0)
        elif plain in values:
            values[name] = values[plain]
        elif re.fullmatch(number, plain):
            # C's lengths of texts count the end.
            ours = int(plain, 0) - (1 if name.startswith("MPI_MAX_") else 0)
            values[name] = ours
    for body in re.findall(r"enum \{(.*?)\}", text, re.DOTALL):
        for name, value in re.findall(rf"(MPI_\w+) = {number}", body):
            values[name] = int(value, 0)
    return {**values, **FORTRAN_ONLY}


# --- C --------------------------------------------------------------------------------------------


class _Wrapper:
    """One C function, put together argument by argument."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.parameters: list[str] = []
        self.lengths: list[str] = []
        self.before: list[str] = []
        self.call: list[str] = [function.no_vector] if function.no_vector else []
        self.after: list[str] = []
        for argument in function.arguments:
            self._take(argument)

    def _take(self, argument: Argument) -> None:
        name = argument.name
        if argument.is_procedure or argument.is_attribute:
            raise NotUnderstoodError(f"{name}: C's procedures and attributes are not Fortran's")
        if argument.is_handle:
            self._handle(argument)
        elif argument.is_text:
            self._text(argument)
        elif argument.type in ADDRESSES and self.function.old:
            self._narrow_address(argument)
        elif argument.by_value:
            self._give(f"{argument.type} *{name}", f"*{name}")
        elif argument.type in ("void", "MPI_Status") or argument.is_weights:
            self._give(f"{argument.type} *{name}", f"fortran_address({name})")
        elif argument.triples:
            self._give(f"{argument.type} (*{name})[3]", name)
        else:
            self._give(f"{argument.type} *{name}", name)
            if name == INDEX:
                self.before.append(f"*{name} = MPI_UNDEFINED;")
                self.after.append(f"fortran_index({name});")
            if name == INDICES:
                self.before.append("*outcount = MPI_UNDEFINED;")
                self.after.append(f"for (int i = 0; i < *outcount; i++)\n        {name}[i]++;")

    def _give(self, parameter: str, value: str) -> None:
        self.parameters.append(parameter)
        self.call.append(value)

    def _handle(self, argument: Argument) -> None:
        name, kind = argument.name, argument.type
        if argument.by_value:
            self._give(f"MPI_Fint *{name}", f"fortran_to_c(*{name})")
        elif argument.array:
            length = self._length(name)
            if self._ends_later() and argument.const:
                kept = f"chq_fortran_handles_kept({name}, {length})"
                self._give(f"MPI_Fint *{name}", kept)
                return
            self._give(f"MPI_Fint *{name}", f"c_{name}")
            self.before += [
                f"const int n_{name} = {length} > 0 ? {length} : 0;",
                f"{kind} c_{name}[n_{name} + 1];",
                f"chq_fortran_handles_to_c(c_{name}, {name}, n_{name});",
            ]
            if not (argument.const or self.function.old):  # MPI-1 has no const
                self.after.append(f"chq_fortran_handles_from_c({name}, c_{name}, n_{name});")
        else:
            if self._ends_later() and name != "request":
                raise NotUnderstoodError(f"{name} is set when the request is complete")
            self._give(f"MPI_Fint *{name}", f"&c_{name}")
            null = f"{kind.upper()}_NULL"
            start = f"fortran_to_c(*{name})" if self._is_taken() else null
            self.before.append(f"{kind} c_{name} = {start};")
            self.after.append(f"*{name} = fortran_from_c(c_{name});")

    def _is_taken(self) -> bool:
        return TAKES_HANDLE.search(self.function.name) is not None

    def _ends_later(self) -> bool:
        """Whether the call may read or set what its arguments name after it has returned."""
        makes_request = self.function.arguments[-1].name == "request" and not self._is_taken()
        return makes_request and self.function.name not in SET_AT_THE_CALL

    def _length(self, name: str) -> str:
        for what, length in OTHER_LENGTH.items():
            if re.fullmatch(what, f"{self.function.name} {name}", re.IGNORECASE):
                return length
        for argument in self.function.arguments:
            if argument.name in LENGTH and argument.by_value:
                return f"*{argument.name}"
        raise NotUnderstoodError("how long is the array of handles?")

    def _text(self, argument: Argument) -> None:
        name = argument.name
        self._give(f"char *{name}", f"c_{name}")
        self.lengths.append(f"size_t {name}_length")
        if argument.const:
            what = "info" if self.function.name.startswith("Info_") else "text"
            self.before += [
                f"char c_{name}[{name}_length + 1];",
                f"chq_fortran_{what}_to_c(c_{name}, {name}, {name}_length);",
            ]
            return
        if self.function.name not in TEXT_ROOM:
            raise NotUnderstoodError(f"how long is {name}?")
        room = TEXT_ROOM[self.function.name]
        self.before += [f"char c_{name}[{room}];", f"c_{name}[0] = '\\0';"]
        self.after.append(f"chq_fortran_text_from_c({name}, {name}_length, c_{name});")

    def _narrow_address(self, argument: Argument) -> None:
        name = argument.name
        if argument.by_value:
            self._give(f"MPI_Fint *{name}", f"*{name}")
        elif argument.array:
            length = self._length(name)
            self._give(f"MPI_Fint *{name}", f"c_{name}")
            self.before += [
                f"const int n_{name} = {length} > 0 ? {length} : 0;",
                f"MPI_Aint c_{name}[n_{name} + 1];",
                f"chq_fortran_widen(c_{name}, {name}, n_{name});",
            ]
        else:
            # What is wider than an INTEGER is cut: differences of two are right even so.
            self._give(f"MPI_Fint *{name}", f"&c_{name}")
            self.before.append(f"MPI_Aint c_{name} = 0;")
            self.after.append(f"*{name} = (MPI_Fint)c_{name};")

    def text(self) -> str:
        function = self.function
        name = f"pmpi_{function.name.lower()}_"
        call = f"PMPI_{function.name}({', '.join(self.call)})"
        if function.result != "int":
            parameters = ", ".join(self.parameters) or "void"
            body = [f"return {call};"]
            head = f"{function.result} {name}({parameters})"
        else:
            parameters = ", ".join([*self.parameters, "MPI_Fint *ierror", *self.lengths])
            head = f"void {name}({parameters})"
            body = [*self.before, f"*ierror = {call};", *self.after]
        lines = "".join(f"    {line}\n" for line in body)
        return f"{head}\n{{\n{lines}}}\nFORTRAN_ALIAS({function.name.lower()});\n"


def wrappers(binding: Binding) -> dict[str, str]:
    """The text of the C files, by name: one for a section of mpi.h, so that a program gets only
    the sections that it uses."""
    texts: dict[str, str] = {}
    for function in binding.functions:
        if function.name.lower() not in binding.by_hand:
            before = texts.setdefault(function.section, '#include "fortran/fortran.h"\n')
            texts[function.section] = f"{before}\n{_Wrapper(function).text()}"
    return texts


# --- Fortran --------------------------------------------------------------------------------------


def _constants_text(include: Path) -> str:
    lines = []
    for name, value in constants(include).items():
        lines += [f"INTEGER {name}", f"PARAMETER ({name}={value})"]
    for name in ("MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"):
        lines += [f"LOGICAL {name}", f"PARAMETER ({name}=.FALSE.)"]
    return "\n".join(lines) + "\n" + SENTINELS + PREDEFINED_PROCEDURES


def _result_type(function: Function) -> str:
    return "DOUBLE PRECISION" if function.result == "double" else "INTEGER(KIND=8)"


def include_file(binding: Binding, include: Path) -> str:
    """mpif.h: statements in columns 7 to 72 without continuation, comments that begin with `!`."""
    text = _constants_text(include)
    for function in binding.functions:
        if function.result != "int":
            for name in (f"MPI_{function.name.upper()}", f"PMPI_{function.name.upper()}"):
                text += f"{_result_type(function)} {name}\nEXTERNAL {name}\n"
    body = "".join(f"      {line}\n" for line in text.splitlines())
    return f"! MPI's constants, made from mpi.h.\n{body}"


def _declaration(argument: Argument, old: bool) -> list[str]:
    """Declares a dummy argument."""
    name = argument.name
    if argument.is_procedure:
        return [f"external :: {name}"]
    address = "integer" if old else "integer(8)"
    if argument.is_attribute:
        return [f"{address} :: {name}"]
    if argument.type == "void":
        # Anything: gfortran compares neither type nor rank.
        return [f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}", f"type(*), dimension(*) :: {name}"]
    if argument.is_text:
        return [f"character(len=*) :: {name}"]
    if argument.type == "MPI_Status":
        return [f"integer :: {name}(8{', *' if name == 'statuses' else ''})"]
    kind = address if argument.type in ADDRESSES else "integer"
    kind = "logical" if name in LOGICALS else kind
    shape = "(3, *)" if argument.triples else "(*)" if argument.array or argument.is_weights else ""
    intent = ", intent(in)" if argument.by_value or argument.const else ""
    return [f"{kind}{intent} :: {name}{shape}"]


def _interface(function: Function, prefix: str) -> str:
    name = f"{prefix}{function.name}"
    names = [argument.name for argument in function.arguments]
    lines = [line for each in function.arguments for line in _declaration(each, function.old)]
    if function.result != "int":
        head, end = f"function {name}({', '.join(names)})", "end function"
        lines.append(f"{_result_type(function)} :: {name}")
    else:
        head, end = f"subroutine {name}({', '.join([*names, 'ierror'])})", "end subroutine"
        lines.append("integer, intent(out) :: ierror")
    if function.name == "Pcontrol":
        head, lines = f"subroutine {name}(level)", lines[:-1]
    body = "".join(f"  {line}\n" for line in lines)
    return f"{head}\n{body}{end}\n"


def _sizeof() -> Iterator[str]:
    """MPI_Sizeof has a body, which the program's compiler makes: no other knows all its types."""
    for number, kind in enumerate(SIZEOF_TYPES):
        yield (
            f"subroutine sizeof_{number}(x, size, ierror)\n"
            f"  {kind}, dimension(..), intent(in) :: x\n"
            "  integer, intent(out) :: size, ierror\n"
            "  size = storage_size(x) / 8\n  ierror = MPI_SUCCESS\nend subroutine\n"
        )


def module(binding: Binding, include: Path) -> str:
    """The module `mpi`, in free form."""
    interfaces = "".join(
        _interface(function, prefix)
        for function in binding.functions
        for prefix in ("MPI_", "PMPI_")
    )
    sizes = ", ".join(f"sizeof_{number}" for number in range(len(SIZEOF_TYPES)))
    generic = "".join(
        f"interface {name}\n  module procedure {sizes}\nend interface\n"
        for name in ("MPI_Sizeof", "PMPI_Sizeof")
    )
    private = "".join(f"private :: {each}\n" for each in sizes.split(", "))
    return (
        f"! MPI's module, made from mpi.h.\nmodule mpi\nimplicit none\n{_constants_text(include)}"
        f"{generic}{private}interface\n{interfaces}end interface\ncontains\n"
        f"{''.join(_sizeof())}end module\n"
    )


# What a program gets MPI's names from: name -> its text. There is no mpi_f08.
INCLUDE_FILES = {"mpif.h": include_file}
MODULES = {"mpi": module}
