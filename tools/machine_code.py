"""Disassembles the machine code of kernels in an NVIDIA pipeline cache, and counts instructions.

  spirloom-run model.slg --random --cache-dir CACHE         # on the machine with the GPU
  python3 -m tools.machine_code CACHE/pipelines-*.bin --out DIR

The listing shows the cost of a kernel besides its loads: instructions for constants, bounds checks,
registers. A pipeline cache contains a zstd frame per pipeline, in unspecified order. A frame
contains the code among other data: 16-byte instructions, followed by no-operations. This format is
not documented; the tool supports driver 580. Requires nvdisasm (part of CUDA and of PyPI's package
triton) and Python's zstandard (python3-zstandard).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

FRAME = b"\x28\xb5\x2f\xfd"  # magic number of zstd frames
SIZE = 16  # bytes of an instruction
NO_OPERATION = b"\x18\x79" + bytes(6)
_INSTRUCTION = re.compile(r"/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9]+)")
_REGISTER = re.compile(r"\bR(\d+)\b")

# Returns a listing of the instructions, or None if the bytes are not instructions.
Disassembler = Callable[[bytes], str | None]


@dataclass(frozen=True, slots=True)
class Code:
    """The code of a pipeline: listing, number of uses of each operation, number of registers."""

    listing: str
    operations: Counter[str]
    registers: int


def frames(cache: bytes) -> Iterator[bytes]:
    """The content of each frame of the cache. Raises SystemExit without zstandard."""
    try:
        import zstandard
    except ImportError:
        raise SystemExit(
            "machine_code: Python's zstandard is missing. Install python3-zstandard."
        ) from None
    for found in re.finditer(re.escape(FRAME), cache):
        try:
            yield zstandard.ZstdDecompressor().decompressobj().decompress(cache[found.start() :])
        except zstandard.ZstdError:
            continue  # not a frame


def code_in(frame: bytes, disassemble: Disassembler) -> Code | None:
    """The longest sequence of instructions before the last no-operation of the frame."""
    last = frame.rfind(NO_OPERATION)
    end = start = last + SIZE
    if last < 0 or end > len(frame):
        return None
    for step in (64 * SIZE, SIZE):
        while start >= step and disassemble(frame[start - step : end]) is not None:
            start -= step
    listing = disassemble(frame[start:end])
    return None if listing is None else counted(listing)


def counted(listing: str) -> Code:
    registers = (int(register) for register in _REGISTER.findall(listing))
    return Code(listing, Counter(_INSTRUCTION.findall(listing)), max(registers, default=-1) + 1)


def nvdisasm(program: str, architecture: str) -> Disassembler:
    """A disassembler that runs nvdisasm. Raises SystemExit if the program is missing."""

    def disassemble(code: bytes) -> str | None:
        with tempfile.NamedTemporaryFile() as file:
            file.write(code)
            file.flush()
            command = [program, "--binary", architecture, file.name]
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False)
            except FileNotFoundError:
                message = (
                    f"machine_code: '{program}' is missing. Install CUDA, or specify --nvdisasm."
                )
                raise SystemExit(message) from None
        return done.stdout if done.returncode == 0 and not done.stderr else None

    return disassemble


def main() -> int:
    head, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="python3 -m tools.machine_code",
        description=head,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("cache", type=Path, help="pipelines-*.bin of spirloom-run --cache-dir")
    parser.add_argument("--out", type=Path, help="directory of the listings")
    parser.add_argument(
        "--nvdisasm", default="nvdisasm", help="path of nvdisasm (default: search PATH)"
    )
    parser.add_argument(
        "--architecture", default="SM90", help="GPU architecture (default: SM90, Hopper)"
    )
    arguments = parser.parse_args()
    disassemble = nvdisasm(arguments.nvdisasm, arguments.architecture)
    found = [code_in(frame, disassemble) for frame in frames(arguments.cache.read_bytes())]
    codes = [code for code in found if code is not None]
    if not codes:
        sys.exit(f"machine_code: {arguments.cache} contains no code in the format of driver 580.")
    for i, code in enumerate(codes):
        frequent = ", ".join(f"{count} {name}" for name, count in code.operations.most_common(8))
        total = code.operations.total()
        print(f"{i}: {total} instructions, {code.registers} registers; {frequent}")
        if arguments.out is not None:
            arguments.out.mkdir(parents=True, exist_ok=True)
            (arguments.out / f"{i}.txt").write_text(code.listing, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
