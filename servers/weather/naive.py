"""First stage: what everybody writes first.

It works, and that is the trouble. The model sees a name and one string, nothing else: not when to use it, not what a
city may look like. The answer is prose without units. Nothing says that the tool only reads. And when a city is unknown
or the weather service fails, whatever text the exception has goes out.
"""

from fastmcp import FastMCP

from servers.backends import weather
from servers.backends.serve import serve

mcp = FastMCP("weather")


@mcp.tool
def get_weather(city: str) -> str:
    now = weather.current(city)
    return f"It is {now.temperature_c} degrees and {now.condition} in {now.city} ({now.source})"


if __name__ == "__main__":
    serve(mcp)
