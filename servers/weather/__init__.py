"""One tool, get_weather, stage by stage: each file is a whole server."""
