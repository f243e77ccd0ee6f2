-- Schema version 5, as the programs that wrote it made it, with two notes.

CREATE TABLE meta (
    "key" TEXT NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY ("key")
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

CREATE TABLE change (
    sequence BIGINT NOT NULL,
    tenant TEXT NOT NULL,
    note_id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    removed BOOLEAN NOT NULL,
    PRIMARY KEY (sequence),
    UNIQUE (tenant, note_id)
);

CREATE TABLE retrieval_request_log (
    id INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    request_id TEXT NOT NULL,
    trace_id TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    arm TEXT NOT NULL,
    parent TEXT,
    created_ms BIGINT NOT NULL,
    elapsed_ms DOUBLE NOT NULL,
    status TEXT NOT NULL,
    code INTEGER NOT NULL,
    question TEXT NOT NULL,
    "query" TEXT NOT NULL,
    language TEXT NOT NULL,
    kind TEXT NOT NULL,
    confidence DOUBLE NOT NULL,
    store_sequence BIGINT NOT NULL,
    settings_hash TEXT NOT NULL,
    version TEXT NOT NULL,
    digest TEXT NOT NULL,
    request JSON NOT NULL,
    outcome JSON NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (tenant, request_id)
);

CREATE INDEX ix_retrieval_request_log_parent ON retrieval_request_log (parent);

CREATE INDEX ix_request_log_tenant_created ON retrieval_request_log (tenant, created_ms);

CREATE INDEX ix_request_log_created ON retrieval_request_log (created_ms);

CREATE TABLE feedback (
    id INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    request_id TEXT NOT NULL,
    verdict TEXT NOT NULL,
    answers JSON NOT NULL,
    documents JSON NOT NULL,
    comment TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX ix_feedback_request ON feedback (tenant, request_id);

CREATE TABLE eval_dataset (
    id INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    dataset_id TEXT NOT NULL,
    name TEXT NOT NULL,
    provenance JSON NOT NULL,
    created_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (tenant, dataset_id)
);

CREATE TABLE api_key (
    id INTEGER NOT NULL,
    key_id TEXT NOT NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    tenants JSON NOT NULL,
    scopes JSON NOT NULL,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT,
    revoked_ms BIGINT,
    PRIMARY KEY (id),
    UNIQUE (key_id)
);

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

CREATE TABLE retrieval_candidate (
    id INTEGER NOT NULL,
    request INTEGER NOT NULL,
    source TEXT NOT NULL,
    note_id TEXT NOT NULL,
    rank INTEGER NOT NULL,
    score DOUBLE NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(request) REFERENCES retrieval_request_log (id) ON DELETE CASCADE
);

CREATE INDEX ix_retrieval_candidate_request ON retrieval_candidate (request);

CREATE TABLE rerank_score (
    id INTEGER NOT NULL,
    request INTEGER NOT NULL,
    position INTEGER NOT NULL,
    note_id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    title TEXT NOT NULL,
    fused_rank INTEGER,
    fused_score DOUBLE,
    rank INTEGER,
    score DOUBLE,
    final_score DOUBLE NOT NULL,
    covered DOUBLE,
    hop INTEGER NOT NULL,
    bridge TEXT,
    model_version TEXT NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(request) REFERENCES retrieval_request_log (id) ON DELETE CASCADE
);

CREATE INDEX ix_rerank_score_request ON rerank_score (request);

CREATE TABLE router_decision_log (
    id INTEGER NOT NULL,
    request INTEGER NOT NULL,
    strategy TEXT NOT NULL,
    path TEXT NOT NULL,
    intent TEXT NOT NULL,
    rerank BOOLEAN NOT NULL,
    confidence DOUBLE NOT NULL,
    decision JSON NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(request) REFERENCES retrieval_request_log (id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX ix_router_decision_log_request ON router_decision_log (request);

CREATE TABLE eval_query (
    id INTEGER NOT NULL,
    dataset INTEGER NOT NULL,
    position INTEGER NOT NULL,
    query_id TEXT NOT NULL,
    text TEXT NOT NULL,
    type TEXT NOT NULL,
    answers JSON NOT NULL,
    grades JSON NOT NULL,
    provenance JSON NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (dataset, position),
    FOREIGN KEY(dataset) REFERENCES eval_dataset (id) ON DELETE CASCADE
);

CREATE TABLE eval_job (
    id INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    job_id TEXT NOT NULL,
    dataset INTEGER NOT NULL,
    status TEXT NOT NULL,
    request JSON NOT NULL,
    total INTEGER NOT NULL,
    done INTEGER NOT NULL,
    cancel BOOLEAN NOT NULL,
    error TEXT NOT NULL,
    report JSON,
    created_ms BIGINT NOT NULL,
    started_ms BIGINT,
    finished_ms BIGINT,
    PRIMARY KEY (id),
    UNIQUE (tenant, job_id),
    FOREIGN KEY(dataset) REFERENCES eval_dataset (id) ON DELETE CASCADE
);

CREATE INDEX ix_eval_job_dataset ON eval_job (dataset);

CREATE INDEX ix_eval_job_status ON eval_job (status, created_ms);

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

CREATE INDEX ix_mention_note ON mention (note);

CREATE INDEX ix_mention_entity ON mention (entity);

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

CREATE TABLE eval_answer (
    id INTEGER NOT NULL,
    job INTEGER NOT NULL,
    arm TEXT NOT NULL,
    position INTEGER NOT NULL,
    outcome JSON NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (job, arm, position),
    FOREIGN KEY(job) REFERENCES eval_job (id) ON DELETE CASCADE
);

CREATE TABLE eval_result (
    id INTEGER NOT NULL,
    job INTEGER NOT NULL,
    arm TEXT NOT NULL,
    metric_json JSON NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (job, arm),
    FOREIGN KEY(job) REFERENCES eval_job (id) ON DELETE CASCADE
);

INSERT INTO meta VALUES ('schema_version', 5), ('sequence', 2), ('identity', 42);

INSERT INTO document VALUES (1, 't', 'a', 'Leave', 'a.md', '1', '[]', '{}', 'Ask your manager.');
INSERT INTO document VALUES (2, 't', 'b', '请假', 'b.md', '1', '[]', '{}', '请问经理。');
INSERT INTO note VALUES (1, 1, 't', 'a#0', 0, 0, 17, 'en', 'Ask your manager.');
INSERT INTO note VALUES (2, 2, 't', 'b#0', 0, 0, 5, 'zh', '请问经理。');
INSERT INTO entity VALUES (1, 't', 'leave', 'Leave', 'other', NULL), (2, 't', '请假', '请假', 'other', NULL);
INSERT INTO alias VALUES (1, 1, 'Leave'), (2, 2, '请假');
INSERT INTO change VALUES (1, 't', 'a#0', 'a', false), (2, 't', 'b#0', 'b', false);
ALTER TABLE note ADD COLUMN section JSON DEFAULT '[]' NOT NULL;
ALTER TABLE note ADD COLUMN kind TEXT DEFAULT 'paragraph' NOT NULL;
ALTER TABLE note ADD COLUMN lead TEXT DEFAULT '' NOT NULL;
UPDATE note SET section = '["Leave"]', kind = 'list' WHERE id = 1;
