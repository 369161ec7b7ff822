"""One setting for all property tests: the same examples on every machine and every day.

`HYPOTHESIS_PROFILE=search .venv/bin/pytest` looks for new ones.
"""

import os

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
