from typing import Annotated, Literal

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from pydantic import BaseModel, Field

from servers.backends import forge

mcp = FastMCP("forge")

Project = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=60)]
Title = Annotated[str, Field(min_length=1, max_length=200)]
Body = Annotated[str, Field(max_length=20_000)]
IssueId = Annotated[str, Field(pattern=r"^I-\d+$")]
Branch = Annotated[str, Field(pattern=r"^[^\s~^:?*\\]+$", max_length=120)]
Path = Annotated[str, Field(pattern=r"^[^/].*$", max_length=250)]
Content = Annotated[str, Field(max_length=1_000_000)]
Email = Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+$", max_length=120)]
Limit = Annotated[int, Field(ge=1, le=200)]


class Issue(BaseModel):
    issue_id: str
    project: str
    title: str
    body: str
    state: str
    assignee: str | None = None
    opened: str


class MergeRequest(BaseModel):
    merge_request_id: str
    project: str
    source_branch: str
    target_branch: str
    title: str


class Renamed(BaseModel):
    project: str
    renamed_from: str


class Archived(BaseModel):
    project: str
    archived: bool
    still_open: int


class File(BaseModel):
    project: str
    path: str
    content: str


class Written(BaseModel):
    project: str
    path: str
    characters: int
    replaced: bool


class Person(BaseModel):
    email: str
    name: str
    role: str


def ask(function, *arguments):
    """Call the forge; tell the model what went wrong."""
    try:
        return function(*arguments)
    except Exception as error:
        raise ToolError(str(error)) from error


# issues and merge requests
@mcp.tool(title="Open an issue")
def create_issue(project: Project, title: Title, body: Body) -> Issue:
    """Add an issue to a project's tracker. It is refused if an open issue has the same title.

    Good for: something is broken, missing or should be improved, and the team ought to know.
    Wrong for browsing what was reported before: take list_open_issues.

    :param project: Which project it belongs to, such as ``mobile-app``.
    :param title: One line that the team sees in the tracker, such as ``Crash when the basket is empty``.
    :param body: What happens, how to get there, what should happen instead.
    """
    for known in ask(forge.list_open_issues, project):
        if known["title"] == title:
            raise ToolError(f"{known['issue_id']} with this title is open already.")
    return Issue(**ask(forge.open_issue, project, title, body))


@mcp.tool(title="Show a project's open issues")
def list_open_issues(project: Project, limit: Limit = 50) -> list[Issue]:
    """Show the issues in one project's tracker that are still open.

    Good for: which bugs are there in this project, what is left before a release, what number has that issue?
    Wrong for the tasks of one developer: take list_issues_of_user.

    :param project: The project to look at, such as ``web-shop``.
    :param limit: How many to return at most, 1 to 200.
    """
    return [Issue(**row) for row in ask(forge.list_open_issues, project)[:limit]]


@mcp.tool(title="Close an issue")
def close_issue(issue_id: IssueId) -> Issue:
    """Take an issue off the tracker because it's done. Refused if it is closed already or unknown.

    Good for: a bug was fixed, a wish came true, a report turned out to be a mistake.
    Wrong for entering a bug: take create_issue.

    :param issue_id: ``I-`` and digits, such as ``I-101``; list_open_issues knows it.
    """
    rows = ask(forge.query, f"select state from issues where issue_id = '{issue_id}'")  # the pattern keeps this safe
    if not rows:
        raise ToolError(f"There is no issue {issue_id}.")
    if rows[0][0] != "open":
        raise ToolError(f"{issue_id} is {rows[0][0]} already.")
    return Issue(**ask(forge.close_issue, issue_id))


