"""The site (docs/): every code block runs, ten common tasks are done by the commands of one page each, links lead somewhere, words are spelled.

`cargo xtask docs` builds it, of what the blocks printed here.
"""

import importlib.util
import json
import re
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "docs" / "tools"))
import blocks  # noqa: E402
import examples  # noqa: E402
import figures  # noqa: E402
import links  # noqa: E402
import reference  # noqa: E402
import style  # noqa: E402
import terminal  # noqa: E402

PAGES = {page.stem: page for page in blocks.pages()}
GUIDE = re.findall(r"^([\w-]+)$", PAGES["guide"].read_text().split(":hidden:")[1], re.M)


class Ran:
    """A page whose blocks were run: the folder that they ran in, and what they printed."""

    def __init__(self, name, program, folder):
        self.folder, self.text = folder, PAGES[name].read_text()
        self.blocks = blocks.blocks_of(self.text)
        self.outputs = blocks.run_and_keep(PAGES[name], program, folder)

    def printed(self, part):
        """What the one block printed that has this part of a command."""
        (output,) = [output for block, output in zip(self.blocks, self.outputs) if part in block.code]
        return " ".join(output.split())

    def rows(self, file):
        return (self.folder / file).read_text().splitlines()


@pytest.fixture(scope="session")
def site(binary, tmp_path_factory):
    """Runs the blocks of a page, once."""
    ran = {}

    def run(name):
        if name not in ran:
            ran[name] = Ran(name, binary, tmp_path_factory.mktemp(name))
        return ran[name]

    return run


# --- Code blocks.


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PAGES)
def test_every_block_runs(name, site):
    assert blocks.problems_of(PAGES[name].read_text()) == []
    ran = site(name)
    for block, output in zip(ran.blocks, ran.outputs):
        assert output.strip() or not block.shown, f"line {block.line}: nothing is printed that could be shown"


def test_blocks_that_nobody_runs_are_noticed():
    for text, problem in [
        ("```sh\nls\n```\n", "the language is 'sh'"),
        ("```bash often\nls\n```\n", "nobody knows what 'often' means"),
        ("```bash tested-by=no/such/file\nls\n```\n", "there is no no/such/file"),
        ("```rust\nfn main() {}\n```\n", "the text of an example"),
        ("```rust same-as=crates/ewca/examples/fit.rs\nfn main() { wrong }\n```\n", "not the text of"),
        ("```text\newca fit data.csv\n```\n", "commands are no text"),
        ("Try\n\n    ewca fit data.csv\n", "only indented"),
    ]:
        found = blocks.problems_of(text)
        assert len(found) == 1 and problem in found[0], (text, found)
    assert blocks.problems_of("```text\n1 2 3\n```\n\n    F(U) = min\n\n```{toctree}\nstart\n```\n\nWords\n\n```{toctree}\nend\n```\n") == []


def test_blocks_that_fail_are_noticed(binary, tmp_path):
    for number, (code, problem) in enumerate(
        [("```bash\nfalse\ntrue\n```\n", "exit code 1"), ("```bash exit=3\nexit 4\n```\n", "exit code 4, not 3"), ("```python\n1 / 0\n```\n", "division")]
    ):
        page = tmp_path / f"page{number}.md"
        page.write_text(code)
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises((AssertionError, ZeroDivisionError), match=problem):
            blocks.run(page, binary, folder)


