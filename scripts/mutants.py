# SPDX-License-Identifier: Apache-2.0
"""Generates mutants of Python sources: each changes one expression or statement, like a typical mistake.

Changed are comparisons, arithmetic, constants, conditions, statements, return values and the order of arguments. Types,
decorators, error messages and formatted texts are not, nor is what cannot change results beyond rounding:
tolerances, the order of arguments of max or clip, `strict` of zip, and < or <= between measured values, which are
never equal.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
}
BOUNDARIES = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}  # differ for equal values only
SYMMETRIC_FUNCTIONS = {
    "max",
    "min",
    "maximum",
    "minimum",
    "hypot",
    "dist",
    "clip",  # of a value and its lower bound
}  # the order of their arguments does not matter
MAX_TOLERANCE = 1e-6  # a smaller constant stands for rounding errors
UNTOUCHED = {  # fields that hold types, decorators or messages
    ast.AnnAssign: ("annotation",),
    ast.arg: ("annotation",),
    ast.FunctionDef: ("returns", "decorator_list"),
    ast.ClassDef: ("decorator_list", "bases"),
    ast.Raise: ("exc", "cause"),
    ast.Assert: ("msg",),
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file."""

    path: Path
    line: int  # counted from 1
    statement: int  # first line of its statement
    called: bool  # inside a function; other statements are executed at import
    old: str
    new: str
    start: int  # offset [bytes] of the old text in the file
    end: int

    def apply(self, source: bytes) -> bytes:
        """Returns the source with the change."""
        return source[: self.start] + self.new.encode() + source[self.end :]

    @property
    def description(self) -> str:
        """Place and change in one line."""
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.path}:{self.line}: {old}  ->  {new}"


def mutants(path: Path) -> Iterator[Mutant]:
    """Yields all mutants of a file, in the order of its lines."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tree = ast.parse(source)
    conditions = {id(node.test) for node in ast.walk(tree) if isinstance(node, ast.If | ast.While | ast.IfExp)}
    for node, statement, called in _nodes(tree, 1, called=False):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        old = source[start:end].decode()
        new = [ast.unparse(changed) for changed in _changes(node)]
        if id(node) in conditions and not isinstance(node, ast.Compare | ast.UnaryOp):
            new.append(f"not ({ast.unparse(node)})")
        for text in dict.fromkeys(new):
            changed = f"({text})" if isinstance(node, ast.expr) else text
            yield Mutant(path, node.lineno, statement, called, old, changed, start, end)


def _nodes(node: ast.AST, statement: int, *, called: bool) -> Iterator[tuple[ast.expr | ast.stmt, int, bool]]:
    """Yields what may be changed, with the first line of its statement and whether it is inside a function."""
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)):
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":  # of zip: only notices programming errors
        return
    statement = node.lineno if isinstance(node, ast.stmt) else statement
    if isinstance(node, ast.expr | ast.stmt):
        yield node, statement, called
    skipped = UNTOUCHED.get(type(node), ())
    for field, value in ast.iter_fields(node):
        if field not in skipped:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    inside = called or (field == "body" and isinstance(node, ast.FunctionDef | ast.Lambda))
                    yield from _nodes(child, statement, called=inside)


def _changes(node: ast.expr | ast.stmt) -> Iterator[ast.AST]:
    for kind, change in CHANGES.items():
        if isinstance(node, kind):
            yield from change(node)


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _comparison(node: ast.Compare) -> Iterator[ast.AST]:
    for k, operator in enumerate(node.ops):
        sides = node.left, *node.comparators
        exact = any(map(_is_exact, sides[k : k + 2]))
        for other in COMPARISONS[type(operator)]:
            if not exact and other is BOUNDARIES.get(type(operator)):
                continue
            yield _with(node, ops=[*node.ops[:k], other(), *node.ops[k + 1 :]])


def _is_exact(node: ast.expr) -> bool:
    """True for constants and lengths: values that others can be equal to."""
    node = node.operand if isinstance(node, ast.UnaryOp) else node
    if isinstance(node, ast.Constant):
        return not _is_tolerance(node)
    return isinstance(node, ast.Call) and ast.unparse(node.func) in {"len", "sum"}


def _arithmetic(node: ast.BinOp | ast.AugAssign) -> Iterator[ast.AST]:
    if type(node.op) in ARITHMETIC and not _is_text(node) and not _has_tolerance(node):
        yield _with(node, op=ARITHMETIC[type(node.op)]())


def _has_tolerance(node: ast.BinOp | ast.AugAssign) -> bool:
    return isinstance(node, ast.BinOp) and any(map(_is_tolerance, (node.left, node.right)))


def _is_tolerance(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float) and 0.0 < abs(node.value) <= MAX_TOLERANCE


def _is_text(node: ast.BinOp | ast.AugAssign) -> bool:
    values = (node.value,) if isinstance(node, ast.AugAssign) else (node.left, node.right)
    return any(
        isinstance(v, ast.JoinedStr) or (isinstance(v, ast.Constant) and isinstance(v.value, str)) for v in values
    )


def _constant(node: ast.Constant) -> Iterator[ast.AST]:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
    elif isinstance(node.value, float) and not _is_tolerance(node):
        yield ast.Constant(1.5 * node.value if node.value else 1.0)


def _connective(node: ast.BoolOp) -> Iterator[ast.AST]:
    yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())


def _sign(node: ast.UnaryOp) -> Iterator[ast.AST]:
    if isinstance(node.op, ast.Not | ast.USub):
        yield node.operand


def _swapped(node: ast.Call) -> Iterator[ast.AST]:
    if ast.unparse(node.func).rpartition(".")[2] in SYMMETRIC_FUNCTIONS:
        return
    for k in range(len(node.args) - 1):
        first, second = node.args[k : k + 2]
        starred = isinstance(first, ast.Starred) or isinstance(second, ast.Starred)
        if not starred and ast.dump(first) != ast.dump(second):
            yield _with(node, args=[*node.args[:k], second, first, *node.args[k + 2 :]])
            return


def _removed(node: ast.stmt) -> Iterator[ast.AST]:
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    is_name = isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Attribute | ast.Subscript)
    if not is_docstring and not is_name:
        yield ast.Pass()


def _returned(node: ast.Return) -> Iterator[ast.AST]:
    known = isinstance(node.value, ast.Constant) and (node.value.value is None or isinstance(node.value.value, bool))
    if node.value is not None and not known:  # a constant True or False is changed into the other
        yield ast.Return(ast.Constant(None))


CHANGES = {
    ast.Compare: _comparison,
    ast.BinOp: _arithmetic,
    ast.AugAssign: _arithmetic,
    ast.Constant: _constant,
    ast.BoolOp: _connective,
    ast.UnaryOp: _sign,
    ast.Call: _swapped,
    (ast.Expr, ast.Assign, ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete): _removed,
    ast.Return: _returned,
}
