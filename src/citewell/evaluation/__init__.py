"""Judges rankings: any callable from a query to ranked keys, against labelled queries; knows no engine."""
