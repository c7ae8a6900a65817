"""Language models over HTTP, as OpenAI's clients ask for them (docs/how-to/serve.md).

`fields` and `requests` read what clients send, `reply` and `stops` make the text, `turns` lets one
request after the other have the model, `answers` words what is sent back, `app` puts it together
on Starlette, and `server` runs that with uvicorn.
"""
