"""The job engine: durable workflows over a pool of killable processes. It is handed what jobs do."""
