"""The table of everything that a server follows: what it is called, how long it may be wrong, and what is done then.

``/readyz``, the metric ``parquetry_trouble_seconds``, ``deploy/alerts.yml`` and the table in ``docs/operators.md``
follow from it. Whatever logs a failure and carries on has a row here, and notes it with ``States``.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from server.mirror.behind import ALL, COUNTS, CURRENT_VERSION, KEYS, VIEWS, WEBHOOKS

Severity: TypeAlias = Literal["critical", "warning"]

CURRENT: Final = "current"
AUDIT: Final = "audit"
RECEIVER: Final = "receiver"
KEY_END: Final = "key_end"
BUILD: Final = "build"
STORE: Final = "store"
BUCKET: Final = "bucket"
CACHE: Final = "cache"
KEEPER: Final = "keeper"
WORKER: Final = "worker"
RELOAD: Final = "reload"
MAIL: Final = "mail"
REDIS: Final = "rate_limit"
DISK: Final = "disk"
MEMORY: Final = "memory"
CLOCK: Final = "clock"
SIGN_IN: Final = "sign_in"
REPORT: Final = "report"
LAST_USE: Final = "last_use"
BACKUP: Final = "backup"
TRACES: Final = "traces"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is followed."""

    what: str
    """Its name in ``/readyz`` and in the metric."""
    of: Literal["workspace", "machine"]
    """Whether each workspace has one, or the machine."""
    wrong: str
    """When it is wrong, for the table that people read."""
    alert: str
    """The name of its alert, without the ``Parquetry`` that all begin with."""
    after: int
    """Seconds for which it may be wrong before the alert; 0 for what is told at once."""
    severity: Severity
    told: str
    """The sentence of ``/readyz``, which names no path, address or failure of the machine (decision 66)."""
    todo: str
    """What people do about it: Markdown, as a sentence of the table in the documents."""
    told_for: int | None = None
    """Seconds for which something that happens at an instant is told; ``None`` for what lasts until it is well."""
    unit: Literal["seconds", "days"] = "seconds"


_LOG = "the log says why"

