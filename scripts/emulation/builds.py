"""Cross-compiled builds of llama.cpp for aarch64, and the packages and the short model that Jackdaw needs there."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scripts.places import CannotRun, step

PINNED: Final = "llama-cpp-python==0.3.36"
_TESTS: Final = ("hypothesis", "pytest", "pytest-timeout")
_PLATFORMS: Final = ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64")

LAYERS: Final = 3
"""The number of layers of the short model, which are the default model's first ones. They show the rounding of a build
as well as all 30 layers do.
"""


@dataclass(frozen=True, slots=True)
class Build:
    """A build of llama.cpp's kernels for given processor instructions, with or without repacking of weights."""

    instructions: str
    repack: bool


BUILDS: Final[Mapping[str, Build]] = {
    "armv8-a": Build("armv8-a", True),
    "dotprod+fp16": Build("armv8.2-a+dotprod+fp16", False),
    "dotprod+fp16 repack": Build("armv8.2-a+dotprod+fp16", True),
    "i8mm": Build("armv8.2-a+dotprod+fp16+i8mm", False),
    "i8mm repack": Build("armv8.2-a+dotprod+fp16+i8mm", True),
}
"""The builds by name. The first is Termux's package, the others are builds that an ARM laptop or a newer phone may
make.
"""

_OPTIONS: Final = {
    "CMAKE_BUILD_TYPE": "Release",
    "CMAKE_SYSTEM_NAME": "Linux",
    "CMAKE_SYSTEM_PROCESSOR": "aarch64",
    "CMAKE_C_COMPILER": "aarch64-linux-gnu-gcc",
    "CMAKE_CXX_COMPILER": "aarch64-linux-gnu-g++",
    "CMAKE_BUILD_RPATH_USE_ORIGIN": "ON",
    "BUILD_SHARED_LIBS": "ON",
    "GGML_BACKEND_DL": "ON",  # as Termux builds its package: the kernels are loaded at run time
    "GGML_NATIVE": "OFF",
    "GGML_OPENMP": "OFF",
    **dict.fromkeys((f"LLAMA_BUILD_{part}" for part in ("COMMON", "TESTS", "TOOLS", "EXAMPLES", "SERVER")), "OFF"),
}


def make_packages(folder: Path, python: str, project: Path) -> None:
    """Install the dependencies of Jackdaw and of its engine's tests, for aarch64, into a folder. Raises CannotRun."""
    named = tomllib.loads(project.read_text("utf-8"))["project"]["dependencies"]
    names = [*(name for name in named if not name.startswith("llama-cpp-python")), *_TESTS]
    stamp = folder / ".installed"
    if stamp.is_file() and stamp.read_text() == f"{python} {names}":
        return
    step("installing Python packages for aarch64, about 300 MB")
    shutil.rmtree(folder, ignore_errors=True)
    platforms = [option for platform in _PLATFORMS for option in ("--platform", platform)]
    _run(
        *(sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), "--only-binary", ":all:"),
        *("--implementation", "cp", "--python-version", python, *platforms, *names),
    )
    stamp.write_text(f"{python} {names}")


def make_metadata(folder: Path, project: Path) -> None:
    """Write the metadata of Jackdaw, which runs from its source, into a folder: it reads its own version there."""
    version = tomllib.loads(project.read_text("utf-8"))["project"]["version"]
    info = folder / f"jackdaw-{version}.dist-info"
    info.mkdir(exist_ok=True)
    info.joinpath("METADATA").write_text(f"Metadata-Version: 2.1\nName: jackdaw\nVersion: {version}\n")


def make_build(folder: Path, name: str) -> Path:
    """Compile a build, unless this was done already, and return the folder that holds it as Termux's package llama-cpp
    lays it out: libraries in lib, headers in include. Raises CannotRun.
    """
    made = folder / name.replace(" ", "-")
    package = made / "usr"
    if package.is_dir():
        return package
    source = _source(folder)
    common = _compiled(source, folder / "common", BUILDS["armv8-a"], ["llama", "ggml-cpu"])
    kernels = common if name == "armv8-a" else _compiled(source, made / "compiled", BUILDS[name], ["ggml-cpu"])
    lay_out(source, common / "bin", kernels / "bin", made / "part")
    (made / "part").rename(package)
    return package


def lay_out(source: Path, common: Path, kernels: Path, target: Path) -> None:
    """Copy llama.cpp's headers from its source, its libraries, and the library with its kernels into a new folder."""
    shutil.rmtree(target, ignore_errors=True)
    for part in ("lib", "include"):
        (target / part).mkdir(parents=True)
    for headers in ("include/llama*.h", "ggml/include/*.h"):
        for file in source.joinpath("vendor", "llama.cpp").glob(headers):
            shutil.copy(file, target / "include")
    for library in ("libllama", "libggml", "libggml-base", "libggml-cpu"):
        for file in (kernels if library == "libggml-cpu" else common).glob(f"{library}.so*"):
            shutil.copy(file, target / "lib")


def make_short(source: Path, target: Path) -> None:
    """Write the first layers of a Llama into a GGUF file, unless the file exists; tensors are copied unchanged."""
    if target.exists():
        return
    from gguf import GGUFReader, GGUFValueType, GGUFWriter

    part = target.with_suffix(".part")
    reader, writer = GGUFReader(source), GGUFWriter(part, "llama")
    for key, field in reader.fields.items():
        if not key.startswith("GGUF.") and key != "general.architecture":
            kind = field.types[0]
            value = LAYERS if key == "llama.block_count" else field.contents()
            writer.add_key_value(key, value, kind, field.types[-1] if kind == GGUFValueType.ARRAY else None)
    for tensor in reader.tensors:
        layer = re.match(r"blk\.(\d+)\.", tensor.name)
        if layer is None or int(layer[1]) < LAYERS:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    part.rename(target)


def _source(folder: Path) -> Path:
    """Return the unpacked source package of llama.cpp, downloaded if it is missing."""
    unpacked = folder / PINNED.replace("==", "-").replace("llama-cpp-python", "llama_cpp_python")
    if not unpacked.is_dir():
        step("downloading the source of llama.cpp, 77 MB")
        name = PINNED.partition("==")[0]
        options = ["--quiet", "--no-deps", "--no-binary", name, "-d", str(folder)]
        _run(sys.executable, "-m", "pip", "download", *options, PINNED)
        with tarfile.open(folder / f"{unpacked.name}.tar.gz") as archive:
            archive.extractall(folder / "part", filter="data")
        (folder / "part" / unpacked.name).rename(unpacked)
    return unpacked


def _compiled(source: Path, made: Path, build: Build, targets: Sequence[str]) -> Path:
    step(f"compiling llama.cpp for {build.instructions}{', with repacking' if build.repack else ''}")
    options = {**_OPTIONS, "GGML_CPU_ARM_ARCH": build.instructions, "GGML_CPU_REPACK": "ON" if build.repack else "OFF"}
    named = [f"-D{name}={value}" for name, value in options.items()]
    _run("cmake", "-G", "Ninja", "-S", str(source / "vendor" / "llama.cpp"), "-B", str(made), *named)
    _run("nice", "-n", "19", "cmake", "--build", str(made), "--target", *targets)
    return made


def _run(*command: str) -> None:
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if ended.returncode:
        raise CannotRun(f"{command[0]} failed:\n{ended.stdout[-2000:]}")
