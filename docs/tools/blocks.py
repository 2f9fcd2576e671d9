"""The code blocks of the site's pages: found, run, and kept with what they printed.

A fence says what becomes of its block, after the language:

    ```bash              run by bash, with the program `ewca` on its path
    ```python            run in one namespace per page
    ```bash show         what it prints is shown below it on the site
    ```bash exit=3       it ends with this code (the code of its last command)
    ```bash tested-by=F  not run here: the named file runs it, or tests what it does
    ```rust same-as=F    the text of an example of the library, which the Rust tests compile and run
    ```text              no code

All blocks of a page run in one folder of its own, one after another. `data/khan2001.csv.gz` is there, and the files of `examples.py` that the page
links to.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MADE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "docs"

sys.path.insert(0, str(Path(__file__).parent))
import examples  # noqa: E402

LANGUAGES = {"bash", "python", "rust", "text"}
#: Words that begin a command: a block of them that is not run would be a promise that nobody keeps.
COMMANDS = ("ewca", "cargo", "pip", "python", "python3", "mpirun", "srun", "$")


@dataclass
class Block:
    """A fenced block of code."""

    language: str
    code: str
    #: The line of its fence, from 1.
    line: int
    words: list[str] = field(default_factory=list)

    def option(self, name: str) -> str | None:
        return next((word.split("=", 1)[1] for word in self.words if word.startswith(f"{name}=")), None)

    @property
    def shown(self) -> bool:
        return "show" in self.words

    @property
    def is_run(self) -> bool:
        return self.language in ("bash", "python") and self.option("tested-by") is None


FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<code>.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)


def blocks_of(text: str) -> list[Block]:
    """The fenced blocks of a page, without those that are directives of the site (```{name}), which hold no code."""
    found = []
    for match in FENCE.finditer(text):
        if match["info"].startswith("{"):
            continue
        language, *words = match["info"].split() or [""]
        found.append(Block(language, match["code"], text.count("\n", 0, match.start()) + 1, words))
    return found


def problems_of(text: str) -> list[str]:
    """What is wrong with the blocks of a page, before any is run."""
    problems = []
    for block in blocks_of(text):
        where = f"line {block.line}"
        if block.language not in LANGUAGES:
            problems.append(f"{where}: the language is {block.language!r}, not one of {', '.join(sorted(LANGUAGES))}")
        for word in block.words:
            if word != "show" and word.split("=")[0] not in ("exit", "tested-by", "same-as"):
                problems.append(f"{where}: nobody knows what {word!r} means")
        for name in ("tested-by", "same-as"):
            file = block.option(name)
            if file is not None and not (ROOT / file).is_file():
                problems.append(f"{where}: there is no {file}")
        same = block.option("same-as")
        if block.language == "rust" and same is None:
            problems.append(f"{where}: a block of Rust is the text of an example (same-as=FILE)")
        if same is not None and (ROOT / same).is_file() and block.code not in (ROOT / same).read_text():
            problems.append(f"{where}: this is not the text of {same}")
        if block.language == "text" and any(line.split(" ")[0] in COMMANDS for line in block.code.splitlines()):
            problems.append(f"{where}: commands are no text; let them run")
    for number, line in enumerate(FENCE.sub(lambda match: "\n" * match[0].count("\n"), text).splitlines(), 1):
        if line.startswith("    ") and line.split()[0] in COMMANDS:
            problems.append(f"line {number}: a command that is only indented is not run; put a fence around it")
    return problems


def run(page: Path, program: str, folder: Path) -> list[str]:
    """Runs the blocks of a page in an empty folder, and returns what each of them printed."""
    text = page.read_text(encoding="utf-8")
    blocks = blocks_of(text)
    if not any(block.is_run for block in blocks):
        return ["" for _ in blocks]
    (folder / "data").mkdir()
    (folder / "data" / "khan2001.csv.gz").symlink_to(ROOT / "data" / "khan2001.csv.gz")
    examples.make(folder, text)
    before = os.getcwd()
    os.chdir(folder)
    try:
        with _program_on_path(program, folder):
            names: dict[str, object] = {"__name__": "page"}
            return [_run(block, names, page) if block.is_run else "" for block in blocks]
    finally:
        os.chdir(before)


@contextlib.contextmanager
def _program_on_path(program: str, folder: Path):
    tools = folder / ".tools"
    tools.mkdir()
    (tools / "ewca").symlink_to(Path(program).resolve())
    path = os.environ["PATH"]
    # `python` of a block is the Python that has the package.
    os.environ["PATH"] = os.pathsep.join([str(tools), str(Path(sys.executable).parent), path])
    try:
        yield
    finally:
        os.environ["PATH"] = path


def _run(block: Block, names: dict[str, object], page: Path) -> str:
    where = f"{page.name}, line {block.line}"
    if block.language == "python":
        printed = io.StringIO()
        # Lines keep their numbers in tracebacks.
        code = compile("\n" * block.line + block.code, str(page), "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, names)  # noqa: S102  (our own text)
        return printed.getvalue()
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "80"}
    script = f"set -o pipefail\n{block.code}"
    words = ["bash", "-c", script] if block.option("exit") else ["bash", "-e", "-c", script]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, timeout=300)
    wanted = int(block.option("exit") or 0)
    if done.returncode != wanted:
        raise AssertionError(f"{where}: exit code {done.returncode}, not {wanted}:\n{block.code}\n{done.stdout}")
    return done.stdout


# --- What was printed is kept, so that neither the tests nor the site run a page twice.


def key_of(page: Path, program: str) -> str:
    """Changes with the page, with the program and with the Python package."""
    import ewca

    parts = [page, Path(program), Path(__file__), Path(examples.__file__)]
    parts += sorted(path for path in Path(ewca.__file__).parent.iterdir() if path.suffix in (".py", ".so", ".pyd"))
    return hashlib.sha256("".join(_digest(part, part.stat().st_mtime_ns) for part in parts).encode()).hexdigest()


@functools.lru_cache(maxsize=None)
def _digest(file: Path, changed: int) -> str:
    """Of its bytes. The program is large, and asked for with every page."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def run_and_keep(page: Path, program: str, folder: Path) -> list[str]:
    outputs = run(page, program, folder)
    kept = MADE / "outputs" / f"{page.stem}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps({"key": key_of(page, program), "outputs": outputs}))
    return outputs


def outputs_of(page: Path, program: str) -> list[str]:
    """What the blocks of a page print: kept from the last run where nothing has changed since."""
    kept = MADE / "outputs" / f"{page.stem}.json"
    if kept.exists():
        saved = json.loads(kept.read_text())
        if saved["key"] == key_of(page, program):
            return saved["outputs"]
    with tempfile.TemporaryDirectory() as folder:
        return run_and_keep(page, program, Path(folder))


def pages() -> list[Path]:
    """The pages of the site that are written by hand."""
    return sorted(DOCS.glob("*.md"))
