"""How well the texts of a toolbox can be told apart: requests ranked as the search does that FastMCP ships.

A ranker is no agent. It measures whether names, descriptions and parameter texts are distinct and share words with what
people ask; it plans nothing. Call the figure "distinguishability", never "accuracy of an agent".
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mcp_types import Tool

from toolworthy.rules.base import properties


@dataclass(frozen=True)
class Ranking:
    """One request: the tool that should come first, what came first, and by how much.

    place: 1 when the wanted tool came first, 0 when it wasn't found at all. margin: its score less that of the best
    other tool (BM25 units); below zero when another tool won.
    """

    request: str
    wanted: str
    first: str
    place: int
    margin: float

    @property
    def right(self) -> bool:
        return self.place == 1


def searchable(tool: Tool) -> str:
    """The text FastMCP's search sees of a tool: name, description, parameter names and their descriptions."""
    parts = [tool.name, tool.description or ""]
    for name, schema in properties(tool).items():
        parts += [name, str(schema.get("description") or "")]
    return " ".join(p for p in parts if p)


def rank(tools: Sequence[Tool], requests: Iterable[tuple[str, str]]) -> list[Ranking]:
    """Rank every (request, wanted tool name) over `tools` by BM25 (Okapi, k1 = 1.5, b = 0.75).

    FastMCP's BM25SearchTransform gives the order and keeps the scores; the margin needs them, so they are computed
    here, and a test holds this order equal to that of FastMCP's own search tool.
    """
    names = [t.name for t in tools]
    index = _Index([_tokens(searchable(t)) for t in tools])
    return [_one(names, index.scores(_tokens(request)), request, wanted) for request, wanted in requests]


def _one(names: list[str], scores: list[float], request: str, wanted: str) -> Ranking:
    order = [i for i in sorted(range(len(names)), key=lambda i: -scores[i]) if scores[i] > 0]
    places = [names[i] for i in order]
    own = scores[names.index(wanted)] if wanted in names else 0.0
    others = max((s for n, s in zip(names, scores, strict=True) if n != wanted), default=0.0)
    place = places.index(wanted) + 1 if wanted in places else 0
    return Ranking(request, wanted, places[0] if places else "(nothing)", place, own - others)


def _tokens(text: str) -> list[str]:
    return re.findall(r"[^\W_]{2,}", unicodedata.normalize("NFKC", text).casefold())


class _Index:
    def __init__(self, documents: list[list[str]], k1: float = 1.5, b: float = 0.75) -> None:
        self.counts = [Counter(d) for d in documents]
        mean = sum(map(len, documents)) / len(documents) if documents else 1.0
        self.norms = [k1 * (1 - b + b * len(d) / (mean or 1.0)) for d in documents]
        self.k1 = k1
        self.document_frequency = Counter(token for c in self.counts for token in c)

    def scores(self, query: list[str]) -> list[float]:
        total = len(self.counts)
        sums = [0.0] * total
        for token in query:
            frequency = self.document_frequency[token]
            if not frequency:
                continue
            weight = math.log((total - frequency + 0.5) / (frequency + 0.5) + 1)
            for i, counts in enumerate(self.counts):
                if count := counts[token]:
                    sums[i] += weight * count * (self.k1 + 1) / (count + self.norms[i])
        return sums
