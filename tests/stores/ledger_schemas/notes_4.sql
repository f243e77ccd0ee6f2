-- What a ledger of schema version 4, which has the tables of version 3, held of notes.

INSERT INTO document VALUES (1, 't', 'a', 'Leave', 'a.md', '1', '[]', '{}', 'Ask your manager.');
INSERT INTO document VALUES (2, 't', 'b', '请假', 'b.md', '1', '[]', '{}', '请问经理。');
INSERT INTO note VALUES (1, 1, 't', 'a#0', 0, 0, 17, 'en', 'Ask your manager.');
INSERT INTO note VALUES (2, 2, 't', 'b#0', 0, 0, 5, 'zh', '请问经理。');
INSERT INTO entity VALUES (1, 't', 'leave', 'Leave', 'other', NULL), (2, 't', '请假', '请假', 'other', NULL);
INSERT INTO alias VALUES (1, 1, 'Leave'), (2, 2, '请假');
INSERT INTO change VALUES (1, 't', 'a#0', 'a', false), (2, 't', 'b#0', 'b', false);
UPDATE meta SET number = 2 WHERE "key" = 'sequence';
UPDATE meta SET number = 4 WHERE "key" = 'schema_version';
