"""Command line and terminal: nothing here decides."""
