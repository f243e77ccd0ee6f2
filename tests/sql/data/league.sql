CREATE TABLE team (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  city TEXT,
  founded_on DATE,
  is_deleted INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE player (
  id INTEGER PRIMARY KEY,
  first_name TEXT NOT NULL,
  last_name TEXT NOT NULL,
  team_id INTEGER REFERENCES team(id),
  position INTEGER,          -- 1 goalkeeper 2 defender 3 forward
  nationality TEXT,
  weight_kg REAL,
  mentor_id INTEGER REFERENCES player(id)
);
CREATE TABLE game (
  id INTEGER PRIMARY KEY,
  home_team INTEGER NOT NULL REFERENCES team(id),
  referee_no INTEGER,        -- referee.id
  scheduled_on DATE NOT NULL,
  played_on DATE,
  spectators INTEGER,
  status TEXT,
  weather INTEGER            -- dict weather
);
CREATE TABLE sys_code (kind TEXT, code INTEGER, label TEXT, PRIMARY KEY (kind, code));
INSERT INTO sys_code VALUES ('weather', 1, 'sunny'), ('weather', 2, 'rainy');
CREATE TABLE referee (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE goal (
  id INTEGER PRIMARY KEY,
  game_id INTEGER NOT NULL REFERENCES game(id),
  player_id INTEGER NOT NULL REFERENCES player(id),
  minute INTEGER
);
CREATE TABLE sponsor (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE team_sponsor (
  team_id INTEGER NOT NULL REFERENCES team(id),
  sponsor_id INTEGER NOT NULL REFERENCES sponsor(id),
  PRIMARY KEY (team_id, sponsor_id)
);
INSERT INTO team VALUES (1, 'River Foxes', 'Norwick', '1950-03-01', 0), (2, 'Hill Rovers', 'Eastleigh', '1961-08-12', 0),
  (3, 'Harbour Stars', 'Norwick', '1978-01-20', 0), (4, 'Old Mill', 'Eastleigh', '1931-05-05', 1);
INSERT INTO player VALUES (1, 'Ada', 'Moss', 1, 1, 'Sweden', 71.5, NULL), (2, 'Ben', 'Reed', 1, 3, 'Norway', 80, 1),
  (3, 'Cleo', 'Hart', 1, 2, 'Sweden', 66, 1), (4, 'Dov', 'Lane', 2, 3, 'Spain', 77.25, NULL), (5, 'Eli', 'Moss', 2, 2, NULL, 90, 4),
  (6, 'Fay', 'Wells', 3, 3, 'Spain', 59, 1), (7, 'Gus', 'Park', NULL, 1, 'Norway', 84, NULL);
INSERT INTO referee VALUES (1, 'Ruth Vane'), (2, 'Karl Ohm'), (3, 'Ines Sole');
INSERT INTO game VALUES (1, 1, 1, '2025-02-01', '2025-02-01', 500, 'received', 1), (2, 1, 2, '2025-03-08', '2025-04-02', 900, 'confirmed', 2),
  (3, 2, 1, '2025-04-05', '2025-04-05', 300, 'confirmed', 1), (4, 2, 2, '2025-04-19', NULL, NULL, 'cancelled', 1),
  (5, 3, 1, '2025-05-03', '2025-05-03', 1200, 'received', 2), (6, 1, 2, '2024-05-03', '2024-05-03', 450, 'confirmed', 1);
INSERT INTO goal VALUES (1, 1, 2, 15), (2, 1, 2, 60), (3, 2, 3, 44), (4, 3, 4, 10), (5, 5, 6, 88), (6, 6, 2, 5);
INSERT INTO sponsor VALUES (1, 'Tall Oak Bank'), (2, 'Blue Tea');
INSERT INTO team_sponsor VALUES (1, 1), (1, 2), (3, 2);
