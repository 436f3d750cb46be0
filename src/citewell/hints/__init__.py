"""Hints (L0): pointers into the catalogue for a question; likely documents and categories, never evidence."""
