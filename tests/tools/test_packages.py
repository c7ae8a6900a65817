"""cmake/packages.csv, and how ./dev finds and installs the packages of a system.

A copy of ./dev runs with a system of its own: /etc/os-release, and programs that come before those
of the machine and record their calls.
"""

from __future__ import annotations

import csv
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEV = (ROOT / "dev").read_text(encoding="utf-8")
TABLE = ROOT / "cmake/packages.csv"
ROWS = list(csv.DictReader(TABLE.open(encoding="utf-8")))
SYSTEMS = ("debian", "ubuntu", "fedora", "arch", "opensuse")
UNTESTED = SYSTEMS[1:]
INSTALL = {
    "debian": "apt-get install --no-install-recommends",
    "ubuntu": "apt-get install --no-install-recommends",
    "fedora": "dnf install",
    "arch": "pacman -S --needed",
    "opensuse": "zypper install",
}
RELEASE = {
    "debian": 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID="12"\nID=debian\n',
    "ubuntu": 'NAME="Ubuntu"\nVERSION_ID="24.04"\nID=ubuntu\nID_LIKE=debian\n',
    "fedora": 'NAME="Fedora Linux"\nID=fedora\nVERSION_ID=42\n',
    "arch": 'NAME="Arch Linux"\nID=arch\nBUILD_ID=rolling\n',
    "opensuse": 'ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"\nVERSION_ID="20250911"\n',
}

# The programs: $installed and $available are files with a name of a package on each line, $failing
# is a directory with a file for each command of apt-get that fails.
PROGRAMS = {
    "dpkg-query": 'for name in "$@"; do\n'
    '  grep -qx -- "$name" "$installed" && echo "installed $name"\n'
    "done\nexit 1",
    "apt-cache": 'grep -qx -- "$2" "$available"',
    "apt-get": 'for word in "$@"; do [ ! -e "$failing/$word" ] || exit 1; done',
    "rpm": 'grep -qx -- "$3" "$installed"',
    "pacman": "shift\nstatus=0\n"
    'for name in "$@"; do\n'
    '  grep -qx -- "$name" "$installed" || { echo "$name"; status=127; }\n'
    "done\nexit $status",
    "dnf": "exit 1",
    "zypper": "exit 1",
    "sudo": 'exec "$@"',
    "cmake": "exit 0",
    "id": 'cat "$user"',
}


def names(system: str, *groups: str) -> list[str]:
    """The names of a system for the packages of the groups, in the order of the table."""
    rows = [row for row in ROWS if set(groups) & set(row["groups"].split())]
    found = [name for row in rows for name in row[system].split() if name != "-"]
    return list(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class System:
    """A machine in `root`: a repository with a copy of ./dev, programs and os-release."""

    root: Path

    def install(self, *packages: str) -> None:
        (self.root / "installed").write_text("".join(f"{name}\n" for name in packages))

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"SPIRLOOM_SKIP_PACKAGES": ""} | variables
        return subprocess.run(
            [self.root / "dev", *arguments], env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def calls(self, *programs: str) -> list[str]:
        """The calls of these programs, in order."""
        log = self.root / "calls"
        lines = log.read_text().splitlines() if log.exists() else []
        return [line for line in lines if line.split()[0] in programs]


def make_system(root: Path, release: str | None, user: int = 0) -> System:
    programs = root / "bin"
    programs.mkdir()
    (root / "cmake").mkdir()
    (root / "failing").mkdir()
    for name, text in PROGRAMS.items():
        path = programs / name
        path.write_text(
            f'#!/bin/bash\necho "{name} $*" >>"{root}/calls"\ninstalled="{root}/installed" '
            f'available="{root}/available" failing="{root}/failing" user="{root}/user"\n{text}\n'
        )
        path.chmod(0o755)
    for name in ("installed", "available"):
        (root / name).touch()
    (root / "user").write_text(f"{user}\n")
    if release is not None:
        (root / "os-release").write_text(release)
    dev = DEV
    for old, new in (
        ('PATH="/usr/bin:', f'PATH="{programs}:/usr/bin:'),
        ("[ -r /etc/os-release ]", f'[ -r "{root}/os-release" ]'),
        (". /etc/os-release", f'. "{root}/os-release"'),
    ):
        assert dev.count(old) == 1
        dev = dev.replace(old, new)
    (root / "dev").write_text(dev, encoding="utf-8")
    (root / "dev").chmod(0o755)
    (root / "cmake/packages.csv").write_bytes(TABLE.read_bytes())
    (root / "CMakePresets.json").write_text("{}\n")
    return System(root)


def test_each_package_has_one_row_with_groups_and_a_name_for_each_system() -> None:
    header = ["debian", "groups", "optional", "ubuntu", "fedora", "arch", "opensuse", "lost"]
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    assert lines[0].split(",") == header
    # Bash divides a line at each comma.
    assert {line.count(",") for line in lines} == {len(header) - 1} and '"' not in "".join(lines)
    packages = [row["debian"] for row in ROWS]
    assert len(packages) == len(set(packages))
    for row in ROWS:
        assert row["groups"] and row["optional"] in {"", "yes"}
        for system in SYSTEMS:
            for name in row[system].split(" "):
                assert name == "-" or re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9+._-]*", name), row
        assert row["debian"] != "-"


