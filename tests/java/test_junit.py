"""Runs the JUnit tests in a virtual machine that checks the use of JNI."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.java.models import write_models

# What -Xcheck:jni prints. Silence of the checks is part of the test.
JNI_CHECK = re.compile(r"^(WARNING|FATAL ERROR) in native method.*|^WARNING: JNI .*", re.MULTILINE)


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def junit(
    request: pytest.FixtureRequest, jni: Path, tmp_path_factory: pytest.TempPathFactory
) -> Run:
    """Runs tests in a virtual machine with more options."""
    option = request.config.getoption
    models = tmp_path_factory.mktemp("models")
    write_models(models, option("--llm"))

    def run(selection: str, *options: str) -> subprocess.CompletedProcess[str]:
        command = [
            option("--java"),
            "-Xmx128m",
            "-XX:+AlwaysPreTouch",  # the heap does not grow: a test measures resident memory
            "-ea",
            f"-Dorg.spirloom.library={jni}",
            f"-Dmodels={models}",
            "-Dfile.encoding=UTF-8",
            *options,
            "-cp",
            option("--class-path"),
            "org.junit.platform.console.ConsoleLauncher",
            selection,
            "--fail-if-no-tests",
            "--disable-banner",
            "--disable-ansi-colors",
            "--details=tree",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
        print(done.stdout[-20_000:], done.stderr[-5_000:])
        assert done.returncode == 0
        return done

    return run


def test_junit(request: pytest.FixtureRequest, junit: Run) -> None:
    jar = request.config.getoption("--tests")
    done = junit(f"--scan-classpath={jar}", "-Xcheck:jni")
    passed = re.search(r"(\d+) tests successful", done.stdout)
    assert passed is not None and int(passed[1]) >= 30
    assert not JNI_CHECK.findall(done.stdout + done.stderr)


def test_loading_repeatedly_does_not_leak(request: pytest.FixtureRequest, junit: Run) -> None:
    """Without the checks of JNI, which take memory themselves."""
    loads = request.config.getoption("--loads")
    method = "org.spirloom.ThreadsTest#loadingRepeatedlyDoesNotGrow"
    junit(f"--select-method={method}", f"-Dloads={loads}")


def test_only_jni_on_load_is_exported(request: pytest.FixtureRequest, jni: Path) -> None:
    command = [request.config.getoption("--nm"), "--dynamic", "--defined-only", str(jni)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.split()[-1] for line in lines if " T " in line] == ["JNI_OnLoad"]
    assert not [line for line in lines if " T " not in line and " A " not in line]
