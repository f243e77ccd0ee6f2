-- What a ledger of schema version 3 held of documents in both scripts of Chinese.

INSERT INTO document VALUES (1, 't', 'a', '天一閣', '', '', '["天一阁"]', '{}', '天一閣在寧波。');
INSERT INTO document VALUES (2, 't', 'b', '范钦', '', '', '[]', '{}', '范钦建天一阁。');
INSERT INTO note VALUES (1, 1, 't', 'a#0', 0, 0, 7, 'zh', '天一閣在寧波。');
INSERT INTO note VALUES (2, 2, 't', 'b#0', 0, 0, 7, 'zh', '范钦建天一阁。');
INSERT INTO entity VALUES (1, 't', '天一阁', '天一阁', 'other', NULL);
INSERT INTO entity VALUES (2, 't', '天一閣', '天一閣', 'place', 'Q1');
INSERT INTO entity VALUES (3, 't', '寧波', '寧波', 'place', NULL);
INSERT INTO entity VALUES (4, 't', '范钦', '范钦', 'person', NULL);
INSERT INTO entity VALUES (5, 'other', '天一閣', '天一閣', 'place', NULL);
INSERT INTO alias VALUES (1, 2, '天一閣'), (1, 1, '天一阁'), (2, 4, '范钦');
INSERT INTO mention VALUES (1, 1, 2, 0, 3, '天一閣', 'place', true), (2, 1, 3, 4, 6, '寧波', 'place', false);
INSERT INTO mention VALUES (3, 2, 4, 0, 2, '范钦', 'person', true), (4, 2, 1, 3, 6, '天一阁', 'other', false);
INSERT INTO change VALUES (1, 't', 'a#0', 'a', false), (2, 't', 'b#0', 'b', false);
UPDATE meta SET number = 2 WHERE "key" = 'sequence';
