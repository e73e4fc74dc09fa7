"""Scenarios and stand-ins for the program that several tests use."""
from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]

_SMALL: dict[str, Any] = {
    "foreshard": 1,
    "name": "two Summit nodes",
    "model": {"builtin": "bert-large"},
    "cluster": {"preset": "summit", "nodes": 2},
    "training": {"batch_per_gpu": 4, "precision": "fp32", "optimizer": "adam"},
    "plans": ["data-parallel", {"megatron": {"tensor": 2}}],
}


def small(**changes: Any) -> dict[str, Any]:
    """A scenario that is answered in milliseconds, with some keys in the place of its own."""
    return {**copy.deepcopy(_SMALL), **changes}


def fake_program(folder: Path, script: str) -> Path:
    """A shell script that stands in for the program."""
    file = folder / "foreshard"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file
