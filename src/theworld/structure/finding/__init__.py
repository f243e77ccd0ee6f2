"""Candidates found in texts and tool calls, and the choice between them."""
