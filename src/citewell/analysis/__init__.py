"""Text -> tokens, the same for passages and queries (LEX-1): the lexical path owns its analysis, no engine does.

    normalize    NFKC, invisible characters out
    words        text -> runs: words with what joins them, stretches of scripts without spaces
    compounds    run -> the whole and its parts: `fetchTableRow` -> fetchtablerow, fetch, table, row
    cjk          stretch -> dictionary words and pairs
    stems        word -> Snowball stem
    stopwords    what queries lose
    analyzer     all of it together

Tokens hold no white space and at most 128 characters; a text has at most some three of them per normalised character,
usually one per six. Everything is linear in the text. Nothing here knows what a passage is or how it will be searched.
"""

from citewell.analysis.analyzer import ANALYZER_VERSION, Analyzer, analyze, analyze_query, identifiers

__all__ = ["ANALYZER_VERSION", "Analyzer", "analyze", "analyze_query", "identifiers"]
