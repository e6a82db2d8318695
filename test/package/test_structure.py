"""The bars that keep the code base readable: small folders, files, classes and functions, and names that occur once.

Who may import whom is in pyproject.toml, section importlinter, and checked by `make style`; complexity by ruff (C901).
"""

import ast
from collections import defaultdict
from functools import cache

import pytest
from support.paths import ROOT, TEST

PACKAGE = ROOT / "hexapod_control"
MAX_ENTRIES, MAX_TEST_ENTRIES = 12, 16  # in a folder; in test/ itself
MAX_FILE_LINES, MAX_CLASS_LINES, MAX_FUNCTION_LINES = 300, 250, 40
MAX_METHODS = 25
IGNORED = {"__init__.py", "__pycache__"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SOURCES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted(TEST.rglob("*.py"))


@cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def place(path, node):
    return f"{path.relative_to(ROOT)}:{node.lineno} {getattr(node, 'name', '')}".strip()


def lines(node):
    return node.end_lineno - node.lineno + 1


def definitions(kind):
    return [(path, node) for path in SOURCES for node in ast.walk(parsed(path)) if isinstance(node, kind)]


def folders(root):
    return [root, *sorted(path for path in root.rglob("*") if path.is_dir() and path.name not in IGNORED)]


@pytest.mark.parametrize(("root", "most"), [(PACKAGE, MAX_ENTRIES), (TEST, MAX_TEST_ENTRIES)], ids=["package", "test"])
def test_folders_have_few_entries(root, most):
    entries = {folder: [e for e in folder.iterdir() if e.name not in IGNORED] for folder in folders(root)}
    bound = {folder: most if folder == root else MAX_ENTRIES for folder in entries}
    full = {f"{f.relative_to(ROOT)}: {len(found)}" for f, found in entries.items() if len(found) > bound[f]}
    assert not full


def test_files_are_short():
    assert not [
        f"{path.relative_to(ROOT)}: {count}"
        for path in SOURCES
        if (count := len(path.read_text(encoding="utf-8").splitlines())) > MAX_FILE_LINES
    ]


def test_functions_are_short():
    assert not [place(path, node) for path, node in definitions(FUNCTIONS) if lines(node) > MAX_FUNCTION_LINES]


def test_classes_are_small():
    classes = definitions(ast.ClassDef)
    assert not [place(path, node) for path, node in classes if lines(node) > MAX_CLASS_LINES]
    assert not [place(p, node) for p, node in classes if sum(isinstance(n, FUNCTIONS) for n in node.body) > MAX_METHODS]


def type_names(path):
    """Names of the classes of a file, and of its type aliases: assignments to a name in CapWords."""
    tree = parsed(path)
    yield from (node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        yield from (name for name in names if name.lstrip("_")[:1].isupper() and not name.isupper())


def test_no_type_name_occurs_twice():
    found = defaultdict(list)
    for path in SOURCES:
        for name in type_names(path):
            found[name.lstrip("_")].append(str(path.relative_to(PACKAGE)))
    assert not {name: paths for name, paths in found.items() if len(paths) > 1}


def imported_modules(path):
    """Modules of this package that a file imports, by their path."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE.name):
            base = ROOT / node.module.replace(".", "/")
            if base.with_suffix(".py").is_file():
                yield base.with_suffix(".py")
            yield from (base / f"{a.name}.py" for a in node.names if (base / f"{a.name}.py").is_file())


def test_no_file_imports_two_modules_of_the_same_name():
    confusing = {}
    for path in SOURCES:
        by_name = defaultdict(set)
        for module in imported_modules(path):
            by_name[module.name].add(str(module.relative_to(PACKAGE)))
        twice = [paths for paths in by_name.values() if len(paths) > 1]
        if twice:
            confusing[str(path.relative_to(PACKAGE))] = twice
    assert not confusing


def test_no_import_is_hidden_from_the_import_contracts():
    assert not [str(path) for path in SOURCES if "TYPE_CHECKING" in path.read_text(encoding="utf-8")]


def test_tests_use_public_names_only():
    private = [
        place(path, node) + node.attr
        for path in TESTS
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__")
        if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
    ]
    assert not private
