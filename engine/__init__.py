"""Runs checked programs: interpreter, ledger, journal, clients and shells."""
