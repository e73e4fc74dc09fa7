"""Reads public tables and writes points (docs/formats/measurements.md, "Points"); counts the rows that cannot be said, with the reason."""
import csv
import json
import os
import re

# Columns of a points table in the order in which they are written. What has no column of its own goes into `settings`.
COLUMNS = ["id", "group", "cluster", "nodes", "n_gpus", "model", "layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "gated", "rms_norm", "rope",
           "biases", "tied_embeddings", "causal", "experts", "top_k", "seq", "vocab", "attention", "tp", "pp", "dp", "cp", "ep", "micro_batch",
           "global_batch", "chunks", "recompute", "sequence_parallel", "sharding", "precision", "fp8_recipe", "optimizer", "framework", "settings",
           "measured_s", "measured_peak_bytes", "measured_reserved_bytes", "source"]
GIB = 1 << 30


# Columns that every point has, and that are integers of at least 1.
COUNTS = ("nodes", "n_gpus", "layers", "hidden", "heads", "ffn", "seq", "vocab", "tp", "pp", "dp", "cp", "ep", "chunks", "micro_batch", "global_batch")
# Others, which may be empty; and columns of words.
OPTIONAL_COUNTS = ("kv_heads", "head_dim", "experts", "top_k", "measured_peak_bytes", "measured_reserved_bytes")
WORDS = {"recompute": {"none", "selective", "full"}, "precision": {"fp32", "tf32", "fp16", "bf16", "fp8", "mxfp8", "nvfp4"}}


class Unsaid(Exception):
    """A row that the points cannot say. Its text is the reason: the same for all rows that lack the same thing."""


class Unknown(Exception):
    """A cell that has no entry in a converter's tables: these are to be completed, or the cell to be corrected."""

    def __init__(self, column, cell):
        super().__init__(f'{column}: "{cell}" is not known')


class Tables:
    """Reads from DATA_DIR/e2e, counts what is left out, and keeps what is refused."""

    def __init__(self, directory):
        self.directory = os.path.join(directory, "e2e")
        self.left_out = {}
        self.refused = []
        self.read = set()

    def with_header(self, columns):
        """The names of tables that have these columns, in this order."""
        names = []
        for name in sorted(os.listdir(self.directory)) if os.path.isdir(self.directory) else ():
            if name.endswith(".csv"):
                with open(os.path.join(self.directory, name), newline="", encoding="utf-8") as f:
                    if tuple(next(csv.reader(f), ())) == tuple(columns):
                        names.append(name)
        return names

    def rows(self, name):
        self.read.add(name)
        path = os.path.join(self.directory, name)
        if not os.path.exists(path):
            return []
        with open(path, newline="", encoding="utf-8") as f:
            return list(csv.DictReader(f))

    def json(self, name):
        path = os.path.join(self.directory, name)
        if not os.path.exists(path):
            return {}
        with open(path, encoding="utf-8") as f:
            return json.load(f)

    def leave_out(self, group, why):
        key = (group, why)
        self.left_out[key] = self.left_out.get(key, 0) + 1

    def refuse(self, table, row, why):
        self.refused.append(f"{table}: row {row}: {why}")

    def leave_out_unread(self, reasons):
        """Counts the rows of tables that no converter has read. `reasons` has those of tables that are left out on purpose."""
        for name in sorted(os.listdir(self.directory)) if os.path.isdir(self.directory) else ():
            if name.endswith(".csv") and name not in self.read:
                for _ in self.rows(name):
                    self.leave_out(name, reasons.get(name, "no converter reads this table"))

    def convert(self, name, table, one):
        """Yields one(place, row) of each row of a table; rows that raise Unsaid are counted, and so are those with a cell that cannot be read."""
        for k, r in enumerate(self.rows(name)):
            try:
                yield one(k, r)
            except Unsaid as why:
                self.leave_out(table, str(why))
            except KeyError as missing:
                self.leave_out(table, f"there is no column or no entry {missing}")
            except (ValueError, ArithmeticError) as why:
                self.leave_out(table, f"a cell is not what it should be: {why}")


def number(text, otherwise=0):
    """The integer in a cell; `otherwise` where it is empty or a word such as n/a."""
    text = (text or "").strip()
    return int(text) if text.lstrip("-").isdigit() else otherwise


def seconds_of(r, tokens, n_gpus):
    """Seconds of an iteration that trains so many tokens: as published, else from tokens/s, else from tokens/s per GPU (which tables
    round more)."""
    if r.get("step_time_s"):
        return float(r["step_time_s"])
    if r.get("tokens_per_s"):
        return tokens / float(r["tokens_per_s"])
    if r.get("tokens_per_s_per_gpu"):
        return tokens / (float(r["tokens_per_s_per_gpu"]) * n_gpus)
    raise Unsaid("neither seconds nor tokens/s are given, and FLOPs are counted in several ways")


def flow(value):
    """A value as YAML in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(flow(v) for v in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def point(**values):
    """A row of a points table. Values whose names are paths (with a dot) are settings."""
    row = {"chunks": 1, "recompute": "none", "sequence_parallel": 0, "sharding": "none", "attention": "flash", "cp": 1, "ep": 1}
    row.update((k, v) for k, v in values.items() if "." not in k and v is not None)
    settings = {k: v for k, v in values.items() if "." in k and v is not None}
    if settings:
        row["settings"] = flow(settings)
    unknown = [k for k in row if k not in COLUMNS]
    if unknown:
        raise TypeError(f"a points table has no column {unknown[0]}")
    if not row["id"]:
        raise Unsaid("it has no name")
    if not re.fullmatch(r"[\w.-]+", row["group"]):  # it names a file
        raise Unsaid(f"its group would be called {row['group']}")
    if not row.get("source"):
        raise Unsaid("its source is not given")
    for k in [k for k in COUNTS if k in row or "model" not in row] + [k for k in OPTIONAL_COUNTS if k in row]:
        if not 1 <= int(row[k]):
            raise Unsaid(f"{k} is {row[k]}")
    for k, words in WORDS.items():
        if row[k] not in words:
            raise Unsaid(f"{k} is {row[k]}")
    if "measured_s" in row and not 0 < float(row["measured_s"]) < float("inf"):
        raise Unsaid("the time is not a positive number")
    return row


def write(directory, groups):
    os.makedirs(directory, exist_ok=True)
    for group, rows in sorted(groups.items()):
        with open(os.path.join(directory, group + ".csv"), "w", newline="", encoding="utf-8") as f:
            writer = csv.DictWriter(f, COLUMNS, restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
