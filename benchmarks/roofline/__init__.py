"""A roofline of every operator: calls of published networks, each compared with its lower bound.

`collect` records the calls of architectures in calls.jsonl; `select_calls` chooses those to time;
`bundle` packages them; `run` times them on a GPU; `page` renders the table; `compare` compares two
results.
"""
