"""A map of JSON whose documented keys are attributes, too; and such maps as rows of a table."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import pandas


class Record(Mapping[str, Any]):
    """A map that is read only. A class that derives from it annotates its keys: each is an attribute, None where the map has none.

    `raw` is the map as JSON has it. Keys that are not annotated, those of a later program, are read as record["key"].
    """

    __slots__ = ("raw",)
    documented: ClassVar[frozenset[str]] = frozenset()  # the annotated keys

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.documented = cls.documented | frozenset(vars(cls).get("__annotations__", {}))

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw: dict[str, Any] = raw

    def __getattr__(self, name: str) -> Any:
        if name in type(self).documented:
            return self.raw.get(name)
        raise AttributeError(f"{type(self).__name__} has no {name!r}")

    def __getitem__(self, key: str) -> Any:
        return self.raw[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.raw)

    def __len__(self) -> int:
        return len(self.raw)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.documented]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.raw!r})"


def row(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record with no maps in it: {"a": {"b": 1}} is {"a.b": 1}, and an interval [low, high] is "NAME.low" and "NAME.high"."""
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, Mapping):
            flat.update({f"{key}.{inner}": v for inner, v in row(value).items()})
        elif isinstance(value, list) and "_interval" in key and len(value) == 2:
            flat[f"{key}.low"], flat[f"{key}.high"] = value
        else:
            flat[key] = value
    return flat


def frame(records: Iterable[Mapping[str, Any]]) -> pandas.DataFrame:
    """A pandas DataFrame with a row for each record. Raises ImportError where pandas is not there."""
    try:
        import pandas
    except ImportError as e:
        raise ImportError(
            "a frame needs pandas (pip install pandas, or Debian's python3-pandas); .rows() gives the same as a list of maps"
        ) from e
    return pandas.DataFrame([row(record) for record in records])
