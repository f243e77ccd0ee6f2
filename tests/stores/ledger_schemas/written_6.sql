-- What version 6 added to the tables of version 5: when a document was written.
ALTER TABLE document ADD COLUMN written_at TEXT;
UPDATE meta SET number = 6 WHERE "key" = 'schema_version';
