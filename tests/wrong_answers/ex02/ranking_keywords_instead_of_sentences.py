"""02.5: First make 02.4 green

The cheat: words for the ranker, nothing for a reader.
"""

words = {
    "open_issue": "report create new bug issue open says",
    "list_open_issues": "which issues are open list show all project",
    "close_issue": "close closed fixed done issue",
    "create_merge_request": "create merge request ask merged branch into main",
    "rename_project": "rename name change called project like",
    "archive_project": "archive finished read only nobody works put",
    "read_file": "read file what is in show content",
    "write_file": "write save overwrite text following file",
    "upsert_user": "register new user change role add account",
    "list_assigned_issues": "which issues assigned list everything work person",
}
for tool in await mcp.list_tools():
    mcp.add_tool(tool.model_copy(update={"description": words[tool.name]}))
