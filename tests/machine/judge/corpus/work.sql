CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER, b TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
INSERT INTO t SELECT i, i * 7919 % 1009, printf('row %d', i) FROM n;
CREATE INDEX t_a ON t(a);
SELECT count(*), sum(length(b)) FROM t WHERE a BETWEEN 100 AND 500;
SELECT x.b, y.b FROM t x JOIN t y ON x.a = y.a AND x.id < y.id ORDER BY x.id, y.id LIMIT 5;
