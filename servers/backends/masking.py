"""Take secrets out of what is written to a log, and personal data out of what is shown. The one place for both.

| | in a log: `without_secrets` | in an answer: `masked` |
| --- | --- | --- |
| passwords, tokens, keys, card numbers, IBANs | `[secret]` | `[secret]` |
| mail addresses, phone numbers | kept: a log must say who was written to | `a***@example.org`, `*** 03` |
| values in an SQL statement | kept | `?` |

Shapes are looked for, not meanings: a name or a street in a free text stays. What may be a phone number is taken for
one, since a number masked in vain costs a question, and one that was shown can't be taken back. Kept are dates and
times, amounts, coordinates, versions, UUIDs, ISBNs, IP and MAC addresses, and ids such as ORD-100023.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from mcp_types import CallToolRequestParams, TextContent

SECRET = "[secret]"
MAX_LOGGED_CHARACTERS = 500

# --- what is looked for ----------------------------------------------------------------------------------------------
# Whoever wrote a text, each pattern takes time in proportion to it: what repeats is bounded, or ends where it must.

# Fields whose value is a secret whatever it looks like.
_SECRET_NAMES = re.compile(
    r"(?:^|_)pass$|password|passwd|passphrase|secret|token$|(?:api|private|access)_?key|authorization$|credential|cookie"
    r"|card_?number|cvc|iban",
    re.IGNORECASE,
)
# \b would join a number to the Chinese word before it.
_START, _END = r"(?<![A-Za-z0-9_])", r"(?![A-Za-z0-9_])"
# Values that are secrets wherever they stand, but for `keep`.
_SECRETS = re.compile(
    rf"""
    (?<=://) [^/\s:@]* : [^/\s]+ (?=@)                                            # user and password in a URL
    | -----BEGIN\ [A-Z ]{{0,40}}PRIVATE\ KEY----- .*? (?: -----END\ [A-Z ]{{0,40}}KEY----- | \Z )
    | (?P<keep> (?i: pass(?:word|wd|phrase) | pwd | secret | (?:api|access|private)[_-]?key | token )
        ["']? \s{{0,3}} [=:] \s{{0,3}} ) (?! \? | \$\d | \[secret\] ) (?: "[^"]*" | '[^']*' | ["']?[^\s"',;&]+ )
    | {_START} (?i: bearer | basic ) [ ] (?= [\w.~+/=-]*? (?: [\d=] | [a-z][A-Z] ) | [\w.~+/=-]{{24}} ) [\w.~+/=-]{{8,}}
    | (?<![A-Za-z0-9]) (?:
        [rs]k[-_] (?: (?= [\w-]{{0,20}}\d ) [\w-]{{8,}} | [\w-]{{20,}} )              # OpenAI, Anthropic, Stripe
        | (?: gh[opsru]_ | github_pat_ | glpat- | npm_ | hf_ | xox[abeoprs]- ) [\w-]{{8,}}
        | A[KS]IA[A-Z0-9]{{16}} | AIza[\w-]{{30,}}                                  # Amazon, Google
        | eyJ[\w-]{{8,400}}+ \. [\w-]+ (?: \.[\w-]* )?                              # a JSON web token
    )""",
    re.VERBOSE | re.DOTALL,
)
_CARD = re.compile(
    rf"""{_START} (?: [2-6]\d{{3}} (?: [ -]?\d{{4}} ){{3}} (?: [ -]?\d{{3}} )? | 3[47]\d\d [ -]?\d{{6}} [ -]?\d{{5}}
    | 3[068]\d\d [ -]?\d{{6}} [ -]?\d{{4}} ) {_END}""",
    re.VERBOSE,
)
_IBAN = re.compile(rf"{_START}[A-Z]{{2}}\d\d(?: ?[A-Z0-9]{{4}}){{2,7}}(?: ?[A-Z0-9]{{1,3}})?{_END}", re.IGNORECASE)

# Not in a mail address: spaces, brackets, quotes, separators, and the punctuation of other scripts.
_NOT = r"\s@<>()\[\]{}\"',:;|\\/?=&#*`\u2000-\u206f\u3000-\u303f\uff00-\uff0f\uff1a-\uff20"
_LABEL = rf"[^{_NOT}.!$%^+~_]"
_EMAIL = re.compile(
    rf"""(?: (?<![^{_NOT}]) [^{_NOT}]++ | "[^"\n]{{1,64}}" )
    @ (?: (?: [A-Za-z0-9-]++ \. )+ [A-Za-z]{{2,}}+ | (?: {_LABEL}++ \. )+ (?!\d) {_LABEL}++ | \[[\d.:A-Fa-f]++\] )""",
    re.VERBOSE,
)

# After one of these words any number of six digits or more is a phone number.
_CALL = (
    "phone|tele?f?|fon|handy|mobil|celular|móvil|cell|mob|fax|call|ring|whats[ ]?app|zalo|sms|llam|appel|anruf|gọi|sđt|"
    "điện[ ]thoại|тел|звон|电话|電話|手机|전화|फ़ोन|फोन|هاتف|טלפון|โทร"
)
_CURRENCY = r"(?: [$€£¥₫₹₩₽] | (?:EUR|USD|GBP|CHF|JPY|CNY|INR|VND|BRL|AED|KWD|KES|SEK|NOK|DKK|PLN|CZK)\b )"
_AMOUNT = r"\d{1,3} (?: [ .,']?\d{3} ){0,5} (?: [.,]\d{1,3} )?"
# Numbers that are something else than phone numbers.
_KEPT = rf"""{_START} \(? (?:
    [0-9A-Fa-f]{{8}} (?: -[0-9A-Fa-f]{{4}} ){{3}} -[0-9A-Fa-f]{{12}} | (?: [0-9A-Fa-f]{{2}}[-:] ){{5}} [0-9A-Fa-f]{{2}}
    | \d{{4}}-\d\d-\d\d (?: [T ]\d\d:\d\d (?: :\d\d (?:[.,]\d{{1,9}})? )? (?: Z | [+-]\d\d:?\d\d )? )?
    | \d{{1,2}}[-./]\d{{1,2}}[-./]\d{{4}} | \d{{4}}[./]\d{{1,2}}[./]\d{{1,2}} | (?:19|20)\d\d \ ?-\ ? (?:19|20)\d\d
    | \d\d?\.\d\d \ ?-\ ? \d\d?\.\d\d                                             # 08.30 - 16.45
    | (?<!\d[.,]) (?: \d{{1,3}} (?: \.\d{{1,3}} ){{3}} | -? (?: 0 | [1-9]\d{{0,15}} ) [.,]\d{{1,15}} ) (?!\.?\d)
    | \+\d{{1,3}}\.\d{{1,7}} (?!\d)                                                # a latitude; +1.5550100123 is none
    | {_CURRENCY}\ ? {_AMOUNT} (?: - {_AMOUNT} )? | (?: {_AMOUNT} - )? {_AMOUNT} \ ? {_CURRENCY}
    | (?: ISBN | EAN | GTIN ) (?: -1[03] )? :? \ ? [\d-]{{7,16}}X? | 97[89] (?: [- ]?\d ){{10}}
    | (?! (?i: {_CALL} ) ) [A-Z]{{2,10}} (?: -[A-Z0-9]{{1,12}} ){{1,4}} | \#\d{{1,20}}
) (?! [A-Za-z0-9_] | -\d )"""
# Between two digits of a phone number there may be a space, a sign or two, or both.
_SEP = r"\ ?[-.()/]{0,2}\ ?"
_PHONE = rf"""(?:
    (?<!\d) \+\ ?\(?\d (?: {_SEP}\d ){{6,14}}                                     # +44 (0)20 7946 0958
    | {_START} (?<!\d[-.]) (?:
      00[1-9] (?: {_SEP}\d ){{6,13}}                                             # 0049 30 5550104
    | \(?0[1-9] (?: {_SEP}\d ){{6,11}}                                            # (030) 555 0104, 06.12.34.56.78
    | \([1-9]\d{{0,3}}\) [ -]? \d (?: [ -]?\d ){{6,8}}                            # (555) 010-0123, (11) 91234-5678
    | (?: 1[ .-] )? \(?[2-9]\d\d\)? [ .-]?\d{{3}}[.-]\d{{4}}                      # 555.010.0123, 1-555-010-0123
    | 8\ ?\(?\d{{3}}\)? (?: [ -]?\d ){{7}} | 1[3-9]\d (?: [ -]?\d{{4}} ){{2}}     # 8 (905) 555-01-03, 138 0013 8000
    | 1\d\ 9\d{{4}}-\d{{4}}                                                       # 11 91234-5678
    | (?! \d\d (?: [ ]\d{{3}} ){{2,3}} (?!\d) | \d{{8}} (?!\d) )                  # no amount, no 20261130
      [2-9]\d (?: [ -]?\d ){{6,9}}                                                # 612 34 56 78, 9876543210
    | [2-9]\d\d [ -] \d{{4}}                                                      # 555-0123
)) (?: \ ?x\ ?\d{{1,6}} )? (?! [A-Za-z0-9_] | -\d )"""
_NUMBER = re.compile(
    rf"""(?P<kept> {_KEPT} ) | {_PHONE} | (?P<label> (?<![A-Za-z]) (?i: {_CALL} ) [^\d\n+(,;\#]{{0,12}}+ )
    (?! {_KEPT} ) (?P<called> \(?\d (?: {_SEP}\d ){{5,14}} ) {_END}""",
    re.VERBOSE,
)
# Values and comments in a statement of standard SQL; one that was cut off has its last literal open.
_LITERAL = re.compile(
    r"""(?P<name> "(?:[^"]|"")*+"? ) | (?P<comment> --[^\n]* | /\* .*? (?:\*/|\Z) )
    | \$(?P<tag>(?:[A-Za-z_]\w*)?)\$ .*? (?:\$(?P=tag)\$|\Z) | \b[Ee]'(?:[^'\\]|\\.|'')*+\\?'? | '(?:[^']|'')*+'?
    | (?<![\w$.])\.?\d[\w.]*(?:(?<=[Ee])[+-]\d+)?""",
    re.VERBOSE | re.DOTALL,
)


# --- for a log -------------------------------------------------------------------------------------------------------


def without_secrets(value: Any, name: str = "") -> Any:
    """A copy for a log: secrets replaced by `[secret]`, long texts cut with their length, numbers and flags kept."""
    if _is_secret(value, name):
        return SECRET
    if isinstance(value, Mapping):
        return {str(key): without_secrets(each, str(key)) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(each, name) for each in value]
    if isinstance(value, str):
        text = _hide_secrets(value)
        if len(text) > MAX_LOGGED_CHARACTERS:
            return f"{text[:MAX_LOGGED_CHARACTERS]}… ({len(value)} characters)"
        return text
    return value


# --- for an answer ---------------------------------------------------------------------------------------------------


class Masked(Middleware):
    """Masks whatever a server's tools answer, failures too: a new tool needs no thought of its own.

    To stand inside the audit log and outside everything else. What it can't look into, such as a picture, stays here.
    """

    async def on_call_tool(
        self, context: MiddlewareContext[CallToolRequestParams], call_next: CallNext[CallToolRequestParams, ToolResult]
    ) -> ToolResult:
        result = await call_next(context)
        structured = masked(result.structured_content)
        texts = [
            block.model_copy(update={"text": mask_text(block.text)})
            for block in result.content
            if isinstance(block, TextContent)
        ]
        content = texts if structured is None else None  # else the text is the same, as JSON
        return ToolResult(content, structured, meta=result.meta, is_error=result.is_error)


def masked(value: Any, name: str = "") -> Any:
    """A copy to be shown: every text in it masked, by its field's name where that says what it is; numbers kept."""
    if _is_secret(value, name):
        return SECRET
    if isinstance(value, Mapping):
        return {key: masked(each, str(key)) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [masked(each, name) for each in value]
    return _BY_NAME.get(name, mask_text)(value) if isinstance(value, str) else value


def mask_email(address: str) -> str:
    """`ana.quispe@example.org` → `a***@example.org`: enough to recognise, too little to write to."""
    name, at, domain = address.rpartition("@")
    name = name.strip('"')
    return f"{name[:1] if len(name) > 2 else ''}***@{domain}" if at else "***"


def mask_phone(number: str) -> str:
    """`+84 90 555 0103` → `*** 03`."""
    digits = [letter for letter in number if letter.isdigit()]
    return f"*** {''.join(digits[-2:])}" if len(digits) > 5 else "***"


def mask_statement(sql: str) -> str:
    """An SQL statement with `?` for its values and without its comments, which may say anything."""
    return mask_text(_LITERAL.sub(lambda found: found["name"] or ("" if found["comment"] else "?"), sql)).strip()


def mask_text(text: str) -> str:
    """A text in which mail addresses and phone numbers are masked and secrets are gone."""
    text = _replace(_EMAIL, lambda found: mask_email(found[0]), _hide_secrets(text))
    return _replace(_NUMBER, _mask_number, text)


_BY_NAME: dict[str, Callable[[str], str]] = {"email": mask_email, "phone": mask_phone, "statement": mask_statement}


# --- how -------------------------------------------------------------------------------------------------------------


class _Plain(dict[int, int | str]):
    """Digits, spaces and signs of all scripts as ASCII has them, one character for one."""

    def __missing__(self, code: int) -> int | str:
        letter = chr(code)
        digit, kind = unicodedata.decimal(letter, None), unicodedata.category(letter)
        self[code] = str(digit) if digit is not None else {"Zs": " ", "Cf": " ", "Pd": "-"}.get(kind, code)
        return self[code]


_PLAIN = _Plain(str.maketrans("＋＠（）．", "+@()."))


def _replace(pattern: re.Pattern[str], by: Callable[[re.Match[str]], str | None], text: str) -> str:
    """`re.sub` that finds what is there in any script. Where `by` gives None, the next one may begin within."""
    plain = text if text.isascii() else text.translate(_PLAIN)
    parts, done, place = [], 0, 0
    while found := pattern.search(plain, place):
        new = by(found)
        place = found.start() + 1 if new is None else found.end()
        if new is not None:
            parts += [text[done : found.start()], new]
            done = place
    return "".join(parts) + text[done:]


def _is_secret(value: Any, name: str) -> bool:
    return bool(_SECRET_NAMES.search(name)) and value not in (None, "", True, False)


def _hide_secrets(text: str) -> str:
    text = _replace(_SECRETS, lambda found: (found["keep"] or "") + SECRET, text)
    text = _replace(_CARD, lambda found: SECRET if _is_card(found[0]) else None, text)
    return _replace(_IBAN, _hide_iban, text)


def _is_card(number: str) -> bool:
    digits = [int(letter) for letter in reversed(number) if letter.isdigit()]
    return sum(digits[::2] + [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]) % 10 == 0


def _hide_iban(found: re.Match[str]) -> str | None:
    text = found[0]
    while len(compact := text.replace(" ", "")) >= 15:
        if int("".join(str(int(letter, 36)) for letter in compact[4:] + compact[:4])) % 97 == 1:
            return SECRET + found[0][len(text) :]
        text = text.rpartition(" ")[0]  # the last group may be the next word
    return None


def _mask_number(found: re.Match[str]) -> str:
    if found["kept"]:
        return found[0]
    return (found["label"] or "") + mask_phone(found["called"] or found[0])
