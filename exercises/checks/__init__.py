"""One module an exercise: its parts, points, hints and behaviour."""

from exercises.checks import ex02
from toolworthy.exercise import Exercise

EXERCISES: list[Exercise] = [ex02.EXERCISE]
