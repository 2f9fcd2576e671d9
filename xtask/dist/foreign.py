"""Debian's Python and NumPy for another kind of processor, and a wheel for it, unpacked beside each other.

    foreign.py FOLDER ARCHITECTURE WHEEL

leaves Python in FOLDER/root and the wheel's package in FOLDER/package. apt keeps its lists and packages in FOLDER, too: nothing is installed, and
the machine's own packages are not touched.
"""

import pathlib
import shutil
import subprocess
import sys
import zipfile

PACKAGES = ["python3-minimal", "python3-numpy"]


def unpack_python(folder: pathlib.Path, architecture: str) -> None:
    done = folder / "unpacked"
    if done.exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("state/lists/partial", "cache/archives/partial", "root"):
        (folder / name).mkdir(parents=True)
    # No package is installed, as far as apt knows: all that these two need is fetched.
    (folder / "status").touch()
    settings = {
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "APT::Sandbox::User": "root",
        "Dir::State": folder / "state",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache",
    }
    apt = ["apt-get", "-qq", *(word for name, value in settings.items() for word in ("-o", f"{name}={value}"))]
    subprocess.run([*apt, "update"], check=True)
    subprocess.run([*apt, "install", "--yes", "--no-install-recommends", "--download-only", *PACKAGES], check=True)
    for package in sorted((folder / "cache/archives").glob("*.deb")):
        subprocess.run(["dpkg", "-x", package, folder / "root"], check=True)
    done.touch()


def main() -> None:
    folder, architecture, wheel = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3]
    unpack_python(folder, architecture)
    shutil.rmtree(folder / "package", ignore_errors=True)
    with zipfile.ZipFile(wheel) as files:
        files.extractall(folder / "package")


if __name__ == "__main__":
    main()
