"""Sign in by OpenID Connect: take the verified e-mail address of a person from a provider's answer.

``provider``, ``id_token`` and ``bounded_requests`` need the extra ``parquetry[oidc]``.
"""
