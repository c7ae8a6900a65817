"""Lists the machine code that NVIDIA's driver made of kernels, and counts its instructions.

  spirloom-run model.slg --random 0 --cache-dir CACHE       # on the machine with the GPU
  python3 -m tools.machine_code CACHE/pipelines-*.bin --out DIR

What a kernel costs beside its loads is often seen there at once: constants that take an instruction
of their own, checks of bounds, registers. A pipeline cache has a compressed frame for each
pipeline, in no certain order, and in a frame, among much else, the code: instructions of 16 bytes,
with no-operations behind the last one. None of that is documented; it is what driver 580 writes.
Needs nvdisasm, which CUDA and PyPI's package triton have, and Python's zstandard
(python3-zstandard).
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

FRAME = b"\x28\xb5\x2f\xfd"  # how zstd's frames begin
SIZE = 16  # bytes of an instruction
NO_OPERATION = b"\x18\x79" + bytes(6)
_INSTRUCTION = re.compile(r"/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9]+)")
_REGISTER = re.compile(r"\bR(\d+)\b")

# A listing of instructions; None if they are none.
Disassembler = Callable[[bytes], str | None]


@dataclass(frozen=True, slots=True)
class Code:
    """A pipeline's: the listing, how often each operation stands in it, and its registers."""

    listing: str
    operations: Counter[str]
    registers: int


def frames(cache: bytes) -> Iterator[bytes]:
    """What each of the cache's frames holds. Raises SystemExit without a decompressor."""
    try:
        import zstandard
    except ImportError:
        raise SystemExit("machine_code: Python's zstandard is missing: python3-zstandard") from None
    for found in re.finditer(re.escape(FRAME), cache):
        try:
            yield zstandard.ZstdDecompressor().decompressobj().decompress(cache[found.start() :])
        except zstandard.ZstdError:
            continue  # bytes that happen to look like a frame


def code_in(frame: bytes, disassemble: Disassembler) -> Code | None:
    """The code before the frame's last no-operation, as far up as what stands there is code."""
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
    registers = (int(number) for number in _REGISTER.findall(listing))
    return Code(listing, Counter(_INSTRUCTION.findall(listing)), max(registers, default=-1) + 1)


def nvdisasm(program: str, architecture: str) -> Disassembler:
    """One by way of the program. Raises SystemExit if there is no such."""

    def disassemble(code: bytes) -> str | None:
        with tempfile.NamedTemporaryFile() as file:
            file.write(code)
            file.flush()
            command = [program, "--binary", architecture, file.name]
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False)
            except FileNotFoundError:
                message = f"machine_code: '{program}' is missing; CUDA has it. --nvdisasm names it."
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
    parser.add_argument("cache", type=Path, help="a file of spirloom-run's --cache-dir")
    parser.add_argument("--out", type=Path, help="folder for the listings")
    parser.add_argument("--nvdisasm", default="nvdisasm", help="the program, if not on PATH")
    parser.add_argument("--architecture", default="SM90", help="of the GPU (default: SM90, Hopper)")
    arguments = parser.parse_args()
    disassemble = nvdisasm(arguments.nvdisasm, arguments.architecture)
    found = [code_in(frame, disassemble) for frame in frames(arguments.cache.read_bytes())]
    codes = [code for code in found if code is not None]
    if not codes:
        sys.exit(f"machine_code: {arguments.cache} has no code that is known here.")
    for number, code in enumerate(codes):
        most = ", ".join(f"{count} {name}" for name, count in code.operations.most_common(8))
        total = code.operations.total()
        print(f"{number}: {total} instructions, {code.registers} registers; {most}")
        if arguments.out is not None:
            arguments.out.mkdir(parents=True, exist_ok=True)
            (arguments.out / f"{number}.txt").write_text(code.listing, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