@mcp.tool(title="Start a merge request")
def create_merge_request(project: Project, source_branch: Branch, target_branch: Branch, title: Title) -> MergeRequest:
    """Request that the commits of a branch go into another branch, after a review.

    Good for: a feature or a fix is ready on its branch and somebody should approve it. Some say pull request.
    Wrong for editing text on the spot: take write_file.

    :param project: Whose branches they are, such as ``billing``.
    :param source_branch: Where the commits are now, such as ``feature/dark-mode``.
    :param target_branch: Where they should go, such as ``main``; not the same as the source.
    :param title: What the commits achieve, such as ``Dark mode for the shop``.
    """
    if source_branch == target_branch:
        raise ToolError("source_branch and target_branch must differ.")
    return MergeRequest(**ask(forge.create_merge_request, project, source_branch, target_branch, title))


# projects and files
@mcp.tool(title="Rename a project")
def rename_project(project: Project, new_name: Project) -> Renamed:
    """Let a project go by another name. Links with the old name break.

    Good for: a rebranding, a typo in the name, a product that is called differently now.
    Wrong for ending a project: take archive_project.

    :param project: The old name, such as ``coupons``.
    :param new_name: The name to come: small letters, digits and hyphens, such as ``vouchers``.
    """
    if project == new_name:
        raise ToolError("That is its name already.")
    return Renamed(**ask(forge.rename_project, project, new_name))


@mcp.tool(title="Retire a project")
def archive_project(project: Project) -> Archived:
    """Make a project read-only for good and tell how many issues were left open in it.

    Good for: a product was switched off, nobody maintains it, it must be kept but never changed.
    Wrong for a new label on a living project: take rename_project.

    :param project: The project to retire, such as ``newsletter``.
    """
    left = len(ask(forge.list_open_issues, project))
    return Archived(**ask(forge.archive_project, project), still_open=left)


@mcp.tool(title="Read a file")
def read_file(project: Project, path: Path) -> File:
    """Fetch a file and return its text; the file isn't touched.

    Good for: what does the README say, which version does the configuration name, show me the code?
    Wrong for storing text: take write_file.

    :param project: The project with the file, such as ``docs``.
    :param path: Folders and file name without a leading slash, such as ``config/settings.toml``.
    """
    return File(**ask(forge.read_file, project, path))


@mcp.tool(title="Write a file (replaces it)")
def write_file(project: Project, path: Path, content: Content) -> Written:
    """Store a file, new or over the old text, and tell whether an old one was replaced. No way back.

    Good for: put this text into that file, correct a line in the configuration, add a licence.
    Wrong for finding out what is in there: take read_file.

    :param project: The project that gets the file, such as ``docs``.
    :param path: Folders and file name without a leading slash, such as ``guide/install.md``.
    :param content: The complete text; what you leave out is gone.
    """
    try:
        forge.read_file(project, path)
        replaced = True
    except Exception:
        replaced = False
    return Written(**ask(forge.write_file, project, path, content), replaced=replaced)


# people, and the one question that SQL was used for
@mcp.tool(title="Add or edit a user")
def upsert_user(
    email: Email,
    name: Annotated[str, Field(min_length=1, max_length=100)],
    role: Literal["reader", "developer", "owner"],
) -> Person:
    """Give a person an account, or overwrite the name and role of the account they have.

    Good for: a new hire, a changed surname, more rights or fewer.
    Wrong for asking about somebody's tasks: take list_issues_of_user.

    :param email: The address that the account goes by, such as ``chi@forge.example``.
    :param name: First and last name, such as ``Chi Nguyen``.
    :param role: ``reader`` may look, ``developer`` may change files, ``owner`` may do everything.
    """
    return Person(**ask(forge.put_user, email, name, role))


@mcp.tool(title="Show a user's open issues")
def list_issues_of_user(email: Email, limit: Limit = 50) -> list[Issue]:
    """Show the open issues, over all projects, whose assignee is one person.

    Good for: my to-do list, what keeps Ana busy, who could take over her tasks while she's away?
    Wrong for all bugs in a project: take list_open_issues.

    :param email: The assignee's address, such as ``ana@forge.example``.
    :param limit: How many to return at most, 1 to 200.
    """
    return [Issue(**row) for row in ask(forge.list_assigned_issues, email)[:limit]]
