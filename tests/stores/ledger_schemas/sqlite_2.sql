-- Schema version 2, as the program that wrote it made it.

CREATE TABLE change (
    sequence BIGINT NOT NULL,
    tenant TEXT NOT NULL,
    note_id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    removed BOOLEAN NOT NULL,
    PRIMARY KEY (sequence),
    UNIQUE (tenant, note_id)
);

CREATE TABLE document (
    id INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    document_id TEXT NOT NULL,
    title TEXT NOT NULL,
    source TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    aliases JSON NOT NULL,
    properties JSON NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (tenant, document_id)
);

CREATE TABLE entity (
    id INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    "key" TEXT NOT NULL,
    label TEXT NOT NULL,
    type TEXT NOT NULL,
    qid TEXT,
    PRIMARY KEY (id),
    UNIQUE (tenant, "key")
);

CREATE TABLE meta (
    "key" TEXT NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY ("key")
);

CREATE TABLE alias (
    document INTEGER NOT NULL,
    entity INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (document, entity),
    FOREIGN KEY(document) REFERENCES document (id) ON DELETE CASCADE,
    FOREIGN KEY(entity) REFERENCES entity (id) ON DELETE CASCADE
);

CREATE INDEX ix_alias_entity ON alias (entity);

CREATE TABLE graph_node (
    id INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    "key" TEXT NOT NULL,
    label TEXT NOT NULL,
    properties JSON NOT NULL,
    document INTEGER,
    PRIMARY KEY (id),
    UNIQUE (tenant, kind, "key"),
    FOREIGN KEY(document) REFERENCES document (id) ON DELETE CASCADE
);

CREATE INDEX ix_graph_node_document ON graph_node (document);

CREATE TABLE note (
    id INTEGER NOT NULL,
    document INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    note_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    start_offset INTEGER NOT NULL,
    end_offset INTEGER NOT NULL,
    language TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (tenant, note_id),
    FOREIGN KEY(document) REFERENCES document (id) ON DELETE CASCADE
);

CREATE INDEX ix_note_document ON note (document);

CREATE TABLE graph_edge (
    id INTEGER NOT NULL,
    source INTEGER NOT NULL,
    target INTEGER NOT NULL,
    kind TEXT NOT NULL,
    weight DOUBLE NOT NULL,
    parts JSON NOT NULL,
    document INTEGER,
    PRIMARY KEY (id),
    UNIQUE (source, target, kind),
    FOREIGN KEY(source) REFERENCES graph_node (id) ON DELETE CASCADE,
    FOREIGN KEY(target) REFERENCES graph_node (id) ON DELETE CASCADE,
    FOREIGN KEY(document) REFERENCES document (id) ON DELETE CASCADE
);

CREATE INDEX ix_graph_edge_document ON graph_edge (document);

CREATE INDEX ix_graph_edge_target ON graph_edge (target);

CREATE TABLE mention (
    id INTEGER NOT NULL,
    note INTEGER NOT NULL,
    entity INTEGER NOT NULL,
    start_offset INTEGER NOT NULL,
    end_offset INTEGER NOT NULL,
    surface TEXT NOT NULL,
    type TEXT NOT NULL,
    titled BOOLEAN NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(note) REFERENCES note (id) ON DELETE CASCADE,
    FOREIGN KEY(entity) REFERENCES entity (id) ON DELETE CASCADE
);

CREATE INDEX ix_mention_entity ON mention (entity);

CREATE INDEX ix_mention_note ON mention (note);

CREATE TABLE note_vector (
    note INTEGER NOT NULL,
    space TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    vector BLOB NOT NULL,
    token_ids BLOB,
    token_codes BLOB,
    PRIMARY KEY (note, space),
    FOREIGN KEY(note) REFERENCES note (id) ON DELETE CASCADE
);

CREATE INDEX ix_note_vector_space ON note_vector (space, note);

INSERT INTO meta (key, number) VALUES ('schema_version', 2), ('sequence', 1);
