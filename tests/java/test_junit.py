"""Runs the JUnit tests in a virtual machine that checks the use of JNI."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.java.models import write_models

# What -Xcheck:jni prints. Silence of the checks is part of the test.
JNI_CHECK = re.compile(r"^(WARNING|FATAL ERROR) in native method.*|^WARNING: JNI .*", re.MULTILINE)


def test_junit(request: pytest.FixtureRequest, jni: Path, tmp_path: Path) -> None:
    option = request.config.getoption
    write_models(tmp_path, option("--llm"))
    command = [
        option("--java"),
        "-Xcheck:jni",
        "-Xmx128m",
        "-XX:+AlwaysPreTouch",  # the heap does not grow: the leak test measures resident memory
        "-ea",
        f"-Dorg.spirloom.library={jni}",
        f"-Dmodels={tmp_path}",
        f"-Dloads={option('--loads')}",
        "-Dfile.encoding=UTF-8",
        "-cp",
        option("--class-path"),
        "org.junit.platform.console.ConsoleLauncher",
        f"--scan-classpath={option('--tests')}",
        "--fail-if-no-tests",
        "--disable-banner",
        "--disable-ansi-colors",
        "--details=tree",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    print(done.stdout[-20_000:], done.stderr[-5_000:])
    assert done.returncode == 0
    passed = re.search(r"(\d+) tests successful", done.stdout)
    assert passed is not None and int(passed[1]) >= 30
    found = JNI_CHECK.findall(done.stdout + done.stderr)
    assert not found


def test_only_jni_on_load_is_exported(request: pytest.FixtureRequest, jni: Path) -> None:
    command = [request.config.getoption("--nm"), "--dynamic", "--defined-only", str(jni)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.split()[-1] for line in lines if " T " in line] == ["JNI_OnLoad"]
    assert not [line for line in lines if " T " not in line and " A " not in line]
