"""The few pieces of HTML and text that wire, report and check share."""

from __future__ import annotations

import html
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

# JupyterLab's own colours, which follow its light and dark theme; the second value is for everything else.
COLOURS = {
    "good": "var(--jp-success-color1, #146c2e)",
    "bad": "var(--jp-error-color1, #b3261e)",
    "note": "var(--jp-warn-color1, #7a5900)",
    "info": "var(--jp-info-color1, #0b57d0)",
    "plain": "var(--jp-ui-font-color2, #5f6368)",
}


def escape(text: object) -> str:
    """`text` for HTML. Control and direction characters become visible codes, so a server can't repaint the page."""
    return html.escape(visible(str(text)))


def visible(text: str) -> str:
    """`text` with control, direction and invisible characters written out as <U+XXXX>; line breaks and tabs stay."""
    return "".join(
        c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co") else f"<U+{ord(c):04X}>"
        for c in text
    )


def shorten(value: object, limit: int = 300) -> str:
    """`value` as one visible text of at most `limit` characters, saying how much was left out."""
    text = visible(value if isinstance(value, str) else repr(value))
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"


def box(kind: str, heading: str, body: str) -> str:
    """A framed block: `heading` says in words what the colour of `kind` (good, bad, note, plain) says."""
    colour = COLOURS[kind]
    return (
        f'<div style="border-left:4px solid {colour};padding:4px 0 4px 12px;margin:4px 0">'
        f'<b style="color:{colour}">{escape(heading)}</b>{body}</div>'
    )


def table(columns: list[str], rows: list[list[object]]) -> str:
    """A plain HTML table, to the left as text is read; every cell is escaped, line breaks are kept."""
    style = "text-align:left;vertical-align:top;white-space:pre-wrap"
    head = "".join(f'<th scope="col" style="{style}">{escape(c)}</th>' for c in columns)
    lines = "".join("<tr>" + "".join(f'<td style="{style}">{escape(c)}</td>' for c in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


class Table:
    """A data frame shown to be read: whole texts, to the left, with their line breaks. A plain index isn't shown."""

    def __init__(self, frame: pandas.DataFrame) -> None:
        plain = frame.index.name is None and list(frame.index) == list(range(len(frame)))
        self.frame = frame if plain else frame.reset_index(names=frame.index.name or "")

    def __repr__(self) -> str:
        return str(self.frame.to_string(index=False, justify="left"))

    def _repr_html_(self) -> str:
        return table([str(c) for c in self.frame.columns], self.frame.astype(object).to_numpy().tolist())
