"""Files are replaced atomically, through links, and only if they are regular."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from spec_model.files import open_regular, replaced, replaced_together

ROOT = Path(__file__).resolve().parent.parent.parent


def write(path: Path, text: bytes = b"new") -> None:
    with replaced(path) as stream:
        stream.write(text)


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_the_file_appears_when_complete(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    with replaced(path) as stream:
        stream.write(b"new")
        stream.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new" and names(tmp_path) == ["f"]


def test_a_failure_keeps_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    paths = [tmp_path / "a", tmp_path / "b"]
    with pytest.raises(KeyboardInterrupt), replaced_together(paths) as streams:
        streams[0].write(b"new")
        raise KeyboardInterrupt
    assert names(tmp_path) == ["a"] and (tmp_path / "a").read_bytes() == b"old"


def test_several_files_are_renamed_after_all_are_written(tmp_path: Path) -> None:
    """A full disk is detected when the stream is flushed."""
    program = (
        "import resource, sys; from pathlib import Path\n"
        "from spec_model.files import replaced_together\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "with replaced_together([Path('a'), Path('b')]) as (a, b):\n"
        "    a.write(b'new')\n"
        "    b.write(bytes(5000))\n"
    )
    (tmp_path / "a").write_bytes(b"old")
    done = in_process(program, tmp_path)
    assert done.returncode == 1 and "File too large" in done.stderr
    assert names(tmp_path) == ["a"] and (tmp_path / "a").read_bytes() == b"old"


def in_process(program: str, directory: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False
    )


def test_files_of_killed_writers_are_removed(tmp_path: Path) -> None:
    killed = (
        "import os, signal; from pathlib import Path\n"
        "from spec_model.files import replaced\n"
        "with replaced(Path('f'), durable=False) as stream:\n"
        "    stream.write(b'half')\n"
        "    stream.flush()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    for _ in range(2):
        assert in_process(killed, tmp_path).returncode == -signal.SIGKILL
    assert len(names(tmp_path)) == 2
    (tmp_path / ".f.mine").touch()
    (tmp_path / ".g.0123abcd.tmp").touch()
    write(tmp_path / "f")
    assert names(tmp_path) == [".f.mine", ".g.0123abcd.tmp", "f"]


def test_writers_of_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with replaced(path) as first:
        first.write(b"first")
        write(path, b"second")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first" and names(tmp_path) == ["f"]


def test_permissions_are_kept(tmp_path: Path) -> None:
    path, other = tmp_path / "f", tmp_path / "g"
    path.touch()
    path.chmod(0o640)
    old = os.umask(0o027)
    try:
        write(path)
        write(other)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert stat.S_IMODE(other.stat().st_mode) == 0o640


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for name in ("old", "none"):
        (tmp_path / name).symlink_to(f"there/{name}")
    (tmp_path / "there/old").write_bytes(b"old")
    for name in ("old", "none"):
        write(tmp_path / name)
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "there" / name).read_bytes() == b"new"
    assert names(tmp_path / "there") == ["none", "old"]
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        write(tmp_path / "loop")


def test_a_name_of_full_length(tmp_path: Path) -> None:
    write(tmp_path / ("é" * 127))
    assert names(tmp_path) == ["é" * 127]


def fifo(path: Path) -> None:
    os.mkfifo(path)


def bound_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def link_to_null(path: Path) -> None:
    path.symlink_to("/dev/null")


@pytest.mark.parametrize("make", [fifo, bound_socket, link_to_null, Path.mkdir])
def test_other_kinds_of_files_are_rejected(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "f")
    before = (tmp_path / "f").lstat()
    with pytest.raises(OSError, match=r"not a regular file|Is a directory"):
        write(tmp_path / "f")
    with pytest.raises(OSError, match=r"not a regular file|Is a directory|No such device"):
        open_regular(tmp_path / "f")
    assert (tmp_path / "f").lstat().st_ino == before.st_ino and names(tmp_path) == ["f"]
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_standard_output_is_rejected(tmp_path: Path) -> None:
    program = (
        "from pathlib import Path; from spec_model.files import replaced\n"
        "with replaced(Path('/dev/stdout')) as stream: stream.write(b'new')\n"
    )
    done = in_process(program, tmp_path)  # a pipe
    assert done.returncode == 1 and "not a regular file" in done.stderr
    with (tmp_path / "out").open("wb") as out:
        command = [sys.executable, "-c", program]
        done = subprocess.run(
            command, cwd=ROOT, stdout=out, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1 and "standard output is redirected" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_read_only_file_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "f").touch(0o444)
    with pytest.raises(PermissionError):
        write(tmp_path / "f")
