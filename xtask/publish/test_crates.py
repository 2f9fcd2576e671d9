"""The packages that a registry would get: their metadata and their files."""

import pathlib
import re

import pytest
from conftest import ROOT, cargo, compiled_from

# Each after those that it depends on.
PUBLISHED = ["ewca", "ewca-eval", "ewca-io", "ewca-paper", "ewca-report", "ewca-cli"]
# Those of the registry that fit; it ignores what it does not know.
CATEGORIES = {"algorithms", "command-line-utilities", "mathematics", "parser-implementations", "science", "visualization"}
MOST_BYTES = 2 << 20


def packed(name: str) -> "list[str]":
    listed = cargo("package", "--list", "--allow-dirty", "--offline", "-p", name).splitlines()
    made = {".cargo_vcs_info.json", "Cargo.lock", "Cargo.toml.orig"}
    return [file for file in listed if file not in made]


@pytest.fixture(scope="module")
def ours(packages: "list[dict]") -> "dict[str, dict]":
    return {package["name"]: package for package in packages if package["source"] is None and package["publish"] != []}


def test_these_crates_are_published_in_this_order(ours: "dict[str, dict]") -> None:
    assert set(ours) == set(PUBLISHED)
    for at, name in enumerate(PUBLISHED):
        needed = [needs for needs in ours[name]["dependencies"] if needs.get("path") and needs["kind"] != "dev"]
        for needs in needed:
            assert needs["name"] in PUBLISHED[:at], f"{name} needs {needs['name']} first"
            assert needs["req"] == f"^{ours[needs['name']]['version']}", f"{name} needs {needs['name']} {needs['req']}"


@pytest.mark.parametrize("name", PUBLISHED)
def test_metadata(name: str, ours: "dict[str, dict]", version: str) -> None:
    crate = ours[name]
    assert (crate["version"], crate["license"]) == (version, "MIT OR Apache-2.0")
    assert crate["rust_version"] and crate["authors"]
    assert 20 < len(crate["description"]) < 200
    assert 1 <= len(crate["keywords"]) <= 5
    for keyword in crate["keywords"]:
        assert re.fullmatch(r"[a-z0-9][a-z0-9_+-]{0,19}", keyword), keyword
    assert crate["categories"] and set(crate["categories"]) <= CATEGORIES
    assert crate["readme"] == "README.md"


@pytest.mark.parametrize("name", PUBLISHED)
def test_packages_have_their_licences_and_no_test_files(name: str) -> None:
    folder, files = ROOT / "crates" / name, packed(name)
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"]:
        assert licence in files and (folder / licence).read_bytes() == (ROOT / licence).read_bytes()
    assert "README.md" in files and any(file.startswith("src/") for file in files)
    for file in files:
        kept = pathlib.PurePosixPath(file).parts
        assert not {"tests", "fixtures", "fuzz", "golden", "node_modules", "target"} & set(kept[:-1]), file
    assert sum((folder / file).stat().st_size for file in files) < MOST_BYTES


def test_packed_files_are_all_that_the_program_is_compiled_from(built: pathlib.Path) -> None:
    """A package cannot reach outside of its folder, and what is compiled but not packed is missing for everyone else."""
    files = compiled_from(built / "ewca.d")
    assert pathlib.Path("crates/ewca-cli/data/khan2001.csv.gz") in files
    assert pathlib.Path("crates/ewca-report/page/dist/page.js") in files
    lists = {name: set(packed(name)) for name in PUBLISHED}
    for file in files:
        assert file.parts[0] == "crates", f"{file} is in no package"
        inside = pathlib.PurePosixPath(*file.parts[2:])
        assert str(inside) in lists[file.parts[1]], f"{file} is not packed"


@pytest.mark.parametrize("name", PUBLISHED)
def test_all_modules_are_packed(name: str) -> None:
    """Also those of features that the program was not built with."""
    folder = ROOT / "crates" / name
    modules = {path.relative_to(folder).as_posix() for path in (folder / "src").rglob("*.rs")}
    assert modules and modules <= set(packed(name))


@pytest.mark.parametrize("name", PUBLISHED)
def test_examples_of_readmes_are_those_of_the_documentation(name: str) -> None:
    """So that they are compiled and run."""
    readme = (ROOT / "crates" / name / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```rust\n(.*?)```", readme, re.DOTALL)
    assert len(blocks) == (1 if name in ("ewca", "ewca-io") else 0)
    if blocks:
        page = (ROOT / "crates" / name / "src/lib.rs").read_text(encoding="utf-8")
        documented = "\n".join(line[3:].removeprefix(" ") for line in page.splitlines() if line.startswith("//!"))
        assert all(block in documented for block in blocks)


def test_no_dependency_needs_a_newer_rust_than_is_promised(packages: "list[dict]", ours: "dict[str, dict]") -> None:
    def parts(text: str) -> "tuple[int, ...]":
        numbers = [int(number) for number in text.split(".")]
        return tuple(numbers + [0] * (3 - len(numbers)))

    promised = parts(ours["ewca-cli"]["rust_version"])
    told = {f"{p['name']} {p['version']}": parts(p["rust_version"]) for p in packages if p["source"] and p["rust_version"]}
    assert len(told) > 100
    assert {name: oldest for name, oldest in told.items() if oldest > promised} == {}
