"""The rules that keep the code base readable: short files and functions, folders with a purpose, names that occur once.

Each rule fails with the list of places that break it. Complexity is checked by ruff (C901) and the direction of imports
by import-linter, both in `make style`.
"""

import ast
import tomllib
from collections import defaultdict

import pytest
from support.paths import PACKAGE, ROOT, SOURCES, TEST
from support.paths import source_text as text
from support.paths import syntax_nodes as nodes
from support.paths import syntax_tree as tree

MAX_ENTRIES = 20  # in a folder
MAX_FILE_LINES, MAX_FUNCTION_LINES = 600, 60
MAX_METHODS = 25
TEST_ONLY = ("support", "data", "package")  # folders of test/ that belong to no folder of the package
IGNORED_ENTRIES = {"__init__.py", "__pycache__"}
NAMEDTUPLE_METHODS = {"_replace", "_asdict", "_fields", "_field_defaults", "_make"}  # public, whatever their names
PUBLIC_IN_STANDARD_LIBRARY = {"os._exit", "argparse._ActionsContainer"}  # no public name exists
UNITLESS_NAMES = {"MOST", "LEAST", "FAR", "NEAR", "LATE", "EARLY", "SOON", "ENOUGH", "MANY", "SILENT", "FRESH", "SLOW"}
NO_SUPERLATIVES = {"REQUEST", "REST", "TEST"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
TESTS = sorted(TEST.rglob("*.py"))


def check(rule, faults):
    """Fails with one line per fault; an assertion would let pytest compare long collections, which is slow."""
    lines = sorted(faults)
    if lines:
        pytest.fail("\n".join([f"{rule} ({len(lines)}):", *lines]), pytrace=False)


def name(path):
    return str(path.relative_to(ROOT))


def place(path, node):
    return f"{name(path)}:{node.lineno} {getattr(node, 'name', '')}".strip()


def definitions(kind):
    return [(path, node) for path in SOURCES for node in nodes(path) if isinstance(node, kind)]


def longer_than(lines, kind):
    """One line per definition that is too long."""
    for path, node in definitions(kind):
        length = node.end_lineno - node.lineno + 1
        if length > lines:
            yield f"{place(path, node)}: {length} lines"


def folders(root):
    """The folder and all below it that hold files of ours."""
    return [root, *sorted(p for p in root.rglob("*") if p.is_dir() and "__pycache__" not in p.parts)]


def repeated(paths_by_name):
    return [f"{each}: {', '.join(sorted(paths))}" for each, paths in paths_by_name.items() if len(paths) > 1]


@pytest.mark.parametrize("root", [PACKAGE, TEST], ids=["package", "test"])
def test_folders_have_few_entries(root):
    counts = {folder: sum(e.name not in IGNORED_ENTRIES for e in folder.iterdir()) for folder in folders(root)}
    full = [f"{name(folder)}: {count} entries" for folder, count in counts.items() if count > MAX_ENTRIES]
    check(f"folders with more than {MAX_ENTRIES} entries", full)


def test_the_folders_of_the_tests_are_those_of_the_package():
    others = {TEST / each for each in TEST_ONLY}
    strange = [
        f for f in folders(TEST) if not others & {f, *f.parents} and not (PACKAGE / f.relative_to(TEST)).is_dir()
    ]
    check("folders below test/ that the package does not have", map(name, strange))


def test_the_init_of_every_folder_of_the_package_describes_its_purpose():
    with_sources = [folder for folder in folders(PACKAGE) if any(folder.rglob("*.py"))]
    inits = [folder / "__init__.py" for folder in with_sources]
    mute = [name(path) for path in inits if not (path.is_file() and ast.get_docstring(tree(path)))]
    check("missing, or without a docstring", mute)


def test_files_are_short():
    lengths = {path: text(path).count("\n") for path in SOURCES}
    long = [f"{name(path)}: {count} lines" for path, count in lengths.items() if count > MAX_FILE_LINES]
    check(f"files of more than {MAX_FILE_LINES} lines", long)


def test_functions_are_short():
    check(f"functions of more than {MAX_FUNCTION_LINES} lines", longer_than(MAX_FUNCTION_LINES, FUNCTIONS))


def test_classes_have_few_methods():
    counts = [(p, node, sum(isinstance(n, FUNCTIONS) for n in node.body)) for p, node in definitions(ast.ClassDef)]
    large = [f"{place(path, node)}: {count} methods" for path, node, count in counts if count > MAX_METHODS]
    check(f"classes of more than {MAX_METHODS} methods", large)


def assigned_names(path):
    """Names that a file assigns at its top level."""
    for node in tree(path).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            elements = target.elts if isinstance(target, ast.Tuple) else [target]
            yield from (each.id for each in elements if isinstance(each, ast.Name))


def type_names(path):
    """Names of the classes of a file, and of its type aliases: assignments to a name in CapWords."""
    yield from (node.name for node in nodes(path) if isinstance(node, ast.ClassDef))
    yield from (node.name.id for node in nodes(path) if isinstance(node, getattr(ast, "TypeAlias", ())))
    yield from (n for n in assigned_names(path) if n.lstrip("_")[:1].isupper() and not n.isupper())


def test_no_type_name_occurs_twice_and_no_private_class_shadows_a_public_one():
    found = defaultdict(list)
    for path in SOURCES:
        for each in type_names(path):
            found[each.lstrip("_")].append(name(path))
    check("names of more than one class or type alias", repeated(found))


def is_vague(constant):
    """Whether a name is one word that names neither the bounded quantity nor its unit: LONGEST, FAR."""
    superlative = constant.endswith("EST") and "_" not in constant and constant not in NO_SUPERLATIVES
    return superlative or constant in UNITLESS_NAMES


def test_a_constant_that_is_only_a_superlative_occurs_in_one_file():
    found = defaultdict(set)
    for path in SOURCES:
        for each in assigned_names(path):
            if is_vague(each.lstrip("_")):
                found[each.lstrip("_")].add(name(path))
    check("name the quantity and the unit instead (MAX_TICK_S)", repeated(found))


def imported_modules(path):
    """Modules of this package that a file imports, by their path."""
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE.name):
            base = ROOT / node.module.replace(".", "/")
            candidates = [base.with_suffix(".py"), *(base / f"{alias.name}.py" for alias in node.names)]
            yield from (candidate for candidate in candidates if candidate.is_file())


