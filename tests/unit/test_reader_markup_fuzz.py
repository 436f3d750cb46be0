"""Lines of markup in the wrong order, at the wrong depth: no word is lost on the way to Markdown (INGEST-1).

The changes are seeded: a failure names its number, and comes again.
"""

from __future__ import annotations

import random
import re

import pytest

from citewell.adapters.readers import FileReader

TIMES = 100
RST = """\
.. note:: word01
   word02

   word03

Word04
=======

word05 ``word06`` :ref:`word07 <x>` `word08 <http://a.example>`_ |word09|

* word10

  * word11

    word12

1. word13

   ::

     word14

word15::

   word16
   word17

:word18: word19
   word20

word21
   word22

+---------+---------+
| word23 | word24 |
+=========+=========+
| word25           |
+---------+---------+

=======  =======
word26  word27
=======  =======
word28  word29
         word30
=======  =======

.. code-block:: python
   :linenos:

   word31
   word32

.. list-table:: word33
   :header-rows: 1

   * - word34
     - word35
   * - word36
     - word37

.. csv-table:: word38

   word39,word40

.. function:: word41(x)
   word42(y)

   word43

>>> word44
word45

| word46
| word47

.. [1] word48

Word49
-------

.. figure:: x.png

   word50

   word51
"""
ADOC = """\
= Word01

word02 `word03` *word04* _word05_ link:x[word06] https://x.example[word07] <<x,word08>>

== Word09

.word10
[source,sh]
----
word11

word12
----

* word13
+
word14
+
----
word15
----
** word16

. word17
.. word18

word19:: word20
word21::
  word22

[NOTE]
====
word23

* word24
====

TIP: word25

|===
|word26 |word27

|word28
|word29

2+|word30
.2+|word31 |word32
|word33
|===

[quote, word34]
____
word35
____

....
word36
....

[cols="1a,1"]
|===
|word37
* word38
|word39
|===

 word40 literal

****
word41
****

--
word42
--

,===
word43,word44
,===

'''

word45 +
word46

image::x.png[word47]

== Word48
word49
"""
SILENT = {
    "text.rst": {"word14"},  # below an option it goes on with its value
    "text.adoc": {"word34", "word10"},  # who is quoted where there is no quotation, a title of nothing
}
WORD = re.compile(r"word\d\d", re.IGNORECASE)


def disordered(chance: random.Random, text: str) -> str:
    """The text with up to five lines lost, added, moved or indented; no line with a word is lost."""
    lines = text.split("\n")
    for _ in range(chance.choice([1, 1, 2, 3, 5])):
        place, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        kind = chance.choice(["lose", "add", "indent", "swap"])
        if kind == "lose" and not WORD.search(lines[place]):
            del lines[place]
        elif kind == "add":
            lines.insert(place, "")
        elif kind == "indent":
            lines[place] = chance.choice(["", "  ", "   ", "    "]) + lines[place].lstrip()
        elif kind == "swap":
            lines[place], lines[other] = lines[other], lines[place]
    return "\n".join(lines)


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(("name", "text"), [("text.rst", RST), ("text.adoc", ADOC)])
def test_no_word_is_lost_whatever_the_order_of_lines(name: str, text: str) -> None:
    reader = FileReader()
    written = {word.lower() for word in WORD.findall(text)}
    assert len(written) > 45
    for number in range(TIMES):
        found = reader.read(disordered(random.Random(number), text).encode(), name)
        told = f"{found.text} {found.title} {found.metadata}"
        assert written - {word.lower() for word in WORD.findall(told)} <= SILENT[name], (name, number)
        assert "\x00" not in found.text
