import asyncio
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from pydantic import Field

from servers.backends import forge

mcp = MCPServer("forge")

ProjectName = Annotated[
    str, Field(description="The project you mean, written the way the forge writes it, for example billing.")
]
PersonEmail = Annotated[str, Field(description="The e-mail address of the person, like binh@forge.example.")]


# issues and merge requests
@mcp.tool(
    title="File an issue",
    description=(
        "This tool files a fresh issue in a project and gives you back the number it received. "
        "Please use it when somebody tells you about a bug or has a request that nobody has written down so far. "
        "If the matter has been dealt with and should disappear from the list, don't use this one but close_issue."
    ),
)
async def open_issue(
    project: ProjectName,
    title: Annotated[str, Field(description="A short sentence that sums it up, such as 'Invoice shows wrong VAT'.")],
    body: Annotated[str, Field(description="The whole story, in as many words as it needs.")],
) -> dict[str, Any]:
    return await asyncio.to_thread(forge.open_issue, project, title, body)


@mcp.tool(
    title="See what is open in a project",
    description=(
        "You get every issue of a project that nobody has closed yet. "
        "It's the right choice when someone would like to know which problems a project still has. "
        "When the question is about a person rather than a project, list_issues_of_person will help you instead."
    ),
)
async def list_issues_of_project(project: ProjectName) -> list[dict[str, Any]]:
    return await asyncio.to_thread(forge.list_open_issues, project)


@mcp.tool(
    title="Mark an issue as finished",
    description=(
        "With this you tell the forge that an issue is over. "
        "Call it when the bug has been repaired, or when everyone agrees that it won't be worked on. "
        "It can't report a new problem, so please go to open_issue for that."
    ),
)
async def close_issue(
    issue_id: Annotated[str, Field(description="The issue's own number, which looks like I-101.")],
) -> dict[str, Any]:
    return await asyncio.to_thread(forge.close_issue, issue_id)


@mcp.tool(
    title="Ask for a branch to be merged",
    description=(
        "It opens a merge request, so that colleagues can look over the commits of a branch before they go into another. "
        "Use it when a developer has finished on a branch and would like it reviewed and merged. "
        "Please don't use it to put text straight into a file, because write_file does that."
    ),
)
async def create_merge_request(
    project: ProjectName,
    source_branch: Annotated[
        str, Field(description="The branch that the work was done on, for instance fix/vat-rate.")
    ],
    target_branch: Annotated[str, Field(description="The branch where the work should end up, which is often main.")],
    title: Annotated[str, Field(description="A headline the reviewers will see, like 'Correct the VAT rate'.")],
) -> dict[str, Any]:
    return await asyncio.to_thread(forge.create_merge_request, project, source_branch, target_branch, title)


# projects and files
@mcp.tool(
    title="Rename a project",
    description=(
        "You can rename a project here, and its content stays. "
        "Use it when its name should be changed, because people don't like it any more. "
        "Please don't use it to lock one; archive_project is made for that."
    ),
)
async def rename_project(
    project: Annotated[str, Field(description="What the project is called today, for example docs.")],
    new_name: Annotated[str, Field(description="What it shall be called from now on, for example handbook.")],
) -> dict[str, Any]:
    return await asyncio.to_thread(forge.rename_project, project, new_name)


@mcp.tool(
    title="Put a project into the archive",
    description=(
        "You archive a project here and make it read-only, so that nobody can add anything. "
        "Use it when a project is finished, nobody works on it any more and it should go into the archive. "
        "Don't use it for another name, where rename_project is right."
    ),
)
async def archive_project(project: ProjectName) -> dict[str, Any]:
    return await asyncio.to_thread(forge.archive_project, project)


@mcp.tool(
    title="Look into a file",
    description=(
        "You receive the text that a file of a project holds at the moment, and the file is left as it was. "
        "Use it whenever you'd like to know what is written in a file, and always before you change one. "
        "It never saves anything, so if you want to change the text you need write_file."
    ),
)
async def read_file(
    project: ProjectName,
    path: Annotated[str, Field(description="Where the file lies in the project, for example README.md.")],
) -> dict[str, Any]:
    return await asyncio.to_thread(forge.read_file, project, path)


@mcp.tool(
    title="Replace a file's text",
    description=(
        "Your text becomes the new content of the file, and what stood there before is lost. "
        "Use it when you were asked to create a file, or to edit one and you know all of its new text. "
        "Don't use it if you only want to have a look; stay on the safe side with read_file."
    ),
)
async def write_file(
    project: ProjectName,
    path: Annotated[str, Field(description="The place of the file that is to be saved, for example docs/setup.md.")],
    content: Annotated[
        str, Field(description="Everything that the file should contain afterwards, from top to bottom.")
    ],
) -> dict[str, Any]:
    return await asyncio.to_thread(forge.write_file, project, path, content)


# people, and the one question that SQL was used for
@mcp.tool(
    title="Add a person or change their details",
    description=(
        "After this call the forge knows the person with exactly this name and role, whether they were there before or not. "
        "Use it when a colleague starts and needs access, or when their name or their permissions have changed. "
        "It doesn't tell you what a person is working on; for that there is list_issues_of_person."
    ),
)
async def register_person(
    email: PersonEmail,
    name: Annotated[str, Field(description="How the person is called, for example Binh Tran.")],
    role: Annotated[str, Field(description="What they may do: it's reader, developer or owner.")],
) -> dict[str, Any]:
    return await asyncio.to_thread(forge.put_user, email, name, role)


@mcp.tool(
    title="See what a person is working on",
    description=(
        "It returns the open issues that have been given to one person, in whichever project they are. "
        "Use it when someone wonders what they, or a colleague, should be doing. "
        "Please don't use it for everything in one project, since there is list_issues_of_project."
    ),
)
async def list_issues_of_person(email: PersonEmail) -> list[dict[str, Any]]:
    return await asyncio.to_thread(forge.list_assigned_issues, email)
