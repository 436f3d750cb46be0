"""The words that a query can do without: they say that something is asked, not about what. The index keeps them all.

Adding or removing one changes no index.
"""

from __future__ import annotations

_ENGLISH = """
a an the this that these those such same other another each every either neither both all any some none own
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
it its itself they them their theirs themselves one ones
who whom whose which what when where why how whether whatever whichever whenever wherever
am is are was were be been being do does did doing done have has had having
can could may might must shall should will would ought cannot let's
isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't can't couldn't won't wouldn't shouldn't mustn't
and or but nor if then else so than because as while although though unless until since
of at by for with about against between into through during before after to from in on onto off out over under again
further upon within without per via toward towards among amongst across along around behind beyond
there here now once ever never always often more most much many few less least several enough
very too just also only even still yet
tell explain describe give show please say says said mean means according regarding concerning
use uses used using way ways
etc e.g i.e eg ie vs
"""

_CHINESE = """
的 了 是 在 和 与 及 或 而 也 都 就 还 又 被 把 将 为 于 以 之 其 这 那 这个 那个 这些 那些 有 吗 呢 吧 啊 么 呀
什么 为什么 怎么 怎样 怎么样 如何 哪 哪些 哪个 哪里 哪儿 哪种 哪位 哪一 哪年 谁 何 何时 何地 何种
几 几个 多少 多大 多长 多久 是否 是不是 有没有 请问 请 一个 个 所 由 对 从 到 向 给 让 使
"""

STOP_WORDS: frozenset[str] = frozenset((_ENGLISH + _CHINESE).split())
"""Case-folded. `no` and `not` are missing on purpose: `not ready` is what many an alert is about."""
