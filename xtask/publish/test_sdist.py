"""The source distribution of the Python package: all that it is built from, and nothing that is not needed."""

import json
import pathlib

from conftest import ROOT, cargo, compiled_from, toml


def files_of(folder: pathlib.Path) -> "set[str]":
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_it_has_the_package_and_no_tests(sdist: pathlib.Path) -> None:
    files = files_of(sdist)
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "python/ewca").rglob("*.py*") if path.suffix in (".py", ".pyi")}
    assert len(modules) > 8 and modules <= files
    needed = {"PKG-INFO", "Cargo.toml", "Cargo.lock", "LICENSE-MIT", "LICENSE-APACHE", "pyproject.toml", "python/README.md"}
    assert needed <= files
    for file in files:
        assert not {"tests", "examples", "fixtures", "__pycache__"} & set(file.split("/")[:2]), file
        assert not file.endswith((".so", ".pyd", ".npy", ".h5ad")), file
    # The program is in it, with the data of its demo.
    assert sum((sdist / file).stat().st_size for file in files) < 5 << 20


def test_it_has_all_that_the_extension_module_is_compiled_from(sdist: pathlib.Path, built: pathlib.Path) -> None:
    compiled = compiled_from(built / "lib_ewca.d")
    assert pathlib.Path("python/src/lib.rs") in compiled and pathlib.Path("crates/ewca/src/lib.rs") in compiled
    for file in compiled:
        assert (sdist / file).is_file(), f"{file} is not in the source distribution"
        assert (sdist / file).read_bytes() == (ROOT / file).read_bytes(), file


def test_it_is_built_with_the_versions_of_the_lock_file(sdist: pathlib.Path) -> None:
    """Its workspace is a part of ours: cargo drops from the lock file what is not needed there, and must add nothing."""
    locked = {(package["name"], package["version"]) for package in toml(ROOT / "Cargo.lock")["package"]}
    words = ["metadata", "--format-version", "1", "--offline", "--manifest-path", str(sdist / "python/Cargo.toml")]
    resolved = {(package["name"], package["version"]) for package in json.loads(cargo(*words, folder=sdist))["packages"]}
    assert ("ewca-python", toml(ROOT / "Cargo.toml")["workspace"]["package"]["version"]) in resolved
    assert len(resolved) > 50 and resolved <= locked


def test_it_compiles_without_a_network(sdist: pathlib.Path, built: pathlib.Path) -> None:
    """From its own files and crates that are downloaded: what is missing there is an error of the compiler."""
    words = ["check", "--offline", "--profile", "quick", "--quiet", "--manifest-path", str(sdist / "python/Cargo.toml")]
    # Where the lints have left what they know of other people's crates.
    cargo(*words, "--target-dir", str(built.parent), folder=sdist)


def test_it_has_the_manual_of_the_program(sdist: pathlib.Path) -> None:
    share = "python/ewca.data/data/share"
    files = {file for file in files_of(sdist) if file.startswith(share)}
    assert files == {path.relative_to(ROOT).as_posix() for path in (ROOT / share).rglob("*") if path.is_file()}
    assert f"{share}/man/man1/ewca.1" in files
