"""What lessons state of protocol and SDK, asserted. A failing test's file names the lesson that teaches it."""
