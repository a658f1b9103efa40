-- A process is found by its pid, however many had one before.
create index process_pid on process (data_dir_id, pid, seq) where pid is not null;
