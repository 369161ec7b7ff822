"""Fakes and strategies that ship with the product, for testing topologies without a model."""
