"""See the JSON-RPC that crosses between a client and a server, over any transport."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import anyio
from fastmcp.client.transports.base import ClientTransport, TransportOptions, VersionAwareClientSession

from toolworthy import render

Arrow = Literal["->", "<-"]

# Colour and word for each kind of message; the word is always shown, the colour only helps.
_COLOURS = {
    "request": "info",
    "response": "good",
    "tool error": "bad",
    "protocol error": "bad",
    "notification": "plain",
    "noise": "bad",
}


@dataclass(frozen=True)
class Message:
    """One JSON-RPC message. `arrow` is "->" from client to server, "<-" back; `about` names its request."""

    arrow: Arrow
    body: dict[str, Any]
    about: str

    @property
    def kind(self) -> str:
        """request, response, tool error (a result with isError), protocol error, notification, or noise."""
        if "method" in self.body:
            return "request" if "id" in self.body else "notification"
        if "error" in self.body:
            return "protocol error"
        if "result" in self.body:
            return "tool error" if self.body["result"].get("isError") else "response"
        return "noise"

    def __str__(self) -> str:
        number = f" #{self.body['id']}" if "id" in self.body else ""
        return f"{self.arrow} {self.kind}{number} {self.about}\n   {json.dumps(self.body, ensure_ascii=False)}"


@dataclass
class Tape:
    """What was said on one connection, in order. Shows itself folded in a notebook and as plain lines elsewhere."""

    messages: list[Message] = field(default_factory=list)
    _asked: dict[Any, str] = field(default_factory=dict, repr=False)

    def record(self, arrow: Arrow, body: dict[str, Any]) -> None:
        """Append one message; a response is labelled with the request it answers."""
        identity = body.get("id")
        if "method" in body:
            about = body["method"]
            if about == "tools/call":
                about += f" {body.get('params', {}).get('name')}"
            if identity is not None:
                self._asked[identity] = about
        else:
            about = self._asked.get(identity, "")
        self.messages.append(Message(arrow, body, about))

    def about(self, method: str) -> Tape:
        """The part of the tape that belongs to `method`, for example `tools/call` or `initialize`."""
        return Tape([m for m in self.messages if m.about.split(" ")[0] == method])

    def __len__(self) -> int:
        return len(self.messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def __getitem__(self, index: int) -> Message:
        return self.messages[index]

    def __repr__(self) -> str:
        return "\n".join(str(m) for m in self.messages) or "(nothing crossed the wire)"

    def _repr_html_(self) -> str:
        rows = []
        for m in self.messages:
            way = "client to server" if m.arrow == "->" else "server to client"
            number = f" #{m.body['id']}" if "id" in m.body else ""
            text = render.shorten(json.dumps(m.body, indent=2, ensure_ascii=False), 20_000)
            rows.append(
                f'<details><summary title="{way}"><code>{render.escape(m.arrow)}</code> '
                f'<b style="color:{render.COLOURS[_COLOURS[m.kind]]}">{m.kind}{number}</b> '
                f"{render.escape(m.about)}</summary>"
                f"<pre>{_keys_coloured(render.escape(text))}</pre></details>"
            )
        return "".join(rows) or "<p>Nothing crossed the wire.</p>"


def _keys_coloured(text: str) -> str:
    span = rf'\1<span style="color:{render.COLOURS["info"]}">\2</span>:'
    return re.sub(r"^( *)(&quot;.*?&quot;):", span, text, flags=re.MULTILINE)


class _Tapped:
    """One half of a connection, with every message that passes written on the tape."""

    def __init__(self, stream: Any, tape: Tape) -> None:
        self._stream, self._tape = stream, tape

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _record(self, arrow: Arrow, item: Any) -> None:
        message = getattr(item, "message", None)
        if message is None:
            self._tape.record(arrow, {"noise": f"{type(item).__name__}: not a JSON-RPC message"})
        else:
            self._tape.record(arrow, message.model_dump(by_alias=True, mode="json", exclude_unset=True))

    async def send(self, item: Any) -> None:
        self._record("->", item)
        await self._stream.send(item)

    async def receive(self) -> Any:
        item = await self._stream.receive()
        self._record("<-", item)
        return item

    def __aiter__(self) -> _Tapped:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> _Tapped:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stream.aclose()


class RecordingTransport(ClientTransport):
    """Any FastMCP transport, with a tape running and results passed on as they came."""

    def __init__(self, inner: ClientTransport, tape: Tape) -> None:
        self.inner, self.tape = inner, tape
        self.legacy_only = inner.legacy_only

    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Any
    ) -> AsyncGenerator[Any, None]:
        tape = self.tape

        class Session(VersionAwareClientSession):
            def __init__(self, read_stream: Any, write_stream: Any, **kwargs: Any) -> None:
                super().__init__(_Tapped(read_stream, tape), _Tapped(write_stream, tape), **kwargs)

            async def validate_tool_result(self, name: str, result: Any) -> None:
                """Nothing: an observer wants what the server sent, right or wrong. And the usual check would run the
                server's own patterns, one of which may never end, and cost a second of imports on the first call."""

        options = replace(transport_options or TransportOptions(), session_class=Session)
        async with self.inner.connect_session(transport_options=options, **session_kwargs) as session:
            yield session

    async def close(self) -> None:
        await self.inner.close()
