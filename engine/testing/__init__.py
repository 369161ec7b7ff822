"""What users need to test topologies without a model."""

from .scripted import Fail, Memory, Played, Say, ScriptedClient, play, scripted_world

__all__ = ["Fail", "Memory", "Played", "Say", "ScriptedClient", "play", "scripted_world"]
