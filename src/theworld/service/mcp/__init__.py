"""The service as a server of the Model Context Protocol: over HTTP at `/mcp` (`http`), over stdio (`theworld mcp`).

`server` holds the tools `search`, `fetch` and `ask`, and the documents as resources, `results` what they return; both
ways share them.
"""
