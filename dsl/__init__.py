"""The language: text to a checked `Program`, or a list of problems. Pure: no files, no clock, no network."""
