"""Why a call cannot be imported, where that is not the operator's or a rule's to say."""

from __future__ import annotations

from spirloom.errors import Unsupported


class NoOperator(Unsupported):
    """A call of what neither a spec nor a rule is for."""

    def __init__(self, target: str) -> None:
        if target.startswith("aten."):
            message = (
                "there is no operator for it; decompose it before saving: "
                "spirloom.torch.decompose(exported), or exported.run_decompositions()"
            )
        else:
            message = (
                "there is no operator of that name: give the folder of its spec with --spec-dir "
                "DIR, or decompose it before saving with exported.run_decompositions()"
            )
        super().__init__(message)


class Unknown(Exception):
    """A value that a call which cannot be imported would have given."""
