"""The inspector: pages for people who want to see why a lookup found what it found (API-5).

    router      addresses -> pages, as one APIRouter for a server to include
    gate        who asks: a bearer token, or the cookie of a log-in; what every answer's headers say
    logins      log-ins that last a while
    forms       what an address asks for -> arguments of a lookup, and the form filled in again
    questions   what the pages ask of a Knowledge, with the caller's scope applied
    runs        files of evaluation runs in a folder
    pages       templates -> HTML
    views       values of `to_dict` -> what the templates draw; pure

Pages only read, and what they show is the library's own `to_dict`: no rule of retrieval is known here.
"""
