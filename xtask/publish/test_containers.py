"""Dockerfile and apptainer.def, as far as they go without a daemon: what they copy is enough for cargo, and both build the same."""

import pathlib
import re
import shutil
import subprocess

from conftest import ROOT, cargo


def tracked() -> "list[pathlib.PurePosixPath]":
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [pathlib.PurePosixPath(line) for line in listed.splitlines() if (ROOT / line).exists()]


def copy(files: "list[pathlib.PurePosixPath]", to: pathlib.Path) -> None:
    for file in files:
        (to / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, to / file, follow_symlinks=False)


def ignored(file: pathlib.PurePosixPath, patterns: "list[str]") -> bool:
    def one(pattern: str) -> bool:
        if pattern.startswith("**/"):
            return pattern[3:] in file.parts
        return file == pathlib.PurePosixPath(pattern) or pathlib.PurePosixPath(pattern) in file.parents

    return any(one(pattern) for pattern in patterns)


def check_workspace(folder: pathlib.Path) -> None:
    """Cargo finds all manifests with all their targets, and the lock file holds."""
    cargo("metadata", "--format-version", "1", "--locked", "--offline", "--manifest-path", str(folder / "Cargo.toml"))
    for name in ["crates/ewca-cli/data/khan2001.csv.gz", "crates/ewca-report/page/dist/page.js", "LICENSE-MIT", "LICENSE-APACHE"]:
        assert (folder / name).is_file(), name


def build_commands(text: str) -> "list[str]":
    return re.findall(r"cargo build .*", text)


def test_what_the_dockerfile_copies_is_enough(tmp_path: pathlib.Path) -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"(\*\*/)?[\w./-]+", pattern) for pattern in patterns), "test_containers.py knows only simple patterns"
    files = [file for file in tracked() if not ignored(file, patterns)]
    copy(files, tmp_path)
    check_workspace(tmp_path)
    assert sum((tmp_path / file).lstat().st_size for file in files) < 8 << 20


def test_what_the_apptainer_definition_copies_is_enough(tmp_path: pathlib.Path) -> None:
    text = (ROOT / "apptainer.def").read_text(encoding="utf-8")
    listed = re.search(r"^%files\n(.*?)^%post", text, re.MULTILINE | re.DOTALL)[1]
    pairs = [line.split() for line in listed.splitlines() if line.strip()]
    assert len(pairs) > 5 and all(to == f"/src/{name}" for name, to in pairs)
    wanted = [name for name, _ in pairs]
    copy([file for file in tracked() if file.parts[0] in wanted], tmp_path)
    check_workspace(tmp_path)


def test_both_build_the_same_program_with_the_tested_compiler() -> None:
    docker = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    apptainer = (ROOT / "apptainer.def").read_text(encoding="utf-8")
    (command,) = build_commands(docker)
    assert build_commands(apptainer) == [command]
    assert re.findall(r"^FROM (\S+)", docker, re.MULTILINE) == re.findall(r"^From: (\S+)", apptainer, re.MULTILINE)
    assert command == "cargo build --profile shipped --locked -p ewca-cli"
    tested = re.search(r'RUST: "(\d+\.\d+)\.\d+"', (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))[1]
    assert f"rust:{tested}-slim" in docker


def test_the_container_does_not_run_as_root() -> None:
    (user,) = re.findall(r"^USER (\d+)$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert int(user) >= 1000
