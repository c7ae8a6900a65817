"""Includes go one way: rooms.py says what each room of docs/explanation/architecture.md may include."""

import pytest

from tests.rooms import rooms


def test_every_source_is_in_a_room() -> None:
    strays = [
        str(source.relative_to(rooms.ROOT))
        for source in rooms.sources()
        if rooms.room_of(str(source.relative_to(rooms.ROOT))) not in rooms.ROOMS
    ]
    assert not strays


def test_includes_go_one_way() -> None:
    assert not [str(found) for found in rooms.includes() if not rooms.is_allowed(found)]


@pytest.mark.parametrize(
    ("file", "included", "allowed"),
    [
        ("runtime/vulkan/buffer.h", "runtime/pack/pack_format.h", True),
        ("runtime/pack/shader_pack.h", "runtime/vulkan/buffer.h", False),
        ("runtime/ops/op_index.h", "runtime/vulkan/buffer.h", False),
        ("runtime/graph/plan/plan.h", "runtime/graph/model/model_state.h", False),
        ("runtime/include/spirloom/model.h", "spirloom/status.h", True),
        ("runtime/include/spirloom/model.h", "runtime/base/text.h", False),
        ("llm/model/facts.h", "llm/tokenizer/json_fields.h", True),
        ("llm/tokenizer/bpe.h", "llm/model/facts.h", False),
        ("llm/model/facts.h", "runtime/graph/file/graph.h", False),
        ("runtime/base/text.h", "llm/tokenizer/utf8.h", False),
        ("runtime/base/text.h", "tools/common/table.h", False),
        ("runtime/base/text.h", "compiler/check.h", False),
    ],
)
def test_the_rule_itself(file: str, included: str, allowed: bool) -> None:
    assert rooms.is_allowed(rooms.Include(file, 1, included)) is allowed


def test_the_documentation_names_every_room() -> None:
    text = (rooms.ROOT / "docs/explanation/architecture.md").read_text()
    assert not [room for room in rooms.ROOMS if f"`{room}/`" not in text]
