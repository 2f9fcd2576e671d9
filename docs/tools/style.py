"""What proselint says of the prose of documents: without code, tables, links and formulas, which it does not know.

Of its checks these are left out: typography (plain quotes and dots are used on purpose), `very`, which it wants replaced by a swear word, and phrases that are repeated across a
heading.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

LEFT_OUT = ("typography", "weasel_words.very", "lexical_illusions")


def prose_of(text: str) -> str:
    """The prose of a page, line by line where it was."""
    text = re.sub(r"^(```|:::+).*?^\1[ ]*$", lambda match: "\n" * match[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return "\n".join("" if line.startswith(("    ", "|", "#", "<")) else line for line in text.splitlines())


def problems_of(pages: list[Path]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for number, page in enumerate(pages):
            file = Path(folder).resolve() / f"{number}.md"
            file.write_text(prose_of(page.read_text(encoding="utf-8")), encoding="utf-8")
            files[str(file)] = page
        done = subprocess.run([sys.executable, "-m", "proselint", "check", "-o", "json", *files], capture_output=True, text=True)
        told = json.loads(done.stdout)["result"]
    problems = []
    for file, page in files.items():
        found = told.get(f"file://{file}") or told[file]
        if "error" in found:
            raise RuntimeError(f"{page}: {found['error']}")
        for entry in found["diagnostics"]:
            if not entry["check_path"].startswith(LEFT_OUT):
                problems.append(f"{page.name}, line {entry['pos'][0]}: {entry['check_path']}: {entry['message']}")
    return problems


if __name__ == "__main__":
    print("\n".join(problems_of([Path(name) for name in sys.argv[1:]])))
