"""Everything that a profile records about one dispatch."""

from __future__ import annotations

from spirloom.profile_file import Dispatch, Peaks, ProfileFile, Trial
from spirloom.profiling.tables import milliseconds, roofline_percent, text_table
from spirloom.terminal import bytes_text, in_flops, shown

_RESULTS = {
    "taken": "taken",
    "possible": "possible, but not preferred",
    "storage": "rejected",
    "when": "rejected: its `when` is false for this call",
    "library": "rejected",
    "device": "rejected: the device lacks",
    "loops": "rejected",
}


def dispatch_text(profile: ProfileFile, index: int) -> str:
    """The facts of a dispatch, the tensors it accesses, and the kernels that were considered."""
    dispatch = profile.dispatches[index]
    lines = [
        f"node        {shown(dispatch.node)}",
        f"operator    {shown(dispatch.op)}",
        f"variant     {shown(dispatch.variant)} (kernel {shown(dispatch.kernel)}, "
        f"{shown(dispatch.storage)})",
        f"grid        {_extent(dispatch.grid)} invocations in workgroups of "
        f"{_extent(dispatch.workgroup)}",
        f"time        min {milliseconds(dispatch.min)} ms, median {milliseconds(dispatch.median)} "
        f"ms, p90 {milliseconds(dispatch.p90)} ms of {len(dispatch.times)} runs",
        *_work(dispatch, profile.peaks),
    ]
    tensors = {tensor.id: tensor for tensor in profile.tensors}
    for what, ids in (("reads", dispatch.reads), ("writes", dispatch.writes)):
        for found in (tensors[each] for each in ids if each in tensors):
            shape = "×".join(map(str, found.shape)) or "scalar"
            lines.append(
                f"{what:<11} {shown(found.name)}  {shown(found.dtype)}  {shape}  "
                f"{shown(found.role)}, {bytes_text(found.bytes)}"
            )
    for name, value in dispatch.statistics.items():
        lines.append(f"driver      {shown(name)}: {shown(value)}")
    if dispatch.reason:
        lines.append(f"reason      {shown(dispatch.reason)}")
    if dispatch.considered:
        rows = [[trial.kernel, _result(trial)] for trial in dispatch.considered]
        lines += ["", *text_table(["kernel", "result"], rows, left=2)]
    return "\n".join(lines)


def _work(dispatch: Dispatch, peaks: Peaks | None) -> list[str]:
    if not dispatch.bytes_read + dispatch.bytes_written:
        return []
    lines = [
        f"work        {bytes_text(dispatch.bytes_read)} read, "
        f"{bytes_text(dispatch.bytes_written)} written, {in_flops(dispatch.operations)}"
    ]
    share = roofline_percent(dispatch, peaks)
    if peaks is not None and share is not None:
        lines.append(
            f"roofline    at least {milliseconds(peaks.bound(dispatch))} ms at the device's peaks; "
            f"the fastest run reaches {share:.0f} % of it"
        )
    return lines


def _extent(sizes: tuple[int, ...]) -> str:
    return "×".join(map(str, sizes))


def _result(trial: Trial) -> str:
    text = _RESULTS.get(trial.result, shown(trial.result))
    if not trial.reason:
        return text
    return f"{text}{' ' if text.endswith('lacks') else ': '}{trial.reason}"
