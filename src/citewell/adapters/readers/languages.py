"""Names of source files -> their language, as a fence would name it. Knows names only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

_SUFFIXES: Mapping[str, str] = {
    "bash": "sh bash zsh ksh bats",
    "batch": "bat cmd",
    "c": "c h",
    "clojure": "clj cljs cljc edn",
    "cmake": "cmake",
    "cpp": "cpp cc cxx hpp hh hxx ino cu cuh",
    "csharp": "cs csx",
    "css": "css scss sass less",
    "dart": "dart",
    "diff": "diff patch",
    "dockerfile": "dockerfile containerfile",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "fsharp": "fs fsx",
    "go": "go",
    "graphql": "graphql gql",
    "groovy": "groovy gradle jenkinsfile",
    "haskell": "hs",
    "hcl": "tf tfvars hcl nomad",
    "ini": "ini cfg conf cnf properties editorconfig service timer socket mount",
    "java": "java",
    "javascript": "js mjs cjs jsx",
    "julia": "jl",
    "kotlin": "kt kts",
    "lua": "lua",
    "makefile": "mk mak",
    "nginx": "nginx",
    "nix": "nix",
    "objectivec": "m mm",
    "perl": "pl pm",
    "php": "php",
    "powershell": "ps1 psm1 psd1",
    "promql": "promql rules",
    "protobuf": "proto thrift",
    "python": "py pyi pyw pyx",
    "r": "r",
    "ruby": "rb rake gemspec",
    "rust": "rs",
    "scala": "scala sbt",
    "sql": "sql ddl",
    "svelte": "svelte",
    "swift": "swift",
    "tex": "tex sty bib",
    "toml": "toml",
    "typescript": "ts mts cts tsx",
    "verilog": "v sv vhd vhdl",
    "vim": "vim",
    "vue": "vue",
    "xml": "xml xsd xsl xslt wsdl plist csproj pom",
    "zig": "zig",
}
_BY_SUFFIX = {f".{suffix}": language for language, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}
_BY_NAME: Mapping[str, str] = {
    "makefile": "makefile",
    "gnumakefile": "makefile",
    "dockerfile": "dockerfile",
    "containerfile": "dockerfile",
    "jenkinsfile": "groovy",
    "vagrantfile": "ruby",
    "gemfile": "ruby",
    "rakefile": "ruby",
    "procfile": "ini",
    "cmakelists.txt": "cmake",
    "readme": "text",
    "license": "text",
    "licence": "text",
    "notice": "text",
    "changelog": "text",
    "changes": "text",
    "authors": "text",
    "contributing": "text",
    "todo": "text",
    "news": "text",
}


def language_of(name: str) -> str | None:
    """The language of a source file of this name; None if it isn't known as one."""
    path = PurePosixPath(name.lower())
    return _BY_NAME.get(path.name) or _BY_SUFFIX.get(path.suffix)