@pytest.mark.filterwarnings("ignore")
def test_the_readme_is_one_screen_and_runs(blobs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 100
    assert "    cargo run --release -- demo " in text and "    cargo xtask test " in text
    code = text.split("Python (`pip install .`):\n")[1].split("\n\n")[0]
    X, y = blobs
    exec("\n".join(line.strip() for line in code.splitlines()), {"X": X, "obs": {"class": y.astype(str)}})  # noqa: S102  (our own text)
    assert (tmp_path / "report.html").exists()


# --- Ten common tasks: each is done by the commands of one page, and this is how a reader would know.


def test_task_install(site):
    assert re.match(r"ewca \d+\.\d+\.\d+ ewca \d+\.\d+\.\d+$", site("install").printed("ewca --version"))


def test_task_a_csv_with_missing_cells(site):
    page = site("preprocessing")
    assert "missing" in page.printed("missing.csv --id sample --label class -o refused")
    empty = sum(line.split(",").count("") for line in page.rows("missing.csv"))
    assert empty > 50 and str(empty) in page.printed("--missing mean -o filled")
    assert len(page.rows("filled/scores.csv")) == 1 + 63
    assert len(page.rows("fewer/loadings.csv")) < len(page.rows("filled/loadings.csv")) == 1 + 200


def test_task_genes_in_rows(site):
    page = site("bulk-genes")
    assert "--transpose" in page.printed("inspect genes-in-rows.tsv")
    header, *samples = page.rows("genes/scores.csv")
    assert len(samples) == 63 and samples[0].startswith("train_01,")
    assert header.startswith("id,label,batch,") and ",EWS," in samples[0]
    assert len(page.rows("genes/loadings.csv")) == 1 + 2308


def test_task_choose_k(site):
    page = site("choose")
    components = sum(name.startswith("ewca") for name in page.rows("auto/scores.csv")[0].split(","))
    assert 2 <= components < 62 and f"{components} components" in page.printed("-k auto -o auto")
    # The command that is suggested can be run as it is.
    assert re.search(r"ewca fit tumours.csv .*-k 5 --epsilon [\d.]+", page.printed("ewca select"))


def test_task_choose_perplexity(site):
    page = site("choose")
    table = [line.split(",") for line in page.rows("path.csv")]
    assert "perplexity" in table[0] and len(table) > 10
    assert "*" in page.printed("ewca path")
    chosen = json.loads((page.folder / "chosen" / "summary.json").read_text())
    assert chosen["perplexity"]["overall"] == pytest.approx(3, rel=0.01)


def test_task_read_a_collapsed_warning(site):
    page = site("troubleshooting")
    warning = page.printed("--perplexity 50")
    assert "collapsed" in warning.lower() and "smaller --perplexity" in warning
    # The advice helps.
    assert json.loads((page.folder / "good" / "summary.json").read_text())["certificate"]["collapsed"] is False
    assert json.loads((page.folder / "wide" / "summary.json").read_text())["certificate"]["collapsed"] is True


def test_task_colour_by_batch(site):
    page = site("bulk-genes")
    printed = page.printed("--report batches.html")
    assert re.search(r"ewca1 [\w ]*batch", printed), printed
    (effect,) = [row.split(",")[4] for row in page.rows("batches/covariates.csv") if row.startswith("ewca1,batch,")]
    assert float(effect) > 0.9
    assert "batch" in (page.folder / "batches.html").read_text()


def test_task_project_new_samples(site):
    page = site("bulk-genes")
    header, *rows = page.rows("new-scores.csv")
    assert len(rows) == 20 and rows[0].startswith("test_") and header.split(",")[-1] == "ewca5"


def test_task_a_scikit_learn_pipeline(site):
    page = site("coming-from")
    names = {}
    (code,) = [block.code for block in page.blocks if "make_pipeline" in block.code]
    exec(code, names)  # noqa: S102  (our own text)
    assert names["pipeline"].transform(names["X"]).shape == (150, 2)
    assert "notebooks/pipeline.ipynb" in page.text


def test_task_20000_cells(site):
    page = site("single-cells")
    assert re.search(r"20000 \w+ x 200 \w+, sparse", page.printed("-k 4 -o cells"))
    assert len(page.rows("cells/scores.csv")) == 1 + 20_000
    import anndata

    assert anndata.read_h5ad(page.folder / "cells-ewca.h5ad").obsm["X_ewca"].shape == (20_000, 4)


# --- Words, links and figures.

PROSE = [*PAGES.values(), ROOT / "README.md", ROOT / "python" / "README.md", *sorted((ROOT / "crates").glob("*/README.md"))]
DOCUMENTS = [*PROSE, *(ROOT / name for name in ("EXPERIMENTS.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md", "SECURITY.md")), *sorted((ROOT / "bench").glob("*.md"))]


def test_spelling():
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", "--config", str(ROOT / "docs" / "tools" / "codespell.cfg"), *map(str, DOCUMENTS)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_style(tmp_path):
    assert style.problems_of(PROSE) == []
    poor = tmp_path / "poor.md"
    poor.write_text("It is more perfect than that, at the end of the day.\n\n```text\nmore perfect\n```\n")
    assert style.problems_of([poor])


def test_words_that_nobody_should_have_to_decode():
    # The list that the program's messages are held to.
    clumsy = re.findall(r'^    \("([^"]+)", "[^"]+"\),$', (ROOT / "xtask" / "src" / "words.rs").read_text(), re.M)
    assert len(clumsy) > 30
    for page in PROSE:
        text = " ".join(page.read_text().lower().split())
        assert [words for words in clumsy if words in text] == [], page.name


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    # These are made when the site is built.
    made = ("command-line.md", "examples/")
    text = re.sub(r"`[^`\n]*`", "", blocks.FENCE.sub("", page.read_text()))
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)", text):
        if not re.match(r"[a-z]+:", target) and not target.startswith(made):
            assert (page.parent / target).exists(), target


def test_every_example_that_is_linked_is_made():
    for page in PAGES.values():
        assert set(re.findall(r"\(examples/([^)]+)\)", page.read_text())) <= set(examples.FILES), page.name
    assert {name for page in PAGES.values() for name in examples.named_in(page.read_text())} == set(examples.FILES)


