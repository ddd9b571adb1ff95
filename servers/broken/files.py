"""Bad on purpose: a file tool that is sure nobody can leave its folder.

- It looks at the text of the path before it has become a path: `..` at the beginning is refused, and
  `notes/../../private/recipe.txt` isn't.
- It decodes after it has looked: `%2e%2e/private/recipe.txt` has no `..` yet.
- It joins without a check of the result: joined with an absolute path, the folder is dropped and only that path stays.
- It follows links: `shared` is one, and leads out.
- What goes wrong goes out as it is: the message for a file that isn't there tells where the folder lies, which is all
  that is needed for an absolute path; and it tells a missing file outside from one that is there.

It is harmless all the same. The files are invented and lie in a little tree of their own, made when first needed and
gone with the process: `public/`, which the tool means to serve, and `private/` beside it, with a secret that is none.
And a last line that no path gets past keeps it inside that tree: the rest of this machine is out of its reach.
"""

import contextlib
import functools
import tempfile
from pathlib import Path
from urllib.parse import unquote

from fastmcp import FastMCP

from servers.backends.serve import serve

mcp = FastMCP("files")

SECRET = "Grandmother's soup came out of a tin."
_FILES = {
    "public/welcome.txt": "Everything in this folder may be read.",
    "public/notes/menu.txt": "Monday: soup. Tuesday: soup.",
    "private/recipe.txt": SECRET,
}


@functools.cache
def _made() -> "tempfile.TemporaryDirectory[str]":
    made = tempfile.TemporaryDirectory(prefix="toolworthy-files-", ignore_cleanup_errors=True)
    for name, text in _FILES.items():
        file = Path(made.name, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    with contextlib.suppress(OSError):  # Windows lets only some people make links
        Path(made.name, "public", "shared").symlink_to(Path("..", "private"), target_is_directory=True)
    return made


def tree() -> Path:
    """The folder with `public` and `private` in it; for whoever watches, not a tool."""
    return Path(_made().name).resolve()


@mcp.tool
def read_file(path: str) -> str:
    if path.startswith(".."):
        raise ValueError(f"{path} is not allowed")
    return _harmless(tree() / "public" / unquote(path)).read_text(encoding="utf-8")


def _harmless(file: Path) -> Path:
    # Not one of the mistakes, but what makes them safe to show: resolved first, then compared part by part.
    real = file.resolve()
    if not real.is_relative_to(tree()):
        raise PermissionError("This is as far as the lesson goes: nothing outside of the little tree is read.")
    return real


if __name__ == "__main__":
    serve(mcp)
