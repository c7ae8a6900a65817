"""The mutants of tools.mutation: which there are, and that each changes the named expression."""

import os
import subprocess
from pathlib import Path

import pytest

from tools.mutation import python_mutants
from tools.mutation.__main__ import modules

ROOT = Path(__file__).resolve().parents[2]

PYTHON = """
def share(part: int, of: list[int]) -> int:
    'The share + 1.'
    if not of or min(of) < part:
        raise ValueError(f"{part + 1}")
    return part // len(of)
"""

CPP = """
#include <algorithm>
#include <array>
#include <cassert>
#include <vector>

constexpr int kLimit = 2 + 3;
int Error(int code) { return code; }
[[maybe_unused]] bool IsValid(int a) { return a > 0; }

int Share(const std::vector<int>& of, int part) {
  std::array<int, 4> last{};
  assert(IsValid(part + 1));
  if (of.empty() || part >= kLimit) return Error(part + 1);
  const bool is_first = of == std::vector<int>{part};
  last.fill(std::max(part, of.back()));
  if (is_first) part += last[3];
  return !is_first ? part / 2 : part;
}
"""

MAIN = """
#include <cstdio>
#include <vector>

int Share(const std::vector<int>& of, int part);

int main() {
  std::printf("%d %d %d", Share({}, 3), Share({4, 4, 1}, 4), Share({4}, 4));
}
"""

CPP_MUTANTS = """
of.empty() || part >= kLimit  ->  if (of.empty() && part >= kLimit) return Error(part + 1);
of.empty()  ->  if (!bool(of.empty()) || part >= kLimit) return Error(part + 1);
part >= kLimit  ->  if (of.empty() || part > kLimit) return Error(part + 1);
of == std::vector<int>{part}  ->  const bool is_first = of != std::vector<int>{part};
last.fill(std::max(part, of.back()))  ->  void();
std::max(part, of.back())  ->  last.fill(std::min(part, of.back()));
of.back()  ->  last.fill(std::max(part, of.front()));
is_first  ->  if (!bool(is_first)) part += last[3];
part += last[3]  ->  if (is_first) part -= last[3];
3  ->  if (is_first) part += last[4];
!is_first  ->  return bool(is_first) ? part / 2 : part;
part / 2  ->  return !is_first ? part * 2 : part;
2  ->  return !is_first ? part / 3 : part;
"""


def test_python_mutants(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(PYTHON)
    assert [f"{m.before}  ->  {m.after}" for m in python_mutants.mutants_of(path)] == [
        "if not of or min(of) < part:  ->  if not (not of or min(of) < part):",
        "not of or min(of) < part  ->  not of and min(of) < part",
        "not of  ->  not not of",
        "min(of) < part  ->  min(of) <= part",
        "min(of)  ->  max(of)",
        "part // len(of)  ->  part * len(of)",
    ]


def test_cpp_mutants(tmp_path: Path) -> None:
    """Messages, assertions, constant expressions and types are unchanged."""
    pytest.importorskip("clang.cindex")
    from tools.mutation.cpp_mutants import mutants_of

    path = tmp_path / "module.cpp"
    path.write_text(CPP)
    changed, mutants = mutants_of(path, ["-std=c++20", "-DNDEBUG"], first_id=5)
    assert [f"{m.before}  ->  {m.after}" for m in mutants] == CPP_MUTANTS.strip().splitlines()
    assert [m.id for m in mutants] == list(range(5, 5 + len(mutants)))
    path.write_text(changed)
    (tmp_path / "main.cpp").write_text(MAIN)
    program = tmp_path / "program"
    header = ROOT / "tools/mutation/mutated.h"
    command = ["c++", "-std=c++20", "-DNDEBUG", "-include", str(header), str(path)]
    subprocess.run([*command, str(tmp_path / "main.cpp"), "-o", str(program)], check=True)

    def output_of(mutant: int) -> str:
        environment = {**os.environ, "MUTANT": str(mutant)}
        return subprocess.run(
            [program], env=environment, capture_output=True, text=True, check=False
        ).stdout

    assert output_of(0) == "4 2 8"
    found = {m.before: output_of(m.id) for m in mutants}
    assert found["is_first"] == "4 4 4"
    assert found["part / 2"] == "4 8 8"
    assert found["2"] == "4 1 8"


def test_the_table_names_modules_and_tests() -> None:
    for module in modules():
        assert (ROOT / module.path).exists()
        for test in () if module.is_cpp else module.tests:
            assert (ROOT / test).exists()
