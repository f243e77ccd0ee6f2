"""The service as OpenAI's clients call it: chat, responses, embeddings and reranking over the same graph.

`schemas` reads what they send, `conversation` makes a question with its history of it, and an answer with its links;
`answers` and `vectors` hold the endpoints. Errors below `/v1` have OpenAI's form (`api/replies.py`).
"""
