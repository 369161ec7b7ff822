"""One agent: from prompt to parsed answer."""
