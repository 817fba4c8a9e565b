TARGET = ".claude/settings.json"
