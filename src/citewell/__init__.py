"""Citewell: evidence for agents. Hybrid retrieval whose every chunk can be cited, explained and checked."""
