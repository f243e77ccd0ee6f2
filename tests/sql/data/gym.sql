CREATE TABLE 门店 (
  门店编号 INTEGER PRIMARY KEY, -- 门店编号
  门店名称 TEXT, -- 门店名称
  城市 TEXT, -- 所在城市
  开业日期 DATE -- 开业日期
);
CREATE TABLE jl (
  jl_id INTEGER PRIMARY KEY, -- 教练编号
  xm TEXT, -- 姓名
  md_id INTEGER, -- 所属门店，门店.门店编号
  jb INTEGER, -- 级别：1 初级 2 中级 3 高级
  ds_id INTEGER REFERENCES jl(jl_id) -- 导师
);
CREATE TABLE hy (
  hy_id INTEGER PRIMARY KEY, -- 会员编号
  xm TEXT, -- 姓名
  xb INTEGER, -- 性别：1 男 2 女
  md_id INTEGER, -- 所属门店，门店.门店编号
  rh_rq DATE, -- 入会日期
  is_del INTEGER -- 是否删除
);
CREATE TABLE kc (
  kc_id INTEGER PRIMARY KEY, -- 课程编号
  mc TEXT, -- 名称
  sc INTEGER, -- 时长
  dj REAL -- 单价
);
CREATE TABLE yk (
  yk_id INTEGER PRIMARY KEY, -- 约课编号
  hy_id INTEGER REFERENCES hy(hy_id), -- 会员
  kc_id INTEGER REFERENCES kc(kc_id), -- 课程
  jl_id INTEGER REFERENCES jl(jl_id), -- 教练
  sk_rq DATE, -- 上课日期
  zt INTEGER -- 状态：0 已取消 1 已完成 2 爽约
);
CREATE TABLE cz (
  cz_id INTEGER PRIMARY KEY, -- 充值编号
  hy_id INTEGER REFERENCES hy(hy_id), -- 会员
  je REAL, -- 金额
  cz_rq DATE, -- 充值日期
  fs TEXT -- 支付方式
);
INSERT INTO 门店 VALUES (1,'江北店','宁波','2019-03-01'),(2,'西湖店','杭州','2020-06-01'),(3,'滨江店','杭州','2023-01-10');
INSERT INTO jl VALUES (1,'赵云海',1,3,NULL),(2,'钱小满',1,1,1),(3,'孙立',2,2,1),(4,'李木',3,1,3);
INSERT INTO hy VALUES (1,'周文',1,1,'2023-01-05',0),(2,'吴静',2,1,'2023-06-05',0),(3,'郑爽',2,2,'2024-01-15',0),(4,'王磊',1,2,'2024-12-05',0),(5,'冯燕',2,3,'2025-05-02',0),(6,'陈旧',1,3,'2022-05-02',1);
INSERT INTO kc VALUES (1,'瑜伽',60,80),(2,'动感单车',45,60),(3,'游泳',90,120);
INSERT INTO yk VALUES (1,1,1,1,'2025-05-01',1),(2,1,2,2,'2025-05-03',1),(3,2,1,1,'2025-05-10',0),(4,3,3,3,'2025-05-20',1),(5,3,1,3,'2025-06-01',2),(6,4,2,3,'2025-06-05',1),(7,1,3,1,'2025-06-10',1),(8,3,1,3,'2025-04-10',1);
INSERT INTO cz VALUES (1,1,1000,'2025-01-10','微信'),(2,2,500,'2025-05-01','支付宝'),(3,3,2000,'2025-05-15','微信'),(4,4,800,'2025-06-01','现金'),(5,1,600,'2025-06-11','微信');
