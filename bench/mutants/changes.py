"""Small faults for a Python source: one change of one place each, found by the syntax tree and made in the text."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from typing import Iterator, Optional

#: Each operator, and what it is mistaken for.
COMPARISONS: dict[type[ast.cmpop], list[type[ast.cmpop]]] = {
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.Mod: ast.Mult,
    ast.FloorDiv: ast.Mult,
}
#: Statements that are deleted as a whole. (Of `if`, `for` and `return` the parts are changed; an `assert` is for the type checker.)
DELETED = (ast.Expr, ast.Assign, ast.AugAssign, ast.Delete, ast.Raise, ast.Break, ast.Continue)


@dataclass(frozen=True)
class Mutant:
    """A source with one fault."""

    line: int
    #: The lines of the function around it, or none for what runs when the module is imported.
    function: Optional[tuple[int, int]]
    #: Whether it is in a table or a number at the top of the module.
    data: bool
    #: The lines of the statement around it.
    statement: tuple[int, int]
    kind: str
    old: str
    new: str
    text: str


def mutants(source: str) -> list[Mutant]:
    """All mutants of a source, in the order of their places."""
    found = _Finder(source)
    found.visit(ast.parse(source))
    unique = {mutant.text: mutant for mutant in reversed(found.mutants)}
    unique.pop(source, None)
    return sorted(unique.values(), key=lambda mutant: (mutant.line, mutant.kind, mutant.new))


class _Finder(ast.NodeVisitor):
    def __init__(self, source: str) -> None:
        self.mutants: list[Mutant] = []
        self._source = source
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._function: Optional[tuple[int, int]] = None
        self._data = False
        self._statement = (1, 1)
        self._in_message = False

    # Where we are.

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return
        if isinstance(node, ast.stmt):
            self._enter(node)
        elif isinstance(node, ast.expr):
            for kind, new in self._of_expression(node):
                self._change(node, kind, new)
            super().visit(node)
        else:
            super().visit(node)

    def _enter(self, node: ast.stmt) -> None:
        if _is_text(node):
            return
        outer = self._function, self._statement, self._in_message
        self._statement = _head(node)
        self._data = isinstance(node, ast.Assign) and node.col_offset == 0
        self._of_statement(node)
        if isinstance(node, ast.Raise) or _is_call_of(node, "warn", "print"):
            self._in_message = True
        super().visit(node)
        self._function, self._statement, self._in_message = outer

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function = (node.body[0].lineno, node.end_lineno or node.lineno)
        given = node.args
        for default in [*given.defaults, *given.kw_defaults]:
            if default is not None:
                if isinstance(default, ast.Constant) and default.value is None:
                    self._change(default, "default", "7")
                self.visit(default)
        for one in [*node.decorator_list, *node.body]:
            self.visit(one)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Places within f-strings are known only from Python 3.12 on: they are changed as a whole."""

    # What to change.

    def _of_statement(self, node: ast.stmt) -> None:
        if isinstance(node, DELETED) and (self._function or not isinstance(node, ast.Assign)):
            self._change(node, "statement deleted", "pass")
        if isinstance(node, ast.Return) and node.value is not None and not _is_constant(node.value, None):
            self._change(node.value, "return value", "None")
        if isinstance(node, ast.For):
            self._change(node.iter, "loop never runs", "()")
        if isinstance(node, (ast.If, ast.While)):
            self._force(node.test)

    def _of_expression(self, node: ast.expr) -> Iterator[tuple[str, str]]:
        if isinstance(node, ast.Compare):
            yield from self._comparisons(node)
        elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            yield "arithmetic", _with(node, op=ARITHMETIC[type(node.op)]())
        elif isinstance(node, ast.BoolOp):
            yield "and/or", _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
            yield "sign or not dropped", f"({ast.unparse(node.operand)})"
        elif isinstance(node, ast.Constant):
            yield from self._constants(node)
        elif isinstance(node, ast.JoinedStr) and not self._in_message:
            yield "string", "'mutant'"
        elif isinstance(node, ast.IfExp):
            self._force(node.test)
        elif isinstance(node, ast.Call):
            yield from _arguments(node)
        elif isinstance(node, ast.Dict):
            for value in node.values:
                if not isinstance(value, (ast.Constant, ast.Dict)):
                    self._change(value, "entry", "None")

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for condition in node.ifs:
            self._force(condition)
        self.generic_visit(node)

    def _comparisons(self, node: ast.Compare) -> Iterator[tuple[str, str]]:
        for at, op in enumerate(node.ops):
            for other in COMPARISONS[type(op)]:
                yield "comparison", _with(node, ops=[*node.ops[:at], other(), *node.ops[at + 1 :]])

    def _constants(self, node: ast.Constant) -> Iterator[tuple[str, str]]:
        value = node.value
        if isinstance(value, bool):
            yield "constant", repr(not value)
        elif isinstance(value, (int, float)):
            yield "constant", repr(value + 1)
            if value != 0:
                yield "constant", repr(value * 100)
        elif isinstance(value, str) and not self._in_message:
            yield "string", repr(f"{value}?")

    def _force(self, test: ast.expr) -> None:
        for word in ("True", "False"):
            self._change(test, "condition", word)

    def _change(self, node: ast.AST, kind: str, new: str) -> None:
        begin = self._place(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        end = self._place(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        old = self._source[begin:end]
        text = self._source[:begin] + new + self._source[end:]
        line = self._source.count("\n", 0, begin) + 1
        self.mutants.append(Mutant(line, self._function, self._data, self._statement, kind, _on_one_line(old), _on_one_line(new), text))

    def _place(self, line: int, column: int) -> int:
        """A place in the text. The syntax tree counts bytes."""
        start, end = self._starts[line - 1], self._starts[line]
        return start + len(self._source[start:end].encode()[:column].decode())


def _arguments(node: ast.Call) -> Iterator[tuple[str, str]]:
    for at, argument in enumerate(node.args):
        if not isinstance(argument, (ast.Constant, ast.Starred, ast.JoinedStr, ast.GeneratorExp)):
            args = [*node.args[:at], ast.Constant(None), *node.args[at + 1 :]]
            yield "argument", _with(node, args=args)
    for at in range(len(node.keywords)):
        yield "argument dropped", _with(node, keywords=node.keywords[:at] + node.keywords[at + 1 :])


def _with(node: ast.expr, **fields: object) -> str:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    text = ast.unparse(changed)
    return text if isinstance(node, ast.Call) else f"({text})"


def _head(node: ast.stmt) -> tuple[int, int]:
    """The lines of a statement, without those of the statements within it."""
    inner = getattr(node, "body", None)
    end = inner[0].lineno - 1 if inner else node.end_lineno
    return node.lineno, max(node.lineno, end or node.lineno)


def _is_text(node: ast.stmt) -> bool:
    """Whether it is a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_constant(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _is_call_of(node: ast.stmt, *names: str) -> bool:
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return False
    called = node.value.func
    return (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")) in names


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
