"""Everything that touches the outside: stores, embedders, readers. Each is imported by the composition root alone.

Adapters hold no policy and do not know each other.
"""
