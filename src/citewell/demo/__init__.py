"""The demo corpus, runbooks of an invented shop platform, with the questions that show what a lookup can do."""
