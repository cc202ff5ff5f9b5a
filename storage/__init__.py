"""Rows and bytes on disk: paths, the database and its migrations, keywords, vectors. Knows no policy and no model."""
