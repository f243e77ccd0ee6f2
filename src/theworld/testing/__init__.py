"""Fakes and conformance suites for users of the project to test their own code with."""

from theworld.testing.fakes import FakeChatModel, FakeEmbedder, FakeTagger

__all__ = ["FakeChatModel", "FakeEmbedder", "FakeTagger"]
