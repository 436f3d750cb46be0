"""What a server says of itself: a log, figures and spans; none of them holds text of documents (API-4).

    logs      JSON lines on stderr, by structlog
    metrics   figures for Prometheus
    spans     lookups as OpenTelemetry has them, by the extra `otel`
    lookups   what each lookup's trace tells to all three

They know what a lookup's trace looks like, and no request.
"""