def test_what_is_lost_is_stated_exactly_where_a_package_may_be_missing() -> None:
    for row in ROWS:
        may_be_missing = row["optional"] == "yes" or "-" in [row[system] for system in SYSTEMS]
        assert bool(row["lost"]) == may_be_missing, row


def test_packages_of_the_build_exist_everywhere() -> None:
    assert all(row[system] != "-" for row in ROWS if "build" in row["groups"] for system in SYSTEMS)


def test_the_packages_of_dependencies_are_in_the_table() -> None:
    with (ROOT / "cmake/dependencies.csv").open(encoding="utf-8") as stream:
        named = {name for row in csv.DictReader(stream) for name in row["Debian package"].split()}
    assert named and named <= {row["debian"] for row in ROWS}


def test_dev_names_every_group_and_no_others() -> None:
    asked = re.findall(r"ensure_packages ((?:[a-z-]+ ?)+)", DEV)
    groups = {group for line in asked for group in line.split()}
    assert groups == {group for row in ROWS for group in row["groups"].split()}


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("user", [0, 1000])
def test_the_command_for_a_system_is_printed_on_any_other(
    system: str, user: int, tmp_path: Path
) -> None:
    machine = make_system(tmp_path, release=None, user=user)
    done = machine.run("packages", "build", "--for", system)
    sudo = "sudo " if user else ""
    assert done.returncode == 0
    assert done.stdout == f"{sudo}{INSTALL[system]} {' '.join(names(system, 'build'))}\n"
    assert ("nobody has tested them" in done.stderr) == (system != "debian")
    assert machine.calls(*PROGRAMS.keys() - {"id"}) == []
    assert machine.run("packages", "--for", system).stdout == done.stdout


def test_the_tests_have_the_groups_build_docs_and_test(tmp_path: Path) -> None:
    done = make_system(tmp_path, release=None).run("packages", "test", "--for", "opensuse")
    assert done.stdout.split()[2:] == names("opensuse", "build", "docs", "test")
    assert (
        "No package of openSUSE Tumbleweed is known for ONNX's backend suite (Debian's package "
        "libonnx-testdata).\n" in done.stderr
    )


def test_a_system_without_a_package_of_a_group_has_no_command(tmp_path: Path) -> None:
    system = make_system(tmp_path, release=None)
    table = system.root / "cmake/packages.csv"
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith("libstb-dev,")]  # which Arch has
    table.write_text("".join(kept), encoding="utf-8")
    done = system.run("packages", "torch", "--for", "arch")
    assert (done.returncode, done.stdout) == (0, "")
    assert "is known for ONNX's backend suite" in done.stderr


@pytest.mark.parametrize("system", ["debian", "ubuntu"])
def test_commands_for_other_machines_lack_optional_packages(system: str, tmp_path: Path) -> None:
    done = make_system(tmp_path, release=None).run("packages", "test", "--for", system)
    assert "renderdoccmd" in names(system, "test")
    assert "python3-pytest" in done.stdout and "renderdoccmd" not in done.stdout


def test_unknown_groups_and_systems_are_errors(tmp_path: Path) -> None:
    machine = make_system(tmp_path, RELEASE["debian"])
    done = machine.run("packages", "build", "bild")
    assert done.returncode == 1
    assert done.stderr == (
        "dev: unknown group of packages 'bild'; expected one of: "
        + " ".join(sorted({group for row in ROWS for group in row["groups"].split()}))
        + "\n"
    )
    for arguments in (["--for", "mint"], ["--for"]):
        done = machine.run("packages", *arguments)
        assert done.returncode == 1
        found = arguments[1] if len(arguments) > 1 else ""
        assert done.stderr == (
            f"dev: unknown system '{found}'; expected debian, ubuntu, fedora, arch or opensuse\n"
        )
    assert machine.calls("apt-get") == []


@pytest.mark.parametrize("system", UNTESTED)
def test_missing_packages_of_untested_systems_stop_with_the_command(
    system: str, tmp_path: Path
) -> None:
    machine = make_system(tmp_path, RELEASE[system], user=1000)
    needed = names(system, "build")
    machine.install(*needed[2:])
    done = machine.run("build")
    assert done.returncode == 1
    assert f"\n    sudo {INSTALL[system]} {needed[0]} {needed[1]}\n\n" in done.stderr
    assert "nobody has tested them" in done.stderr
    assert "\nSPIRLOOM_SKIP_PACKAGES=1 goes on without them; CMake then names " in done.stderr
    assert machine.calls("cmake", "apt-get", "dnf", "zypper", "sudo") == []
    assert all(call.startswith("pacman -T ") for call in machine.calls("pacman"))


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_system_with_all_packages_builds(system: str, tmp_path: Path) -> None:
    machine = make_system(tmp_path, RELEASE[system])
    machine.install(*names(system, "build"))
    assert machine.run("build").returncode == 0
    assert machine.calls("cmake")[-1] == "cmake --build --preset release"
    assert machine.calls("apt-get", "sudo") == []


