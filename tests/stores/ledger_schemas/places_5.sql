-- What version 5 added to the tables of version 4: the place of a note in its document.
ALTER TABLE note ADD COLUMN section JSON DEFAULT '[]' NOT NULL;
ALTER TABLE note ADD COLUMN kind TEXT DEFAULT 'paragraph' NOT NULL;
ALTER TABLE note ADD COLUMN lead TEXT DEFAULT '' NOT NULL;
UPDATE note SET section = '["Leave"]', kind = 'list' WHERE id = 1;
UPDATE meta SET number = 5 WHERE "key" = 'schema_version';
