"""The packages that people install: built from this folder, then used far away from it."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.server  # minutes, and it asks pip for the dependencies

ROOT = Path(__file__).parents[1]
DATA = (
    "podium/grammar/podium.lark",
    "podium/tasks/index.json",
    "podium/engine/py.typed",
    "podium/engine/shell/page.css",
    "podium/dsl/py.typed",
    "podium/tasks/py.typed",
)


def run(*command: str | Path, cwd: Path) -> str:
    """What command prints; its standard error is shown where it fails."""
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source package and the wheel made from that package alone."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", out, ROOT, cwd=out)
    return out


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of a new environment with the wheel in it."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", folder, cwd=folder)
    [wheel] = built.glob("*.whl")
    run(folder / "bin" / "pip", "install", "-q", wheel, cwd=folder)
    return folder / "bin"


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return sorted(archive.namelist())


def test_the_wheel_made_from_the_source_package_is_the_one_made_from_the_folder(
    built: Path, tmp_path: Path
) -> None:
    run(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, ROOT, cwd=tmp_path)
    [direct], [through] = tmp_path.glob("*.whl"), built.glob("*.whl")
    assert names(direct) == names(through)


def test_the_wheel_holds_code_data_and_licence_and_nothing_else(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    found = names(wheel)
    assert [name for name in DATA if name not in found] == []
    assert [name for name in found if name.split("/")[0].split("-")[0] != "podium"] == []
    assert any(name.startswith("podium/stdlib/") and name.endswith(".team") for name in found)
    assert any(name.endswith("licenses/LICENSE") for name in found)
    assert [
        name for name in found if "__pycache__" in name or name.endswith("podium/__init__.py")
    ] == []


def test_every_python_file_of_the_root_folders_is_in_the_wheel(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    found = set(names(wheel))
    packages = ("engine", "dsl", "tasks", "stdlib", "grammar")
    files = [path for folder in packages for path in (ROOT / folder).rglob("*.*") if path.is_file()]
    ours = [path for path in files if "__pycache__" not in path.parts]
    assert [path for path in ours if f"podium/{path.relative_to(ROOT)}" not in found] == []


def test_the_source_package_brings_tests_examples_and_documents(built: Path) -> None:
    [source] = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"LICENSE", "CHANGELOG.md", "README.md", "examples/words.team", "docs/tutorial.md"}
    assert wanted - found == set()
    assert "tests/test_packaging.py" in found


def test_the_installed_command_checks_and_formats_the_examples(
    installed: Path, tmp_path: Path
) -> None:
    assert run(installed / "podium", "--version", cwd=tmp_path).startswith("podium 0.")
    for example in sorted((ROOT / "examples").glob("*.team")):
        run(installed / "podium", "check", example, cwd=tmp_path)
        run(installed / "podium", "fmt", "--check", example, cwd=tmp_path)


def test_the_installed_package_shows_no_bare_folder_name(installed: Path, tmp_path: Path) -> None:
    probe = "import importlib.util as u; print([n for n in ('engine', 'dsl', 'tasks') if u.find_spec(n)])"
    assert run(installed / "python", "-c", probe, cwd=tmp_path).strip() == "[]"
