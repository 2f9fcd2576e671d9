"""Which measured tables and figures are older than the code they measure: `cargo xtask figures`.

`bench/made.json` says of each document by which command it is made, which folders and files it measures, and what was in these when it was made
(a digest of their contents, without the unit tests of Rust, which change no number). Where the contents have changed since, the numbers may have changed
too; whether they have, only the command can tell. After running it, `cargo xtask figures --made FILE...` notes the present contents.
"""

from __future__ import annotations

import functools
import hashlib
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "bench" / "made.json"


def git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True).stdout.strip()


def is_unit_test(file: str) -> bool:
    return file.endswith("tests.rs")


def without_tests(source: str) -> str:
    """Rust's source without the module of tests at its end."""
    return source.partition("\n#[cfg(test)]\nmod tests {")[0]


@functools.cache
def contents(path: str, at: str = "HEAD") -> str:
    """A digest of what is in a file or folder; it changes with any byte outside unit tests, and only then."""
    digest = hashlib.sha256()
    for file in git("ls-tree", "-r", "--name-only", "--full-tree", at, path).splitlines():
        if not is_unit_test(file):
            id = git("rev-parse", f"{at}:{file}")
            bytes = without_tests(git("cat-file", "blob", id)).encode() if file.endswith(".rs") else id.encode()
            digest.update(file.encode() + b"\0" + hashlib.sha256(bytes).digest())
    return digest.hexdigest()


def entries() -> dict[str, dict]:
    return json.loads(LIST.read_text(encoding="utf-8"))


def changed(entry: dict) -> list[str]:
    """What has changed since a document was made."""
    return [path for path, known in entry["measures"].items() if known != contents(path)]


def note(names: list[str]) -> None:
    """Notes that documents were made just now."""
    known = entries()
    for name in names:
        if name not in known:
            sys.exit(f"{name} is not in {LIST.relative_to(ROOT)}; it has {', '.join(known)}")
        paths = list(known[name]["measures"])
        if git("status", "--porcelain", "--", *paths):
            sys.exit(f"{name} measures {', '.join(paths)}, which has changes that are not committed: commit them first")
        known[name]["measures"] = {path: contents(path) for path in paths}
    LIST.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    if sys.argv[1:2] == ["--made"]:
        note(sys.argv[2:])
        return
    old = {name: paths for name, entry in entries().items() if (paths := changed(entry))}
    for name, paths in old.items():
        print(f"{name}: older than {', '.join(paths)}; made by `{entries()[name]['command']}`")
    print(f"{len(old)} of {len(entries())} are older than the code they measure" if old else "all are of today's code")


if __name__ == "__main__":
    main()
