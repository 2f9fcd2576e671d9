"""The page of the program's commands and options, from what `ewca COMMAND --help` says."""

from __future__ import annotations

import re
import subprocess

INTRODUCTION = """\
# Commands of the program

Made from `ewca help COMMAND` when this site was built. `ewca man` shows the same as manual pages, and `ewca completions` makes your shell
complete commands and options.

"""


def page(program: str) -> str:
    """The page, as Markdown."""
    overview = _help(program)
    commands = re.findall(r"^  (\w+)  ", overview.split("Commands:")[1].split("\n\n")[0], re.MULTILINE)
    parts = [INTRODUCTION, _options_of_all(overview)]
    parts += [_command(name, _help(program, name)) for name in commands if name != "help"]
    return "\n".join(parts)


def _help(program: str, *command: str) -> str:
    return subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=True).stdout


def _options_of_all(overview: str) -> str:
    """The options that every command has, from the sections of the program's own help."""
    lines = ["## Options of all commands", ""]
    for title, body in _sections(overview):
        if title in ("Messages", "Files"):
            lines += [f"**{title}**", ""]
            for option, text in re.findall(r"^ +((?:-\w, )?--[\w-]+) {2,}(.*(?:\n {10,}.*)*)", body, re.MULTILINE):
                lines += _definition(option, " ".join(text.split()).splitlines())
    return "\n".join(lines)


def _command(name: str, text: str) -> str:
    about, rest = text.split("\nUsage: ", 1)
    usage, rest = rest.split("\n", 1)
    lines = [f"(command-{name})=", f"## ewca {name}", "", _escaped(about.strip()), "", "```text", usage, "```", ""]
    for title, body in _sections(rest):
        if re.search(r"^ {2,6}(?:-|<|\[)", body, re.MULTILINE):
            entries = [entry for entry in _entries(body) if not entry[0].startswith("-h,")]
            if entries and title not in ("Messages", "Files"):
                lines += [f"**{_escaped(title)}**", ""]
                for option, words in entries:
                    lines += _definition(option, words)
        else:
            lines += [f"**{_escaped(title)}**", "", "```text", *body.rstrip().splitlines(), "```", ""]
    return "\n".join(lines)


def _sections(text: str) -> list[tuple[str, str]]:
    """Titles at the margin, with what is below them."""
    found = re.split(r"^(\S.*):$", text, flags=re.MULTILINE)[1:]
    return list(zip(found[::2], (body.strip("\n") for body in found[1::2])))


def _entries(body: str) -> list[tuple[str, list[str]]]:
    """Options and arguments, each with the lines of its description."""
    entries: list[tuple[str, list[str]]] = []
    for line in body.splitlines():
        if re.match(r" {2,6}(?:-|<|\[)", line):
            entries.append((line.strip(), []))
        elif entries:
            entries[-1][1].append(line.strip())
    return entries


def _definition(option: str, words: list[str]) -> list[str]:
    """An entry of a definition list: a term, and paragraphs or a list below it."""
    paragraphs: list[str] = []
    fresh = True
    for line in words:
        if not line:
            fresh = True
        elif line.startswith("- ") or fresh:
            paragraphs.append(line)
            fresh = False
        else:
            paragraphs[-1] += " " + line
    lines = [f"`{option}`", ""]
    for number, paragraph in enumerate(paragraphs):
        item = paragraph.startswith("- ")
        text = ("- " + _escaped(re.sub(r"^- ", "", paragraph))) if item else _escaped(paragraph)
        lines[-1 if number == 0 else len(lines) :] = [f"{':' if number == 0 else ' '}   {text}"]
        follows = number + 1 < len(paragraphs) and item and paragraphs[number + 1].startswith("- ")
        if not follows:
            lines.append("")
    return lines if paragraphs else [f"`{option}`", ":   ", ""]


def _escaped(text: str) -> str:
    """Words as they are: nothing in them is markup, but for `code`."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(piece if piece.startswith("`") else re.sub(r"([\\*_<>\[\]#$|~])", r"\\\1", piece) for piece in pieces)
