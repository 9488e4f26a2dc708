"""Files as blocks of rows: one reader for each format, all with one face (:mod:`service.formats.readers.reading`)."""