TABLE: Final = (
    Row(
        what=CURRENT_VERSION,
        of="workspace",
        wrong="the current snapshot version cannot be opened, or has not arrived from the bucket",
        alert="RefusedVersion",
        after=120,
        severity="critical",
        told=f"The current snapshot version cannot be served, and is tried again; {_LOG}.",
        todo="`cms snapshot verify` names a damaged file, be it the manifest, whose SHA-256 `current` names: build "
        "again, or go back with `cms snapshot rollback`, and then delete what is damaged with `cms snapshot prune "
        "VERSION`. `permission denied` in the log: "
        "[publish as the server's user](#who-publishes). A reader of a bucket fetches what it lacks when it starts. "
        "A server that runs goes on with the version that it has",
    ),
    Row(
        what=CURRENT,
        of="workspace",
        wrong="the file `current` is missing, damaged or unreadable",
        alert="CurrentUnreadable",
        after=60,
        severity="critical",
        told=f"The file `current` cannot be followed; {_LOG}.",
        todo="`cms snapshot activate VERSION` writes it again, with a version of `cms snapshot list`. `permission "
        "denied` in the "
        "log: [publish as the server's user](#who-publishes). Until then, new versions are not served, and a server "
        "that "
        "is started serves nothing of the workspace",
    ),
    Row(
        what=KEYS,
        of="workspace",
        wrong="the keys cannot be read, or are older than in the bucket",
        alert="KeysUnreadable",
        after=60,
        severity="critical",
        told=f"The keys cannot be followed; {_LOG}. Keys that are disabled now may still be accepted.",
        todo="the log names the file `access.json` and what is wrong with it: give the server's user access, make "
        "room, or restore it "
        "from a [backup](#backup-and-restore). Until then the last good keys stay in force",
    ),
    Row(
        what=ALL,
        of="workspace",
        wrong="nothing of it can be looked at in the bucket",
        alert="WorkspaceNotFollowed",
        after=300,
        severity="critical",
        told=f"The workspace cannot be followed in the store; {_LOG}.",
        todo="the bucket refuses what is below the workspace's name, or a process hangs: the log says which "
        "([several machines](several-machines.md#monitoring))",
    ),
    Row(
        what=COUNTS,
        of="workspace",
        wrong="the counts of page views cannot be read, or are older than in the bucket",
        alert="CountsStale",
        after=300,
        severity="warning",
        told=f"The view counts cannot be followed; {_LOG}. The last good ones are used.",
        todo="the log names the file; `cms views verify` compares it with the rows, and `cms views rebuild counts` "
        "makes it again",
    ),
    Row(
        what=VIEWS,
        of="workspace",
        wrong="page views wait to be added to the counts, or to be sent to the bucket",
        alert="ViewsNotWritten",
        after=600,
        severity="warning",
        told=f"Page views wait to be counted; {_LOG}.",
        todo="the disk is full or refuses writes, the bucket does, or a process hangs: the log says which. Nothing "
        "acknowledged is lost",
    ),
    Row(
        what=WEBHOOKS,
        of="workspace",
        wrong="its webhooks cannot be read or written",
        alert="WebhooksUnreadable",
        after=300,
        severity="warning",
        told=f"Webhooks cannot be read or written, and wait; {_LOG}.",
        todo="the log names the file `webhooks.json` and what is wrong with it",
    ),
    Row(
        what=RECEIVER,
        of="workspace",
        wrong="a webhook's receiver does not accept an event",
        alert="WebhooksWaiting",
        after=3600,
        severity="warning",
        told="Webhooks wait for their receivers; `cms webhook list` says which.",
        todo="`cms webhook list`, and `cms webhook show ID` for the receiver's answers; after three days the server "
        "gives up and the "
        "owners get an e-mail",
    ),
    Row(
        what=AUDIT,
        of="workspace",
        wrong="changes wait to be written to the audit log",
        alert="AuditLogLate",
        after=300,
        severity="warning",
        told=f"The audit log cannot be written; {_LOG}. Rights can be taken away, and these changes are added to it "
        "once it can be; no others are made.",
        todo="the disk is full or refuses writes: the log says which. No rights can be given meanwhile",
    ),
    Row(
        what=KEY_END,
        of="workspace",
        wrong="a key expires within three days, or expired less than a day ago",
        alert="KeyEnds",
        after=0,
        severity="warning",
        told="An API key expires within three days, or has just expired; `cms key list` says which.",
        todo="`cms key list` names it; `cms key edit PREFIX --until DATE` extends it, and `cms key disable PREFIX` "
        "says that nobody needs it",
    ),
    Row(
        what=BUILD,
        of="workspace",
        wrong="a build has been under way",
        alert="BuildDoesNotEnd",
        after=3600,
        severity="warning",
        told="A build has been under way for long, or was killed; the current snapshot version is served.",
        todo="look at the job that builds: end the build if it hangs. What it has written so far is deleted by the "
        "next "
        "`cms snapshot prune`",
    ),
    Row(
        what=STORE,
        of="machine",
        wrong="the store cannot be looked at",
        alert="StoreUnreadable",
        after=60,
        severity="critical",
        told=f"The store cannot be read; {_LOG}. Until it is back, snapshot versions that are open are still "
        "served, and "
        "page views are dropped.",
        todo="the mount is gone or permissions changed; the server goes on serving the snapshot versions that it "
        "has open",
    ),
    Row(
        what=BUCKET,
        of="machine",
        wrong="the bucket does not answer",
        alert="StoreOutOfContact",
        after=300,
        severity="critical",
        told=f"The store cannot be reached; {_LOG}. The content on this machine is still served.",
        todo="the bucket cannot be reached, or refuses the credentials: the log says which. Readers go on with what "
        "they have "
        "([several machines](several-machines.md))",
    ),
    Row(
        what=CACHE,
        of="machine",
        wrong="the cache directory cannot be written",
        alert="CacheNotWritable",
        after=300,
        severity="critical",
        told=f"The cache directory cannot be written; {_LOG}. New snapshot versions cannot be opened.",
        todo="the disk is full, or the directory belongs to another user: the log says which",
    ),
    Row(
        what=KEEPER,
        of="machine",
        wrong="there is no keeper",
        alert="NoKeeper",
        after=60,
        severity="warning",
        told="The keeper is not running, and is started again: until then, page views are not counted, and webhooks, "
        "expiry e-mails and the console wait; in front of a bucket, what changes there is not followed.",
        todo="the process `cms-keeper` ends again and again: the log says how. Meanwhile requests are answered, "
        "page views are kept, and "
        "webhooks, expiry e-mails and the console wait",
    ),
    Row(
        what=WORKER,
        of="machine",
        wrong="a worker or the keeper ended by itself or was killed; told for ten minutes",
        alert="ProcessDied",
        after=0,
        severity="warning",
        told="A process of this server died and was replaced; the log says how.",
        todo="the log has its exit status: -9 is mostly the system's, for want of memory (`journalctl -k`): lower "
        "`CMS_MEMORY`, or run "
        "fewer workers. Requests that it had begun were lost",
        told_for=600,
    ),
    Row(
        what=RELOAD,
        of="machine",
        wrong="the last reload failed, and the processes of before go on",
        alert="ReloadFailed",
        after=0,
        severity="warning",
        told=f"The last reload failed; {_LOG}. The processes of before go on.",
        todo="the log says what kept the new program from taking over: mend that, or install the version before again, "
        "and reload. Requests are answered by the program that ran before ([reload](#reload))",
    ),
    Row(
        what=MAIL,
        of="machine",
        wrong="e-mails cannot be sent: the mail server does not take them, or it cannot be read or noted who was told",
        alert="MailNotSent",
        after=300,
        severity="warning",
        told=f"E-mails cannot be sent, and are tried again; {_LOG}.",
        todo="the log has the mail server's answer, and the part of `CMS_SMTP_URL` to correct. It is tried again "
        "within the hour; "
        "`cms key notify` tries at once",
    ),
    Row(
        what=REDIS,
        of="machine",
        wrong="the server of `CMS_RATE_LIMIT_URL` is away, or workers cannot share the limit",
        alert="LimitNotShared",
        after=60,
        severity="warning",
        told=f"The rate limit is not shared; {_LOG}.",
        todo="each machine, or each worker, counts for itself until it is back: the log says why",
    ),
    Row(
        what=DISK,
        of="machine",
        wrong="less than a tenth of the disk is free, and less than 1 GB",
        alert="DiskFills",
        after=60,
        severity="warning",
        told="The disk of the store or of the cache is nearly full.",
        todo="[make room](#when-the-disk-fills) before page views are dropped",
    ),
    Row(
        what=MEMORY,
        of="machine",
        wrong="less than a twentieth of the memory is available",
        alert="MemoryShort",
        after=60,
        severity="warning",
        told="The machine is short of memory.",
        todo="lower `CMS_MEMORY`, `CMS_ANSWER_CACHE` and `CMS_LIST_CACHE`, or run fewer workers ([sizing](#sizing))",
    ),
    Row(
        what=CLOCK,
        of="machine",
        wrong="the clock jumped, told for ten minutes; or what is current was activated in the future",
        alert="ClockWrong",
        after=0,
        severity="critical",
        told="The clock of this machine jumped, or is behind the one of the machine that published.",
        todo="schedules, keys and limits follow the clock: check `timedatectl` and the time service, on the machine "
        "that publishes, too",
        told_for=600,
    ),
    Row(
        what=SIGN_IN,
        of="machine",
        wrong="the console's sign-ins cannot be read or written",
        alert="SignInsUnreadable",
        after=300,
        severity="warning",
        told=f"Sign-ins of the console cannot be read or written; {_LOG}.",
        todo="the log names the file; nobody can sign in until it can be read",
    ),
    Row(
        what=REPORT,
        of="machine",
        wrong="the server cannot say in the store which version it serves",
        alert="ServerNotReported",
        after=600,
        severity="warning",
        told=f"This server cannot report to the console's page of readers; {_LOG}.",
        todo="the store refuses writes below `_readers/`: the log says why. Answers do not depend on it",
    ),
    Row(
        what=LAST_USE,
        of="machine",
        wrong="the last uses of keys cannot be written together",
        alert="LastUseNotKept",
        after=7200,
        severity="warning",
        told=f"The last uses of keys cannot be kept; {_LOG}.",
        todo="the log names the file; `cms key list` shows older times until then",
    ),
    Row(
        what=BACKUP,
        of="machine",
        wrong="the newest backup is more than two days old, of a store in a directory that was ever saved",
        alert="OldBackup",
        after=3600,
        severity="warning",
        told="The newest backup of the store is more than two days old.",
        todo="look at the job that saves the store, or [save it now](#backup-and-restore); `cms doctor` says where the "
        "newest backup is",
    ),
    Row(
        what=TRACES,
        of="machine",
        wrong="the collector of traces cannot be reached, or refuses what is sent",
        alert="TracesNotSent",
        after=600,
        severity="warning",
        told="Traces cannot be sent to the collector, and are dropped.",
        todo="`CMS_TRACES` names the collector: look whether it runs, and at its own log. Answers do not depend on it",
    ),
)
"""One row for each; those that people need at night come first."""

