"""Results as the pages of benchmarks/results/: a function per topic, over its JSON values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.context import Rate, Timing
from benchmarks.kernels import Ceilings, Timed, read
from benchmarks.machine import LOADED
from benchmarks.tables import figure, mebibytes, milliseconds, percent, table, times

Results = Mapping[str, Any]


def page(topic: str, results: Results) -> str:
    """The whole page of a topic."""
    title, body = PAGES[topic]
    return f"# {title}\n\n{conditions(topic, results)}\n{body(results)}"


def conditions(topic: str, results: Results) -> str:
    """How and on what it was measured."""
    machine = ", ".join(f"{name} {value}" for name, value in results["machine"].items())
    text = f"Made by `./dev bench {topic}`: the least of {results['times']} processes, taken in "
    text += f"turns. Machine: {machine}. Others used {percent(results['others'])} of the "
    text += "processors meanwhile.\n"
    if results["others"] > LOADED:
        text += "\n**The machine was busy with other work: times by the clock are too long, CPU "
        text += "times a little.**\n"
    return text


def ceilings_table(ceilings: Ceilings) -> str:
    """What the device does at most."""
    rows = (
        ("multiply-adds in registers", ceilings.operations, "GFLOP/s"),
        ("loads of a vec4 from a cached buffer", ceilings.loads, "G/s"),
        ("bytes read and written in order", ceilings.bytes, "GB/s"),
    )
    return table(
        ("ceiling", "by the clock", "by CPU time", "unit"),
        ((name, figure(r.wall / 1e9), figure(r.cpu / 1e9), unit) for name, r, unit in rows),
    )


def kernels(results: Results) -> str:
    """A row for each call."""
    ceilings, timed = read(results)
    rows = (kernel_row(each, ceilings) for each in timed)
    titles = ("template", "variant", "call", "ms", "CPU ms", "rate", "of ceiling", "by CPU time")
    return ceilings_table(ceilings) + "\n" + KERNEL_NOTE + "\n" + table(titles, rows)


KERNEL_NOTE = """\
A call made of multiply-adds is measured by them, two operations each, against the first ceiling;
another by the bytes of its operands and results, each once, against the last one.
"""


def share_of_ceiling(each: Timed, ceilings: Ceilings) -> tuple[Rate, Rate, str]:
    """A call's rate, its share of the ceiling that it is measured by, and the rate's unit."""
    if each.call.multiply_adds:
        rate = each.time.rate(2 * each.call.multiply_adds)
        return rate, rate.of(ceilings.operations), "GFLOP/s"
    rate = each.time.rate(each.call.bytes)
    return rate, rate.of(ceilings.bytes), "GB/s"


def kernel_row(each: Timed, ceilings: Ceilings) -> tuple[str, ...]:
    """The cells of a call."""
    rate, share, unit = share_of_ceiling(each, ceilings)
    variant, _, shapes = each.call.id.partition("/")
    return (
        each.call.family, variant, shapes.replace("_", " "),
        *both(each.time),
        f"{figure(rate.wall / 1e9)} {unit}", percent(share.wall), percent(share.cpu),
    )  # fmt: skip


def networks(results: Results) -> str:
    """A row for each network, and what a steady run is made of."""
    ceilings = Ceilings.from_json(results["ceilings"])
    ours = ("ms", "CPU ms", "GFLOP/s", "of ceiling", "by CPU time")
    peers = ("PyTorch on CPU ms", "CPU ms", "ncnn ms", "CPU ms", "ncnn ÷ Spirloom", "by CPU time")
    titles = ("network", "GMAC", *ours, *peers)
    rows = [network_row(each, ceilings) for each in results["networks"]]
    text = ceilings_table(ceilings) + "\n" + NETWORK_NOTE + "\n" + table(titles, rows)
    steady = (
        (each["name"], str(each["steady"]["dispatches"]), str(each["steady"]["barriers"]),
         figure(each["steady"]["host_min_ms"] * 1e3))
        for each in results["networks"]
    )  # fmt: skip
    return (
        text
        + "\n"
        + STEADY_NOTE
        + "\n"
        + table(("network", "dispatches", "barriers", "host µs"), steady)
    )


NETWORK_NOTE = """\
One image, or two square matrices; float32. Multiply-adds are those of the definition, two
operations each. PyTorch runs on the same processors, ncnn on the same Vulkan device, from the same
ONNX file, its result checked.
"""
STEADY_NOTE = """\
A run of a loaded model allocates nothing and records nothing (a test counts). Host: what it takes
beside the GPU's work, copying inputs and outputs, submitting and waiting, with `--profile`.
"""


def network_times(network: Results) -> dict[str, Timing]:
    """By program."""
    return {name: Timing(**found) for name, found in network["times"].items()}


def both(time: Timing | None) -> tuple[str, str]:
    """By the clock and of the processors; empty for what was not measured."""
    return ("", "") if time is None else (milliseconds(time.wall), milliseconds(time.cpu))


def network_row(network: Results, ceilings: Ceilings) -> tuple[str, ...]:
    """The cells of a network."""
    found = network_times(network)
    ours, torch, ncnn = found["spirloom"], found.get("torch"), found.get("ncnn")
    rate = ours.rate(2 * network["multiply_adds"])
    share = rate.of(ceilings.operations)
    ratios = ("", "")
    if ncnn is not None:
        ratios = (times(ncnn.wall / ours.wall), times(ncnn.cpu / ours.cpu))
    return (
        network["name"], figure(network["multiply_adds"] / 1e9),
        *both(ours), figure(rate.wall / 1e9), percent(share.wall), percent(share.cpu),
        *both(torch), *both(ncnn), *ratios,
    )  # fmt: skip


def language(results: Results) -> str:
    """A row for each kind of weights."""
    prompt, tokens, layers = results["prompt"], results["tokens"], results["sizes"]["layers"]
    text = f"Tokens a second, on {results['models'][0]['device']}: of a prompt of {prompt}, and of "
    text += f"{tokens - 1} more behind its first, one by one, each of the greatest score. {layers} "
    text += "layers, weights made up, in one GGUF file for both, imported with --fp16 where they "
    text += "are f16. A process reads the prompt once before it is timed."
    if results["ggml"]:
        text += f" Beside it ggml's Vulkan backend, all layers on the device ({results['ggml']}). "
        text += "Same: of the tokens, those before the first that differs."
    titles = ("weights", "prompt", "reply", "ggml: prompt", "reply", "Spirloom ÷ ggml: prompt",
              "reply", "same")  # fmt: skip
    return text + "\n\n" + table(titles, (language_row(each) for each in results["models"]))


def language_row(model: Results) -> tuple[str, ...]:
    """The cells of a kind of weights."""
    ours, peer = model["rates"]["spirloom"], model["rates"].get("ggml")
    found = model["weights"], figure(ours["prompt"]), figure(ours["reply"])
    if peer is None:
        return (*found, "", "", "", "", "")
    ratios = (times(ours[name] / peer[name]) for name in ("prompt", "reply"))
    return (*found, figure(peer["prompt"]), figure(peer["reply"]), *ratios, str(model["same"]))


def load(results: Results) -> str:
    """A row for each way to start."""
    text = f"{results['network']}: {results['pipelines']} pipelines are made, packing of weights "
    text += f"included; a run dispatches {results['variants']} variants. Cold: neither the "
    text += "driver's cache nor ours; warm: both filled by an earlier process. ncnn's process "
    text += "is one of Python.\n"
    names = {"load_ms": "load ms", "pipeline_ms": "of it pipelines ms",
             "first_run_ms": "first run ms", "result_ms": "to the first result ms",
             "process_ms": "whole process ms"}  # fmt: skip
    rows = (
        (start, *(figure(found[key]) if key in found else "" for key in names))
        for start, found in results["starts"].items()
    )
    return text + "\n" + table(("start", *names.values()), rows)


def memory(results: Results) -> str:
    """A row for each network."""
    base = results["process_bytes"]
    text = "MiB. In use at once: no plan takes less. Constants: weights as kernels take them, on "
    text += "the device; parameters: the same in the file. Memory of the process after a run and "
    text += f"at its most, beyond the {mebibytes(base)} that driver and runtime take for a graph "
    text += "of one node; on a CPU device it holds what is on the device as well.\n"
    titles = ("network", "in use at once", "planned", "planned ÷ least", "unshared", "constants",
              "parameters", "process", "process at most")  # fmt: skip
    rows = (
        (each["name"], mebibytes(each["live_bytes"]), mebibytes(each["planned_bytes"]),
         f"{each['planned_bytes'] / each['live_bytes']:.3f}", mebibytes(each["naive_bytes"]),
         mebibytes(each["constant_bytes"]), mebibytes(each["parameter_bytes"]),
         mebibytes(each["memory_bytes"] - base), mebibytes(each["peak_memory_bytes"] - base))
        for each in results["networks"]
    )  # fmt: skip
    return text + "\n" + table(titles, rows)


PAGES: dict[str, tuple[str, Callable[[Results], str]]] = {
    "kernels": ("Kernels", kernels),
    "networks": ("Networks", networks),
    "language": ("Language models", language),
    "load": ("Loading", load),
    "memory": ("Memory", memory),
}
