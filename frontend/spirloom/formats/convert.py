"""spirloom.convert: the graph file of a model in any format."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, overload

from spirloom.errors import ImportFailure
from spirloom.formats.options import of_keywords
from spirloom.formats.output_files import check_output

log = logging.getLogger("spirloom")


@overload
def convert(
    model: str | Path,
    *,
    output: None = None,
    attachments: Mapping[str, bytes] | None = None,
    **options: Any,
) -> bytes: ...


@overload
def convert(
    model: str | Path,
    *,
    output: str | Path,
    attachments: Mapping[str, bytes] | None = None,
    **options: Any,
) -> None: ...


def convert(
    model: str | Path,
    *,
    output: str | Path | None = None,
    attachments: Mapping[str, bytes] | None = None,
    **options: Any,
) -> bytes | None:
    """The graph file (.slg) of a model: an ONNX file, an archive of torch.export.save (.pt2), an
    ExecuTorch program (.pte), a GGUF file, or a Hugging Face directory. With `output`, it is
    written to this file, and nothing is returned. The bytes are those of `spirloom import`.

    `options`: those of `spirloom import`, fields of spirloom.formats.options.ImportOptions:

        spirloom.convert("net.onnx", dims={"batch": (1, 8)}, fp16=True)
        spirloom.convert("llama.gguf", output="llama.slg", context=4096, kv_cache="int8")

    An option that the format does not read is an error. `attachments`: named bytes that the file
    also contains, such as class names. Raises ImportFailure, which lists all nodes that cannot be
    imported.
    """
    from spirloom import graph_file
    from spirloom.formats.readers import Request, format_of, read_model
    from spirloom.op_library import OpLibrary
    from spirloom.passes.files import add_passes_of
    from spirloom.terminal import silent

    path, chosen = Path(model), of_keywords(options)
    if not path.exists():
        raise ImportFailure(f"Cannot read {path}: No such file or directory.")
    chosen.check_types()
    chosen.refuse_unread(format_of(path))
    if output is not None:
        if not str(output):
            raise ImportFailure("output is empty; expected a file name.")
        check_output("output", path, Path(output))
    for each in chosen.passes:
        add_passes_of(Path(each))
    library = OpLibrary.with_dirs([Path(each) for each in chosen.spec_dirs])
    graphs = read_model(Request(path, chosen, library, silent, log.info))
    graph_file.attach(graphs, attachments or {})
    if output is None:
        return graph_file.to_bytes(*graphs)
    graph_file.save(graphs, Path(output))
    return None
