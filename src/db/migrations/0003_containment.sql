-- changes: a process is kept together with all that it starts; its row says where its output lies

-- What keeps a process together with all that it starts, and where its output lies.
alter table process
  add column containment text check (containment in ('basic', 'pidns', 'cgroup')),
  add column cgroup      text,                                      -- its control group, for the tier that has one
  add column stdout_log  text,
  add column stderr_log  text;
