"""The FlatBuffers classes flatc generates from schema/graph.fbs (see cmake/make_venv.py)."""

try:
    from spirloom_schema.Arg import Arg, ArgT
    from spirloom_schema.ArgKind import ArgKind
    from spirloom_schema.Attachment import Attachment, AttachmentT
    from spirloom_schema.Constant import Constant, ConstantT
    from spirloom_schema.Graph import Graph, GraphT
    from spirloom_schema.IntInput import IntInput, IntInputT
    from spirloom_schema.Node import Node, NodeT
    from spirloom_schema.NumberExpr import NumberExpr, NumberExprT
    from spirloom_schema.SizeExpr import SizeExpr, SizeExprT
    from spirloom_schema.SizeTerm import SizeTerm, SizeTermT
    from spirloom_schema.State import State, StateT
    from spirloom_schema.Symbol import Symbol, SymbolT
    from spirloom_schema.Tensor import Tensor, TensorT
except ModuleNotFoundError as error:
    if not (error.name or "").startswith("spirloom_schema"):
        raise
    raise ModuleNotFoundError(
        f"{error}: a build generates it from schema/graph.fbs. Run ./dev build and use "
        ".venv/bin/python, or install the wheel.",
        name=error.name,
    ) from None

__all__ = [
    "Arg",
    "ArgKind",
    "ArgT",
    "Attachment",
    "AttachmentT",
    "Constant",
    "ConstantT",
    "Graph",
    "GraphT",
    "IntInput",
    "IntInputT",
    "Node",
    "NodeT",
    "NumberExpr",
    "NumberExprT",
    "SizeExpr",
    "SizeExprT",
    "SizeTerm",
    "SizeTermT",
    "State",
    "StateT",
    "Symbol",
    "SymbolT",
    "Tensor",
    "TensorT",
]
