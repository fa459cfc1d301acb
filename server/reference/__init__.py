"""The service's description of itself: the OpenAPI document, the reference page, and the API catalog (contract 9)."""
