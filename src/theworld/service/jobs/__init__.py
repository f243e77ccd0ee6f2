"""Evaluation jobs: asked for over HTTP, run by a process of low priority, resumed after a restart."""
