"""Runs tests with a mutant instead of a module, in a forked process: libraries are imported once.

Each entry of a module's `tests` is a stage; a mutant that survives one goes on to the next. The
tests that found most mutants run first.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.abc
import importlib.util
import os
import resource
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
_LIBRARIES = ("numpy", "yaml", "jinja2", "hypothesis", "onnx", "flatbuffers")
_OWN = ("spec_model", "spirloom")
_MEMORY = 8 << 30  # bytes; a mutant may fill it
_TIMES, _LEAST = 3, 10  # a mutant may take so many times the module's own CPU time, and seconds


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, module: str, source: Path) -> None:
        self._module, self._source = module, source

    def install(self) -> None:
        sys.meta_path.insert(0, self)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self._module:
            return None
        return importlib.util.spec_from_file_location(name, self._source)


class _FirstFailure:
    """A plugin of pytest: runs some tests first, and writes the name of one that fails."""

    def __init__(self, first: Counter[str], found: int) -> None:
        self._first, self._found = first, found

    @pytest.hookimpl(trylast=True)  # type: ignore[misc]  # older pytest has no types of it
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: -self._first[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os.write(self._found, report.nodeid.encode() + b"\n")


class Trials:
    """The CPU times of the stages without a mutant, and the tests that found mutants."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._finders: Counter[str] = Counter()

    def finder(self, module: str, source: str, stages: Sequence[str]) -> str | None:
        """The test that fails with another source of a module, or how tests ended; None if all
        pass. Raises RuntimeError if tests of a stage fail without it."""
        for stage in stages:
            if stage not in self._seconds:
                start = _children_seconds()
                found = self._run(stage, lambda: None, limit=3600)
                if found is not None:
                    raise RuntimeError(f"{stage} fails without a mutant: {found}.")
                self._seconds[stage] = _children_seconds() - start
            with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
                file.write(source)
                file.flush()
                finder = _Finder(module, Path(file.name))
                limit = _LEAST + _TIMES * self._seconds[stage]
                found = self._run(stage, finder.install, limit)
            if found is not None:
                self._finders[found] += 1
                return found
        return None

    def _run(self, stage: str, prepare: Callable[[], object], limit: float) -> str | None:
        for name in _LIBRARIES:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        assert not any(name in sys.modules for name in _OWN)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            code = 1
            with contextlib.suppress(BaseException):
                prepare()
                code = _tests(stage, _FirstFailure(self._finders, write), limit)
            os._exit(code)
        os.close(write)
        with os.fdopen(read) as lines:
            failed = lines.readline().strip()
        _, status = os.waitpid(child, 0)
        if status == 0:
            return None
        return failed or f"{stage} ended with status {status}"


@functools.cache
def _of_this_process() -> Trials:
    return Trials()


def survives(module: str, stages: Sequence[str], source: str) -> bool:
    """Whether all tests pass with another source of a module. For a process that starts none of
    its own and has threads of none: it forks."""
    return _of_this_process().finder(module, source, stages) is None


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _tests(stage: str, plugin: _FirstFailure, limit: float) -> int:
    """Runs the tests of a stage in this process, and returns pytest's exit code."""
    signal.setitimer(signal.ITIMER_PROF, limit)  # CPU time: the machine may be busy
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    os.chdir(ROOT)
    return int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", stage], plugins=[plugin]))


@contextmanager
def own_caches() -> Iterator[None]:
    """Within it, programs have an empty cache directory: mutants must not write into the user's."""
    with tempfile.TemporaryDirectory() as directory:
        os.environ["XDG_CACHE_HOME"] = directory
        yield
