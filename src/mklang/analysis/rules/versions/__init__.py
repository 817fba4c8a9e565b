"""The language version a document declares beside the features it uses."""
