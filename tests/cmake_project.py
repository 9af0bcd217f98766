"""A project that CMake builds with the compiler wrappers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# The one that the development extra installs, whatever the host has.
CMAKE = str(Path(sys.executable).with_name("cmake"))
# language: the variable that names its compiler, and the wrapper
COMPILERS = {"C": ("CC", "mpicc"), "Fortran": ("FC", "mpifort")}
# How a project comes to MPI: by its compiler alone, or also by CMake's own search; or by the file
# that says which compilers there are.
WAYS = ["compiler", "find_package", "toolchain"]


def build(source: Path, language: str, way: str, shims: Path) -> Path:
    """The program that CMake makes of `source`, beside which the project's files go. With the
    toolchain's file CTest runs it as well, by the launcher that FindMPI finds."""
    finds = way != "compiler"
    find = f"find_package(MPI REQUIRED COMPONENTS {language})" if finds else ""
    libraries = f"MPI::MPI_{language} m" if finds else "m"
    launcher = "${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 2"
    (source.parent / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.16)\nproject({source.stem} {language})\n{find}\n"
        f"add_executable({source.stem} {source.name})\n"
        f"target_link_libraries({source.stem} {libraries})\nenable_testing()\n"
        f"add_test(NAME run COMMAND {launcher} $<TARGET_FILE:{source.stem}>)\n"
    )
    variable, wrapper = COMPILERS[language]
    environment, options = {**os.environ, variable: str(shims / wrapper)}, []
    if way == "toolchain":
        environment = dict(os.environ)
        file = shims.parent / "share" / "chasqui" / "toolchain.cmake"
        options = [f"-DCMAKE_TOOLCHAIN_FILE={file}"]
    steps = [[CMAKE, "-S", ".", "-B", "build", *options], [CMAKE, "--build", "build"]]
    if way == "toolchain":
        steps.append([str(Path(CMAKE).with_name("ctest")), "--test-dir", "build"])
    for step in steps:
        done = subprocess.run(
            step, cwd=source.parent, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return source.parent / "build" / source.stem
