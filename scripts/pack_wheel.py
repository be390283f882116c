"""Makes a wheel of the Python package that a build tree holds: pack_wheel.py BUILD_DIR WHEEL_DIR

For checking wheels without a second compile. Names, version and metadata are those of a real build: the
build backend is asked for them.
"""

import base64
import hashlib
import os
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

from scikit_build_core.build import prepare_metadata_for_build_wheel


def tag_of(extension: Path) -> str:
    """The wheel's tag: what the extension module's own name says."""
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    abi = "abi3" if ".abi3." in extension.name else version
    return f"{version}-{abi}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def package_files(package: Path) -> dict[str, bytes]:
    wanted = [p for p in package.rglob("*") if p.suffix in (".py", ".pyi", ".so") or p.name == "py.typed"]
    return {f"{package.name}/{p.relative_to(package)}": p.read_bytes() for p in sorted(wanted)}


def metadata_files(tag: str) -> tuple[str, dict[str, bytes]]:
    """The .dist-info folder's name and files, its WHEEL saying `tag`."""
    with tempfile.TemporaryDirectory() as folder:
        name = prepare_metadata_for_build_wheel(folder)
        found = {f"{name}/{p.name}": p.read_bytes() for p in sorted(Path(folder, name).iterdir()) if p.is_file()}
    kept = [line for line in found[f"{name}/WHEEL"].decode().splitlines() if line and not line.startswith("Tag:")]
    found[f"{name}/WHEEL"] = "\n".join([*kept, f"Tag: {tag}", ""]).encode()
    return name, found


def record(files: dict[str, bytes], name: str) -> bytes:
    lines = []
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(data)}")
    return "\n".join([*lines, f"{name}/RECORD,,", ""]).encode()


def main() -> None:
    build, target = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    os.chdir(Path(__file__).resolve().parents[1])
    package = build / "python" / "tilewright"
    extension = next(iter(sorted(package.glob("_core*.so"))), None)
    if extension is None:
        sys.exit(f"pack_wheel: {package} has no extension module; build tilewright_python first")
    tag = tag_of(extension)
    name, metadata = metadata_files(tag)
    files = {**package_files(package), **metadata}
    files[f"{name}/RECORD"] = record(files, name)
    target.mkdir(parents=True, exist_ok=True)
    wheel = target / f"{name.removesuffix('.dist-info')}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path, data in files.items():
            info = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))
            info.external_attr = (0o755 if path.endswith(".so") else 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    print(wheel)


if __name__ == "__main__":
    main()
