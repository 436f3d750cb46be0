"""Servers: thin edges over one Knowledge, for agents (MCP, HTTP) and for people (the inspector).

    callers    a bearer token -> who calls, and what they may see
    desk       blocking work off the event loop, bounded in number and in time
    apart      ingestions in a process of their own; apart_process is that process
    jobs       ingestions as callers see them
    discreet   what a caller within a scope is told of failures
    faults     errors -> HTTP statuses and messages, once
    http       routes under /v1, health, metrics
    mcp        tools, resources and a prompt
    web        the inspector's pages

They know no engine, no rule and no order of steps; what they answer is the library's own `to_dict` and `to_agent`.
"""
