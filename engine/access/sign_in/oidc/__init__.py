"""Signing in by OpenID Connect: a provider's answer → the verified e-mail address of whoever signed in there.

``provider``, ``id_token`` and ``bounded_requests`` need the extra ``parquetry[oidc]``.
"""
