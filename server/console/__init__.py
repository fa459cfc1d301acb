"""The console: pages for owners, maintainers and editors, as a part of ``cms serve`` (``CMS_CONSOLE=1``)."""
