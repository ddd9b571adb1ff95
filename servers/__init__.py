"""The servers that the course is about, from five lines to production."""
