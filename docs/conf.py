"""The site, as Sphinx builds it from what `docs/tools/build.py` puts together."""

import importlib.metadata
import re

project = "ewca"
author = "The ewca developers"
copyright = "the ewca developers; MIT or Apache-2.0"
version = release = importlib.metadata.version("ewca")
language = "en_GB"

extensions = ["myst_nb", "sphinx.ext.autodoc", "numpydoc", "sphinx_design", "sphinx_copybutton"]
exclude_patterns = ["files/**", "examples/**", "_live/**"]
highlight_language = "none"

# Pages.
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3
# Notebooks come with their outputs: docs/tools/build.py has run them.
nb_execution_mode = "off"
nb_merge_streams = True
suppress_warnings = ["mystnb.unknown_mime_type"]

# Python.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
nitpicky = True
# Types of other packages, and words in docstrings that look like types: the addresses of their documentation would need the network.
nitpick_ignore_regex = [("py:.*", r".*")]

# Looks. Everything is served from the site itself.
html_theme = "pydata_sphinx_theme"
html_title = "ewca"
html_static_path = ["static"]
html_css_files = ["ewca.css"]
html_extra_path = ["_live"]
html_copy_source = False
html_show_sourcelink = False
# Pages without pages below them have nothing to show there.
html_sidebars = {name: [] for name in ("index", "install", "start")}
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copybutton_exclude = ".linenos, .gp, .go"
# What a program printed is there to be read, not to be pasted.
copybutton_selector = "div:not(.printed) > div.highlight > pre"


def _keep_underscores(app, what, name, thing, options, lines):
    """Names of attributes end with an underscore, which is a link in reStructuredText: here it is not."""
    for number, line in enumerate(lines):
        # Not in code, and not in what numpydoc has made bold.
        parts = re.split(r"(``.*?``|`.*?`|\*\*.*?\*\*)", line)
        lines[number] = "".join(part if at % 2 else re.sub(r"(?<=\w)_(?![\w`])", r"\\_", part) for at, part in enumerate(parts))


def setup(app):
    # After numpydoc.
    app.connect("autodoc-process-docstring", _keep_underscores, priority=900)
