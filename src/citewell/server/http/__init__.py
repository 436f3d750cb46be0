"""Knowledge over HTTP, on FastAPI: what answers under /v1, health and figures (API-4).

    app         routes, gate and handlers of errors put together
    gate        what every request passes: its id, host, token, rate, size and time; the log line at its end
    asking      routes that read: lookup, evidence, check, documents
    filling     routes that write: ingestions and their jobs, deletions
    health      health, readiness, figures
    received    what a request holds -> arguments whose names are known
    answered    values -> responses; errors too
    shapes      what goes in and out, for OpenAPI
    described   OpenAPI's description of a route

They know no rule: what a caller may see and ask, `service` decides, and what arguments may hold, the library.
"""
