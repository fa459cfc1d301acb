"""Page views: collected into a spool, written once into two sinks, read as counts (design section 5).

``rules`` decide what counts, ``visitors`` knows duplicates and limits, ``spool`` keeps what was counted, ``writer``
carries it into ``count_files`` and ``analysts_file``, and ``counts`` is what the server answers from.
"""
