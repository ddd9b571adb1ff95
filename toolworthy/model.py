"""Ask a real model which tool it would call, through any OpenAI-compatible endpoint. Optional; nothing needs it.

Configured by TOOLWORTHY_MODEL_URL (such as http://127.0.0.1:11434/v1), TOOLWORTHY_MODEL (the model's name) and, where
the endpoint asks for one, TOOLWORTHY_MODEL_KEY. Names of our own, so that a key set for something else is never spent.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import httpx2
from mcp_types import Tool

from toolworthy.render import shorten


class ModelError(Exception):
    """The endpoint is not configured, not reachable, or answered something unusable; one sentence."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@dataclass(frozen=True)
class Model:
    """An OpenAI-compatible chat endpoint."""

    url: str
    name: str
    key: str = ""
    limit: float = 60.0  # seconds for one answer

    @classmethod
    def from_environment(cls) -> Model | None:
        """The configured model, or None without TOOLWORTHY_MODEL_URL. Raises ModelError when only half is set."""
        url, name = os.environ.get("TOOLWORTHY_MODEL_URL", ""), os.environ.get("TOOLWORTHY_MODEL", "")
        if not url:
            return None
        if not name:
            raise ModelError("TOOLWORTHY_MODEL_URL is set but TOOLWORTHY_MODEL isn't: give the model's name too.")
        return cls(url.rstrip("/"), name, os.environ.get("TOOLWORTHY_MODEL_KEY", ""))

    async def choose(self, tools: Sequence[Tool], request: str) -> str:
        """The name of the tool the model calls for `request`, or "(none)" when it calls no tool. Raises ModelError."""
        body = {
            "model": self.name,
            "temperature": 0,
            "messages": [{"role": "user", "content": request}],
            "tools": [
                {
                    "type": "function",
                    "function": {"name": t.name, "description": t.description or "", "parameters": t.input_schema},
                }
                for t in tools
            ],
        }
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        try:
            async with httpx2.AsyncClient(timeout=self.limit) as client:
                answer = await client.post(f"{self.url}/chat/completions", json=body, headers=headers)
        except httpx2.HTTPError as error:
            raise ModelError(
                f"No answer from {self.url}: {shorten(str(error) or type(error).__name__, 200)}."
            ) from None
        if answer.status_code != 200:
            raise ModelError(f"{self.url} answered {answer.status_code}: {shorten(answer.text, 200)}")
        try:
            calls = answer.json()["choices"][0]["message"].get("tool_calls") or []
            return str(calls[0]["function"]["name"]) if calls else "(none)"
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
            raise ModelError(
                f"{self.url} answered something that is no chat completion: {shorten(answer.text, 200)}"
            ) from None
