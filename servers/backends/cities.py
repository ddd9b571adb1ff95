"""The forty cities of `cities.csv`, found by any of their spellings."""

from __future__ import annotations

import csv
import difflib
import unicodedata
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from servers.backends.errors import NotFound

# No name is longer, and comparing takes time.
MAX_LENGTH = 100


@dataclass(frozen=True)
class City:
    """One city: coordinates in degrees (north and east are positive), IANA time zone, ISO 3166 country code.

    `warmer_c` and `wet_percent` shape the sample weather and mean nothing outside it.
    """

    name: str
    country_code: str
    country: str
    latitude: float
    longitude: float
    timezone: str
    spellings: tuple[str, ...] = ()
    warmer_c: float = 0.0
    wet_percent: float = 30.0

    @property
    def label(self) -> str:
        """Name and country code, as in "Hanoi, VN": unlike the name, no two cities share it."""
        return f"{self.name}, {self.country_code}"


@cache
def cities() -> tuple[City, ...]:
    """All forty, in the order of the file."""
    with Path(__file__).with_name("cities.csv").open(encoding="utf-8", newline="") as file:
        return tuple(_city(row) for row in csv.DictReader(line for line in file if not line.startswith("#")))


def search(text: str) -> list[City]:
    """All cities that go by a name or other spelling; case, accents, spaces and hyphens don't matter.

    A country after a comma, as code or as name, decides between cities of one name: "Córdoba, AR", "Cordoba, Spain".
    """
    found = _index().get(_fold(text))
    if found:
        return list(found)
    name, _, country = text.rpartition(",")
    country = _fold(country)
    return [
        city for city in _index().get(_fold(name), []) if country in (_fold(city.country_code), _fold(city.country))
    ]


def find_city(text: str) -> City:
    """The one city that goes by this name, as `search` understands it.

    Raises:
        NotFound: There is none, or more than one; `suggestions` has the labels of the closest.
    """
    text = text.strip()[:MAX_LENGTH]
    found = search(text)
    if len(found) == 1:
        return found[0]
    if found:
        labels = [city.label for city in found]
        raise NotFound(f"More than one city is called {text!r}: {' or '.join(labels)}?", labels)
    labels = _closest(text)
    hint = f" Did you mean {' or '.join(labels)}?" if labels else ""
    raise NotFound(f"There is no city called {text!r} here.{hint}", labels)


def _closest(text: str) -> list[str]:
    name = _fold(text.rsplit(",", 1)[0])
    spellings = difflib.get_close_matches(name, _index(), n=3, cutoff=0.6)
    return list(dict.fromkeys(city.label for spelling in spellings for city in _index()[spelling]))


@cache
def _index() -> dict[str, list[City]]:
    index: dict[str, list[City]] = {}
    for city in cities():
        for key in {_fold(spelling) for spelling in (city.name, *city.spellings)}:
            index.setdefault(key, []).append(city)
    return index


# Letters that Unicode doesn't take apart into a letter and an accent.
_PLAIN = str.maketrans({"ø": "o", "đ": "d", "ł": "l", "ı": "i", "æ": "ae", "œ": "oe"})


def _fold(text: str) -> str:
    """Only what tells spellings apart: letters and digits, without case and accents."""
    letters = unicodedata.normalize("NFKD", text.casefold().translate(_PLAIN))
    return "".join(letter for letter in letters if letter.isalnum())


def _city(row: dict[str, str]) -> City:
    return City(
        name=row["name"],
        country_code=row["country_code"],
        country=row["country"],
        latitude=float(row["latitude"]),
        longitude=float(row["longitude"]),
        timezone=row["timezone"],
        spellings=tuple(row["spellings"].split("|")),
        warmer_c=float(row["warmer_c"]),
        wet_percent=float(row["wet_percent"]),
    )
