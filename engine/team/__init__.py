"""The team machine: who speaks, who sees what, when it ends."""
