"""The dependency direction of the packages, read from the source.

Inside a package imports are relative; across packages they are absolute and point down. A bare
`import dsl` would load a second copy of the module, and a relative import that climbs out of its
package would hide a dependency, so both are refused. No module imports itself through others.
"""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {"dsl": set[str](), "engine": {"dsl"}, "tasks": {"dsl", "engine"}}


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """The level and dotted name of each import of the file at path; level 0 is absolute."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is None:
            yield from ((node.level, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.level, node.module or ""


@pytest.mark.parametrize("package", sorted(MAY_IMPORT))
def test_imports_point_down(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        depth = len(path.relative_to(ROOT).parts) - 1
        for level, name in imports(path):
            head, _, rest = name.partition(".")
            if level:
                assert level <= depth, f"{path}: a relative import leaves {package}"
            else:
                assert head not in MAY_IMPORT, f"{path}: import podium.{name}"
                if head == "podium":
                    assert rest.split(".")[0] in MAY_IMPORT[package], f"{path}: {name} points up"


@pytest.mark.parametrize("package", sorted(MAY_IMPORT))
def test_no_import_cycle(package: str) -> None:
    graph: dict[Path, set[Path]] = {}
    for path in (ROOT / package).rglob("*.py"):
        edges = graph.setdefault(path, set())
        for level, name in imports(path):
            if level:
                target = path.parents[level - 1].joinpath(*name.split("."))
                files = (target.with_suffix(".py"), target / "__init__.py")
                # What is no module is a name of the package itself.
                edges |= {file for file in files if file.exists()} or {
                    target.parent / "__init__.py"
                }
    TopologicalSorter(graph).prepare()
