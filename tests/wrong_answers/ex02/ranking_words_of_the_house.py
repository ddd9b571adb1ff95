"""02.5: requests found their tool first

Well-formed texts in words that only the team uses: repositories are vessels, issues are snags.
"""

texts = {
    "open_issue": ("log_snag", "Log a snag against a vessel so that the crew can look at it next week."),
    "list_open_issues": ("show_snags", "Show the snags of a vessel that the crew hasn't looked at so far."),
    "close_issue": ("settle_snag", "Settle a snag once the crew has looked at it and is happy with it."),
    "create_merge_request": ("propose_docking", "Propose that one arm docks at another arm of the same vessel."),
    "rename_project": ("repaint_vessel", "Paint another label on the hull of a vessel, for all the crew to see."),
    "archive_project": ("moor_vessel", "Moor a vessel for good: from then on nobody can board it at all."),
    "read_file": ("view_plank", "View one plank of a vessel from bow to stern, as it is now."),
    "write_file": ("lay_plank", "Lay one plank of a vessel, on top of the one that was there before."),
    "upsert_user": ("sign_on_sailor", "Sign a sailor on, or hand another rank to a sailor on board."),
    "list_assigned_issues": ("show_duties", "Show the duties of one sailor over all vessels of the fleet."),
}
cues = iter((
    "wood creaks loudly", "morning roll-call comes", "carpenter nods twice", "two arms meet", "paint has dried",
    "harbour lights appear", "captain squints hard", "nails are ready", "recruits queue outside", "bell rings eight",
))  # fmt: skip
for old_name, (new_name, said) in texts.items():
    tool = await mcp.get_tool(old_name)
    mcp.local_provider.remove_tool(old_name)
    other = "view_plank" if new_name != "view_plank" else "lay_plank"
    said += f" Good when {next(cues)}. Not otherwise; then {other} is better to use."
    mcp.add_tool(tool.model_copy(update={"name": new_name, "description": said}))
