"""Inference servers: pure protocol code, one module that talks HTTP, and a scripted fake."""
