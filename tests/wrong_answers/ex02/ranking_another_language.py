"""02.5: requests found their tool first

Good German; the requests come in English.
"""

texts = {
    "open_issue": ("eintragen", "Trägt ein neues Problem in ein Vorhaben ein und gibt seine Nummer zurück."),
    "list_open_issues": ("auflisten", "Zählt alle noch ungelösten Probleme eines Vorhabens auf."),
    "close_issue": ("erledigen", "Hakt ein Problem ab, weil es behoben ist oder niemand es mehr hat."),
    "create_merge_request": ("vorschlagen", "Schlägt vor, einen Zweig in einen anderen zu übernehmen."),
    "rename_project": ("umbenennen", "Gibt einem Vorhaben einen anderen Namen; sonst bleibt alles."),
    "archive_project": ("ablegen", "Legt ein Vorhaben still: Es kann nur noch gelesen werden."),
    "read_file": ("vorlesen", "Zeigt, was in einer Datei steht, ohne daran etwas zu ändern."),
    "write_file": ("schreiben", "Schreibt einen Text in eine Datei, auch über einen alten."),
    "upsert_user": ("anmelden", "Meldet jemanden an oder gibt jemandem eine andere Rolle."),
    "list_assigned_issues": ("aufgaben", "Zählt auf, was jemand über alle Vorhaben hinweg zu tun hat."),
}
for old_name, (new_name, said) in texts.items():
    tool = await mcp.get_tool(old_name)
    mcp.local_provider.remove_tool(old_name)
    mcp.add_tool(tool.model_copy(update={"name": new_name, "description": said}))
