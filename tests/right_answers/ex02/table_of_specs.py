from dataclasses import dataclass
from typing import Annotated, Callable

from fastmcp import FastMCP
from fastmcp.tools import Tool, ToolResult
from pydantic import Field

from servers.backends import forge

mcp = FastMCP("forge")

TProject = Annotated[str, Field(description="Identifier of the project concerned, e.g. `web-shop`.")]
TPath = Annotated[str, Field(description="Relative location of the file within the project, e.g. `src/app.py`.")]
TEmail = Annotated[str, Field(description="Electronic mail address identifying the account, e.g. `ana@forge.example`.")]


def result(value) -> ToolResult:
    if isinstance(value, list):
        value = {"items": value, "count": len(value)}
    return ToolResult(structured_content=value)


def submit(
    project: TProject,
    title: Annotated[str, Field(description="Concise summary of the defect or proposal.")],
    body: Annotated[str, Field(description="Complete account, including the steps that reproduce a defect.")],
):
    return result(forge.open_issue(project, title, body))


def enumerate_project(project: TProject):
    return result(forge.list_open_issues(project))


def resolve(issue_id: Annotated[str, Field(description="Identifier of the issue, formed like `I-101`.")]):
    return result(forge.close_issue(issue_id))


def propose(
    project: TProject,
    source_branch: Annotated[str, Field(description="Branch from which changes are taken, e.g. `feature-vat`.")],
    target_branch: Annotated[str, Field(description="Branch into which changes are to be incorporated, e.g. `main`.")],
    title: Annotated[str, Field(description="Heading under which the proposal is presented to reviewers.")],
):
    return result(forge.create_merge_request(project, source_branch, target_branch, title))


def rename(
    project: Annotated[str, Field(description="Current designation of the project, e.g. `docs`.")],
    new_name: Annotated[str, Field(description="Designation by which it shall henceforth be known, e.g. `manual`.")],
):
    return result(forge.rename_project(project, new_name))


def archive(project: TProject):
    return result(forge.archive_project(project))


def read(project: TProject, path: TPath):
    return result(forge.read_file(project, path))


def write(
    project: TProject,
    path: TPath,
    content: Annotated[str, Field(description="Text that shall constitute the entire file.")],
):
    return result(forge.write_file(project, path, content))


def register(
    email: TEmail,
    name: Annotated[str, Field(description="Full name of the individual, e.g. `Ana Silva`.")],
    role: Annotated[str, Field(description="Level of authority: one of `reader`, `developer`, `owner`.")],
):
    return result(forge.put_user(email, name, role))


def enumerate_assigned(email: TEmail):
    return result(forge.list_assigned_issues(email))


@dataclass
class Spec:
    fn: Callable
    name: str
    title: str
    does: str
    when: str
    when_not: str


SPECS = [
    # issues and merge requests
    Spec(
        submit,
        "submit_issue",
        "Submit an issue",
        "Creates an issue within the specified project and returns its identifier.",
        "Appropriate whenever a defect or a suggestion is to be placed on record.",
        "It is not intended for ascertaining which issues exist already; kindly consult `list_project_issues`.",
    ),
    Spec(
        enumerate_project,
        "list_project_issues",
        "Outstanding issues of a project",
        "Returns the issues of the specified project that remain unresolved.",
        "Appropriate whenever the condition or the outstanding work of a project is enquired about.",
        "It should not be employed for the workload of an individual, for which `list_assigned_issues` is provided.",
    ),
    Spec(
        resolve,
        "close_issue",
        "Declare an issue closed",
        "Sets the state of the specified issue to closed.",
        "Appropriate whenever the underlying defect has been rectified or the matter is to be dropped.",
        "It should not be employed to record a further defect; `submit_issue` serves that purpose.",
    ),
    Spec(
        propose,
        "create_merge_request",
        "Request the merging of a branch",
        "Submits a request that one branch be merged into another, subject to approval; no merge is carried out.",
        "Appropriate whenever the changes on a branch are complete and await review.",
        "It should not be employed to alter a single file, which is the function of `write_file`.",
    ),
    # projects and files
    Spec(
        rename,
        "rename_project",
        "Change the name of a project",
        "Assigns a new name to an existing project.",
        "Appropriate whenever a project is to bear a different name.",
        "It should not be employed to discontinue a project, in which case `archive_project` is to be preferred.",
    ),
    Spec(
        archive,
        "archive_project",
        "Place a project in the archive",
        "Renders a project read-only; its content is preserved.",
        "Appropriate whenever a project has been concluded or discontinued.",
        "It should not be employed where only the name is unsatisfactory; refer to `rename_project`.",
    ),
    Spec(
        read,
        "read_file",
        "Inspect the content of a file",
        "Returns the content of the specified file without modification.",
        "Appropriate whenever the present text of a file is required.",
        "It should not be employed in order to modify that text; `write_file` is available to that end.",
    ),
    Spec(
        write,
        "write_file",
        "Overwrite or create a file",
        "Stores the supplied text under the specified path, irrevocably superseding any previous content.",
        "Appropriate whenever a file is to be created or replaced in its entirety.",
        "It should not be employed for mere inspection, which `read_file` accomplishes without risk.",
    ),
    # people, and the one question that SQL was used for
    Spec(
        register,
        "register_user",
        "Register or amend a user account",
        "Ensures that an account with the specified particulars exists, creating or amending it as necessary.",
        "Appropriate whenever an individual is to be granted access or their name or role is to be corrected.",
        "It should not be employed to establish an individual's duties; see `list_assigned_issues`.",
    ),
    Spec(
        enumerate_assigned,
        "list_assigned_issues",
        "Issues entrusted to an individual",
        "Returns the unresolved issues assigned to the specified individual throughout all projects.",
        "Appropriate whenever the workload or the responsibilities of an individual are enquired about.",
        "It should not be employed for the entirety of a project's issues; `list_project_issues` supplies these.",
    ),
]

for spec in SPECS:
    mcp.add_tool(
        Tool.from_function(
            spec.fn, name=spec.name, title=spec.title, description=" ".join([spec.does, spec.when, spec.when_not])
        )
    )
