CREATE TABLE region AS
SELECT (i - 1)::INTEGER AS r_regionkey, CASE i WHEN 1 THEN 'AFRICA' WHEN 2 THEN 'AMERICA' WHEN 3 THEN 'ASIA' WHEN 4 THEN 'EUROPE' ELSE 'MIDDLE EAST' END AS r_name
FROM generate_series(1::BIGINT, 5::BIGINT) AS s(i);
CREATE TABLE nation AS
SELECT i::INTEGER AS n_nationkey, 'NATION ' || i::TEXT AS n_name, (i % 5)::INTEGER AS n_regionkey FROM generate_series(0::BIGINT, 24::BIGINT) AS s(i);
CREATE TABLE supplier AS
SELECT i::INTEGER AS s_suppkey, 'Supplier#' || i::TEXT AS s_name, (i * 7 % 25)::INTEGER AS s_nationkey FROM generate_series(1::BIGINT, 40::BIGINT) AS s(i);
CREATE TABLE part AS
SELECT i::INTEGER AS p_partkey,
       CASE i % 4 WHEN 0 THEN 'red green' WHEN 1 THEN 'blue' WHEN 2 THEN 'olive' ELSE 'ivory' END || ' part ' || (i % 50)::TEXT AS p_name,
       CASE i % 6 WHEN 0 THEN 'PROMO' WHEN 1 THEN 'ECONOMY' ELSE 'STANDARD' END || ' BRUSHED ' || (i % 5)::TEXT AS p_type
FROM generate_series(1::BIGINT, 400::BIGINT) AS s(i);
CREATE TABLE partsupp AS
SELECT p::INTEGER AS ps_partkey, ((p + i * 10) % 40 + 1)::INTEGER AS ps_suppkey, ((p * 37 + i * 11) % 1000)::DOUBLE PRECISION / 4 AS ps_supplycost
FROM generate_series(1::BIGINT, 400::BIGINT) AS s(p) CROSS JOIN generate_series(0::BIGINT, 3::BIGINT) AS t(i);
CREATE TABLE customer AS
SELECT i::INTEGER AS c_custkey, 'Customer#' || i::TEXT AS c_name, 'address ' || (i * 31 % 997)::TEXT AS c_address, (i * 11 % 25)::INTEGER AS c_nationkey,
       '10-' || (i * 17 % 9973)::TEXT AS c_phone, (i * 13 % 2003)::DOUBLE PRECISION / 4 AS c_acctbal,
       CASE i % 5 WHEN 0 THEN 'BUILDING' WHEN 1 THEN 'AUTOMOBILE' WHEN 2 THEN 'FURNITURE' WHEN 3 THEN 'HOUSEHOLD' ELSE 'MACHINERY' END AS c_mktsegment,
       'comment ' || (i * 19 % 503)::TEXT AS c_comment
FROM generate_series(1::BIGINT, 300::BIGINT) AS s(i);
CREATE TABLE orders AS
SELECT i::INTEGER AS o_orderkey, (i * 7 % 200 + 1)::INTEGER AS o_custkey, (i * 101 % 4001)::DOUBLE PRECISION AS o_totalprice,
       DATE '1992-01-01' + (i * 733 % 2400)::INTEGER AS o_orderdate,
       CASE i % 5 WHEN 0 THEN '1-URGENT' WHEN 1 THEN '2-HIGH' WHEN 2 THEN '3-MEDIUM' WHEN 3 THEN '4-NOT SPECIFIED' ELSE '5-LOW' END AS o_orderpriority,
       0 AS o_shippriority
FROM generate_series(1::BIGINT, 1500::BIGINT) AS s(i);
-- Orders of one to seven lines; every fiftieth has seven of 50 pieces each.
CREATE TABLE lineitem AS
SELECT l_orderkey, l_partkey, ((l_partkey + h % 4 * 10) % 40 + 1)::INTEGER AS l_suppkey,
       CASE WHEN l_orderkey % 50 = 0 THEN 50 ELSE h % 50 + 1 END::DOUBLE PRECISION AS l_quantity, (h % 8000)::DOUBLE PRECISION / 4 AS l_extendedprice,
       (h % 9)::DOUBLE PRECISION / 64 AS l_discount, (h % 7)::DOUBLE PRECISION / 64 AS l_tax,
       CASE h % 3 WHEN 0 THEN 'A' WHEN 1 THEN 'N' ELSE 'R' END AS l_returnflag, CASE h % 2 WHEN 0 THEN 'F' ELSE 'O' END AS l_linestatus,
       shipped AS l_shipdate, shipped + (h % 60)::INTEGER - 30 AS l_commitdate, shipped + (h % 29)::INTEGER + 1 AS l_receiptdate,
       CASE h % 7 WHEN 0 THEN 'AIR' WHEN 1 THEN 'MAIL' WHEN 2 THEN 'SHIP' WHEN 3 THEN 'RAIL' WHEN 4 THEN 'TRUCK' WHEN 5 THEN 'FOB' ELSE 'REG AIR' END AS l_shipmode
FROM (SELECT o_orderkey AS l_orderkey, ((o_orderkey * 7 + n) * 2654435761 % 4294967291 / 64 % 400 + 1)::INTEGER AS l_partkey,
             (o_orderkey * 7 + n) * 2246822519 % 4294967291 / 64 AS h, o_orderdate + (n * 13 % 120)::INTEGER + 1 AS shipped
      FROM orders JOIN generate_series(1::BIGINT, 7::BIGINT) AS s(n) ON n <= CASE WHEN o_orderkey % 50 = 0 THEN 7 ELSE o_orderkey % 7 + 1 END) AS line;
