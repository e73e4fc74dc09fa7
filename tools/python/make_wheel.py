#!/usr/bin/env python3
"""make_wheel.py PROGRAM FOLDER: a wheel of the package that holds the program, checked by installing it.

A wheel is a zip file with a list of its files and their hashes (PEP 427), so that the standard library makes one, without network.
"""
from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
_WRITTEN = (1980, 1, 1, 0, 0, 0)  # the same files make the same bytes


def make_wheel(program: Path, folder: Path) -> Path:
    """Writes the wheel into the folder. Returns its path."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    name, version = project["name"], project["version"]
    tag = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    info = f"{name}-{version}.dist-info"
    metadata = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: {project['description']}\n"
        f"License: {project['license']['text']}\nRequires-Python: {project['requires-python']}\n"
        f"Description-Content-Type: text/markdown\n\n{(HERE / project['readme']).read_text()}"
    )
    sources = sorted(p for p in (HERE / name).iterdir() if p.suffix == ".py" or p.name == "py.typed")
    files = {f"{name}/{p.name}": p.read_bytes() for p in sources}
    files[f"{name}/bin/foreshard"] = _stripped(program)
    files[f"{info}/METADATA"] = metadata.encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: foreshard\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    files[f"{info}/LICENSE"] = (HERE.parents[1] / "LICENSE").read_bytes()
    record = [f"{path},sha256={_hash(data)},{len(data)}" for path, data in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()

    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, _WRITTEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if "/bin/" in path else 0o100644) << 16
            archive.writestr(entry, data)
    return wheel


def check_wheel(wheel: Path) -> str:
    """Installs the wheel into a folder of its own, by pip where there is one, and asks the program in it. Returns how it was installed."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "installed"
        how = _install(wheel, target)
        environment = {k: v for k, v in os.environ.items() if k != "FORESHARD_PROGRAM"}
        environment["PYTHONPATH"] = str(target)
        code = "import foreshard; print(foreshard.find_program()); foreshard.show('cluster', 'summit')"
        command = [sys.executable, "-B", "-c", code]
        asked = subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        if asked != str((target / "foreshard/bin/foreshard").resolve()):
            raise SystemExit(f"the installed package asks {asked}, and not the program that it holds")
        return how


def _install(wheel: Path, target: Path) -> str:
    pip = [sys.executable, "-m", "pip"]
    if subprocess.run([*pip, "--version"], capture_output=True).returncode == 0:
        options = ["--quiet", "--no-index", "--no-deps", "--no-compile", "--root-user-action=ignore", "--target", str(target)]
        subprocess.run([*pip, "install", *options, str(wheel.resolve())], check=True)
        return "pip"
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            Path(archive.extract(entry, target)).chmod(entry.external_attr >> 16 & 0o777)
    return "unpacking, as there is no pip"


def _stripped(program: Path) -> bytes:
    """The program without symbols, where binutils are there to take them out."""
    strip = shutil.which("strip")
    if strip is None:
        return program.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "foreshard"
        subprocess.run([strip, "-o", str(small), str(program)], check=True)
        return small.read_bytes()


def _hash(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def main() -> None:
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    wheel = make_wheel(Path(sys.argv[1]), Path(sys.argv[2]))
    how = check_wheel(wheel)
    print(f"{wheel} ({wheel.stat().st_size / 1e6:.1f} MB), checked by {how}")


if __name__ == "__main__":
    main()
