"""How a line of source code names a class or a function, language by language: a few keywords each, no grammar."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from citewell.adapters.readers.words import words

Kind = Literal["type", "function"]
Rule = tuple[Kind, re.Pattern[str]]

_MODIFIERS = (
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|sealed|open|data|inline|async|unsafe|partial"
    r"|override|virtual|readonly|const|declare|companion|case|suspend|operator|mutating|fileprivate|inner|typedef|native|ref"
    r"|pub|pub\([\w: ]+\))\s+)*"
)
_TYPES = (
    r"(?:class|interface|struct|enum|enum class|trait|protocol|object|namespace|module|record|extension|actor|mixin)"
)
_LAMBDA = r"(?:function\b|\([^()]*\)\s*=>|[\w$]+\s*=>)"
_SQL_MODIFIERS = r"(?:or\s+replace\s+)?(?:(?:global|temp|temporary|materialized|unique)\s+)*"
_SQL_TYPES = r"(?:table|view|function|procedure|trigger|index|type|schema)"


def _rules(*rules: tuple[Kind, str], flags: re.RegexFlag = re.NOFLAG) -> Sequence[Rule]:
    return tuple((kind, re.compile(rf"\s*{pattern}", flags)) for kind, pattern in rules)


_BRACES = _rules(
    (
        "type",
        rf"{_MODIFIERS}{_TYPES}\s+(?P<name>[A-Za-z_$][\w$.:]*)(?=[^;=]*$)",
    ),
    ("function", rf"{_MODIFIERS}(?:func|fun|def|fn|function)\b\s*\*?\s*(?P<name>[A-Za-z_$][\w$.]*)"),
    (
        "function",
        rf"{_MODIFIERS}(?:const|let|var)\s+(?P<name>[A-Za-z_$][\w$]*)\s*=\s*(?:async\s+)?{_LAMBDA}",
    ),
)
RULES: Mapping[str, Sequence[Rule]] = {
    "python": _rules(("type", r"class\s+(?P<name>\w+)"), ("function", r"(?:async\s+|cp)?def\s+(?P<name>\w+)")),
    "bash": _rules(
        ("function", r"(?:function\s+)?(?P<name>[\w:.-]+)\s*\(\s*\)"), ("function", r"function\s+(?P<name>[\w:.-]+)")
    ),
    "powershell": _rules(
        ("function", r"(?:function|filter)\s+(?P<name>[\w:-]+)"),
        ("type", r"class\s+(?P<name>\w+)"),
        flags=re.IGNORECASE,
    ),
    "sql": _rules(
        (
            "type",
            rf"create\s+{_SQL_MODIFIERS}{_SQL_TYPES}\s+(?:if\s+not\s+exists\s+)?(?P<name>[\w.\"`\[\]]+)",
        ),
        flags=re.IGNORECASE,
    ),
    "hcl": _rules(("type", r"(?P<name>(?:locals|terraform|[a-z_]+(?:\s+\"[^\"]+\"){1,2}))\s*\{\s*$")),
    "makefile": _rules(("function", r"(?<!\s)(?P<name>[A-Za-z0-9_./%-]+)\s*::?(?!=)")),
    "ini": _rules(("type", r"\[(?P<name>[^\]]+)\]\s*$")),
    "toml": _rules(("type", r"\[\[?(?P<name>[^\]]+)\]\]?\s*(?:#.*)?$")),
    "protobuf": _rules(
        ("type", r"(?:message|service|enum|struct|exception)\s+(?P<name>\w+)"), ("function", r"rpc\s+(?P<name>\w+)")
    ),
    "graphql": _rules(
        ("type", r"(?:extend\s+)?(?:type|interface|input|enum|union|scalar|query|mutation|fragment)\s+(?P<name>\w+)")
    ),
    "dockerfile": _rules(("type", r"(?P<name>FROM\s+\S+(?:\s+AS\s+\S+)?)"), flags=re.IGNORECASE),
    "elixir": _rules(
        ("type", r"def(?:module|protocol|impl)\s+(?P<name>[\w.]+)"),
        ("function", r"def(?:p|macro|macrop|guard)?\s+(?P<name>[\w?!]+)"),
    ),
    "ruby": _rules(("type", r"(?:class|module)\s+(?P<name>[\w:]+)"), ("function", r"def\s+(?P<name>[^\s(;]+)")),
    "lua": _rules(("function", r"(?:local\s+)?function\s+(?P<name>[\w.:]+)")),
    "perl": _rules(("type", r"package\s+(?P<name>[\w:]+)"), ("function", r"sub\s+(?P<name>\w+)")),
    "r": _rules(("function", r"(?P<name>[\w.]+)\s*(?:<-|=)\s*function\b")),
    "julia": _rules(
        ("type", r"(?:mutable\s+)?(?:struct|module|abstract type)\s+(?P<name>\w+)"),
        ("function", r"(?:function|macro)\s+(?P<name>[\w.!]+)"),
    ),
    "go": _rules(
        ("type", r"type\s+(?P<name>\w+)(?:\[[^\]]*\])?\s+(?:struct|interface)\b"),
        ("function", r"func\s+(?:\(\s*\w*\s*\*?(?P<owner>\w+)(?:\[[^\]]*\])?\s*\)\s*)?(?P<name>\w+)"),
    ),
    "rust": _rules(
        ("type", rf"{_MODIFIERS}(?:struct|enum|trait|union|mod)\s+(?P<name>\w+)(?=[^;]*$)"),
        ("type", r"(?:unsafe\s+)?(?P<name>impl\b[^{;]{1,100}?)\s*(?:\{|\bwhere\b|$)"),
        ("function", rf"{_MODIFIERS}(?:extern\s+\"\w+\"\s+)?fn\s+(?P<name>\w+)"),
    ),
    **dict.fromkeys(
        words(
            "c cpp csharp dart fsharp groovy java javascript kotlin objectivec php scala svelte swift typescript vue"
        ),
        _BRACES,
    ),
}
UNMARKED = words("c cpp csharp dart groovy java javascript objectivec typescript")
"""Languages whose functions need no keyword: `int add(int a, int b) {`."""

HASH_COMMENTS = words("python bash ruby makefile hcl toml ini perl r julia elixir powershell dockerfile graphql")
