"""Trains the small tokenizers of tests/llm/tokenizers/ with Hugging Face's library, and writes the
tokens of some texts: `.venv-torch/bin/python -m tests.llm.make_tokenizers`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)

DIRECTORY = Path(__file__).resolve().parent / "tokenizers"

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
SPECIALS = ("<s>", "</s>", "<|im_start|>", "<|im_end|>")
CORPUS = (
    "The quick brown fox jumps over the lazy dog. It's what they'll say: we've 12345 reasons!",
    "Grüße aus München – 3.14159, 2026 und naïve Café\u0301s. ÄÖÜ ß, œuvre, ﬁn; Ελληνικά, Русский.",
    "日本語のテキストと中文字符，한국어도 있습니다。 🙂🙃👩‍👩‍👧 𝒳²",
    "def f(x):\n\treturn  x ** 2   # twice\r\n\n\nf(10)",
    "the then there that than this those these them thing thinking thanks",
) * 3
TEXTS = (
    "",
    " ",
    "Hello world",
    "  two  spaces   and\ttabs\n\n new lines \r\n",
    "It's what THEY'LL say: we'Ve 1234567 reasons, ½ of ² them ٣٤!",
    "naïve Cafe\u0301 ÄÖÜ a\u0308 \u1100\u1161 ﬁ",
    "日本語のテキスト 한국어 🙂👩‍👩‍👧 𝒳²",
    "<s>begin</s> and <|im_start|>user\nhi<|im_end|>\n <mask>  end",
    "\u00a0non\u2003breaking\u180eblank\u0085next\ufeffmark",
    "a▁b ▁ c<0x41>",
    "\U0010ffff\ue000 \x00\x01",
)

# The published tokenizer.json of GPT-2 and Qwen 2.5, without their added tokens and vocabularies.
# GPT-2's predates the members `type`, `byte_fallback` and `ignore_merges`.
UNUSED = {"continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": False}
PUBLISHED: dict[str, dict[str, Any]] = {
    "gpt2": {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
        "post_processor": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True},
        "model": {"dropout": None, "unk_token": None, **UNUSED},
    },
    "qwen": {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {
                    "type": "Split",
                    "pattern": {"Regex": QWEN},
                    "behavior": "Isolated",
                    "invert": False,
                },
                {
                    "type": "ByteLevel",
                    "add_prefix_space": False,
                    "trim_offsets": False,
                    "use_regex": False,
                },
            ],
        },
        "post_processor": {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": False,
            "use_regex": False,
        },
        "decoder": {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": False,
            "use_regex": False,
        },
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            **UNUSED,
            "byte_fallback": False,
            "ignore_merges": False,
        },
    },
}


def byte_level(pre: Any, normalizer: Any = None, ignore_merges: bool = False) -> Tokenizer:
    """Byte-level BPE, as in GPT-2, Llama 3 and Qwen."""
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=list(SPECIALS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def sentence_pieces(normalizer: Any, pre: Any, decoder: Any) -> Tokenizer:
    """BPE with byte fallback, as in Llama 2 and Mistral."""
    settings: dict[str, Any] = {"unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True}
    tokenizer = Tokenizer(models.BPE(**settings))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre
    tokenizer.decoder = decoder
    names = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(
        vocab_size=480,
        special_tokens=["<unk>", *SPECIALS, *names],
        limit_alphabet=60,
        show_progress=False,
    )
    # Train on words, so that no merge spans several words.
    tokenizer.train_from_iterator([word for text in CORPUS for word in text.split(" ")], trainer)
    # Byte tokens are not special tokens.
    content = json.loads(tokenizer.to_str())
    content["added_tokens"] = [
        token for token in content["added_tokens"] if token["content"] not in names
    ]
    return Tokenizer.from_str(json.dumps(content))


def digits_and_prefix() -> Tokenizer:
    """ByteLevel's default pattern, single digits, and added tokens that strip whitespace."""
    pre = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel()]
    tokenizer = byte_level(pre_tokenizers.Sequence(pre), normalizers.Sequence([normalizers.NFC()]))
    tokenizer.add_tokens([AddedToken("thing", normalized=True)])
    mask = AddedToken("<mask>", lstrip=True, rstrip=True, special=True, normalized=False)
    tokenizer.add_special_tokens([mask])
    return tokenizer


def split(pattern: str) -> Any:
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def trained_tokenizers() -> dict[str, Tokenizer]:
    """The tokenizers by name."""
    replaced = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    gpt2 = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return {
        "gpt2": byte_level(gpt2),
        "llama3": byte_level(split(LLAMA3), ignore_merges=True),
        "qwen": byte_level(split(QWEN), normalizers.NFC()),
        "digits": digits_and_prefix(),
        "llama2": sentence_pieces(
            normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
            None,
            decoders.Sequence([*replaced, decoders.Strip(" ", 1, 0)]),
        ),
        "metaspace": sentence_pieces(
            None,
            pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
            decoders.Sequence([*replaced, decoders.Strip(" ", 1, 0)]),
        ),
    }


def random_texts(count: int, seed: int) -> list[str]:
    """Random letters of many scripts, digits, whitespace, combining marks and special tokens."""
    source = random.Random(seed)
    ranges = [
        (0x20, 0x7F), (0x20, 0x7F), (0x9, 0xE), (0x30, 0x3A), (0xA0, 0x250), (0x300, 0x370),
        (0x390, 0x500), (0x5D0, 0x6F0), (0x900, 0x980), (0x1100, 0x1200), (0x2000, 0x2070),
        (0x3040, 0x30FF), (0x4E00, 0x4F00), (0xAC00, 0xAD00), (0x1F600, 0x1F640),
        (0x1D400, 0x1D4FF),
    ]  # fmt: skip
    words = [*SPECIALS, "'s", "'LL", "the", " the", "thing", "  ", "\r\n", "▁", "<0x41>"]

    def part() -> str:
        if source.random() < 0.2:
            return source.choice(words)
        return chr(source.randrange(*source.choice(ranges)))

    return ["".join(part() for _ in range(source.randrange(40))) for _ in range(count)]


def file_content(name: str, tokenizer: Tokenizer) -> dict[str, Any]:
    """The content of tokenizer.json: the trained vocabulary, with a published header if any."""
    trained: dict[str, Any] = json.loads(tokenizer.to_str())
    published = PUBLISHED.get(name)
    if published is None:
        return trained
    model = {**published["model"], **{key: trained["model"][key] for key in ("vocab", "merges")}}
    return {**published, "added_tokens": trained["added_tokens"], "model": model}


def expected(tokenizer: Tokenizer, texts: Sequence[str]) -> list[dict[str, Any]]:
    """Tokens of texts and their decoded text, by Hugging Face's library."""
    rows = []
    for text in texts:
        tokens = tokenizer.encode(text, add_special_tokens=False).ids
        rows.append({"text": text, "tokens": tokens, "decoded": tokenizer.decode(tokens)})
    return rows


def main() -> None:
    DIRECTORY.mkdir(exist_ok=True)
    for name, tokenizer in trained_tokenizers().items():
        file = file_content(name, tokenizer)
        reread = Tokenizer.from_str(json.dumps(file))
        rows = expected(reread, [*TEXTS, *random_texts(40, seed=1)])
        content = {"tokenizer": file, "cases": rows}
        text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
        (DIRECTORY / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
