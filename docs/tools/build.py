"""Builds the site: `cargo xtask docs`, or `python docs/tools/build.py` where EWCA_BINARY names the program and the package is installed.

What the program and the package say is never copied by hand: code blocks are run (`blocks.py`), notebooks too, the reference of commands is made from
`--help`, the terminal and the report of the front page are those of `ewca demo`. Then the pages are put together in target/docs/source, with
links to files of the repository turned into links to where the site has them, Sphinx makes target/docs/html of them, and every link in that is checked.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib

sys.path.insert(0, str(Path(__file__).parent))
import blocks  # noqa: E402
import examples  # noqa: E402
import links  # noqa: E402
import reference  # noqa: E402
import terminal  # noqa: E402

ROOT, DOCS, MADE = blocks.ROOT, blocks.DOCS, blocks.MADE
SOURCE, HTML, NOTEBOOKS = MADE / "source", MADE / "html", MADE / "notebooks"

#: Columns from which on a line of output is a message, and not of a table.
WIDE = 100
#: Documents that live elsewhere in the repository, and where the site has them.
ELSEWHERE = {
    "EXPERIMENTS.md": "experiments.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "ARCHITECTURE.md": "architecture.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "data/khan2001.md": "khan2001.md",
    **{f"bench/{file.name}": f"bench/{file.stem.lower()}.md" for file in sorted((ROOT / "bench").glob("*.md"))},
    **{f"python/notebooks/{file.name}": f"notebooks/{file.name}" for file in sorted((ROOT / "python" / "notebooks").glob("*.ipynb"))},
}
#: Files that are named by other documents and have a place of another form on the site.
INSTEAD = {"README.md": "index.md", "python/README.md": "python.md", "crates/ewca-cli/data/khan2001.md": "khan2001.md"}


def main() -> None:
    program = os.environ.get("EWCA_BINARY")
    if not program:
        sys.exit("set EWCA_BINARY to the ewca program, or run `cargo xtask docs`")
    clock = time.monotonic()
    # Pages draw, but there is no screen. (Notebooks have a way of their own, so this is no setting of the environment.)
    matplotlib.use("Agg")
    os.environ.pop("MPLBACKEND", None)
    shutil.rmtree(SOURCE, ignore_errors=True)
    SOURCE.mkdir(parents=True)
    outputs = {page.name: blocks.outputs_of(page, program) for page in blocks.pages()}
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda file: executed(file, program), sorted((ROOT / "python" / "notebooks").glob("*.ipynb"))))
    examples_for_download()
    demo(program)
    (SOURCE / "command-line.md").write_text(reference.page(program), encoding="utf-8")
    assemble(outputs)
    # It shows a table, which may have been made anew since the figure was committed.
    draw = [sys.executable, str(DOCS / "figures" / "make.py"), "price"]
    subprocess.run(draw, check=True, env={**os.environ, "EWCA_FIGURES": str(SOURCE / "figures")})
    say(f"pages are ready after {time.monotonic() - clock:.0f} s")
    sphinx()
    problems = links.problems_of(HTML)
    if problems:
        sys.exit("links that lead nowhere:\n  " + "\n  ".join(problems))
    say(f"the site is in {HTML / 'index.html'}, after {time.monotonic() - clock:.0f} s")


def say(text: str) -> None:
    print(f"== {text}", file=sys.stderr)


# --- Notebooks: those that the tests of the Python package have run are taken.


def executed(file: Path, program: str) -> Path:
    """The notebook with its outputs."""
    made = NOTEBOOKS / file.name
    key = blocks.key_of(file, program)
    if made.exists() and json.loads(made.read_text())["metadata"].get("ewca_key") == key:
        return made
    import nbformat
    from nbclient import NotebookClient

    say(f"running {file.name}")
    notebook = nbformat.read(file, as_version=4)
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(file.parent)}}).execute()
    keep(notebook, file, program)
    return made


def keep(notebook, file: Path, program: str) -> None:
    """Keeps a notebook that was run, for the site."""
    import nbformat

    notebook.metadata["ewca_key"] = blocks.key_of(file, program)
    NOTEBOOKS.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, NOTEBOOKS / file.name)


# --- What the front page shows.


def demo(program: str) -> None:
    """The terminal and the report of `ewca demo`, as they are today."""
    folder = MADE / "demo"
    shutil.rmtree(folder, ignore_errors=True)
    done = subprocess.run([program, "demo", "-o", str(folder)], capture_output=True, text=True, check=True, env={**os.environ, "NO_COLOR": "1"})
    live = SOURCE / "_live"
    live.mkdir()
    shutil.copy(folder / "report.html", live / "khan2001-report.html")
    text = done.stdout.replace(str(folder), "ewca-out/demo")
    (live / "demo.svg").write_text(terminal.svg("ewca demo", text), encoding="utf-8")


def examples_for_download() -> None:
    """The example files, to be downloaded."""
    folder = SOURCE / "examples"
    folder.mkdir()
    wanted = {name for page in blocks.pages() for name in examples.named_in(page.read_text(encoding="utf-8"))}
    for name in wanted:
        examples.FILES[name](folder / name)


# --- The pages, put together.


def assemble(outputs: dict[str, list[str]]) -> None:
    for folder in ("figures", "gallery", "static"):
        shutil.copytree(DOCS / folder, SOURCE / folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for file in [*DOCS.glob("*.png"), DOCS / "conf.py"]:
        shutil.copy(file, SOURCE / file.name)
    for page in blocks.pages():
        text = with_outputs(page.read_text(encoding="utf-8"), outputs[page.name])
        (SOURCE / page.name).write_text(relinked(text, page, page.name), encoding="utf-8")
    for name, place in ELSEWHERE.items():
        target = SOURCE / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".ipynb"):
            shutil.copy(NOTEBOOKS / Path(name).name, target)
        else:
            # Diagrams stay text: drawing them would need the network.
            text = (ROOT / name).read_text(encoding="utf-8").replace("```mermaid\n", "```text\n")
            target.write_text(relinked(in_one_hierarchy(text), ROOT / name, place), encoding="utf-8")


def with_outputs(text: str, outputs: list[str]) -> str:
    """A page with what its blocks print below them, and fences as Sphinx knows them."""
    left = iter(outputs)

    def fence(match: re.Match[str]) -> str:
        if match["info"].startswith("{"):
            return match[0]
        (block,), printed = blocks.blocks_of(match[0]), next(left)
        shown = f"```{block.language}\n{block.code}```\n"
        if block.shown:
            # Tables keep their lines; messages, which are longer than a terminal is wide, are wrapped.
            kind = "printed message" if any(len(line) > WIDE for line in printed.splitlines()) else "printed"
            shown += f"\n```{{code-block}} none\n:class: {kind}\n\n{printed.rstrip()}\n```\n"
        return shown.rstrip("\n")

    return blocks.FENCE.sub(fence, text)


def in_one_hierarchy(text: str) -> str:
    """Headings without a gap: some documents go from # to ####, since they are made of parts."""
    levels = sorted({len(level) for level in re.findall(r"^(#+) ", blocks.FENCE.sub("", text), re.MULTILINE)})
    # A level of its own only where its parent is there: #### below ## becomes ###.
    order = {level: rank for rank, level in enumerate(levels, 1)}
    return re.sub(r"^(#+) ", lambda match: "#" * order.get(len(match[1]), len(match[1])) + " ", text, flags=re.MULTILINE)


LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")


def relinked(text: str, file: Path, place: str) -> str:
    """Links to files of the repository become links to where the site has them, or to a copy of the file."""

    def link(match: re.Match[str]) -> str:
        target, anchor = match[2], match[3] or ""
        if re.match(r"[a-z]+:", target) or target.startswith("examples/") or target.startswith("_live/"):
            return match[0]
        path = Path(os.path.normpath(file.parent / target))
        name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
        if name.startswith("docs/"):
            new = name.removeprefix("docs/")
        elif name in ELSEWHERE or name in INSTEAD:
            new = ELSEWHERE.get(name) or INSTEAD[name]
        elif path.is_file():
            # A copy, which the site offers as it is.
            copy = SOURCE / "files" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
            new = f"files/{name}"
        else:
            # A page that is made by this program, such as command-line.md; Sphinx says if there is none.
            new = target
        return f"{match[1]}{os.path.relpath(SOURCE / new, (SOURCE / place).parent)}{anchor}{match[4]}"

    return LINK.sub(link, text)


def sphinx() -> None:
    shutil.rmtree(HTML, ignore_errors=True)
    words = ["-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-j", "2", "-b", "html", "-d", str(MADE / "doctrees"), str(SOURCE), str(HTML)]
    done = subprocess.run([sys.executable, *words])
    if done.returncode:
        sys.exit("the site has warnings, which are errors here")


if __name__ == "__main__":
    main()
