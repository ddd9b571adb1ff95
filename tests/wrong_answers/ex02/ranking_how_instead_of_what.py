"""02.5: requests found their tool first

Well-formed texts about the implementation: endpoints, status codes, payloads. Nobody asks in such words.
"""

texts = {
    "open_issue": ("post_item", "Sends a POST to /v4/items and answers 201 with the payload and its key."),
    "list_open_issues": ("get_items", "Sends a GET to /v4/items with state=0 and answers 200 with an array."),
    "close_issue": ("patch_item", "Sends a PATCH to /v4/items/:key with state=1, answers 200, else 404."),
    "create_merge_request": ("post_diff", "Sends a POST to /v4/diffs with two refs, answers 201 or 409."),
    "rename_project": ("patch_repo", "Sends a PATCH to /v4/repos/:key with one field, answers 200 or 409."),
    "archive_project": ("lock_repo", "Sends a PUT to /v4/repos/:key/lock, is safe to repeat, answers 204."),
    "read_file": ("get_blob", "Sends a GET to /v4/blobs/:path and answers 200 with text/plain."),
    "write_file": ("put_blob", "Sends a PUT to /v4/blobs/:path with text/plain, answers 201 or 200."),
    "upsert_user": ("put_member", "Sends a PUT to /v4/members/:key with two fields, answers 201 or 200."),
    "list_assigned_issues": ("get_member_items", "Sends a GET to /v4/members/:key/items, answers 200 or 404."),
}
for old_name, (new_name, said) in texts.items():
    tool = await mcp.get_tool(old_name)
    mcp.local_provider.remove_tool(old_name)
    other = "get_blob" if new_name != "get_blob" else "put_blob"
    said += f" Use it when {new_name.replace('_', ' ')} is the endpoint. Not for another one: use {other}."
    mcp.add_tool(tool.model_copy(update={"name": new_name, "description": said}))
