"""Traces: a request's place in one (W3C Trace Context), and what is recorded of it for a collector (OpenTelemetry)."""
