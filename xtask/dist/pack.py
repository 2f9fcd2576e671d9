"""Archives and checksums: `pack.py archive FOLDER FORMAT` packs a folder beside itself, `pack.py checksums FOLDER` sums the files in one."""

import hashlib
import pathlib
import shutil
import sys


def archive(folder: pathlib.Path, kind: str) -> None:
    print(shutil.make_archive(str(folder), kind, folder.parent, folder.name))


def checksums(folder: pathlib.Path) -> None:
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(lines))


if __name__ == "__main__":
    what, folder, *more = sys.argv[1:]
    {"archive": archive, "checksums": checksums}[what](pathlib.Path(folder), *more)
