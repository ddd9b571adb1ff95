"""Bad on purpose: a forecast whose schema says next to nothing.

- No bounds: any number of days, any date, any word for the units, any object for the options.
- Hidden rules: every unit but F means Celsius, and only this code knows the options: `round` and `rain`. A misspelt one
  is silently ignored.
- Prose without units goes out, and so does the text of every exception, wherever it came from.
"""

from datetime import date
from typing import Any

from fastmcp import FastMCP

from servers.backends import weather
from servers.backends.serve import serve

mcp = FastMCP("forecast")


@mcp.tool
def get_forecast(city: str, days: int, start: date, units: str, options: dict[str, Any]) -> str:
    sentences = []
    for day in weather.forecast(city, start, days):
        high = day.high_c * 9 / 5 + 32 if units == "F" else day.high_c
        sentence = f"{day.date:%A} will be {day.condition} with up to {round(high, options.get('round', 0))} degrees"
        if options.get("rain"):
            sentence += f" and {day.precipitation_mm} of rain"
        sentences.append(sentence)
    return ". ".join(sentences)


if __name__ == "__main__":
    serve(mcp)
