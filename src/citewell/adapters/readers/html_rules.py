"""What of a web page is page furniture and what is text: rules over one tag and its attributes; no tree, no state."""

from __future__ import annotations

import re
from collections.abc import Mapping

from citewell.adapters.readers.words import words

Attributes = Mapping[str, str]

_DROPPED = words(
    """
    script style noscript template nav footer svg canvas iframe object embed applet audio video map button
    select textarea input datalist progress meter dialog menu rp rt colgroup frame frameset
    """
)
BLOCKS = words(
    """
    address article aside blockquote body caption center dd details dir div dl dt fieldset figcaption figure
    form footer header hgroup hr html legend li main menu nav ol optgroup p pre section summary table tbody
    tfoot thead tr td th ul h1 h2 h3 h4 h5 h6
    """
)
_ROLES = frozenset(
    {"navigation", "banner", "contentinfo", "search", "menu", "menubar", "toolbar", "dialog", "alertdialog"}
)
_FURNITURE = words(
    """
    navbar breadcrumb breadcrumbs skip-link skip-to-content skiplink pagination pager toc table-of-contents
    tableofcontents sidebar sphinxsidebar site-header site-footer page-footer footer linenos linenodiv lineno
    line-numbers gutter headerlink share-buttons social-share related-posts comments-link edit-page-link
    toctree-wrapper noprint mw-editsection
    """
)
_CONSENT = re.compile(
    r"(?:cookie|consent|gdpr)s?[-_ ]?(?:banner|bar|notice|popup|modal|dialog|overlay|message|policy-banner|law|alert"
    r"|box|wrapper|manager|consent)|onetrust|cybotcookiebot|cookiebot|cookieconsent|cc-window|gdpr-",
    re.IGNORECASE,
)
_CALLOUT = re.compile(
    r"note|tip|warn|caution|important|danger|admonition|callout|alert|example|hint|info", re.IGNORECASE
)
_HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_FOLDED = re.compile(r"tab|panel|accordion|collaps|fold|expand|spoiler|details", re.IGNORECASE)
_INLINE_SIGNS = frozenset({"a", "i", "span", "b", "em"})
_LANGUAGE = re.compile(
    r"(?:^|\s)(?:language-|lang-|highlight-source-|highlight-|brush:\s*|src-)([\w+#.-]+)", re.IGNORECASE
)
_NO_LANGUAGES = frozenset(
    {"default", "none", "text", "plaintext", "plain", "nohighlight", "highlighter-rouge", "source", "notranslate"}
)


def is_dropped(tag: str, attributes: Attributes, *, in_text: bool) -> bool:
    """Whether an element and all that is in it is no text of the page; `in_text`: within the main part."""
    if tag in _DROPPED:
        return True
    if tag == "header" and not in_text:
        return True
    if not attributes:
        return tag == "aside"
    if tag == "aside" and not _CALLOUT.search(f"{attributes.get('class', '')} {attributes.get('role', '')}"):
        return True
    return _is_furniture(attributes) or _is_hidden(tag, attributes)


def _is_furniture(attributes: Attributes) -> bool:
    if attributes.get("role", "").lower() in _ROLES:
        return True
    classes, name = attributes.get("class", ""), attributes.get("id", "")
    if not classes and not name:
        return False
    if not _FURNITURE.isdisjoint(classes.lower().split()) or name.lower() in _FURNITURE:
        return True
    return bool(_CONSENT.search(classes) or _CONSENT.search(name))


def _is_hidden(tag: str, attributes: Attributes) -> bool:
    if attributes.get("aria-hidden") == "true" and tag in _INLINE_SIGNS:
        return True
    hidden = "hidden" in attributes and attributes["hidden"] != "until-found"
    if not hidden and not _HIDING.search(attributes.get("style", "")):
        return False
    # What unfolds on a click is text of the page.
    return not _FOLDED.search(f"{attributes.get('class', '')} {attributes.get('role', '')} {attributes.get('id', '')}")


def code_language(attributes: Attributes) -> str:
    """The language that a class or data attribute names; empty if none does."""
    named = attributes.get("data-lang") or attributes.get("data-language") or ""
    if not named and (match := _LANGUAGE.search(attributes.get("class", ""))):
        named = match.group(1)
    language = named.strip().lower()
    return "" if language in _NO_LANGUAGES or not re.fullmatch(r"[\w+#.-]{1,30}", language) else language


def span_of(attributes: Attributes, name: str) -> int:
    """A `colspan` or `rowspan`; 1 if it is missing or no number."""
    value = attributes.get(name, "")
    return int(value) if value.isascii() and value.isdigit() and 0 < len(value) < 6 else 1
