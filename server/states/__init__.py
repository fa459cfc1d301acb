"""What is not as it should be: one table, from which ``/readyz``, metrics, alerts and lines of the log follow."""
