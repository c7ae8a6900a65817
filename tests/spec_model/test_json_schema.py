"""The JSON Schema of specs: valid for every file, and rejects what the loader rejects."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from spec_model.json_schema import schema, undescribed
from spec_model.templates import BUILTIN_SPECS, BUILTIN_TEMPLATES, ROOT
from tests.codegen.small_project import SIDECAR, SPEC, Project

jsonschema = pytest.importorskip("jsonschema")
FILES = sorted([*BUILTIN_SPECS.rglob("*.yaml"), *BUILTIN_TEMPLATES.rglob("*.yaml")])


@pytest.fixture(scope="module")
def validator() -> Any:
    jsonschema.Draft7Validator.check_schema(schema())
    return jsonschema.Draft7Validator(schema())


def test_every_file_is_valid(validator: Any) -> None:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    invalid = {}
    for path in FILES:
        errors = list(validator.iter_errors(yaml.load(path.read_text(encoding="utf-8"), loader)))
        if errors:
            best = jsonschema.exceptions.best_match(errors)
            invalid[str(path.relative_to(ROOT))] = f"{list(best.absolute_path)}: {best.message}"
    assert not invalid


def test_every_key_has_a_description() -> None:
    assert not undescribed()


def _set(*path: str | int, value: object) -> Callable[[Any], None]:
    def change(spec: Any) -> None:
        for key in path[:-1]:
            spec = spec[key]
        spec[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        _set("operator", value="aten.add"),
        _set("kernel", "grids", value=1),
        _set("kernel", "dtypes", value=["f64"]),
        _set("kernel", "dtypes", value=[]),
        _set("kernel", "storages", value=["bufer"]),
        _set("kernel", "unsupported_storage", value={"disk": "no"}),
        _set("kernel", "workgroup", value=[64, 1]),
        _set("kernel", "needs", value=["luck"]),
        _set("kernel", "test_only", value=1),
        _set("kernel", "tensors", value={"a": {"layout": "buffer"}}),
        _set("kernel", "axes", value={"size": {"value": [1]}}),
        _set("kernel", "push", value=["alpha"]),
        _set("kernels", value=[]),
        _set("checks", value={"rank": "a.rank > 1"}),
        _set("kernels", value="add"),
        _set("traits", value={"selects": True}),
        _set("executorch", value={"aten.add": ["a", "b", "alpha"]}),
        _set("kernel", "dtypes", value="f64"),
        _set("tolerance", value={"f64": 1}),
        _set("outputs", value={"y": {"shapes": "a.shape"}}),
        _set("tests", value={}),
    ],
)  # fmt: skip
def test_invalid_specs(validator: Any, project: Project, change: Callable[[Any], None]) -> None:
    spec = yaml.safe_load(SPEC)
    assert validator.is_valid(spec)
    assert validator.is_valid(yaml.safe_load(SIDECAR))
    broken = copy.deepcopy(spec)
    change(broken)
    assert not validator.is_valid(broken)
    project.write("op_specs/add.yaml", yaml.safe_dump(broken, sort_keys=False))
    with pytest.raises(Exception, match=r"^op_specs/add\.yaml:\d+:\d+: error: "):
        project.load()  # with the position, which a schema does not know


@pytest.mark.parametrize("key", ["op", "reference", "tests", "kernel"])
def test_required_keys(validator: Any, key: str) -> None:
    spec = yaml.safe_load(SPEC)
    del spec[key]
    assert not validator.is_valid(spec)


def test_the_file_is_generated(tmp_path: Path) -> None:
    from codegen.cli import main

    assert main(["schema", "--out", str(tmp_path / "schema.json")]) == 0
    expected = (tmp_path / "schema.json").read_text()
    assert (ROOT / "schema/spec.schema.json").read_text() == expected
