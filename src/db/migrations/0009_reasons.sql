-- What a runner works on, and what keeps it from working: `status` shows both, from whichever machine it is asked.
alter table process add column scope jsonb, add column blocked_reason text;
