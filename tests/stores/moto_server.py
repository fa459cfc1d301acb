"""Moto's stand-in for S3 with one request at a time, on the port that is the first argument.

Its own server checks a condition and writes in two steps, between which another of its threads may write: under load,
an update was lost now and then, which no real store loses.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from threading import Lock
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.server import MotoRequestHandler
from werkzeug.serving import run_simple


def main(port: int) -> None:
    os.environ["MOTO_PORT"] = str(port)
    moto = DomainDispatcherApplication(create_backend_app)
    turn = Lock()

    def one_at_a_time(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        with turn:
            return list(moto(environ, start_response))

    run_simple("127.0.0.1", port, one_at_a_time, threaded=True, request_handler=MotoRequestHandler)


if __name__ == "__main__":
    main(int(sys.argv[1]))
