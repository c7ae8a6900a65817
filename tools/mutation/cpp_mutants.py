"""Mutants of a C++ module. One source contains all of them: it calls Mutated(id) (mutated.h) at
each changed expression, so that a module is compiled once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from clang.cindex import Cursor, CursorKind, Index, TranslationUnit, TypeKind

_COMPARED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_EQUATED = {"==": "!=", "!=": "=="}
_LOGICAL = {"&&": "||", "||": "&&"}
_COMPUTED = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|",
             "|": "&"}  # fmt: skip
_ASSIGNED = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|=": "&=", "&=": "|="}
_SWAPPED = {"min": "max", "max": "min", "all_of": "any_of", "any_of": "all_of", "back": "front",
            "front": "back", "lower_bound": "upper_bound", "upper_bound": "lower_bound",
            "min_element": "max_element", "max_element": "min_element"}  # fmt: skip
_MESSAGES = ("Error", "Broken")  # functions whose arguments are messages
_REFERENCES = (CursorKind.DECL_REF_EXPR, CursorKind.MEMBER_REF_EXPR, CursorKind.TYPE_REF)
_BLOCKS = (CursorKind.COMPOUND_STMT, CursorKind.IF_STMT, CursorKind.FOR_STMT,
           CursorKind.CXX_FOR_RANGE_STMT, CursorKind.WHILE_STMT)  # fmt: skip
_TESTS = (CursorKind.IF_STMT, CursorKind.WHILE_STMT, CursorKind.CONDITIONAL_OPERATOR)
_WRAPPERS = (CursorKind.UNEXPOSED_EXPR, CursorKind.PAREN_EXPR)
_UNCHANGED = (CursorKind.STATIC_ASSERT, CursorKind.ENUM_DECL, CursorKind.PARM_DECL)

_Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of a module."""

    id: int
    line: int
    before: str  # the changed expression
    after: str  # its changed lines

    def __str__(self) -> str:
        return f"line {self.line}: {self.before}  ->  {self.after}"


@dataclass(frozen=True, slots=True)
class Change:
    """Texts, and ranges of the source that are left. `type`: to which both alternatives are
    converted."""

    pieces: tuple[str | _Range, ...]
    type: str = ""


@dataclass(frozen=True, slots=True)
class Site:
    """An expression with its mutants, by id."""

    begin: int
    end: int
    changes: dict[int, Change]


def mutants_of(path: Path, arguments: Sequence[str], first_id: int = 1) -> tuple[str, list[Mutant]]:
    """The source with all mutants, whose ids count from `first_id`, in order of the source.
    `arguments`: of the compiler. Messages, assertions and constant expressions are unchanged."""
    finder = _Finder(path, arguments)
    text = finder.text
    mutants: list[Mutant] = []
    sites: list[Site] = []
    in_order = sorted(finder.changes.items(), key=lambda item: (item[0][0], -item[0][1]))
    for (begin, end), changes in in_order:
        sites.append(Site(begin, end, {}))
        first, last = text.rfind("\n", 0, begin) + 1, text.find("\n", end)
        for change in changes:
            after = "".join(p if isinstance(p, str) else text[slice(*p)] for p in change.pieces)
            lines = text[first:begin] + after + text[end:last]
            number = first_id + len(mutants)
            line = text.count("\n", 0, begin) + 1
            mutants.append(Mutant(number, line, _shown(text[begin:end]), _shown(lines)))
            sites[-1].changes[number] = change
    return _rendered(text, sites, 0, len(text)), mutants


def _rendered(text: str, sites: list[Site], begin: int, end: int) -> str:
    """A range of the source with the sites in it, which are sorted and nested."""
    result = ""
    inside = [site for site in sites if begin <= site.begin and site.end <= end]
    while inside:
        site, nested = inside[0], [other for other in inside[1:] if other.end <= inside[0].end]
        changed = _rendered(text, nested, site.begin, site.end)
        # Removed statements last: they have no value.
        for number, change in sorted(site.changes.items(), key=lambda item: item[1].type == "void"):
            after = "".join(
                p if isinstance(p, str) else _rendered(text, nested, *p) for p in change.pieces
            )
            changed = f"(Mutated({number}) ? {after} : {change.type}({changed}))"
        result += text[begin : site.begin] + changed
        begin = site.end
        inside = inside[1 + len(nested) :]
    return result + text[begin:end]