@pytest.mark.parametrize("system", SYSTEMS)
def test_packages_can_be_skipped(system: str, tmp_path: Path) -> None:
    machine = make_system(tmp_path, RELEASE[system])
    assert machine.run("build", SPIRLOOM_SKIP_PACKAGES="1").returncode == 0
    assert machine.calls("dpkg-query", "rpm", "pacman", "apt-get") == []
    assert machine.calls("cmake")[-1] == "cmake --build --preset release"


@pytest.mark.parametrize(
    "release",
    [None, "ID=alpine\nVERSION_ID=3.20\n", 'ID="almalinux"\nID_LIKE="rhel centos fedora"\n'],
)
def test_unknown_systems_leave_missing_libraries_to_cmake(
    release: str | None, tmp_path: Path
) -> None:
    machine = make_system(tmp_path, release)
    assert machine.run("build").returncode == 0
    assert machine.calls("dpkg-query", "rpm", "pacman", "apt-get") == []
    assert machine.calls("cmake")[-1] == "cmake --build --preset release"


@pytest.mark.parametrize(
    ("release", "command"),
    [
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\n', INSTALL["ubuntu"]),
        ('ID="manjaro"\nID_LIKE=arch\n', INSTALL["arch"]),
        ('ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', INSTALL["opensuse"]),
    ],
)
def test_derived_systems_have_the_names_of_what_they_derive_from(
    release: str, command: str, tmp_path: Path
) -> None:
    done = make_system(tmp_path, release).run("packages")
    assert done.returncode == 1
    assert f"    {command} " in done.stderr


def test_debian_installs_what_is_missing_and_configures_again(tmp_path: Path) -> None:
    machine = make_system(tmp_path, RELEASE["debian"])
    needed = names("debian", "build")
    machine.install(*needed[2:])
    configured = tmp_path / "build/release/build.ninja"
    configured.parent.mkdir(parents=True)
    configured.touch()
    done = machine.run("build")
    assert done.returncode == 0
    assert f"== Installing 2 packages: {needed[0]} {needed[1]}\n" in done.stdout
    apt = "apt-get -o Dpkg::Use-Pty=0 -q"
    assert machine.calls("apt-get", "sudo", "cmake") == [
        f"apt-get install --simulate {needed[0]} {needed[1]}",
        f"{apt} install -y --no-install-recommends {needed[0]} {needed[1]}",
        "cmake --preset release --log-level=NOTICE",
        "cmake --build --preset release",
    ]


def test_debian_installs_as_root_with_sudo(tmp_path: Path) -> None:
    machine = make_system(tmp_path, RELEASE["debian"], user=1000)
    machine.install(*names("debian", "build")[1:])
    assert machine.run("packages", "build").returncode == 0
    assert machine.calls("sudo") == [
        "sudo env DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0 -q install -y "
        "--no-install-recommends g++"
    ]


def test_debian_updates_its_lists_if_they_lack_a_package(tmp_path: Path) -> None:
    machine = make_system(tmp_path, RELEASE["debian"])
    machine.install(*names("debian", "build")[1:])
    (tmp_path / "failing/install").touch()
    done = machine.run("packages", "build")
    assert done.returncode == 1
    assert done.stderr == "dev: installing packages failed; needed are: g++\n"
    update = "apt-get -o Dpkg::Use-Pty=0 -q update"
    install = "apt-get -o Dpkg::Use-Pty=0 -q install -y --no-install-recommends g++"
    simulate = "apt-get install --simulate g++"
    assert machine.calls("apt-get") == [simulate, update, install, update, install]


@pytest.mark.parametrize("system", ["debian", "ubuntu"])
@pytest.mark.parametrize("available", [False, True])
def test_optional_packages_are_needed_if_the_release_has_them(
    system: str, available: bool, tmp_path: Path
) -> None:
    machine = make_system(tmp_path, RELEASE[system])
    needed = names(system, "build", "docs", "test")
    machine.install(*(name for name in needed if name != "renderdoccmd"))
    if available:
        (tmp_path / "available").write_text("renderdoccmd\n")
    done = machine.run("packages", "test")
    assert machine.calls("apt-cache") == ["apt-cache show renderdoccmd"]
    assert ("renderdoccmd" in done.stdout + done.stderr) == available
    assert done.returncode == int(available and system == "ubuntu")
    assert bool(machine.calls("apt-get")) == (available and system == "debian")
