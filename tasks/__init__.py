"""Task families: problems with their verifiers, found by name through `index.json`."""