class _Finder:
    """Finds the changes by range."""

    def __init__(self, path: Path, arguments: Sequence[str]) -> None:
        options = TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
        unit = Index.create().parse(str(path), args=list(arguments), options=options)
        errors = [str(d) for d in unit.diagnostics if d.severity >= d.Error]
        if errors:
            raise RuntimeError("\n".join(errors))
        data = path.read_bytes()
        self.text = data.decode("ascii", errors="replace")  # positions are in bytes
        self.changes: dict[tuple[int, int], list[Change]] = {}
        own = [
            cursor for cursor in unit.cursor.get_children()
            if cursor.location.file and cursor.location.file.name == str(path)
        ]  # fmt: skip
        self._macros = [_range(c) for c in own if c.kind == CursorKind.MACRO_INSTANTIATION]
        for cursor in own:
            self._visit(cursor)

    def _add(self, cursor: Cursor, *pieces: str | _Range, type: str = "") -> None:
        begin, end = _range(cursor)
        if begin < end and not any(b <= begin < e for b, e in self._macros):
            known = self.changes.setdefault((begin, end), [])
            if Change(pieces, type) not in known:
                known.append(Change(pieces, type))

    def _visit(self, cursor: Cursor) -> None:
        children = list(cursor.get_children())
        if not self._is_unchanged(cursor, children):
            self._change(cursor, children)
            for child in children[cursor.kind == CursorKind.CASE_STMT :]:
                if not _is_template_argument(cursor, child):
                    self._visit(child)

    def _is_unchanged(self, cursor: Cursor, children: list[Cursor]) -> bool:
        begin, end = _range(cursor)
        if cursor.kind in _UNCHANGED or (cursor.kind == CursorKind.CALL_EXPR
                                         and cursor.spelling in _MESSAGES):  # fmt: skip
            return True
        if cursor.kind == CursorKind.VAR_DECL:
            return "constexpr" in self.text[begin : cursor.location.offset]
        # A function that only assertions call.
        return "maybe_unused" in (self.text[slice(*_range(child))] for child in children)

    def _change(self, cursor: Cursor, children: list[Cursor]) -> None:
        begin, end = _range(cursor)
        source = self.text[begin:end]
        match cursor.kind:
            case CursorKind.INTEGER_LITERAL:
                is_decimal = re.fullmatch("[1-9][0-9]*|0", source)
                self._add(cursor, str(int(source) + 1) if is_decimal else f"({source} + 1)")
            case CursorKind.CXX_BOOL_LITERAL_EXPR:
                self._add(cursor, "false" if source == "true" else "true")
            case CursorKind.UNARY_OPERATOR if re.match("!(?!=)", source):
                self._add(cursor, "bool(", (begin + 1, end), ")")
            case CursorKind.BINARY_OPERATOR | CursorKind.COMPOUND_ASSIGNMENT_OPERATOR:
                self._change_operator(cursor, children, number_operands=_are_numbers(children))
            case CursorKind.CALL_EXPR:
                arguments = [child for child in cursor.get_arguments() if child is not None]
                if cursor.spelling == "operator==":
                    self._change_operator(cursor, arguments, number_operands=False)
                elif cursor.spelling in _SWAPPED and children:
                    self._change_name(cursor, children[0])
        tests = [child for child in children if child.kind != CursorKind.DECL_STMT]
        if cursor.kind in _TESTS and tests[0].kind != CursorKind.VAR_DECL:
            self._negate(tests[0])
        for statement in self._statements(cursor, children):
            self._add(statement, "void()", type="void")

    def _change_operator(
        self, cursor: Cursor, operands: list[Cursor], *, number_operands: bool
    ) -> None:
        if len(operands) != 2:
            return
        (begin, end), left, right = _range(cursor), _range(operands[0]), _range(operands[1])
        between = self.text[left[1] : right[0]]
        operator = between.strip()
        tables = [_EQUATED, _LOGICAL, _ASSIGNED]
        if number_operands:
            tables += [_COMPARED, _COMPUTED]
        for table in tables:
            if operator in table:
                self._add(cursor, (begin, left[1]), between.replace(operator, table[operator]),
                          (right[0], end))  # fmt: skip
        if operator in _LOGICAL:
            for operand in operands:
                self._negate(operand)

    def _change_name(self, cursor: Cursor, callee: Cursor) -> None:
        (begin, end), name = _range(cursor), cursor.spelling
        found = list(re.finditer(rf"\b{name}\b", self.text[begin : _range(callee)[1]]))
        if found:
            at = begin + found[-1].start()
            self._add(cursor, (begin, at), _SWAPPED[name], (at + len(name), end))

    def _negate(self, condition: Cursor) -> None:
        """Negates a condition that no other change negates."""
        inner = _stripped(condition)
        begin, end = _range(inner)
        source = self.text[begin:end]
        operators = (CursorKind.BINARY_OPERATOR, CursorKind.CXX_BOOL_LITERAL_EXPR)
        is_equation = inner.kind == CursorKind.CALL_EXPR and inner.spelling == "operator=="
        if inner.kind not in operators and not is_equation and not source.startswith("!"):
            self._add(inner, "!bool(", (begin, end), ")", type="bool")

    def _statements(self, cursor: Cursor, children: list[Cursor]) -> Iterator[Cursor]:
        """The statements of a block that are calls, assignments or increments."""
        first = {CursorKind.COMPOUND_STMT: 0, CursorKind.IF_STMT: 1}.get(cursor.kind, -1)
        for child in children[first:] if cursor.kind in _BLOCKS else ():
            inner = _stripped(child)
            is_step = self.text.startswith(("++", "--"), _range(inner)[0])
            if is_step or inner.kind in (CursorKind.CALL_EXPR, CursorKind.BINARY_OPERATOR):
                yield inner


def _shown(text: str) -> str:
    return " ".join(text.split())


def _range(cursor: Cursor) -> tuple[int, int]:
    return cursor.extent.start.offset, cursor.extent.end.offset


def _stripped(cursor: Cursor) -> Cursor:
    """Without implicit conversions and parentheses."""
    children = list(cursor.get_children())
    while cursor.kind in _WRAPPERS and len(children) == 1:
        cursor = children[0]
        children = list(cursor.get_children())
    return cursor


def _is_template_argument(parent: Cursor, child: Cursor) -> bool:
    declares = parent.kind in (CursorKind.VAR_DECL, CursorKind.FIELD_DECL)
    is_before_name = child.extent.start.offset < parent.location.offset
    is_literal = child.kind == CursorKind.INTEGER_LITERAL
    return (declares and is_before_name) or (is_literal and parent.kind in _REFERENCES)


def _are_numbers(operands: list[Cursor]) -> bool:
    kinds = [operand.type.get_canonical().kind for operand in operands]
    return all(TypeKind.CHAR_U.value <= kind.value <= TypeKind.LONGDOUBLE.value for kind in kinds)
