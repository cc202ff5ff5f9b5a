"""From a question to its sources and to the job of writing its answer."""