ROWS: Final = {row.what: row for row in TABLE}


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """What only a history of measurements shows, so that it is Prometheus that finds it."""

    alert: str
    """As in ``Row``."""
    wrong: str
    expr: str
    """The condition, in PromQL."""
    after: int
    """Seconds for which the condition holds before the alert."""
    severity: Severity
    summary: str
    """A template of Prometheus."""
    todo: str


MEASURES: Final = (
    Measure(
        alert="ServerGone",
        wrong="Prometheus cannot reach the server, or has no target for it",
        expr='up{job="parquetry"} == 0 or absent(up{job="parquetry"})',
        after=60,
        severity="critical",
        summary="{{ $labels.instance }} does not answer.",
        todo="`systemctl status parquetry`, then its log (`journalctl -u parquetry`); if it runs, `CMS_METRICS` is "
        "not where Prometheus asks",
    ),
    Measure(
        alert="Errors",
        wrong="requests are answered 5xx, other than 503",
        expr='sum by (instance) (rate(parquetry_requests_total{status=~"5..",status!="503"}[5m])) > 0',
        after=300,
        severity="critical",
        summary="{{ $labels.instance }} answers requests with errors, {{ $value | humanize }} a second.",
        todo="the log has a traceback under the request's ID; report it",
    ),
    Measure(
        alert="Overload",
        wrong="more than one request in a hundred is answered 503",
        expr='sum by (instance) (rate(parquetry_requests_total{status="503"}[5m])) > 0.01 * '
        "sum by (instance) (rate(parquetry_requests_total[5m]))",
        after=300,
        severity="critical",
        summary="{{ $labels.instance }} answers {{ $value | humanize }} requests a second with 503.",
        todo="there are more requests than the server can answer: add workers, or raise `CMS_ANSWER_CACHE`; "
        "the access log shows the key of each request",
    ),
    Measure(
        alert="Slow",
        wrong="one answer in a hundred takes longer than a second",
        expr="histogram_quantile(0.99, sum by (instance, le) (rate(parquetry_request_seconds_bucket[5m]))) > 1",
        after=300,
        severity="warning",
        summary="One answer in a hundred of {{ $labels.instance }} takes longer than {{ $value | humanizeDuration }}.",
        todo="`parquetry_query_seconds` says whether statements take the time or the wait for a thread; other "
        "programs on the "
        "machine may take its processors. The access log has the time of each request",
    ),
    Measure(
        alert="ClientsOverTheirLimit",
        wrong="requests are answered 429",
        expr='sum by (instance) (rate(parquetry_requests_total{status="429"}[5m])) > 0.1',
        after=900,
        severity="warning",
        summary="Clients of {{ $labels.instance }} are over the limits of their keys, {{ $value | humanize }} "
        "requests a second.",
        todo="a client polls, or its limit is too low: see `cms key list`, and raise the limit with `cms key edit "
        "PREFIX --rate-limit N`",
    ),
    Measure(
        alert="ViewsDropped",
        wrong="page views are lost",
        expr="increase(parquetry_views_dropped_total[10m]) > 0",
        after=0,
        severity="critical",
        summary="Page views are lost on {{ $labels.instance }}, {{ $value | humanize }} in ten minutes.",
        todo="the disk is full or refuses writes; dropped views are lost, and `/readyz` says how many there were",
    ),
    Measure(
        alert="OldContent",
        wrong="nothing was published for a week: put in how often you publish",
        expr="time() - parquetry_current_activated_timestamp_seconds > 604800",
        after=3600,
        severity="warning",
        summary="Nothing new of {{ $labels.workspace }} was published for {{ $value | humanizeDuration }}.",
        todo="builds fail or do not run: look at the job that builds, run `cms check`",
    ),
)
