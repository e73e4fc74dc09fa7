"""Reads the cluster files that `foreshard show cluster --yaml` writes: block maps, lists of items of a line, and flow maps and lists. And what
wires a node has."""
from __future__ import annotations

import re
from typing import Any



def parsed(text: str) -> dict[str, Any]:
    lines = [line for line in text.splitlines() if line.strip()]
    value, rest = _block(lines, 0)
    assert not rest, rest[0]
    return value


def _block(lines: list[str], indent: int) -> tuple[Any, list[str]]:
    """The map or list that begins with the first line, and the lines after it."""
    value: Any = None
    while lines and len(lines[0]) - len(lines[0].lstrip()) == indent:
        line, lines = lines[0].strip(), lines[1:]
        if line.startswith("- "):
            value = (value or []) + [_flow(line[2:])]
            continue
        key, _, inline = line.partition(":")
        value = value or {}
        if inline.strip():
            value[key] = _flow(inline.strip())
        else:
            value[key], lines = _block(lines, len(lines[0]) - len(lines[0].lstrip()))
    return value, lines


def _flow(text: str) -> Any:
    if text[0] not in "{[":
        return _scalar(text)
    value, rest = _collection(text)
    assert not rest.strip(), text
    return value


def _collection(text: str) -> tuple[Any, str]:
    is_map, text = text[0] == "{", text[1:].lstrip()
    value: Any = {} if is_map else []
    while text[0] not in "}]":
        if is_map:
            key, _, text = text.partition(":")
            text = text.lstrip()
        if text[0] in "{[":
            item, text = _collection(text)
        else:
            end = re.search(r"[,}\]]", text)
            assert end, text
            item, text = _scalar(text[: end.start()]), text[end.start() :]
        if is_map:
            value[key.strip()] = item
        else:
            value.append(item)
        text = text.lstrip().removeprefix(",").lstrip()
    return value, text[1:]


def _scalar(text: str) -> Any:
    text = text.strip().strip('"')
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch(r"\d+", text) else float(text) if re.fullmatch(r"\d*\.\d+", text) else text


def bytes_per_second(bandwidth: str) -> float:
    number, unit = bandwidth.split()
    return float(number) * {"GB/s": 1e9, "TB/s": 1e12, "Gbit/s": 0.125e9}[unit]


def wires_of(cluster: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Both ways, (end, end, type) of each wire of a node, bonded ones as often as there are; a domain's fabric is an end."""
    node = cluster["node"]
    wires = []
    for w in node.get("wires", []):
        ends = w.get("all_pairs", w.get("between"))
        wires += [(a, b, w["link"]) for a in ends for b in ends if a != b] * w.get("count", 1)
    if "domain" in node:
        for g in range(node["gpus"]["count"]):
            wires += [(f"gpu{g}", "fabric", node["domain"]["link"]), ("fabric", f"gpu{g}", node["domain"]["link"])] * node["domain"].get("count", 1)
    return wires


def gpus_of(cluster: dict[str, Any]) -> list[str]:
    """Names of the GPUs of a node."""
    return [f"gpu{g}" for g in range(cluster["node"]["gpus"]["count"])]


def share_a_switch(cluster: dict[str, Any]) -> bool:
    """All GPUs of a node have wires to one switch: two of them reach each other over no fewer wires than any do."""
    near = ({b for a, b, _ in wires_of(cluster) if a == g and b.startswith(("switch", "fabric"))} for g in gpus_of(cluster))
    return bool(set.intersection(*near))


def are_joined(cluster: dict[str, Any], types: set[str]) -> bool:
    """Any two GPUs of a node have a wire of these types, or wires to one switch."""
    near: dict[str, set[str]] = {g: set() for g in gpus_of(cluster)}
    for a, b, kind in wires_of(cluster):
        if a in near and kind in types:
            near[a].add(b)
    return all(b in near[a] or any(x.startswith(("switch", "fabric")) for x in near[a] & near[b]) for a in near for b in near if a < b)


def make_a_ring(cluster: dict[str, Any], types: set[str]) -> bool:
    """Wires of these types from GPU to GPU go round all of a node."""
    gpus, wires = gpus_of(cluster), {(a, b) for a, b, kind in wires_of(cluster) if kind in types}

    def closes(path: list[str]) -> bool:
        if len(path) == len(gpus):
            return (path[-1], path[0]) in wires
        return any(closes([*path, g]) for g in gpus if g not in path and (path[-1], g) in wires)

    return len(gpus) > 2 and closes(gpus[:1])
