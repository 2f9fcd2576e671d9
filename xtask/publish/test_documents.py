"""Documents that others rely on: the changelog's form, the citation, the templates, and that versions agree."""

import re
from datetime import date

import pytest
import yaml
from conftest import ROOT, toml

KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def releases() -> "list[tuple[str, str]]":
    """Versions and their dates, as the changelog has them, newest first."""
    heads = re.findall(r"^## (.*)$", read("CHANGELOG.md"), re.MULTILINE)
    assert heads[0] == "[Unreleased]"
    found = [re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)", head) for head in heads[1:]]
    assert all(found), heads
    return [(match[1], match[2]) for match in found]


def test_the_changelog_has_the_usual_form(version: str) -> None:
    found = releases()
    numbers = [tuple(map(int, number.split("."))) for number, _ in found]
    dates = [date.fromisoformat(day) for _, day in found]
    assert numbers == sorted(set(numbers), reverse=True) and dates == sorted(dates, reverse=True)
    assert found[0][0] == version
    for section in re.split(r"^## ", read("CHANGELOG.md"), flags=re.MULTILINE)[1:]:
        kinds = re.findall(r"^### (.*)$", section, re.MULTILINE)
        assert len(set(kinds)) == len(kinds) and set(kinds) <= set(KINDS), kinds
        # Every line belongs to a kind.
        assert "\n- " not in section.split("\n### ")[0]


def test_the_citation_is_of_the_newest_release() -> None:
    citation = yaml.safe_load(read("CITATION.cff"))
    number, day = releases()[0]
    assert (citation["version"], str(citation["date-released"])) == (number, day)
    assert " OR ".join(citation["license"]) == toml(ROOT / "Cargo.toml")["workspace"]["package"]["license"]
    (paper,) = citation["references"]
    authors = ", ".join(author["family-names"] for author in paper["authors"])
    assert f'{authors}, "{paper["title"]}" ({paper["year"]})' in read("README.md")


def test_workflows_use_the_rust_that_is_promised() -> None:
    ci, release = yaml.safe_load(read(".github/workflows/ci.yml")), yaml.safe_load(read(".github/workflows/release.yml"))
    oldest = toml(ROOT / "Cargo.toml")["workspace"]["package"]["rust-version"]
    assert ci["env"]["OLDEST_RUST"] == f"{oldest}.0"
    assert ci["env"]["RUST"] == release["env"]["RUST"]
    assert f"Rust {oldest}" in read("CONTRIBUTING.md")


def test_actions_are_pinned_alike_everywhere() -> None:
    uses = [use for path in (ROOT / ".github/workflows").iterdir() for use in re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))]
    assert len(uses) > 10
    pins = {}
    for use in uses:
        name, commit, tag = re.fullmatch(r"([\w./-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)", use).groups()
        assert pins.setdefault(name, (commit, tag)) == (commit, tag), name


@pytest.mark.parametrize("name", ["bug.yml", "idea.yml"])
def test_issue_forms_are_forms(name: str) -> None:
    form = yaml.safe_load(read(f".github/ISSUE_TEMPLATE/{name}"))
    assert form["name"] and form["description"] and set(form) <= {"name", "description", "title", "labels", "body"}
    questions = [part for part in form["body"] if part["type"] != "markdown"]
    names = [part["id"] for part in questions]
    assert len(set(names)) == len(names) >= 3 and any(part.get("validations", {}).get("required") for part in questions)
    for part in form["body"]:
        assert part["type"] in {"markdown", "textarea", "input"}
        assert part["attributes"]["value" if part["type"] == "markdown" else "label"]


@pytest.mark.parametrize("name", ["SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "README.md"])
def test_links_lead_somewhere(name: str) -> None:
    for link in re.findall(r"\]\(([^)#\s]+)", read(name)):
        assert (ROOT / link).exists(), link
    for place in re.findall(r"`((?:crates|xtask|python|\.github|docs|bench|recipe)/[\w./-]+)`", read(name)):
        assert (ROOT / place).exists(), place

