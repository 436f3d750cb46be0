"""The one definition of `lookup_knowledge`: its name, what it says of itself, its arguments, and what calling it does.

    shapes       the parts that JSON schemas are made of
    definition   name, description, arguments
    vendors      the definition as OpenAI and Anthropic want it
    call         arguments in, a projection out

MCP, the frameworks' adapters and plain API clients all take it from here, so that a model reads the same words
wherever it meets the tool. It knows no protocol and no framework.
"""

from citewell.tool.call import LookupTool
from citewell.tool.definition import DESCRIPTION, LOOKUP_ARGUMENTS, NAME, TITLE, arguments
from citewell.tool.vendors import tool_schema

__all__ = ["DESCRIPTION", "LOOKUP_ARGUMENTS", "NAME", "TITLE", "LookupTool", "arguments", "tool_schema"]
