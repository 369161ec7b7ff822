"""What statistics need, looked for before any of them loads, so that what lacks is told in words."""

from importlib.util import find_spec

for name in ("numpy", "scipy"):
    if find_spec(name) is None:
        raise ModuleNotFoundError(f"statistics need {name}: pip install 'podium[stats]'", name=name)
