"""What the checks share: where things are, and what cargo and maturin say of them. `cargo xtask publish-check` runs them."""

import email
import json
import os
import pathlib
import subprocess
import tarfile

import pytest

try:
    import tomllib
except ImportError:  # Python before 3.11
    import tomli as tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def cargo(*words: str, folder: pathlib.Path = ROOT) -> str:
    done = subprocess.run(["cargo", *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"cargo {' '.join(words)}: {done.stderr}"
    return done.stdout


def toml(path: pathlib.Path) -> dict:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def compiled_from(dep_info: pathlib.Path) -> "set[pathlib.Path]":
    """The files of ours that went into something that cargo has built, by the note that it leaves beside it."""
    text = dep_info.read_text(encoding="utf-8").split(": ", 1)[1]
    words = text.replace("\\ ", "\0").split()
    files = {pathlib.Path(word.replace("\0", " ")).resolve() for word in words}
    return {path.relative_to(ROOT) for path in files if path.is_file()}


@pytest.fixture(scope="session")
def version() -> str:
    return toml(ROOT / "Cargo.toml")["workspace"]["package"]["version"]


@pytest.fixture(scope="session")
def packages() -> "list[dict]":
    """All packages that are compiled in or tested with, as cargo knows them."""
    words = ["metadata", "--format-version", "1", "--locked", "--offline", "--all-features"]
    return json.loads(cargo(*words))["packages"]


@pytest.fixture(scope="session")
def built() -> pathlib.Path:
    """The folder of the program and of the extension module, as they were last built."""
    return pathlib.Path(os.environ["EWCA_BUILT"])


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The source distribution, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(os.environ["EWCA_SDIST"]) as archive:
        for member in archive.getmembers():
            assert member.isfile() and ".." not in pathlib.PurePosixPath(member.name).parts, member.name
        archive.extractall(folder)
    (inside,) = folder.iterdir()
    return inside


@pytest.fixture(scope="session")
def python_metadata(sdist: pathlib.Path) -> "email.message.Message":
    """What pip would know of the package."""
    return email.message_from_bytes((sdist / "PKG-INFO").read_bytes())
