"""The version of Podium, in the one place that says it; packages are built with this one too."""

VERSION = "0.1.0"
