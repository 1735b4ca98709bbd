"""The result of a run as objects. ``data`` has all of it, as result.schema.json of Redline's documentation describes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence

if TYPE_CHECKING:
    import pandas

_MS = 1e-6  # milliseconds per nanosecond


_FRAMES = "frames and records need pandas and pyarrow: pip install 'redline-bench[frames]'"


class Latency:
    """Latencies of a level in milliseconds."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        self.avg_ms: float = data["avg"] * _MS
        self.min_ms: float = data["min"] * _MS
        self.max_ms: float = data["max"] * _MS
        self.std_dev_ms: float = data["std_dev"] * _MS

    @property
    def percentiles_ms(self) -> Dict[float, float]:
        """All percentiles that were computed."""
        return {point["p"]: point["ns"] * _MS for point in self.data.get("percentiles") or []}

    def percentile_ms(self, p: float) -> float:
        """The latency at a percentile. Raises KeyError if it was not computed."""
        return self.percentiles_ms[p]

    def __repr__(self) -> str:
        return "<redline.Latency avg %.4g ms, max %.4g ms>" % (self.avg_ms, self.max_ms)


class Metric:
    """A measured quantity with a name, such as time_to_first_token."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        self.tag: str = data["tag"]
        self.name: str = data["name"]
        self.unit: str = data["unit"]
        self.avg: float = data["avg"]

    @property
    def percentiles(self) -> Dict[float, float]:
        """All percentiles that were computed, in the unit of the metric. Empty for a single number, such as a rate."""
        return {point["p"]: point["v"] for point in (self.data.get("dist") or {}).get("percentiles") or []}

    def __repr__(self) -> str:
        return "<redline.Metric %s, avg %.4g %s>" % (self.tag, self.avg, self.unit)


class Level:
    """One load setting of a run, such as concurrency 8 or 100 requests/s."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        client = data["client"]
        self.data = data
        self.mode: str = data["mode"]
        self.concurrency: Optional[int] = data.get("concurrency")
        self.rate: Optional[float] = data.get("rate")
        self.stable: bool = data["stable"]
        self.requests: int = client["requests"]
        self.failed: int = client["failed"]
        self.throughput: float = client["infer_per_sec"]
        """Inferences per second: requests times the batch size."""
        self.latency = Latency(client["latency"])
        self.client_limited: bool = data.get("client_limited", False)

    @property
    def metrics(self) -> Dict[str, Metric]:
        """The named metrics of a language-model run, by tag."""
        return {metric["tag"]: Metric(metric) for metric in self.data.get("metrics") or []}

    def row(self) -> Dict[str, Any]:
        """The level as one row of a table."""
        row: Dict[str, Any] = {
            "mode": self.mode,
            "concurrency": self.concurrency,
            "rate": self.rate,
            "requests": self.requests,
            "failed": self.failed,
            "throughput": self.throughput,
            "stable": self.stable,
            "client_limited": self.client_limited,
            "avg_ms": self.latency.avg_ms,
        }
        for p, value in self.latency.percentiles_ms.items():
            row["p%g_ms" % p] = value
        for tag, metric in self.metrics.items():
            row[tag + "_avg"] = metric.avg
            for p, value in metric.percentiles.items():
                row["%s_p%g" % (tag, p)] = value
        return row

    def __repr__(self) -> str:
        load = "rate %g" % self.rate if self.rate else "%s %s" % (self.mode, self.concurrency) if self.concurrency else self.mode
        return "<redline.Level %s, %d requests, %.4g inferences/s, avg %.4g ms>" % (load, self.requests, self.throughput, self.latency.avg_ms)


class Check(NamedTuple):
    """The outcome of one rule at one level, or of one comparison with a baseline."""

    rule: str
    level: str
    ok: bool
    text: str


class Records:
    """Every request of a run, in a Parquet file. The file is read when a method asks for it. Needs pyarrow."""

    def __init__(self, path: "str | os.PathLike[str]") -> None:
        self.path = os.fspath(path)

    def frame(self, columns: Optional[Sequence[str]] = None) -> "pandas.DataFrame":
        """All requests, or some columns of them, as a DataFrame."""
        try:
            import pyarrow.parquet

            import pandas  # noqa: F401  # to_pandas needs it
        except ImportError as error:
            raise ImportError(_FRAMES) from error
        frame: "pandas.DataFrame" = pyarrow.parquet.read_table(self.path, columns=columns).to_pandas()
        return frame

    def batches(self, size: int = 65536, columns: Optional[Sequence[str]] = None) -> Iterator[Any]:
        """The requests as pyarrow record batches, so that a file larger than the memory can be read."""
        try:
            import pyarrow.parquet
        except ImportError as error:
            raise ImportError(_FRAMES) from error
        with pyarrow.parquet.ParquetFile(self.path) as file:
            yield from file.iter_batches(batch_size=size, columns=columns)

    def __repr__(self) -> str:
        return "<redline.Records %s>" % self.path


class Result:
    """The result of a run."""

    def __init__(self, data: Mapping[str, Any], text: str = "", records: "str | os.PathLike[str] | None" = None) -> None:
        self.data = data
        self.text = text
        """The report that the program printed."""
        self._records = records

    @property
    def levels(self) -> List[Level]:
        """The levels in the order in which they were measured."""
        return [Level(level) for level in self.data.get("levels") or []]

    @property
    def verdict(self) -> str:
        """valid, unstable, too-short, client-limited, server-failed, failed or interrupted."""
        return str(self.data.get("verdict", {}).get("state", ""))

    @property
    def reasons(self) -> List[str]:
        """Why the verdict is not valid, each with advice."""
        return ["%s: %s" % (reason["what"], reason["try"]) for reason in self.data.get("verdict", {}).get("reasons") or []]

    @property
    def checks(self) -> List[Check]:
        """The rules and comparisons that the run was held to."""
        return [Check(c["rule"], c.get("level", ""), c["ok"], c["text"]) for c in self.data.get("checks") or []]

    @property
    def command_line(self) -> str:
        """The command line of the run, without secrets."""
        return str(self.data.get("command_line", ""))

    @property
    def records(self) -> Records:
        """Every request, if the run was given ``records="FILE.parquet"``."""
        if self._records is None:
            raise ValueError('the run kept no records: give it records="FILE.parquet"')
        return Records(self._records)

    def frame(self) -> "pandas.DataFrame":
        """One row per level as a pandas DataFrame."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError(_FRAMES) from error
        return pandas.DataFrame([level.row() for level in self.levels])

    def __repr__(self) -> str:
        levels = len(self.levels)
        return "<redline.Result %s, %d level%s>" % (self.verdict, levels, "" if levels == 1 else "s")
