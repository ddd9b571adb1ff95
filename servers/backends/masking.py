"""Take secrets out of what is written to a log, and personal data out of what is shown. The one place for both."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

SECRET = "[secret]"
MAX_LOGGED_CHARACTERS = 500

# Fields whose value is a secret whatever it looks like.
_SECRET_NAMES = re.compile(
    r"pass(word|wd|phrase)?$|secret|token$|(api|private|access)_?key|authorization$|credential|cookie|card_?number|cvc|iban",
    re.IGNORECASE,
)
# Values that are secrets wherever they stand.
_SECRET_VALUES = re.compile(
    r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)"  # user and password in a URL
    r"|\b(?:Bearer|Basic)\s+[\w.~+/=-]{8,}"
    r"|\b(?:sk|pk|ghp|gho|ghs|github_pat|glpat|xox[abps])[-_][\w-]{8,}"
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*"  # a JSON web token
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?<=password[=:])\s*\S+",
    re.IGNORECASE,
)
_EMAIL = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(r"(?<![\w.])\+?\d(?:[ ()./-]?\d){6,14}(?![\w])")


def without_secrets(value: Any, name: str = "") -> Any:
    """A copy for a log: secrets replaced by `[secret]`, long texts cut with their length, numbers and flags kept."""
    if _SECRET_NAMES.search(name) and value not in (None, "", True, False):
        return SECRET
    if isinstance(value, Mapping):
        return {str(key): without_secrets(each, str(key)) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(each, name) for each in value]
    if isinstance(value, str):
        text = _SECRET_VALUES.sub(SECRET, value)
        if len(text) > MAX_LOGGED_CHARACTERS:
            return f"{text[:MAX_LOGGED_CHARACTERS]}… ({len(value)} characters)"
        return text
    return value


def mask_email(address: str) -> str:
    """`ana.quispe@example.org` → `a***@example.org`: enough to recognise, too little to write to."""
    name, _, domain = address.partition("@")
    return f"{name[:1]}***@{domain}" if domain else "***"


def mask_phone(number: str) -> str:
    """`+84 90 555 0103` → `*** 03`."""
    digits = [letter for letter in number if letter.isdigit()]
    return f"*** {''.join(digits[-2:])}"


def mask_text(text: str) -> str:
    """A text in which mail addresses and phone numbers are masked and secrets are gone."""
    text = _SECRET_VALUES.sub(SECRET, text)
    text = _EMAIL.sub(lambda found: mask_email(found[0]), text)
    return _PHONE.sub(lambda found: mask_phone(found[0]), text)
