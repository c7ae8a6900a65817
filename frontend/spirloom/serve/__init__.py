"""Serves language models over HTTP with OpenAI's API (page 'Serve a language model over HTTP' of
the documentation).

`validation` and `requests` parse requests, `request_queue` runs them on the model one at a time,
`responses` generates text and formats responses, `app` is the Starlette application, and `server`
runs it with uvicorn.
"""