@pytest.mark.parametrize("name", [name for name in GUIDE if name != "faq"])
def test_every_page_of_the_guide_has_a_figure_with_its_command(name):
    text = PAGES[name].read_text()
    assert re.findall(r"!\[[^\]]+\]\(((?:figures|gallery)/[\w-]+\.png|report\.png)\)", text)
    assert re.search(r"\*[^*]*`(?:ewca|python) [^`]+`", text), "the caption names the command"


def test_figures_are_made_by_their_script(tmp_path, monkeypatch):
    import matplotlib.pyplot as plt

    monkeypatch.setenv("EWCA_FIGURES", str(tmp_path))
    script = importlib.util.spec_from_file_location("make", ROOT / "docs" / "figures" / "make.py")
    make = importlib.util.module_from_spec(script)
    script.loader.exec_module(make)
    for name, draw in make.FIGURES.items():
        figure = draw()
        figure.savefig(tmp_path / f"{name}.png", dpi=100, facecolor="white")
        plt.close(figure)
        made, kept = plt.imread(tmp_path / f"{name}.png"), plt.imread(ROOT / "docs" / "figures" / f"{name}.png")
        assert made.shape == kept.shape and made.std() > 0.01, name


def test_measured_documents_say_what_they_measure():
    known = figures.entries()
    for file in (ROOT / "bench").glob("*.md"):
        assert f"bench/{file.name}" in known, file.name
    for name, entry in known.items():
        assert (ROOT / name).exists() and entry["command"] and entry["measures"], name
        assert all((ROOT / path).exists() for path in entry["measures"]), name


def test_a_document_is_old_when_what_it_measures_has_changed():
    now = {"crates/ewca/src": figures.contents("crates/ewca/src")}
    assert figures.changed({"measures": now}) == []
    assert figures.changed({"measures": {"crates/ewca/src": "0" * 40}}) == ["crates/ewca/src"]


def test_a_document_stays_new_when_only_unit_tests_change(tmp_path, monkeypatch):
    def contents(**files):
        for name, text in files.items():
            (tmp_path / "src" / f"{name}.rs").write_text(text)
        figures.git("add", "-A")
        figures.contents.cache_clear()
        return figures.contents("src", figures.git("write-tree"))

    (tmp_path / "src").mkdir()
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    figures.git("init", "--quiet")
    code, tests = "pub fn f() {}\n", "\n#[cfg(test)]\nmod tests {\n    // some\n}\n"
    before = contents(a=code + tests, b=code)
    assert contents(a=code + tests.replace("some", "more"), tests="fn g() {}") == before
    assert contents(a=code.replace("f", "g") + tests) != before
    assert contents(a=code + tests) == before
    assert contents(c=code) != before


# --- The tools of the site.


def test_links_of_the_built_site_are_checked(tmp_path):
    (tmp_path / "a.html").write_text('<h1 id="top"></h1><a href="b.html#here">x</a><a href="https://example.org">y</a><img src="c.png">')
    (tmp_path / "b.html").write_text('<h1 id="here"></h1><a href="a.html#top">x</a>')
    (tmp_path / "c.png").write_text("")
    assert links.problems_of(tmp_path) == []
    (tmp_path / "b.html").write_text('<a href="gone.html">x</a><script src="https://example.org/x.js"></script><a href="../../etc">z</a>')
    problems = links.problems_of(tmp_path)
    assert [problem.split(": ")[-1] for problem in problems] == ["has no such place", "leads out of the site", "is not there", "is loaded from elsewhere"]


def test_the_recording_has_every_line():
    text = "first <line>\nsecond & last\n" + "\n".join(f"row {i}" for i in range(60))
    drawn = terminal.svg("ewca demo", text)
    import xml.etree.ElementTree as ElementTree

    lines = ["".join(line.itertext()) for line in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert lines == ["$ ewca demo", *text.splitlines()]


def test_the_reference_has_every_command_and_option(binary):
    page = reference.page(binary)
    overview = subprocess.run([binary, "--help"], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^  (\w+)  ", overview, re.M)
    assert len(commands) > 10
    for command in commands:
        if command == "help":
            continue
        section = page.split(f"## ewca {command}\n")[1].split("\n## ")[0]
        text = subprocess.run([binary, command, "--help"], capture_output=True, text=True, check=True).stdout
        for option in re.findall(r"^ +(?:-\w, )?(--[\w-]+)", text, re.M):
            if option not in ("--help", "--verbose", "--quiet", "--json", "--raw-text", "--overwrite"):
                assert f"{option}`" in section or f"{option} <" in section, (command, option)
    for option in ("--verbose", "--quiet", "--json", "--raw-text", "--overwrite"):
        assert option in page.split("## ewca ")[0]
