"""The HTTP service: the graph behind FastAPI, with what really happened on record.

`api` holds the endpoints, `requests` running and recording, `explain` explanations and replay, `evaluation_jobs` what
is done in the background, `metrics` Prometheus and OpenTelemetry.
"""
