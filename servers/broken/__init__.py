"""Servers that are bad on purpose. Only lessons and tests may import them."""
