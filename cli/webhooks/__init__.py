"""The receivers that are told of changes: added, looked at, tried and changed."""
