"""Serves language models over HTTP with OpenAI's API (docs/how-to/serve.md).

`validation` and `requests` parse requests, `request_queue` runs them on the model one at a time,
`responses` generates text and formats responses, `app` is the Starlette application, and `server`
runs it with uvicorn.
"""
