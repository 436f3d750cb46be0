"""Knowledge for agents over the Model Context Protocol, on the SDK `mcp`: stdio and streamable HTTP, both its eras.

    stdio         one client on standard input and output
    over_http     an endpoint for a server to mount
    factory       the server object: methods -> tools, resources, prompts; errors translated once
    tools         what each tool does
    schemas       what tools take and give
    resources     passages and documents by URI
    prompts       how to cite
    answers       what is put on the wire
    conversation  which session a call belongs to
    opening       a Knowledge that opens in the background
    uris          names <-> URIs

It knows no engine and no rule; the SDK is imported nowhere else. `stdio` and `over_http` are imported by whoever needs
them, when they need them: the SDK takes more than a second.
"""
