"""The recipe for conda-forge says what the Python package says of itself."""

import pathlib
import re
from email.message import Message

import pytest
from conftest import ROOT, toml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from rattler_build import Stage0Recipe, VariantConfig

RECIPE = ROOT / "recipe/recipe.yaml"
# What conda-forge's own settings hold.
VARIANTS = {"c_compiler": ["gcc"], "c_stdlib": ["sysroot"], "rust_compiler": ["rust"], "python": ["3.12"]}


@pytest.fixture(scope="module")
def recipe() -> dict:
    (variant,) = Stage0Recipe.from_file(RECIPE).render(VariantConfig(VARIANTS))
    return variant.recipe.to_dict()


def required(recipe: dict, part: str) -> "dict[str, SpecifierSet]":
    """Conda separates a name from its versions by a space."""
    found = {}
    for line in recipe["requirements"][part]:
        name, _, versions = str(line).partition(" ")
        found[name] = SpecifierSet(versions)
    return found


def test_it_is_the_same_package(recipe: dict, python_metadata: Message, version: str) -> None:
    assert recipe["package"]["name"] == python_metadata["Name"] == "ewca"
    assert recipe["package"]["version"] == python_metadata["Version"] == version
    about = recipe["about"]
    assert about["license"] == python_metadata["License-Expression"]
    assert about["summary"] == python_metadata["Summary"]
    assert set(python_metadata.get_all("License-File")) < set(about["license_file"])


def test_it_is_built_from_the_source_distribution(recipe: dict, version: str) -> None:
    (source,) = recipe["source"]
    assert pathlib.PurePosixPath(source["path"]).name == f"ewca-{version}.tar.gz"
    assert re.fullmatch("[0-9a-f]{64}", source["sha256"])


def test_it_needs_what_the_package_needs(recipe: dict, python_metadata: Message) -> None:
    needs = [Requirement(line) for line in python_metadata.get_all("Requires-Dist")]
    run = {need.name: need.specifier for need in needs if need.marker is None}
    assert required(recipe, "run") == {"python": SpecifierSet(), **run}
    builds = [Requirement(line) for line in toml(ROOT / "pyproject.toml")["build-system"]["requires"]]
    host = {need.name: need.specifier for need in builds}
    assert required(recipe, "host") == {"python": SpecifierSet(), "pip": SpecifierSet(), **host}


def test_it_has_the_commands_of_the_package(recipe: dict) -> None:
    commands = toml(ROOT / "pyproject.toml")["project"].get("scripts", {})
    told = recipe["build"].get("python", {}).get("entry_points", [])
    assert sorted(str(line).replace(" ", "") for line in told) == sorted(f"{name}={at}" for name, at in commands.items())