def test_no_file_imports_two_modules_of_the_same_name():
    confusing = []
    for path in SOURCES:
        by_name = defaultdict(set)
        for module in imported_modules(path):
            by_name[module.name].add(name(module))
        confusing += [f"{name(path)} imports {line}" for line in repeated(by_name)]
    check("files that import two modules of one name", confusing)


def test_no_import_is_hidden_from_the_import_contracts():
    hidden = [name(path) for path in SOURCES if "TYPE_CHECKING" in text(path)]
    check("files that import for type checkers only", hidden)


def test_the_import_contracts_cover_every_folder():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    contracts = {contract["type"]: contract for contract in settings["contracts"]}
    layers = {part for layer in contracts["layers"]["layers"] for part in layer.split(" | ")}
    assert layers == {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name not in IGNORED_ENTRIES}
    assert contracts["acyclic_siblings"]["ancestors"] == [PACKAGE.name, f"{PACKAGE.name}.**"]
    assert not [contract["name"] for contract in settings["contracts"] if "ignore_imports" in contract]


def test_the_core_neither_reads_nor_prints():
    core = [(path, node) for path, node in definitions(ast.Call) if path.is_relative_to(PACKAGE / "core")]
    calls = [(path, node) for path, node in core if getattr(node.func, "id", "") in ("open", "print", "input")]
    check("input or output in core", [place(path, node) for path, node in calls])


def private_accesses(path):
    """Uses of a private name of another object or module: anything but self._name and cls._name."""
    for node in nodes(path):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            written = ast.unparse(node)
            if written.rpartition(".")[0] not in ("self", "cls") and written not in PUBLIC_IN_STANDARD_LIBRARY:
                yield f"{place(path, node)} {written}"
        if isinstance(node, ast.ImportFrom):
            yield from (f"{place(path, node)} {alias.name}" for alias in node.names if is_private(alias.name))


def is_private(attribute):
    return attribute.startswith("_") and not attribute.startswith("__") and attribute not in NAMEDTUPLE_METHODS


@pytest.mark.parametrize("paths", [SOURCES, TESTS], ids=["package", "test"])
def test_only_an_object_itself_uses_its_private_names(paths):
    check("uses of private names", [fault for path in paths for fault in private_accesses(path)])
