# SPDX-License-Identifier: Apache-2.0
"""The rules that keep the code base readable: files that earn their walls, straight functions, one thing per line.

Each rule fails with the list of places that break it. Complexity is checked by ruff (C901) and the direction of imports
by import-linter, both in `make style`.
"""

import ast
import re
import tomllib
from collections import defaultdict

import pytest
from support.paths import BENCHES, PACKAGE, ROOT, SOURCES, TEST
from support.paths import source_text as text
from support.paths import syntax_nodes as nodes
from support.paths import syntax_tree as tree

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60
MIN_WALL_LINES = 150  # of a module that only its neighbour imports and no test file of its own tests
UNEARNED_WALLS = 15
PACKED_ASSIGNMENTS = 0
TEST_ONLY = ("support", "data", "package", "bench")  # folders of test/ that belong to no folder of the package
IGNORED_ENTRIES = {"__init__.py", "__pycache__"}
NAMEDTUPLE_METHODS = {"_replace", "_asdict", "_fields", "_field_defaults", "_make"}  # public, whatever their names
PUBLIC_IN_STANDARD_LIBRARY = {"os._exit", "argparse._ActionsContainer"}  # no public name exists
UNITLESS_NAMES = {"MOST", "LEAST", "FAR", "NEAR", "LATE", "EARLY", "SOON", "ENOUGH", "MANY", "SILENT", "FRESH", "SLOW"}
NO_SUPERLATIVES = {"REQUEST", "REST", "TEST"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
CODE = [*SOURCES, *BENCHES]
TESTS = sorted(TEST.rglob("*.py"))


def check(rule, faults):
    """Fails with one line per fault; an assertion would let pytest compare long collections, which is slow."""
    lines = sorted(faults)
    if lines:
        pytest.fail("\n".join([f"{rule} ({len(lines)}):", *lines]), pytrace=False)


def check_number(rule, faults, allowed):
    """As check, for a rule that the code does not keep everywhere yet; the number is to be lowered, never raised."""
    if len(faults) > allowed:
        check(f"{rule}, {allowed} allowed", faults)


def name(path):
    return str(path.relative_to(ROOT))


def place(path, node):
    return f"{name(path)}:{node.lineno} {getattr(node, 'name', '')}".strip()


def definitions(kind):
    return [(path, node) for path in CODE for node in nodes(path) if isinstance(node, kind)]


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
    lengths = {path: text(path).count("\n") for path in CODE}
    long = [f"{name(path)}: {count} lines" for path, count in lengths.items() if count > MAX_FILE_LINES]
    check(f"files of more than {MAX_FILE_LINES} lines", long)


def test_functions_are_short():
    check(f"functions of more than {MAX_FUNCTION_LINES} lines", longer_than(MAX_FUNCTION_LINES, FUNCTIONS))


def assigned_names(path):
    """Names that a file assigns at its top level."""
    for node in tree(path).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            elements = target.elts if isinstance(target, ast.Tuple) else [target]
            yield from (each.id for each in elements if isinstance(each, ast.Name))


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


def test_a_module_that_only_its_neighbour_imports_earns_its_wall():
    """By a test file of its own or by its length; else what is read together stands in two files."""
    importers = defaultdict(set)
    for path in CODE:
        for module in imported_modules(path):
            importers[module].add(path)
    tested = {path.name.removeprefix("test_") for path in TEST.rglob("test_*.py")}
    walls = [
        f"{name(module)}: {text(module).count(chr(10))} lines, imported by {name(*users)}"
        for module, users in importers.items()
        if len(users) == 1 and are_neighbours(module, *users) and module.name not in tested
        if text(module).count("\n") < MIN_WALL_LINES
    ]
    check_number(f"modules below {MIN_WALL_LINES} lines to merge into their only importer", walls, UNEARNED_WALLS)


def are_neighbours(module, other):
    """Whether two files are in the same folder, or one in the folder above that of the other."""
    return other.parent in (module.parent, module.parent.parent) or module.parent == other.parent.parent


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


def packed_assignments(path):
    """Assignments that pack unrelated things into one line, as `self.file, self._open = file, False`.

    Not those whose values depend on the targets, such as a swap; nor fields of one object, or one expression in which
    one word differs (`cosine, sine = cos(angle), sin(angle)`), except in constructors: every attribute has its line.
    """
    constructors = [n for n in nodes(path) if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    constructed = {id(node) for each in constructors for node in ast.walk(each)}
    for node in nodes(path):
        if not isinstance(node, ast.Assign):
            continue
        targets = [leaf for target in node.targets for leaf in ast.walk(target) if is_stored(leaf)]
        attributes = sum(isinstance(target, ast.Attribute) for target in targets)
        sets_attributes = id(node) in constructed and attributes > 0
        if len(node.targets) > 1 and sets_attributes and attributes > 1:
            yield place(path, node)
        if packs(node) and not depend(node.value, targets) and (sets_attributes or not are_related(node.value.elts)):
            yield place(path, node)


def packs(assignment):
    """Whether an assignment is of the form `a, b = c, d`."""
    sides = (assignment.targets[0], assignment.value)
    return all(isinstance(each, ast.Tuple) for each in sides) and len(sides[0].elts) == len(sides[1].elts)


def is_stored(node):
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store)


def depend(value, targets):
    """Whether a value reads an object to which a target belongs: then the order of the assignments matters."""
    owners = {leaf.id for target in targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name)}
    return bool(owners & {leaf.id for leaf in ast.walk(value) if isinstance(leaf, ast.Name)})


def are_related(values):
    """Fields of one object, or one expression in which one word differs."""
    if all(isinstance(value, ast.Attribute) for value in values):
        return len({ast.unparse(value.value) for value in values}) == 1
    if any(isinstance(value, (ast.Name, ast.Attribute)) or is_literal(value) for value in values):
        return False
    words = [re.findall(r"\w+|[^\w\s]", ast.unparse(value)) for value in values]
    same_length = len({len(each) for each in words}) == 1
    return same_length and sum(len(set(column)) > 1 for column in zip(*words, strict=True)) < 2


def is_literal(node):
    return not any(isinstance(leaf, (ast.Name, ast.Call)) for leaf in ast.walk(node))


def test_no_line_packs_assignments_of_unrelated_things():
    packed = [fault for path in CODE for fault in packed_assignments(path)]
    check_number("packed assignments of unrelated things", packed, PACKED_ASSIGNMENTS)


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
