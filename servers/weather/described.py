"""Second stage: the same tool, named for people and described for the model.

Now a model can tell when this tool is the right one, and what its numbers mean. Still missing: any string is taken for
a city, the answer is prose that a program can't use, and failures aren't sorted.
"""

from fastmcp import FastMCP

from servers.backends import weather
from servers.backends.serve import serve

mcp = FastMCP("weather", instructions="Weather of this moment, by city. Forecasts and past weather aren't available.")


@mcp.tool(title="Current weather in a city")
def get_weather(city: str) -> str:
    """Get the current weather in one city.

    Use it when somebody asks what the weather is like now, as in "Do I need a coat in Oslo?".
    Don't use it for the coming days or for the past: say that this server can't tell, rather than guess from today.
    For several cities, call it once for each.

    The answer is one sentence: temperature in °C, humidity in percent, wind in km/h, the condition, the time in UTC,
    and the source, where "sample" means that the values are made up.

    Args:
        city: One city by name, in any common spelling, such as Hanoi, München or 東京. Where two cities share a name,
            add a comma and the two-letter country code: Córdoba, AR.
    """
    now = weather.current(city)
    return (
        f"{now.city}, {now.country_code}: {now.temperature_c} °C, humidity {now.humidity_percent} %, "
        f"wind {now.wind_kph} km/h, {now.condition.replace('_', ' ')}, "
        f"observed at {now.observed_at:%Y-%m-%d %H:%M} UTC, source: {now.source}."
    )


if __name__ == "__main__":
    serve(mcp)
