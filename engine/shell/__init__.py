"""The command line. Nothing here decides what a run does: it reads, asks the engine, and prints."""
