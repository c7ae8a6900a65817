"""examples/story: its tokenizer equals that of the package `tokenizers`, which LLM uses."""

from __future__ import annotations

import random

import spirloom
import tokenizers

from examples.story.generate import MODEL, read_tokenizer

LETTERS = ["a", "B", " ", "'", "s", "ll", "1", "½", "é", "\n", "\t", "\u00a0", "\u2003", "!", "_"]
LETTERS += ["北", "\u0301", "🙂", "²", "\u0661", "\x1c", "\x85", "\u200b", "Emma", " had"]


def test_tokens_are_equal() -> None:
    own = read_tokenizer()
    content = spirloom.load(MODEL).attachments["tokenizer.json"].decode()
    theirs = tokenizers.Tokenizer.from_str(content)
    choose = random.Random(1)
    texts = ["".join(choose.choices(LETTERS, k=choose.randrange(14))) for _ in range(3000)]
    for text in [*texts, "Mr. Darcy's pride--he had none--was\n\n  gone, you'll see. 'Twas 1813!"]:
        tokens = own.encode(text)
        assert tokens == theirs.encode(text).ids, text
        assert own.decode(tokens) == theirs.decode(tokens) == text


def test_the_tokenizer_is_an_attachment() -> None:
    one, other = spirloom.LLM(MODEL), spirloom.LLM(MODEL, tokenizer=read_tokenizer())
    texts = ["".join(llm.generate("It was", tokens=40)) for llm in (one, other)]
    assert texts[0] == texts[1] and len(texts[0]) > 80
