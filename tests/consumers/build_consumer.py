"""Builds consumer.cpp outside the tree against an installed or fetched tilewright, and runs it.

build_consumer.py install_static | find_package | pkg_config | fetch_content  --source .. --build .. [--static]

The folder <build>/consumers holds prefix_shared and prefix_static, the installed trees.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONSUMER = HERE / "consumer.cpp"


def run(*command: str | Path, env: dict[str, str] | None = None) -> None:
    words = [str(word) for word in command]
    print("+", shlex.join(words), flush=True)
    subprocess.run(words, check=True, env={**os.environ, **(env or {})})


def install_shared(options: argparse.Namespace) -> None:
    run("cmake", "--install", options.build, "--prefix", options.prefix)


def install_static(options: argparse.Namespace) -> None:
    build = beside(options, "static")
    run("cmake", "-S", options.source, "-B", build, *same_flags(options), "-DTILEWRIGHT_BUILD_TOOLS=OFF",
        "-DTILEWRIGHT_BUILD_TESTS=OFF", "-DTILEWRIGHT_BUILD_BENCH=OFF", "-DBUILD_SHARED_LIBS=OFF")
    run("cmake", "--build", build)
    run("cmake", "--install", build, "--prefix", options.prefix)


def same_flags(options: argparse.Namespace) -> list[str]:
    """Ninja and the cache variables of the main build that its object files depend on."""
    names = ("CMAKE_BUILD_TYPE", "CMAKE_CXX_COMPILER", "TILEWRIGHT_CHECKS", "TILEWRIGHT_WERROR",
             "TILEWRIGHT_WITH_LLVM", "TILEWRIGHT_SANITIZE", "TILEWRIGHT_CCACHE")
    flags = ["-GNinja"]
    for line in (options.build / "CMakeCache.txt").read_text().splitlines():
        name, _, value = line.partition("=")
        if name.partition(":")[0] in names:
            flags.append(f"-D{name}={value}")
    return flags


def beside(options: argparse.Namespace, name: str) -> Path:
    """A build folder as deep as the main one: ccache, which sees relative paths, then has every object already."""
    return options.build.with_name(f"{options.build.name}-{name}")


def find_package(options: argparse.Namespace) -> None:
    build = options.work / f"find_package_{options.kind}"
    run("cmake", "-S", HERE / "find_package", "-B", build, "-GNinja",
        f"-DCMAKE_PREFIX_PATH={options.prefix}", f"-DCONSUMER_SOURCE={CONSUMER}")
    run("cmake", "--build", build)
    run(build / "consumer")


def fetch_content(options: argparse.Namespace) -> None:
    build = beside(options, "fetched")
    run("cmake", "-S", HERE / "fetch_content", "-B", build, *same_flags(options),
        f"-DTILEWRIGHT_DIR={options.source}", f"-DCONSUMER_SOURCE={CONSUMER}")
    run("cmake", "--build", build)
    run(build / "consumer")


def pkg_config(options: argparse.Namespace) -> None:
    folders = ":".join(str(path.parent) for path in options.prefix.rglob("tilewright.pc"))
    query = ["pkg-config", "--cflags", "--libs", *(["--static"] if options.static else []), "tilewright"]
    flags = subprocess.run(query, check=True, capture_output=True, text=True,
                           env={**os.environ, "PKG_CONFIG_PATH": folders}).stdout.split()
    program = options.work / f"pkg_config_{options.kind}"
    run("c++", "-std=c++20", CONSUMER, "-o", program, *flags)
    libraries = ":".join(str(path.parent) for path in options.prefix.rglob("libtilewright.so"))
    run(program, env={"LD_LIBRARY_PATH": libraries})


STEPS = {step.__name__: step for step in (install_shared, install_static, find_package, fetch_content, pkg_config)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--static", action="store_true")
    options = parser.parse_args()

    options.kind = "static" if options.static or options.step == "install_static" else "shared"
    options.work = options.build / "consumers"
    options.prefix = options.work / f"prefix_{options.kind}"
    if options.step.startswith("install"):
        shutil.rmtree(options.prefix, ignore_errors=True)
    options.work.mkdir(exist_ok=True)
    try:
        STEPS[options.step](options)
    except subprocess.CalledProcessError as failure:
        print(failure, failure.stderr or "", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
