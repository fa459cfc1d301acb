"""Make a ``Field`` of a field definition, of an API or a group, checked against the workspace around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import UNSET

from snapshots.definitions.names import nearest
from snapshots.definitions.shapes import FieldShape
from snapshots.definitions.workspace_facts import WorkspaceFacts
from snapshots.model import GROUP_KIND, ApiKind, Field, FieldType, Group, ReferenceTarget, ValueKind
from snapshots.paths import Steps

MAX_GROUPS = 5
"""Groups may stand in groups this deep: each level is a level of every column and every type made of them."""

Wrong = Callable[..., None]
"""(message, path of the key it is about)."""


def make_field(
    shape: FieldShape, where: Steps, around: WorkspaceFacts, wrong: Wrong, doubtful: Wrong, depth: int = 0
) -> Field:
    """Return a field, and report all that is wrong with it. ``where`` is its place in the definition file."""
    kind = FieldType(shape.type)
    facts = kind.facts
    refers, groups = facts.kind is ValueKind.ENTRY, facts.kind is ValueKind.GROUP
    several = refers and facts.is_array
    keys = (
        (
            "options",
            shape.options,
            facts.kind is ValueKind.OPTION,
            "only single_select and multiple_select fields have options",
        ),
        ("api", shape.api, refers, "only reference and references fields have an api"),
        ("apis", shape.apis, several, "only references fields have apis"),
        ("fields", shape.fields, groups, "only group and groups fields have fields"),
        ("groups", shape.groups, groups and facts.is_array, "only groups fields have groups"),
    )
    for key, given, taken, message in keys:
        if given is not None and not taken:
            wrong(f"{shape.id}: {message}", *where, key)
    if shape.by == "path" and depth:
        wrong(f"{shape.id}: references in groups are written as IDs: remove 'by'", *where, "by")
    elif shape.by == "path" and (not refers or shape.api is None):
        wrong(f"{shape.id}: only reference and references fields with an api are found by path", *where, "by")
    target, targets = None, None
    if several and shape.apis is not None:
        targets = tuple(_targets(shape, shape.apis, where, around, wrong, doubtful))
    elif refers and shape.api is None:
        doubtful(f"{shape.id}: no 'api', so references are delivered as IDs and never checked", *where)
    elif refers and shape.api is not None:
        target = _target(shape.id, shape.api, (*where, "api"), around, wrong, doubtful)
    fields, kinds = None, None
    if groups and depth == MAX_GROUPS:
        wrong(f"{shape.id}: groups can be nested {MAX_GROUPS} deep at most", *where)
    elif groups:
        fields, kinds = _inside(shape, where, around, wrong, doubtful, depth + 1)
    return Field(
        shape.id,
        shape.name or shape.id,
        kind,
        shape.required,
        None if shape.options is None else tuple(shape.options),
        target,
        UNSET if targets is None else targets,
        UNSET if fields is None else fields,
        UNSET if kinds is None else kinds,
        shape.renamed_from or UNSET,
        shape.description or UNSET,
    )


def _inside(
    shape: FieldShape, where: Steps, around: WorkspaceFacts, wrong: Wrong, doubtful: Wrong, depth: int
) -> tuple[tuple[Field, ...] | None, tuple[Group, ...] | None]:
    """Return the fields of a group, or the kinds of groups."""
    if (shape.fields is None) == (shape.groups is None) or shape.fields == [] or shape.groups == []:
        takes = "its fields, or under 'groups' its kinds" if shape.type == FieldType.GROUPS else "its fields"
        wrong(f"{shape.id}: list {takes}, each with an id", *where)
        return None, None
    if shape.fields is not None:
        return _members(shape.id, shape.fields, (*where, "fields"), around, wrong, doubtful, depth), None
    kinds = []
    taken = {GROUP_KIND.lower(): f"the member {GROUP_KIND!r} that says the kind of a group"}
    for at, one in enumerate(shape.groups or ()):
        key_path = (*where, "groups", at)
        _take(taken, shape.id, one.id, "the kind", key_path, wrong)
        fields = _members(shape.id, one.fields, (*key_path, "fields"), around, wrong, doubtful, depth)
        kinds.append(Group(one.id, one.name or one.id, fields))
    return None, tuple(kinds)


def _members(
    owner: str,
    shapes: Sequence[FieldShape],
    where: Steps,
    around: WorkspaceFacts,
    wrong: Wrong,
    doubtful: Wrong,
    depth: int,
) -> tuple[Field, ...]:
    taken = {GROUP_KIND.lower(): f"the member {GROUP_KIND!r} that says the kind of a group"}
    fields = []
    for at, shape in enumerate(shapes):
        key_path = (*where, at)
        _take(taken, owner, shape.id, "the field", key_path, wrong)
        if shape.source is not None:
            wrong(
                f"{owner}: {shape.id!r} is in a group, where values have the field's own id: remove 'from'",
                *key_path,
                "from",
            )
        if shape.renamed_from is not None and (
            "." in shape.renamed_from or shape.renamed_from in {GROUP_KIND, *(one.id for one in shapes)}
        ):
            wrong(
                f"{owner}: {shape.id!r} cannot be renamed from {shape.renamed_from!r}: name a key of the group that no "
                "field of it has now",
                *key_path,
                "renamed_from",
            )
        fields.append(make_field(shape, key_path, around, wrong, doubtful, depth))
    return tuple(fields)


def _take(taken: dict[str, str], owner: str, name: str, what: str, where: Steps, wrong: Wrong) -> None:
    """Report a name that is taken already, whatever its case: names in Parquet and SQL ignore it."""
    if name.lower() in taken:
        wrong(f"{owner}: {name!r} is taken: it is {taken[name.lower()]} already (case is ignored)", *where, "id")
    taken[name.lower()] = f"{what} {name!r}"


def _targets(
    shape: FieldShape, endpoints: list[str], where: Steps, around: WorkspaceFacts, wrong: Wrong, doubtful: Wrong
) -> list[ReferenceTarget]:
    if shape.api is not None:
        wrong(f"{shape.id}: has both 'api' and 'apis': keep one of them", *where, "api")
    if not endpoints:
        wrong(f"{shape.id}: apis is empty: list the APIs, or leave it out", *where, "apis")
    targets: list[ReferenceTarget] = []
    for at, endpoint in enumerate(endpoints):
        key_path = (*where, "apis", at)
        if endpoint in endpoints[:at]:
            wrong(f"{shape.id}: {endpoint!r} appears twice", *key_path)
        else:
            targets.append(ReferenceTarget(endpoint, _target(shape.id, endpoint, key_path, around, wrong, doubtful)))
    return targets


def _target(
    owner: str, endpoint: str, where: Steps, around: WorkspaceFacts, wrong: Wrong, doubtful: Wrong
) -> str | None:
    """Return the ``uid`` of an API referred to."""
    if endpoint not in around.kinds:
        if not around.complete:
            return f"?{endpoint}"  # its definition may be the one with errors, so its entries are not known
        hint = nearest(endpoint, around.kinds)
        doubtful(f"{owner}: there is no API {endpoint!r}, so references are delivered as IDs{hint}", *where)
    elif around.kinds[endpoint] is ApiKind.OBJECT:
        wrong(f"{owner}: {endpoint!r} is an object API, and only entries of a list can be referenced", *where)
    else:
        return around.uids[endpoint]
    return None
