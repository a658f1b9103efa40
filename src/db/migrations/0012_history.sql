-- The log of transitions and the rows of processes that are over are history, which ends some day: nothing that decides reads them any more.

-- The claim under which a row took its last step: whoever lost the answer can look whether it was taken.
alter table crawl add column moved_by uuid;
alter table snapshot add column moved_by uuid;
alter table "binary" add column moved_by uuid;
