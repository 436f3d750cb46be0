"""Damaged files of every kind: each is read or refused by name, and what is read holds together (INGEST-1, 2, 4, 9).

The damage is seeded: a failure names its file and number, and comes again.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping

import pytest
from mutations import damaged, damaged_archive
from odd_files import ODD_FILES
from office_files import docx_file, pptx_file, xlsx_file
from pdf_files import paragraph, pdf_file

from citewell.adapters.readers import FileReader
from citewell.errors import IngestError
from citewell.ingest.split import split
from citewell.model import Text

LARGEST = 20_000
TIMES = 40
SLOW = {"text.docx": 10}
MAXIMUM = 2_000

RST = """\
Title
=====

.. note:: Be careful
   indeed

+---+---+
| a | b |
+===+===+
| 1 | 2 |
+---+---+

.. code-block:: sh

   ls ``x``

:ref:`text <target>` and `link <https://x.example>`_

* one

  * two
"""
ADOC = """\
= Title
:a: 1

== One {a}

[source,sh]
----
ls
----

|===
|a |b

2+|c
|===

* one
** two
"""
MARKDOWN = """\
---
title: T
tags: [a]
---
# A

- ```sh
  ls
  ```

| a | b |
|---|---|
| 1 | 2 |

> # q

B
===
"""
YAML = """\
kind: Pod
metadata:
  name: web
spec:
  list:
    - name: a
      x: &a [1]
      y: *a
---
a: |
  b
"""
CODE = '''\
"""Doc."""
class A:
    # note
    @x
    def f(self):
        """
        def g():
        """
'''
PAGE = """\
<html lang=en><head><title>T</title></head><body><main><h1>A</h1><ul><li>one<li>two</ul>
<pre><code class=language-sh># no</code></pre>
<table><tr><th>a<th>b<tr><td rowspan=2>1<td>2<tr><td>3</table></main></body></html>
"""
MORE: Mapping[str, bytes] = {
    "page.html": PAGE.encode(),
    "text.rst": RST.encode(),
    "text.adoc": ADOC.encode(),
    "text.md": MARKDOWN.encode(),
    "values.json": b'{"title": "T", "a": [1, {"b": [[1, 2], "c"]}], "d": null, "e": "\\u00e9"}',
    "values.yaml": YAML.encode(),
    "code.py": CODE.encode(),
    "deck.pptx": pptx_file([("Pools", [(0, "Grow"), (1, "slowly")], "Notes.")], [["a", "b"], ["1", "2"]]),
    "text.docx": docx_file(["One.", "Two."]),
    "book.xlsx": xlsx_file({"S": [["a", "b"], [1, "=A2+1"], [True, 1.5]], "T": [["x"]]}),
    "pages.pdf": pdf_file([paragraph("One. " * 9), paragraph("Two.")], title="T", outline=[("One", 0), ("Two", 1)]),
}
FILES = {**{file.name: file.data for file in ODD_FILES if 0 < len(file.data) <= LARGEST}, **MORE}


def versions(name: str, data: bytes) -> Iterator[tuple[int, bytes]]:
    is_archive = name.endswith(("docx", "pptx", "xlsx")) and name in MORE
    for number in range(SLOW.get(name, TIMES)):
        chance = random.Random(f"{name} {number}")
        yield number, (damaged_archive if is_archive and chance.random() < 0.8 else damaged)(chance, data)


def check(text: Text) -> None:
    """What holds for whatever a reader makes of a file."""
    for said in (text.text, text.title or "", text.category or "", json.dumps(text.metadata, ensure_ascii=False)):
        assert not {"\x00", "\r"} & set(said)
        said.encode("utf-8")
    places = [start for start, _ in text.places]
    assert places == sorted(places)
    assert all(start <= len(text.text) for start in places)
    starts = [heading.start for heading in text.headings]
    assert starts == sorted(set(starts))
    assert all(start == 0 or text.text[start - 1] == "\n" for start in starts)
    assert text.text or text.remarks
    check_passages(text)


def check_passages(text: Text) -> None:
    """Bounded, and nothing but white space stands between them."""
    done = split(
        text.text,
        format=text.format,
        start=text.start,
        markdown_from=text.markdown_from,
        headings=text.headings,
        max_tokens=300,
    )
    last = text.start
    for passage in done.passages:
        begin, end = passage.span
        assert last <= begin < end
        assert not text.text[last:begin].strip()
        assert text.text[begin:end] in passage.text
        assert len(passage.text) <= MAXIMUM
        last = end
    assert not text.text[last:].strip()


@pytest.mark.requirement("INGEST-1", "INGEST-2", "INGEST-4", "INGEST-9")
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_read_or_refused_by_name(name: str) -> None:
    reader = FileReader()
    for number, data in versions(name, FILES[name]):
        try:
            text = reader.read(data, name)
        except IngestError:
            continue
        try:
            check(text)
        except (AssertionError, UnicodeEncodeError) as error:
            raise AssertionError(f"{name}, damage {number}: {error}") from error
