"""Bad on purpose: one tool that does seven things, and says nothing about any of them.

`update` takes any object; which keys it has decides what happens:

| keys | meaning |
| --- | --- |
| who, name | rename a contact |
| who, phone | change the phone number |
| who, note | append a note |
| who, favourite | mark or unmark as a favourite |
| who, merge | merge another contact into this one, and delete the other |
| who, name (null or empty) | delete the contact |
| restore | bring back the contact that was deleted last |

`who` is a piece of a name, and the first contact that has it is taken. So a caller who means Anna hits Joanna: a stray
note at best, and a lost record when `name` came out empty. The answer is "ok" whatever happened, and when nothing did.

The people are made up, the address book lives in this process only, and `reset()` brings it back.
"""

from typing import Any

from fastmcp import FastMCP

from servers.backends.serve import serve

mcp = FastMCP("contacts")

_PEOPLE = (
    ("Joanna Berg", "+47 555 0101"),
    ("Anna Lind", "+46 555 0102"),
    ("Tran Minh", "+84 555 0103"),
    ("Amina Yusuf", "+254 555 0104"),
    ("Luis Quispe", "+51 555 0105"),
    ("Luis Q.", "+51 555 0106"),
)
_contacts: list[dict[str, Any]] = []
_deleted: list[dict[str, Any]] = []


def reset() -> None:
    """Bring the address book back to its first state."""
    _contacts[:] = [{"name": name, "phone": phone, "notes": [], "favourite": False} for name, phone in _PEOPLE]
    _deleted.clear()


def contacts() -> list[dict[str, Any]]:
    """What is in the address book now; for whoever watches, not a tool."""
    return [{**contact, "notes": list(contact["notes"])} for contact in _contacts]


@mcp.tool
def update(data: dict[str, Any]) -> str:
    if data.get("restore") and _deleted:
        _contacts.append(_deleted.pop())
    contact = _find(data.get("who"))
    if contact is None:
        return "ok"
    if "name" in data and not data["name"]:
        _delete(contact)
    elif "name" in data:
        contact["name"] = data["name"]
    if "phone" in data:
        contact["phone"] = data["phone"]
    if "note" in data:
        contact["notes"].append(data["note"])
    if "favourite" in data:
        contact["favourite"] = data["favourite"]
    other = _find(data.get("merge"))
    if other is not None and other is not contact:
        contact["notes"] += [other["phone"], *other["notes"]]
        _delete(other)
    return "ok"


def _find(who: Any) -> dict[str, Any] | None:
    piece = str(who).lower()
    return next((contact for contact in _contacts if who and piece in contact["name"].lower()), None)


def _delete(contact: dict[str, Any]) -> None:
    _contacts.remove(contact)
    _deleted.append(contact)


reset()

if __name__ == "__main__":
    serve(mcp)
