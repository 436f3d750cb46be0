"""Readers: the bytes of a file -> Text, whatever its format; see `FileReader`.

registry, kinds                       which reader a file needs: by its content, then by its name
decode, declared, encodings           bytes -> clean text
markdown, plain, frontmatter          text as it is
html, docx, pptx, xlsx, delimited     documents and tables -> Markdown
pdf                                   pages -> text with headings
rst, asciidoc                         other markup -> Markdown, line by line
json, yaml, code, notebook, mail      what programs write and read
trafilatura, docling                  extras behind the same port

Each format's library loads when the first such file is read. No reader opens a file or asks a network.
"""

from citewell.adapters.readers.registry import TEXTS, FileReader

__all__ = ["TEXTS", "FileReader"]
