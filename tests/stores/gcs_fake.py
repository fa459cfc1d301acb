"""A FAKE of Google Cloud Storage's XML API, for its conditions: ``python tests/stores/gcs_fake.py PORT BUCKET``.

Written from the protocol's documentation, no emulator at hand speaking what obstore sends: it proves that our side asks
the right questions, not that Google answers so. Objects are in memory, by name: (content, generation, time).
"""

from __future__ import annotations

import sys
import threading
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from time import gmtime, strftime, time
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

OBJECTS: dict[str, tuple[bytes, int, float]] = {}
UPLOADS: dict[str, dict[int, bytes]] = {}
LOCK = threading.Lock()
NUMBERS = count(1)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_request(self) -> None:
        parts = urlsplit(self.path)
        bucket, _, name = parts.path.lstrip("/").partition("/")
        query = {key: values[0] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if unquote(bucket) != sys.argv[2]:
            self.answer(404 if bucket else 200, b"<Error><Code>NoSuchBucket</Code></Error>")
            return
        with LOCK:
            if not name:
                self.list(query.get("prefix", ""), query.get("delimiter", ""))
            elif "uploads" in query or "uploadId" in query:
                self.upload(unquote(name), query, body)
            else:
                {"PUT": self.put, "GET": self.get, "HEAD": self.get, "DELETE": self.remove}[self.command](
                    unquote(name), body
                )

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_request  # noqa: N815 - the base class calls these

    def put(self, name: str, body: bytes) -> None:
        expected = self.headers.get("x-goog-if-generation-match")
        if expected is not None and int(expected) != OBJECTS.get(name, (b"", 0, 0))[1]:
            self.answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
            return
        source = self.headers.get("x-goog-copy-source")
        if source is not None:
            copied = OBJECTS.get(unquote(source.lstrip("/").partition("/")[2]))
            if copied is None:
                self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
                return
            body = copied[0]
        self.store(name, body)
        self.answer(200, b"", name)

    def get(self, name: str, body: bytes) -> None:
        if name not in OBJECTS:
            self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        data, generation, _ = OBJECTS[name]
        if self.headers.get("if-none-match") == f'"{generation}"':
            self.answer(304, b"", name)
            return
        asked = self.headers.get("range")
        if asked is None:
            self.answer(200, data, name)
            return
        begin, end = (int(number) for number in asked.removeprefix("bytes=").split("-"))
        if begin >= len(data):
            self.answer(416, b"<Error><Code>InvalidRange</Code></Error>")
            return
        part = data[begin : end + 1]
        self.answer(206, part, name, {"Content-Range": f"bytes {begin}-{begin + len(part) - 1}/{len(data)}"})

    def remove(self, name: str, body: bytes) -> None:
        found = OBJECTS.pop(name, None)
        self.answer(404 if found is None else 204, b"")

    def upload(self, name: str, query: dict[str, str], body: bytes) -> None:
        if "uploads" in query:
            upload = f"upload-{next(NUMBERS)}"
            UPLOADS[upload] = {}
            self.answer(
                200,
                f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>".encode(),
            )
        elif "partNumber" in query:
            UPLOADS[query["uploadId"]][int(query["partNumber"])] = body
            self.answer(200, b"", None, {"ETag": f'"part-{query["partNumber"]}"'})
        elif self.command == "DELETE":
            UPLOADS.pop(query["uploadId"], None)
            self.answer(204, b"")
        else:
            parts = UPLOADS.pop(query["uploadId"])
            self.store(name, b"".join(parts[number] for number in sorted(parts)))
            document = (
                f'<CompleteMultipartUploadResult><ETag>"{OBJECTS[name][1]}"</ETag></CompleteMultipartUploadResult>'
            )
            self.answer(200, document.encode(), name)

    def list(self, prefix: str, delimiter: str) -> None:
        folders, objects = set(), []
        for name in sorted(OBJECTS):
            rest = name.removeprefix(prefix)
            if not name.startswith(prefix):
                continue
            if delimiter and delimiter in rest:
                folders.add(prefix + rest.partition(delimiter)[0] + delimiter)
                continue
            data, generation, modified = OBJECTS[name]
            when = strftime("%Y-%m-%dT%H:%M:%S.000Z", gmtime(modified))
            objects.append(
                f"<Contents><Key>{escape(name)}</Key><Generation>{generation}</Generation><LastModified>{when}"
                f'</LastModified><ETag>"{generation}"</ETag><Size>{len(data)}</Size></Contents>'
            )
        folders_text = "".join(
            f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>" for one in sorted(folders)
        )
        self.answer(200, f"<ListBucketResult>{''.join(objects)}{folders_text}</ListBucketResult>".encode())

    def store(self, name: str, data: bytes) -> None:
        OBJECTS[name] = (data, next(NUMBERS), time())

    def answer(self, status: int, body: bytes, name: str | None = None, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        headers = dict(more or {})
        if name is not None:
            data, generation, modified = OBJECTS[name]
            headers |= {
                "ETag": f'"{generation}"',
                "x-goog-generation": str(generation),
                "Last-Modified": formatdate(modified, usegmt=True),
            }
            body = data if self.command == "HEAD" else body
        for key, value in headers.items():
            self.send_header(key, value)
        if status not in {204, 304}:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD" and status not in {204, 304}:
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
